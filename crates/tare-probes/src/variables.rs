//! The environment variables that the programs of a trial are started with: the same few everywhere.
//!
//! Copying the environment is part of exec, so its size must not differ from place to place. Two variables
//! cannot be left out.

use std::ffi::OsString;

/// The mark by which a session finds its processes again, and what limits the registers that the C library
/// uses: in a guest whose kernel cannot save the wide ones, a program that uses them dies.
///
/// Without its folder Windows opens no socket for a program.
const INHERITED: &[&str] =
    if cfg!(windows) { &["TARE_SESSION", "SystemRoot"] } else { &["TARE_SESSION", "GLIBC_TUNABLES"] };

/// Returns the variables of this process that its children get.
///
/// The one place outside the command line that reads environment variables: agents, trials, applets and
/// workloads all start programs, and nothing but the environment connects them.
#[allow(clippy::disallowed_methods, reason = "they are passed on unread, from process to process")]
pub(crate) fn inherited_variables() -> impl Iterator<Item = (OsString, OsString)> {
    std::env::vars_os().filter(|(name, _)| INHERITED.iter().any(|inherited| name == inherited))
}
