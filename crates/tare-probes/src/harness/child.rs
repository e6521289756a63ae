//! A child: a forked process of the trial, which never outlives it.

#![allow(unsafe_code, reason = "fork is what is measured, and what a trial is isolated by")]

use rustix::fd::{AsRawFd, BorrowedFd};
use tare_data::failure::Failure;

use crate::harness::trial::broken_failure;
use crate::platform::die_with_parent;

/// A forked process; killed and waited for when dropped.
#[derive(Debug)]
pub struct Child {
    pid: libc::pid_t,
}

impl Child {
    /// Forks. The child closes `not_its_own`, does `work` and exits with its answer; it never returns here.
    ///
    /// File descriptors moved into `work` are closed in the parent when this returns. The trial's process has
    /// one thread when it forks, and `work` makes system calls only, so that no lock of another thread matters.
    pub fn fork(
        not_its_own: &[BorrowedFd<'_>],
        work: impl FnOnce() -> i32 + std::panic::UnwindSafe,
    ) -> Result<Child, Failure> {
        let parent = rustix::process::getpid();
        // SAFETY: see above; the child ends in `_exit`.
        match unsafe { libc::fork() } {
            -1 => Err(broken_failure("fork", std::io::Error::last_os_error())),
            0 => {
                die_with_parent(parent);
                for fd in not_its_own {
                    // SAFETY: the child's copies; nothing in the child uses them again.
                    unsafe { libc::close(fd.as_raw_fd()) };
                }
                let code = std::panic::catch_unwind(work).unwrap_or(101);
                // SAFETY: ends the process without running the parent's destructors.
                unsafe { libc::_exit(code) }
            }
            pid => Ok(Child { pid }),
        }
    }

    /// Returns its process number, as this process sees it.
    pub fn pid(&self) -> i32 {
        self.pid
    }

    /// Checks that it exists: a child that has ended and was not waited for does not.
    pub(crate) fn is_alive(&self) -> bool {
        // SAFETY: an all-zero siginfo is valid.
        let mut about: libc::siginfo_t = unsafe { std::mem::zeroed() };
        let options = libc::WEXITED | libc::WNOHANG | libc::WNOWAIT;
        // SAFETY: the struct lives through the call, which changes nothing else.
        let asked = unsafe { libc::waitid(libc::P_PID, self.pid as libc::id_t, &mut about, options) };
        // SAFETY: waitid filled the struct; the field is 0 when the child has not ended.
        asked == 0 && unsafe { about.si_pid() } == 0
    }

    /// Sends it the signal that ends it; it is waited for when dropped.
    pub fn kill(&self) {
        // SAFETY: kill touches no memory; the child is ours and has not been waited for.
        unsafe { libc::kill(self.pid, libc::SIGKILL) };
    }

    /// Waits for the child's own end, and gives its exit code; None when a signal ended it.
    pub fn wait(mut self) -> Option<i32> {
        let pid = std::mem::replace(&mut self.pid, 0);
        let status = wait_for(pid)?;
        libc::WIFEXITED(status).then(|| libc::WEXITSTATUS(status))
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        if self.pid > 0 {
            self.kill();
            wait_for(self.pid);
        }
    }
}

fn wait_for(pid: libc::pid_t) -> Option<i32> {
    let mut status = 0;
    loop {
        // SAFETY: `status` lives through the call.
        if unsafe { libc::waitpid(pid, &mut status, 0) } == pid {
            return Some(status);
        }
        if std::io::Error::last_os_error().kind() != std::io::ErrorKind::Interrupted {
            return None;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_child_answers_with_its_code() {
        assert_eq!(Child::fork(&[], || 23).unwrap().wait(), Some(23));
    }

    #[test]
    fn a_child_that_waits_for_ever_ends_with_its_owner() {
        let child = Child::fork(&[], || {
            loop {
                // SAFETY: waits for a signal.
                unsafe { libc::pause() };
            }
        })
        .unwrap();
        let pid = child.pid;
        drop(child);
        // SAFETY: signal 0 only asks whether the process is there.
        assert_eq!(unsafe { libc::kill(pid, 0) }, -1);
    }

    #[test]
    fn a_child_that_panics_does_not_come_back() {
        let child = Child::fork(&[], || std::panic::resume_unwind(Box::new(()))).unwrap();
        assert_eq!(child.wait(), Some(101));
    }
}
