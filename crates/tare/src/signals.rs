//! Signals: how a user stops what runs.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGXFSZ};

use crate::failure::Exit;

/// Has a write beyond the limit on a file's size fail, as on a full disk, instead of ending the program.
///
/// The signal is caught, not ignored: programs that are started would inherit that.
pub fn survive_size_limit() -> std::io::Result<()> {
    signal_hook::flag::register(SIGXFSZ, Arc::new(AtomicBool::new(false))).map(drop)
}

/// Set by the first Ctrl-C (or TERM, or a closed terminal), for an orderly end; a second one ends the program at once.
pub fn watch() -> anyhow::Result<Arc<AtomicBool>> {
    let flag = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        signal_hook::flag::register_conditional_shutdown(
            signal,
            i32::from(Exit::Interrupted as u8),
            Arc::clone(&flag),
        )?;
        signal_hook::flag::register(signal, Arc::clone(&flag))?;
    }
    Ok(flag)
}

/// Has the first signal end the program at once, where nothing has to be put in order any more.
pub fn end_at_once(watched: &AtomicBool) {
    watched.store(true, Ordering::Relaxed);
}
