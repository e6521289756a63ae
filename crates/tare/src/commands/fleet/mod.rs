//! `tare fleet`: the same session on many machines.

#[cfg(unix)]
mod cell;
mod gathered;
mod merging;
#[cfg(unix)]
mod planning;
#[cfg(unix)]
mod print;
mod query;
mod report;
#[cfg(unix)]
mod run;
mod status;
mod whole_path;

use crate::args::fleet::{Fleet, FleetCommand};
use crate::command_error::CommandError;
use crate::exit::Exit;

pub fn run(fleet: Fleet) -> Result<Exit, CommandError> {
    match fleet.command {
        FleetCommand::Status(status) => status::run(&status),
        FleetCommand::Report(report) => report::run(&report),
        FleetCommand::Query(query) => query::run(&query),
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
