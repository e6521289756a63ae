//! `tare fleet`: the same session on many machines.

#[cfg(unix)]
mod cell;
pub mod gathered;
pub mod merging;
#[cfg(unix)]
mod planning;
#[cfg(unix)]
mod print;
pub mod report;
#[cfg(unix)]
mod run;
mod status;
mod whole_path;

use std::process::ExitCode;

use crate::args::fleet::{Fleet, FleetCommand};

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
