//! Placeholder where no user command can run, so that none of its files is carried along.

use std::path::Path;

use tare_data::failure::{Failure, FailureKind};
use tare_data::request::Piece;

#[derive(Debug, Default)]
pub struct Carried;

impl Carried {
    pub fn folder(&self) -> Option<&Path> {
        None
    }

    pub fn write_piece(&mut self, _piece: &Piece) -> Result<(), Failure> {
        Err(Failure::new(FailureKind::NotSupported, crate::missing::explain_missing_probe("user.command")))
    }
}
