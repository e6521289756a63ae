//! Tracing: whether this process may trace those that it starts, as user-mode kernels and translators of calls do.

#![allow(unsafe_code, reason = "a child asks to be traced between fork and exec")]

use std::io;

use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;

use crate::platform::try_in_child;
use crate::provider::NotReady;

/// Reason where children have a tracer already, as under `strace -f`, a debugger or proot, which pretends that they may have another.
const TRACED: &str = "another process traces whatever tare starts, and a process has one tracer (ptrace): start tare without it";
/// Line of the status of a process that nobody traces.
const FREE: &[u8] = b"TracerPid:\t0\n";

/// Checks that this process may trace its children: one asks to be traced, and exits. A filter or another tracer may refuse it.
pub fn check_tracing() -> Result<(), NotReady> {
    let refused = |e: io::Error| {
        NotReady::from_reason(match e.raw_os_error() {
            Some(error) if error == Errno::BUSY.raw_os_error() => TRACED.to_owned(),
            _ => format!("this process may not trace others (ptrace): {e}"),
        })
    };
    let ask = || match is_traced() {
        true => Err(Errno::BUSY.into()),
        // SAFETY: the request takes no memory, and the child ends at once.
        false => match unsafe { libc::ptrace(libc::PTRACE_TRACEME, 0, 0, 0) } {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        },
    };
    try_in_child(ask).map_err(refused)
}

/// Tells whether this process is traced, by system calls alone; not where /proc does not say.
fn is_traced() -> bool {
    let mut status = [0; 4096];
    let read = rustix::fs::open(c"/proc/self/status", OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())
        .and_then(|file| rustix::io::read(file, &mut status));
    read.is_ok_and(|length| length > 0 && !status[..length].windows(FREE.len()).any(|line| line == FREE))
}

/// Describes the process that traces this one, as a debugger or proot does, which environments may fail by.
pub fn describe_tracer() -> Option<String> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let tracer: u32 = status.lines().find_map(|line| line.strip_prefix("TracerPid:"))?.trim().parse().ok()?;
    let name = std::fs::read_to_string(format!("/proc/{tracer}/comm")).unwrap_or_default();
    (tracer != 0)
        .then(|| format!("{} (process {tracer}) traces tare itself", name.trim()).trim_start().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_test_may_trace_its_children_unless_it_is_traced() {
        let status = std::fs::read_to_string("/proc/self/status").unwrap();
        let is_free = status.contains("TracerPid:\t0") && status.contains("Seccomp:\t0");
        assert!(check_tracing().is_ok() || !is_free);
    }
}
