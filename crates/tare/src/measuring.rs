//! A new session with its progress on the terminal and what ends it early, or what it would do.

use std::path::Path;
use std::time::Instant;

use tare_lab::session::{self, Caller, Recorded, Request};

use crate::{invocation, paths, show, signals, ui};

/// How a session is to be had.
pub struct Way<'a> {
    pub scratch: Option<&'a Path>,
    /// Only say what it would do, as JSON or as text.
    pub dry_run: bool,
    pub as_json: bool,
}

/// Runs a session to its end, after which Ctrl-C ends the program at once; or prints what it would do, and gives none.
pub fn begin(request: Request, way: &Way<'_>) -> anyhow::Result<Option<Recorded>> {
    let setting = paths::setting(way.scratch)?;
    if way.dry_run {
        let dry = session::dry_run(&request, &setting)?;
        ui::print(show::dry_run::text(dry, &[], way.as_json))?;
        return Ok(None);
    }
    let began = Instant::now();
    let interrupted = signals::watch()?;
    let caller =
        Caller { command: invocation::words(), now: &invocation::now, began, interrupted: &interrupted };
    let mut progress = ui::Progress::new();
    let recorded = session::begin(request, &setting, &caller, &mut progress);
    progress.clear();
    let recorded = recorded?;
    signals::end_at_once(&interrupted);
    Ok(Some(recorded))
}
