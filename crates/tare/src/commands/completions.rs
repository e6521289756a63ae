//! `tare completions`: what a shell needs to complete tare's arguments.

use std::process::ExitCode;

use clap::CommandFactory;

use crate::args::{Args, Completions};
use crate::ui;

pub fn run(args: Completions) -> anyhow::Result<ExitCode> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Args::command(), "tare", &mut script);
    ui::print(&script)?;
    Ok(ExitCode::SUCCESS)
}
