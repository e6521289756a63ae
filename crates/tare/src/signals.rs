//! Signals: how a user stops a session.

use std::io;
use std::ops::Deref;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tare_lab::error::{ErrorKind, LabError};

use crate::exit::Exit;
use crate::platform;

/// Requests to end that were watched for since some time; read as a flag that the first one sets.
#[derive(Debug)]
pub struct Watched {
    asked: Arc<AtomicBool>,
    /// True when nothing is left to clean up.
    ends: Arc<AtomicBool>,
}

impl Deref for Watched {
    type Target = AtomicBool;

    fn deref(&self) -> &AtomicBool {
        &self.asked
    }
}

/// Watches for Ctrl-C, TERM and a closed terminal, for an orderly end. Ctrl-C after any of them ends the program at once.
pub fn watch_signals() -> Result<Watched, LabError> {
    let watched = Watched { asked: Arc::default(), ends: Arc::default() };
    let code = i32::from(Exit::Interrupted.code());
    platform::on_request(&watched.asked, &watched.ends, code).map_err(cannot_watch)?;
    Ok(watched)
}

/// Has a write beyond the size that files may have fail with an error instead of ending the program.
pub fn survive_size_limit() -> Result<(), LabError> {
    platform::survive_size_limit().map_err(cannot_watch)
}

/// Makes the first signal end the program at once, when there is nothing left to clean up.
pub fn end_at_once(watched: &Watched) {
    watched.asked.store(true, Ordering::Relaxed);
    watched.ends.store(true, Ordering::Relaxed);
}

fn cannot_watch(cause: io::Error) -> LabError {
    LabError::new(ErrorKind::Host, "cannot watch for signals").with_cause(cause)
}
