//! Signals: how a user stops what runs.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::failure::Exit;
use crate::platform;

/// Set by the first Ctrl-C (or TERM, or a closed terminal), for an orderly end; a second one ends the program at once.
pub fn watch() -> anyhow::Result<Arc<AtomicBool>> {
    let flag = Arc::new(AtomicBool::new(false));
    platform::on_request(&flag, i32::from(Exit::Interrupted as u8))?;
    Ok(flag)
}

/// Has the first signal end the program at once, where nothing has to be put in order any more.
pub fn end_at_once(watched: &AtomicBool) {
    watched.store(true, Ordering::Relaxed);
}
