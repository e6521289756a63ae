//! Records to compare.

use std::path::Path;

use tare_data::session::Session;
use tare_lab::error::LabError;

use crate::ui;

/// Reads the session of a record, with notes on standard error about whatever it lacks.
pub fn read_noting(file: &Path) -> Result<Session, LabError> {
    let recording = tare_record::read_session(file)?;
    if let Some(line) = recording.torn_line {
        anstream::eprintln!("note: {} breaks off in line {line}", file.display());
    }
    for warning in &recording.session.warnings {
        anstream::eprintln!(
            "note: {}: {}",
            file.display(),
            tare_report::warnings::describe_warning(warning, ui::find_language())
        );
    }
    Ok(recording.session)
}
