//! Ctrl-C: the run that is under way is the last one, and what was made is taken away. A second one ends at once.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;

static ASKED: OnceLock<Arc<AtomicBool>> = OnceLock::new();

/// Exit code of a program that was interrupted, as shells have it.
pub const EXIT: i32 = 130;

/// Begins to watch.
pub fn watch() -> Result<(), String> {
    let asked = ASKED.get_or_init(Arc::default);
    for signal in [SIGINT, SIGTERM] {
        // In this order: the first one finds the flag unset.
        flag::register_conditional_shutdown(signal, EXIT, Arc::clone(asked))
            .and_then(|_| flag::register(signal, Arc::clone(asked)))
            .map_err(|e| format!("watching for Ctrl-C: {e}"))?;
    }
    Ok(())
}

/// An error once somebody wants an end.
pub fn check() -> Result<(), String> {
    match ASKED.get().is_some_and(|asked| asked.load(Ordering::Relaxed)) {
        true => Err("interrupted".into()),
        false => Ok(()),
    }
}
