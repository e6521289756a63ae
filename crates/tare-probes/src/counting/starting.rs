//! A program that is to be counted, held before it begins.

#![allow(unsafe_code, reason = "fork")]

use std::ffi::OsString;
use std::io::{self, PipeWriter};
use std::os::unix::process::CommandExt;
use std::path::Path;

use rustix::process::Pid;

/// Exit code where the program could not be counted.
pub(super) const NOT_TRACED: i32 = 126;

/// A process that becomes the program when `go` is dropped.
pub(super) struct Started {
    pub pid: Pid,
    pub go: PipeWriter,
}

pub(super) fn start_held_program(program: &Path, words: &[OsString]) -> io::Result<Started> {
    let (ready, go) = io::pipe()?;
    // SAFETY: with one thread, the child of a fork may do whatever its parent may.
    match unsafe { libc::fork() } {
        0 => {
            drop(go);
            let _ = io::Read::read(&mut &ready, &mut [0]);
            let mut command = crate::starting::command(program);
            if let [name, arguments @ ..] = words {
                command.arg0(name).args(arguments);
            }
            let error = command.exec();
            eprintln!("counting: {}: {error}", program.display());
            std::process::exit(NOT_TRACED)
        }
        child => match Pid::from_raw(child) {
            Some(pid) if child > 0 => Ok(Started { pid, go }),
            _ => Err(io::Error::last_os_error()),
        },
    }
}
