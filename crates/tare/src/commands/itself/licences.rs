//! `tare self licences`: the texts that the licences of linked libraries require with the program.

use tare_report::carried::LICENCES;

use crate::command_error::CommandError;
use crate::exit::Exit;
use crate::ui;

const OWN: &str = include_str!("../../../LICENSE");

pub fn run_licences() -> Result<Exit, CommandError> {
    ui::print_output(format!("{OWN}\n{}", *LICENCES))?;
    Ok(Exit::Done)
}
