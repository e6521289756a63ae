//! `tare compare`: compares older records with newer ones, or combines several.

mod changes;
mod records;
mod together;

use crate::args::Compare;
use crate::command_error::CommandError;
use crate::exit::Exit;

pub fn run_compare(args: &Compare) -> Result<Exit, CommandError> {
    if args.together { together::report_together(args) } else { changes::report_changes(args) }
}
