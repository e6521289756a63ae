//! `tare licences`: the texts that the licences of what is linked want to go with the program.

use std::process::ExitCode;

use tare_report::carried::LICENCES;

use crate::ui;

const OWN: &str = include_str!("../../LICENSE");

pub fn run() -> anyhow::Result<ExitCode> {
    ui::print(format!("{OWN}\n{}", *LICENCES))?;
    Ok(ExitCode::SUCCESS)
}
