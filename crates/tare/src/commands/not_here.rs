//! Commands that need Linux, on other systems: each fails with an explanation.

use tare_lab::error::{ErrorKind, LabError};

/// Replacement for the command's module.
pub mod serve {
    pub fn run(_: crate::args::Serve) -> Result<crate::exit::Exit, crate::command_error::CommandError> {
        super::refused("serve")
    }
}

/// Fails because the command does not work on this system.
pub fn refused(command: &str) -> Result<Exit, CommandError> {
    let what = format!("tare {command}");
    Err(LabError::new(ErrorKind::Environment, format!("{what} needs Linux"))
        .because("this is tare for Windows, which measures Windows itself and distributions of WSL")
        .hint("run tare for Linux inside WSL, which does this from there")
        .into())
}
