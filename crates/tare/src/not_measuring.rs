//! What stands in for measuring where no session can run: each way to begin one says so, and what to do.

use std::path::Path;

use tare_data::session::Session;
use tare_lab::asked::{Recorded, Request};
use tare_lab::error::{ErrorKind, LabError};
use tare_lab::provider::Provider;

/// How a session is to be had.
pub struct Way<'a> {
    pub scratch: Option<&'a Path>,
    pub dry_run: bool,
    pub as_json: bool,
}

pub fn environments() -> Result<&'static [&'static Provider], LabError> {
    Err(needs_linux("entering environments"))
}

pub fn begin(_: Request, _: &Way<'_>) -> anyhow::Result<Option<Recorded>> {
    Err(needs_linux("measuring").into())
}

pub fn to_its_end(_: Request, _: Option<&Path>) -> anyhow::Result<Recorded> {
    Err(needs_linux("measuring").into())
}

pub fn unkept(_: Request, _: Option<&Path>) -> anyhow::Result<Session> {
    Err(needs_linux("measuring").into())
}

/// The error of what this system cannot do.
pub fn needs_linux(what: &str) -> LabError {
    LabError::new(ErrorKind::Environment, format!("{what} needs Linux"))
        .because("this is tare for Windows, which shows, compares and imports what was measured")
        .hint("run tare for Linux inside WSL, which measures from there")
}
