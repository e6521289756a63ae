//! Traced: the host itself, with tare's tracer stopping every system call.

#![allow(unsafe_code, reason = "fork, and the kernel's interface for tracing")]

use std::ffi::OsString;
use std::io;
use std::os::unix::process::CommandExt;

use rustix::process::{Signal, set_parent_process_death_signal};
use tare_probes::request_of_tracer as request;

use crate::containers::tracing;
use crate::environments::native;
use crate::error::add_error_context;
use crate::provider::prelude::*;

/// First argument that makes the program run and trace the following command and all its children.
pub const ENTER: &str = "enter-traced";

/// Exit code when the program could not be traced.
const NOT_TRACED: i32 = 126;
/// Signal that the kernel reports at a system call: a bit is added to SIGTRAP to distinguish it from a real
/// signal.
const AT_CALL: i32 = libc::SIGTRAP | 0x80;

pub static PROVIDER: fn() -> Provider = provider! {
    name: "traced",
    instance: None,
    parse: |_| Ok(Box::new(Traced)),
    summary: "the host itself, with every system call stopped twice by tare's own tracer",
    short_description: "the host, stopped at system calls",
    stands_for: "whatever stops a program at its system calls: ptrace sandboxes, user-mode Linux, gVisor on its ptrace \
                 platform, strace and debuggers. Two stops a call, each with two context switches, are the shape of \
                 system call translation where the translator is a process. Nothing is translated: computing, memory \
                 and the work of the calls themselves are the host's.",
    options: &[],
    descends: true,
    kernel: KernelFacts::TRACED,
    roots: Roots::Any,
    by_default: ByDefault { tried: &["traced"], ranked: &[], stays: false },
    footprint: Footprint::from_starts(
        "the agent, as a plain process that tare traces with all that it starts",
    ),
};

struct Traced;

impl Environment for Traced {
    fn proof(&self) -> Proof {
        Proof::Tracer("traced")
    }

    fn is_machine(&self) -> bool {
        true
    }

    fn check_ready(&self, _: &Programs) -> Result<Ready, NotReady> {
        // Yama's strictest setting forbids it to everybody but root's helpers; a parent may otherwise trace its children.
        let scope = std::fs::read_to_string("/proc/sys/kernel/yama/ptrace_scope").unwrap_or_default();
        if scope.trim() == "3" {
            return Err(NotReady::from_reason(
                "this kernel allows no tracing until the next reboot (yama/ptrace_scope = 3)",
            ));
        }
        tracing::check_tracing()?;
        Ok(Ready::new(Facts::default(), |workspace| native::enter_by(workspace, &[ENTER])))
    }
}

/// Starts a program and traces it. For the hidden verb [`ENTER`] alone: the process must have no other thread.
pub fn enter_main(words: &[OsString]) -> i32 {
    start(words).and_then(trace).unwrap_or_else(|e| {
        eprintln!("traced: {e}");
        NOT_TRACED
    })
}

/// Starts the program, and lets it run on when it is traced.
fn start(words: &[OsString]) -> io::Result<libc::pid_t> {
    let [program, arguments @ ..] = words else { return Err(io::Error::other("no program was named")) };
    let (ready, mut go) = io::pipe()?;
    // Before the program can do anything: what traces it dies with its own parent, and takes the traced along.
    set_parent_process_death_signal(Some(Signal::KILL))?;
    // SAFETY: with one thread, the child of a fork may do whatever its parent may.
    match unsafe { libc::fork() } {
        -1 => Err(add_error_context("making the first process", io::Error::last_os_error())),
        0 => {
            drop(go);
            // Without the word it is not traced, and must not run.
            if io::Read::read(&mut &ready, &mut [0]).unwrap_or(0) == 0 {
                std::process::exit(NOT_TRACED)
            }
            let error = programs::command(&Found::called_here(program)).args(arguments).exec();
            eprintln!("traced: {}: {error}", program.display());
            std::process::exit(NOT_TRACED)
        }
        child => {
            let options = libc::PTRACE_O_EXITKILL
                | libc::PTRACE_O_TRACESYSGOOD
                | libc::PTRACE_O_TRACEFORK
                | libc::PTRACE_O_TRACEVFORK
                | libc::PTRACE_O_TRACECLONE;
            request(libc::PTRACE_SEIZE, child, options).map_err(|e| add_error_context("ptrace", e))?;
            // The stop from which it goes on call by call.
            request(libc::PTRACE_INTERRUPT, child, 0).map_err(|e| add_error_context("stopping it", e))?;
            io::Write::write_all(&mut go, &[0])?;
            drop(go);
            // Standard input and output are the program's alone: its end must be seen as their end.
            for stream in 0..2 {
                // SAFETY: nothing in this process uses the descriptor any more.
                unsafe { libc::close(stream) };
            }
            Ok(child)
        }
    }
}

/// Lets everything run from one stop to the next until the first process has ended; its exit code.
fn trace(first: libc::pid_t) -> io::Result<i32> {
    loop {
        let mut status = 0;
        // SAFETY: `status` lives through the call.
        let pid = unsafe { libc::waitpid(-1, &mut status, libc::__WALL) };
        if pid < 0 {
            let error = io::Error::last_os_error();
            if error.kind() == io::ErrorKind::Interrupted {
                continue;
            }
            return Err(add_error_context("waiting for it", error));
        }
        if libc::WIFSTOPPED(status) {
            let (how, signal) = onwards(libc::WSTOPSIG(status), status >> 16);
            // A task that was killed meanwhile is waited for next.
            let _ = request(how, pid, signal);
        } else if pid == first {
            // As shells do: 128 and the number of the signal.
            let code = libc::WIFEXITED(status).then(|| libc::WEXITSTATUS(status));
            return Ok(code.unwrap_or_else(|| 128 + libc::WTERMSIG(status)));
        }
    }
}

/// Chooses how a stopped process continues, and with which signal.
fn onwards(signal: i32, event: i32) -> (libc::c_uint, i32) {
    let stops = [libc::SIGSTOP, libc::SIGTSTP, libc::SIGTTIN, libc::SIGTTOU];
    match (signal, event) {
        // Stopped by a signal that stops its group: it stays so until it is continued.
        (signal, libc::PTRACE_EVENT_STOP) if stops.contains(&signal) => (libc::PTRACE_LISTEN, 0),
        (AT_CALL, _) => (libc::PTRACE_SYSCALL, 0),
        (signal, 0) => (libc::PTRACE_SYSCALL, signal),
        (_, _) => (libc::PTRACE_SYSCALL, 0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_go_on_and_signals_arrive() {
        assert_eq!(onwards(AT_CALL, 0), (libc::PTRACE_SYSCALL, 0));
        assert_eq!(onwards(libc::SIGTRAP, libc::PTRACE_EVENT_CLONE), (libc::PTRACE_SYSCALL, 0));
        assert_eq!(onwards(libc::SIGTERM, 0), (libc::PTRACE_SYSCALL, libc::SIGTERM));
        assert_eq!(
            onwards(libc::SIGTRAP, 0),
            (libc::PTRACE_SYSCALL, libc::SIGTRAP),
            "somebody's own breakpoint"
        );
        assert_eq!(onwards(libc::SIGTRAP, libc::PTRACE_EVENT_STOP), (libc::PTRACE_SYSCALL, 0));
        assert_eq!(onwards(libc::SIGTSTP, libc::PTRACE_EVENT_STOP), (libc::PTRACE_LISTEN, 0));
    }
}
