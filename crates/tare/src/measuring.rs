//! A new session with its progress on the terminal and what ends it early, or what it would do.

use std::path::Path;
use std::time::Instant;

use tare_data::session::Session;
use tare_lab::asked::{Recorded, Request};
use tare_lab::environments::PROVIDERS;
use tare_lab::error::LabError;
use tare_lab::provider::Provider;
use tare_lab::session::{self, Caller};

use crate::{invocation, paths, show, signals, ui};

/// How a session is to be had.
pub struct Way<'a> {
    pub scratch: Option<&'a Path>,
    /// Only say what it would do, as JSON or as text.
    pub dry_run: bool,
    pub as_json: bool,
}

/// What sessions measure in.
pub fn environments() -> Result<&'static [&'static Provider], LabError> {
    Ok(PROVIDERS)
}

/// Runs a session to its end, after which Ctrl-C ends the program at once; or prints what it would do, and gives none.
pub fn begin(request: Request, way: &Way<'_>) -> anyhow::Result<Option<Recorded>> {
    if way.dry_run {
        let dry = session::dry_run(&request, &paths::setting(way.scratch)?)?;
        ui::print(show::dry_run::text(dry, &[], way.as_json))?;
        return Ok(None);
    }
    to_its_end(request, way.scratch).map(Some)
}

/// Runs a session to its end.
pub fn to_its_end(request: Request, scratch: Option<&Path>) -> anyhow::Result<Recorded> {
    let began = Instant::now();
    let interrupted = signals::watch()?;
    let setting = paths::setting(scratch)?;
    let caller =
        Caller { command: invocation::words(), now: &invocation::now, began, interrupted: &interrupted };
    let mut progress = ui::Progress::new();
    let recorded = session::begin(request, &setting, &caller, &mut progress);
    progress.clear();
    let recorded = recorded?;
    signals::end_at_once(&interrupted);
    Ok(recorded)
}

/// The same where nothing of it is kept; it is recorded in the scratch folder.
pub fn unkept(request: Request, scratch: Option<&Path>) -> anyhow::Result<Session> {
    let folder = tempfile::tempdir_in(paths::setting(scratch)?.scratch)?;
    let recorded = to_its_end(Request { record: folder.path().join("pilot.tare"), ..request }, scratch)?;
    Ok(tare_record::read(&recorded.record).map_err(LabError::from)?.session)
}
