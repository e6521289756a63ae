//! `tare fleet`: the same session on many machines.

#[cfg(unix)]
mod cell;
mod gathered;
mod merging;
#[cfg(unix)]
mod planning;
#[cfg(unix)]
mod print;
mod report;
#[cfg(unix)]
mod run;
mod status;
mod whole_path;

use crate::args::fleet::{Fleet, FleetCommand};
use crate::command_error::CommandError;
use crate::exit::Exit;

pub fn run_fleet(fleet: Fleet) -> Result<Exit, CommandError> {
    match fleet.command {
        FleetCommand::Status(status) => status::run_fleet_status(&status),
        FleetCommand::Report(report) => report::run_fleet_report(&report),
        #[cfg(unix)]
        FleetCommand::Run(run) => run::run_fleet_run(run),
        #[cfg(unix)]
        FleetCommand::Print(print) => print::run_fleet_print(&print),
        #[cfg(unix)]
        FleetCommand::Cell(cell) => cell::run_fleet_cell(&cell),
        #[cfg(not(unix))]
        _ => super::not_here::refuse_command("fleet"),
    }
}
