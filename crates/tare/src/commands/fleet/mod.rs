//! `tare fleet`: the same session on many machines.

mod cell;
pub mod gathered;
mod planning;
mod print;
pub mod report;
mod run;
mod status;

use std::process::ExitCode;

use crate::args::fleet::{Fleet, FleetCommand};

pub fn run(fleet: Fleet) -> anyhow::Result<ExitCode> {
    match fleet.command {
        FleetCommand::Run(run) => run::run(run),
        FleetCommand::Status(status) => status::run(&status),
        FleetCommand::Print(print) => print::run(&print),
        FleetCommand::Report(report) => report::run(&report),
        FleetCommand::Cell(cell) => cell::run(&cell),
    }
}
