//! `tare licences`: the texts that the licences of what is linked want to go with the program.

use std::process::ExitCode;

use crate::ui;

const OWN: &str = include_str!("../../../../LICENSE");
/// Written by the tests of the documents, from the crates' own files.
const LINKED: &str = include_str!("../licences.txt");

pub fn run() -> anyhow::Result<ExitCode> {
    ui::print(format!("{OWN}\n{LINKED}"))?;
    Ok(ExitCode::SUCCESS)
}
