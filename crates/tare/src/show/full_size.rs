//! `--full-size`: what a session in the sizes of the original tools needs, said before it begins.

use std::path::Path;

use tare_lab::asked::Request;
use tare_lab::error::{ErrorKind, LabError};
use tare_lab::session::{FullSize, estimate_full_size};
use tare_report::number::{format_duration, format_gibibytes};
use tare_report::published::full_size::Needs;

use crate::ui;

/// Describes the time and the room that a session in full size needs. Refuses one that cannot have them: it would end without an
/// answer hours later.
pub fn announce_full_size(name: &str, request: &Request, scratch: &Path) -> Result<String, LabError> {
    let full = estimate_full_size(request, scratch)?;
    require_time(name, &full)?;
    require_room(name, &full)?;
    let needs = Needs {
        name: name.to_owned(),
        round_s: full.round.as_secs_f64(),
        rounds: full.rounds,
        least_s: full.least_time().as_secs_f64(),
        budget_s: full.budget.map(|budget| budget.as_secs_f64()),
        room_bytes: full.room_bytes,
    };
    Ok(needs.describe(ui::find_language()))
}

fn require_time(name: &str, full: &FullSize) -> Result<(), LabError> {
    let Some(budget) = full.budget.filter(|budget| *budget < full.round) else { return Ok(()) };
    let time = |time: std::time::Duration| format_duration(time.as_secs_f64());
    let what = format!("{name} in full size does not fit into --budget {}", time(budget));
    Err(LabError::usage_error(what)
        .with_cause(format!("one round of it takes {} at least", time(full.round)))
        .with_hint(format!(
            "{} have room for {} rounds; without --full-size trials are short",
            time(full.least_time()),
            full.rounds
        )))
}

fn require_room(name: &str, full: &FullSize) -> Result<(), LabError> {
    let Some((folder, free)) = full.find_full_disk() else { return Ok(()) };
    let folder = folder.display();
    let what = format!("{name} in full size does not fit on the disk of {folder}");
    Err(LabError::new(ErrorKind::Storage, what)
        .with_cause(format!(
            "its files take up to {}, and {} are free",
            format_gibibytes(full.room_bytes),
            format_gibibytes(free)
        ))
        .with_hint("--scratch FOLDER names a larger disk; without --full-size files are small"))
}
