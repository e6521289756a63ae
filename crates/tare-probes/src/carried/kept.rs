//! The environment variables that the programs of a trial are started with: the same few everywhere.
//!
//! Copying the environment is part of exec, so its size must not differ from place to place. Two variables
//! cannot be left out.

use std::ffi::OsString;

/// The mark by which a session finds its processes again, and what limits the registers that the C library
/// uses: in a guest whose kernel cannot save the wide ones, a program that uses them dies.
const KEPT: [&str; 2] = ["TARE_SESSION", "GLIBC_TUNABLES"];

/// Those of this process that are kept.
///
/// The one place outside the command line that reads environment variables: every program of a trial inherits them, and
/// is started from three levels of processes that have nothing else to pass them on by.
#[allow(clippy::disallowed_methods, reason = "they are passed on unread, from process to process")]
pub fn variables() -> impl Iterator<Item = (OsString, OsString)> {
    std::env::vars_os().filter(|(name, _)| KEPT.iter().any(|kept| name == kept))
}
