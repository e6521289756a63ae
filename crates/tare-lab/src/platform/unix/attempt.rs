//! Attempts: acts that this process may or may not do, tried by a child that ends with them.

#![allow(unsafe_code, reason = "a child acts between fork and exec")]

use std::io;
use std::os::unix::process::CommandExt;
use std::process::Command;

/// Tries an act in a child, which starts no program. It may make system calls alone, and allocate nothing.
#[allow(clippy::disallowed_methods, reason = "no program is started: the child ends before")]
pub fn try_in_child(act: impl Fn() -> io::Result<()> + Send + Sync + 'static) -> io::Result<()> {
    let attempt = move || -> io::Result<()> {
        act()?;
        // SAFETY: it ends the child, and nothing of it runs any more.
        unsafe { libc::_exit(0) }
    };
    let mut command = Command::new("/");
    // SAFETY: between fork and the end only system calls are made, and nothing is allocated.
    unsafe { command.pre_exec(attempt) };
    let ended = command.spawn().and_then(|mut child| child.wait())?;
    if ended.success() { Ok(()) } else { Err(io::Error::other(ended.to_string())) }
}
