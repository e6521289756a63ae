//! `tare compare`: compares two records, or combines several.

mod changes;
mod records;
mod together;

use tare_lab::error::LabError;

use crate::args::Compare;
use crate::command_error::CommandError;
use crate::exit::Exit;

pub fn run_compare(args: &Compare) -> Result<Exit, CommandError> {
    match (&args.to, args.records.as_slice()) {
        (None, _) => together::report_together(args),
        (Some(new), [old]) => changes::report_changes(args, old, new),
        (Some(new), several) => {
            Err(LabError::usage_error(format!("{} older records for {}", several.len(), new.display()))
                .with_cause("--to compares one session with another")
                .with_hint("name one older record, or combine sessions with --together")
                .into())
        }
    }
}
