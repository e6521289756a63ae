//! The output of a command: read while it runs, so that it never waits for a reader, of which the end is kept.

#![allow(unsafe_code, reason = "a process is ended by its number")]

use std::collections::VecDeque;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags};

use crate::harness::readiness::wait_ready;

/// Bytes that are kept: some screens, from which a person sees why a command failed.
const MOST_KEPT: usize = 16 * 1024;
/// A wait is cut into pieces of this length: what a process that stays behind holds open is given up then, and
/// a command that runs for seconds is woken beside not even a hundred times.
const PIECE: Duration = Duration::from_millis(100);

/// The end of an output.
#[derive(Debug, Default)]
pub struct OutputTail(VecDeque<u8>);

impl OutputTail {
    fn add(&mut self, bytes: &[u8]) {
        self.0.extend(bytes);
        let over = self.0.len().saturating_sub(MOST_KEPT);
        self.0.drain(..over);
    }

    /// Its lines that are not empty; the first may be torn.
    pub fn lines(&self) -> Vec<String> {
        let bytes: Vec<u8> = self.0.iter().copied().collect();
        let text = String::from_utf8_lossy(&bytes);
        text.lines().map(str::trim_end).filter(|line| !line.is_empty()).map(str::to_owned).collect()
    }

    pub fn last_line(&self) -> Option<String> {
        self.lines().pop()
    }
}

/// A thread that reads a command's output and ends a command that takes too long.
#[derive(Debug)]
pub struct Watcher {
    /// Process number of the command; 0 before there is one.
    pid: Arc<AtomicU32>,
    ended: Arc<AtomicBool>,
    thread: JoinHandle<(OutputTail, bool)>,
}

impl Watcher {
    /// Begins to read. What has not ended after `timeout` is killed.
    pub fn start(reader: OwnedFd, timeout: Duration) -> Watcher {
        let (pid, ended) = (Arc::new(AtomicU32::new(0)), Arc::new(AtomicBool::new(false)));
        let (its_pid, its_ended) = (Arc::clone(&pid), Arc::clone(&ended));
        let until = Instant::now() + timeout;
        let thread = std::thread::spawn(move || read_to_end(&reader, until, &its_pid, &its_ended));
        Watcher { pid, ended, thread }
    }

    /// Names the process that is watched. It is killed only while nobody has waited for it.
    pub fn watch(&self, pid: u32) {
        self.pid.store(pid, Ordering::Release);
    }

    /// The process has ended and was waited for: gives the end of its output, and whether it was killed.
    pub fn stop(self) -> (OutputTail, bool) {
        self.pid.store(0, Ordering::Release);
        self.ended.store(true, Ordering::Release);
        self.thread.thread().unpark();
        self.thread.join().unwrap_or_default()
    }
}

fn read_to_end(reader: &OwnedFd, until: Instant, pid: &AtomicU32, ended: &AtomicBool) -> (OutputTail, bool) {
    let (mut kept, mut overdue, mut open) = (OutputTail::default(), false, true);
    let mut bytes = [0u8; 4096];
    loop {
        let over = ended.load(Ordering::Acquire);
        if !open && over {
            return (kept, overdue);
        }
        if Instant::now() >= until && !overdue {
            let pid = pid.load(Ordering::Acquire);
            overdue = pid != 0;
            if overdue {
                // SAFETY: kill touches no memory. A process that was waited for at this moment has been replaced
                // by no other: numbers are given out in turn, and this one is hardly a moment old.
                unsafe { libc::kill(pid as libc::pid_t, libc::SIGKILL) };
            }
        }
        if !open {
            std::thread::park_timeout(PIECE);
            continue;
        }
        let wait = if over { Duration::ZERO } else { PIECE };
        match wait_ready(&mut [PollFd::new(reader, PollFlags::IN)], wait) {
            Ok(0) if over => return (kept, overdue),
            Ok(0) | Err(_) => {}
            Ok(_) => match rustix::io::read(reader, &mut bytes[..]) {
                Ok(0) => open = false,
                Ok(read) => kept.add(&bytes[..read]),
                Err(_) => open = false,
            },
        }
    }
}
