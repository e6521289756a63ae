//! `tare compare`: compares two records, or combines several.

mod changes;
mod records;
mod together;

use tare_lab::error::LabError;

use crate::args::Compare;
use crate::command_error::CommandError;
use crate::exit::Exit;

pub fn run(args: &Compare) -> Result<Exit, CommandError> {
    match (&args.to, args.records.as_slice()) {
        (None, _) => together::join(args),
        (Some(new), [old]) => changes::report(args, old, new),
        (Some(new), several) => {
            Err(LabError::usage(format!("{} older records for {}", several.len(), new.display()))
                .because("--to compares one session with another")
                .hint("name one older record, or combine sessions with --together")
                .into())
        }
    }
}
