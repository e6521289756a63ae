//! Commands that need Linux, on other systems: each fails with an explanation.

use tare_lab::error::{ErrorKind, LabError};

use crate::command_error::CommandError;
use crate::exit::Exit;

/// Replacement for the command's module.
pub mod here {
    pub fn run_here(_: &crate::args::Here) -> Result<crate::exit::Exit, crate::command_error::CommandError> {
        super::refuse_command("here")
    }
}

/// Replacement for the command's module.
pub mod serve {
    pub fn run_serve(_: crate::args::Serve) -> Result<crate::exit::Exit, crate::command_error::CommandError> {
        super::refuse_command("serve")
    }
}

/// Fails because the command does not work on this system.
pub fn refuse_command(command: &str) -> Result<Exit, CommandError> {
    let what = format!("tare {command}");
    Err(LabError::new(ErrorKind::Environment, format!("{what} needs Linux"))
        .with_cause("this is tare for Windows, which measures Windows itself and distributions of WSL")
        .with_hint("run tare for Linux inside WSL, which does this from there")
        .into())
}
