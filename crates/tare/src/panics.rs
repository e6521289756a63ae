//! Panics: a bug in tare, printed with the details that are needed to fix it.
//!
//! Uses only the standard library: a test builds this file into a small program with the release profile.

use std::backtrace::Backtrace;
use std::io::Write;

/// Prints every panic with its place and a backtrace, whatever RUST_BACKTRACE says.
pub fn print_backtraces() {
    std::panic::set_hook(Box::new(|panic| {
        let backtrace = Backtrace::force_capture();
        // Standard error may be closed; then there is nowhere to report that.
        let _ = writeln!(
            std::io::stderr(),
            "{panic}\nThis is a defect of tare. Please report it with:\n{backtrace}"
        );
    }));
}
