//! Signals: how a user stops a session.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tare_lab::error::{ErrorKind, LabError};

use crate::exit::Exit;
use crate::platform;

/// Returns a flag that the first Ctrl-C (or TERM, or a closed terminal) sets, for an orderly end; a second one ends the
/// program at once.
pub fn watch_signals() -> Result<Arc<AtomicBool>, LabError> {
    let flag = Arc::new(AtomicBool::new(false));
    platform::on_request(&flag, i32::from(Exit::Interrupted.code())).map_err(cannot_watch)?;
    Ok(flag)
}

/// Has a write beyond the size that files may have fail with an error instead of ending the program.
pub fn survive_size_limit() -> Result<(), LabError> {
    platform::survive_size_limit().map_err(cannot_watch)
}

/// Makes the first signal end the program at once, when there is nothing left to clean up.
pub fn end_at_once(watched: &AtomicBool) {
    watched.store(true, Ordering::Relaxed);
}

fn cannot_watch(cause: io::Error) -> LabError {
    LabError::new(ErrorKind::Host, "cannot watch for signals").with_cause(cause)
}
