//! A new session with its progress on the terminal, and what ends it early.

use std::path::Path;
use std::time::Instant;

use tare_lab::session::{self, Caller, Recorded, Request};

use crate::{invocation, paths, signals, ui};

/// Runs a session to its end. After it, Ctrl-C ends the program at once.
pub fn begin(request: Request, scratch: Option<&Path>) -> anyhow::Result<Recorded> {
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
