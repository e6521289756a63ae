//! `tare fleet`: the same session on many machines.

#[cfg(unix)]
mod cell;
pub mod gathered;
#[cfg(unix)]
mod planning;
#[cfg(unix)]
mod print;
pub mod report;
#[cfg(unix)]
mod run;
mod status;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use tare_lab::error::LabError;

use crate::args::fleet::{Fleet, FleetCommand};
use crate::platform::IN_PATHS;

pub fn run(fleet: Fleet) -> anyhow::Result<ExitCode> {
    match fleet.command {
        FleetCommand::Status(status) => status::run(&status),
        FleetCommand::Report(report) => report::run(&report),
        #[cfg(unix)]
        FleetCommand::Run(run) => run::run(run),
        #[cfg(unix)]
        FleetCommand::Print(print) => print::run(&print),
        #[cfg(unix)]
        FleetCommand::Cell(cell) => cell::run(&cell),
        #[cfg(not(unix))]
        _ => super::not_here::refused("fleet"),
    }
}

/// A folder by its whole path, which is plain enough to stand in every script.
pub fn absolute(folder: &Path) -> Result<PathBuf, LabError> {
    let path = std::path::absolute(folder).map_err(LabError::storage("find", folder))?;
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-+@,=%".contains(c) || IN_PATHS.contains(c);
    match path.to_str().filter(|text| text.chars().all(plain)) {
        Some(_) => Ok(path),
        None => Err(LabError::usage(format!("{} cannot be the folder of a fleet", path.display()))
            .because("its path stands in scripts of other programs")
            .hint("choose one of letters, digits and . _ - + @ , = % alone")),
    }
}
