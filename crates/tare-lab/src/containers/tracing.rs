//! Tracing: whether this process may trace those that it starts, as user-mode kernels and translators of calls do.

#![allow(unsafe_code, reason = "a child asks to be traced between fork and exec")]

use std::io;

use crate::containers::attempt::try_in_child;
use crate::provider::NotReady;

/// Checks that this process may trace its children: one asks to be traced, and exits. A filter or another tracer may refuse it.
pub fn check_tracing() -> Result<(), NotReady> {
    let refused =
        |e: io::Error| NotReady::from_reason(format!("this process may not trace others (ptrace): {e}"));
    // SAFETY: the request takes no memory, and the child ends at once.
    let ask = || match unsafe { libc::ptrace(libc::PTRACE_TRACEME, 0, 0, 0) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    };
    try_in_child(ask).map_err(refused)
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
