//! Ctrl-C: the run that is under way is the last one, and its remains are removed. A second one ends at once.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use signal_hook::consts::{SIGINT, SIGTERM};

static INTERRUPTED: OnceLock<Arc<AtomicBool>> = OnceLock::new();

/// Exit code of a program that was interrupted, as shells have it.
pub const EXIT: i32 = 130;

/// Begins to watch.
pub fn watch_signals() -> Result<(), String> {
    let flag = INTERRUPTED.get_or_init(Arc::default);
    for signal in [SIGINT, SIGTERM] {
        // In this order: the first one finds the flag unset.
        signal_hook::flag::register_conditional_shutdown(signal, EXIT, Arc::clone(flag))
            .and_then(|_| signal_hook::flag::register(signal, Arc::clone(flag)))
            .map_err(|e| format!("watching for Ctrl-C: {e}"))?;
    }
    Ok(())
}

/// Fails once the program was interrupted.
pub fn check_interrupted() -> Result<(), String> {
    match INTERRUPTED.get().is_some_and(|flag| flag.load(Ordering::Relaxed)) {
        true => Err("interrupted".into()),
        false => Ok(()),
    }
}
