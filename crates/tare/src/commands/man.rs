//! `tare man`: the manual's pages, made of the same words as the help.

use std::process::ExitCode;

use clap::CommandFactory;
use tare_lab::error::{ErrorKind, LabError};

use crate::args::{Args, Man};

/// Writes `tare.1` and a page `tare-COMMAND.1` for every command.
pub fn run(args: Man) -> anyhow::Result<ExitCode> {
    let command = Args::command().disable_help_subcommand(true);
    clap_mangen::generate_to(command, &args.folder).map_err(|e| {
        LabError::new(ErrorKind::Storage, format!("cannot write pages into {}", args.folder.display()))
            .because(e)
            .hint("name a folder that is there and that you may write")
    })?;
    Ok(ExitCode::SUCCESS)
}
