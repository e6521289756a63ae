//! `tare self man`: manual pages, generated from the help.

use tare_lab::error::{ErrorKind, LabError};

use crate::args::help::command_line;
use crate::args::itself::Man;
use crate::command_error::CommandError;
use crate::exit::Exit;

/// Writes `tare.1` and a page `tare-COMMAND.1` for every command.
pub fn run_man(args: Man) -> Result<Exit, CommandError> {
    let command = command_line().disable_help_subcommand(true);
    clap_mangen::generate_to(command, &args.folder).map_err(|e| {
        LabError::new(ErrorKind::Storage, format!("cannot write pages into {}", args.folder.display()))
            .with_cause(e)
            .with_hint("name an existing folder that you can write to")
    })?;
    Ok(Exit::Done)
}
