//! Turns, of which there are none on Windows: no two environments there share a kernel's memory.

use std::time::Duration;

use tare_data::failure::{Failure, FailureKind};
use tare_data::request::Turn;

/// Side of a pair, which nobody can be here.
pub(crate) enum Turns {}

impl Turns {
    /// Refuses: trials run alone.
    pub fn open(_: &Turn, _: u64, _: Duration) -> Result<Turns, Failure> {
        Err(Failure::new(FailureKind::NotSupported, "trials do not alternate on Windows"))
    }

    pub fn patience(&self) -> Duration {
        match *self {}
    }

    pub fn settle(&self) -> u64 {
        match *self {}
    }

    pub fn meet(&mut self) -> Result<(), Failure> {
        match *self {}
    }

    pub fn step(&mut self, _: usize, _: impl FnOnce() -> Result<(), Failure>) -> Result<(), Failure> {
        match *self {}
    }

    pub fn give_up(&self) {
        match *self {}
    }
}
