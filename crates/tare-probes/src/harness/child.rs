//! A child: a forked process of the trial, which never outlives it.

#![allow(unsafe_code, reason = "fork is what is measured, and what a trial is isolated by")]

use rustix::fd::{AsRawFd, BorrowedFd};
use tare_data::failure::Failure;

use crate::harness::stopwatch::now_ns;
use crate::harness::trial::broken_failure;
use crate::platform::die_with_parent;

/// State of a child when somebody stopped waiting for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ending {
    Code(i32),
    Signal(i32),
    /// It has not ended, and may never: a process that waits in the kernel cannot be killed.
    Running,
}

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

    /// Sends the child the signal that ends it. Dropping this waits for the child.
    pub fn kill(&self) {
        // SAFETY: kill touches no memory; the child is ours and has not been waited for.
        unsafe { libc::kill(self.pid, libc::SIGKILL) };
    }

    /// Waits for the child's own end, and returns its exit code; None when a signal ended it.
    pub fn wait(mut self) -> Option<i32> {
        let pid = std::mem::replace(&mut self.pid, 0);
        let status = wait_for(pid)?;
        libc::WIFEXITED(status).then(|| libc::WEXITSTATUS(status))
    }
}

/// Time between two looks at a child that may not end.
const LOOK_NS: u64 = 200_000;

impl Child {
    /// Waits until it ends or the time is up, and leaves it alone from then on.
    pub(crate) fn wait_until(self, ends_ns: u64) -> Ending {
        let ending = self.look_until(ends_ns);
        std::mem::forget(self);
        ending
    }

    /// Asks it to end, and kills it after this time if it does not; leaves it alone after as much again.
    ///
    /// A process that is killed while it forks below PRoot 5.1 leaves a child that stays stopped, and for which PRoot waits for ever. A
    /// signal that can be refused waits until it has forked.
    pub(crate) fn end_within(self, each_ns: u64) -> Ending {
        // SAFETY: kill touches no memory; the child is ours and has not been waited for.
        unsafe { libc::kill(self.pid, libc::SIGTERM) };
        let asked = self.look_until(now_ns() + each_ns);
        if asked == Ending::Running {
            self.kill();
            return self.wait_until(now_ns() + each_ns);
        }
        std::mem::forget(self);
        asked
    }

    /// Looks until it has ended or the time is up.
    fn look_until(&self, ends_ns: u64) -> Ending {
        loop {
            let mut status = 0;
            // SAFETY: `status` lives through the call.
            let waited = unsafe { libc::waitpid(self.pid, &mut status, libc::WNOHANG) };
            match waited {
                // This process traces it, and a signal came: it has not ended.
                _ if waited == self.pid && libc::WIFSTOPPED(status) => {}
                _ if waited == self.pid && libc::WIFSIGNALED(status) => {
                    return Ending::Signal(libc::WTERMSIG(status));
                }
                _ if waited == self.pid => return Ending::Code(libc::WEXITSTATUS(status)),
                // Somebody who ignores SIGCHLD has no children to wait for.
                -1 => return Ending::Code(0),
                _ if now_ns() >= ends_ns => return Ending::Running,
                _ => std::thread::sleep(std::time::Duration::from_nanos(LOOK_NS)),
            }
        }
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
    use rustix::fd::AsFd;

    use super::*;
    use crate::probes::tests::take_turn;

    #[test]
    fn a_child_answers_with_its_code() {
        let _turn = take_turn();
        assert_eq!(Child::fork(&[], || 23).unwrap().wait(), Some(23));
    }

    #[test]
    fn a_child_that_waits_for_ever_ends_with_its_owner() {
        let _turn = take_turn();
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
    fn a_child_is_waited_for_no_longer_than_it_may_take() {
        let _turn = take_turn();
        let sleeps = || {
            std::thread::sleep(std::time::Duration::from_secs(600));
            0
        };
        let child = Child::fork(&[], sleeps).unwrap();
        let pid = child.pid;
        assert_eq!(child.wait_until(now_ns()), Ending::Running);
        // SAFETY: the process is ours, and nobody has waited for it.
        unsafe { libc::kill(pid, libc::SIGKILL) };
        assert_eq!(Child { pid }.wait_until(u64::MAX), Ending::Signal(libc::SIGKILL));
        assert_eq!(Child::fork(&[], || 23).unwrap().wait_until(u64::MAX), Ending::Code(23));
    }

    #[test]
    fn a_child_is_asked_to_end_before_it_is_killed() {
        let _turn = take_turn();
        let end = |waits: bool| {
            let (ready, told) = std::io::pipe().unwrap();
            let child = Child::fork(&[ready.as_fd()], move || {
                let (mut signals, mut came) = (std::mem::MaybeUninit::uninit(), 0);
                // SAFETY: the set is filled before it is read, and both live through the calls.
                unsafe {
                    libc::sigemptyset(signals.as_mut_ptr());
                    libc::sigaddset(signals.as_mut_ptr(), libc::SIGTERM);
                    libc::sigprocmask(libc::SIG_BLOCK, signals.as_ptr(), std::ptr::null_mut());
                    let _ = std::io::Write::write(&mut &told, &[1]);
                    if waits {
                        libc::sigwait(signals.as_ptr(), &mut came)
                    } else {
                        libc::pause()
                    };
                }
                came
            });
            let child = child.unwrap();
            assert_eq!(std::io::Read::read(&mut &ready, &mut [0]).unwrap(), 1);
            // A child that is killed has as long again: only a busy machine takes more than an instant.
            child.end_within(if waits { 60_000_000_000 } else { 2_000_000_000 })
        };
        assert_eq!(end(true), Ending::Code(libc::SIGTERM));
        assert_eq!(end(false), Ending::Signal(libc::SIGKILL));
    }

    #[test]
    fn a_child_that_panics_does_not_come_back() {
        let _turn = take_turn();
        let child = Child::fork(&[], || std::panic::resume_unwind(Box::new(()))).unwrap();
        assert_eq!(child.wait(), Some(101));
    }
}
