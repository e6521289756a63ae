//! Output of a program until it ends, or until its time is up: then it is killed with all that it started.

use std::io::{self, Read};
use std::os::fd::AsFd;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus};
use std::thread;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags};
use rustix::process::{Pid, Signal, kill_process_group};

use super::streams::until_ready;

/// Pause between two looks at a process that has closed its output but not ended.
const LOOK_AGAIN: Duration = Duration::from_millis(1);

/// Exit of a program, if it ended in time, and its output.
#[derive(Debug, Default)]
pub(crate) struct Gathered {
    pub(crate) status: Option<ExitStatus>,
    pub(crate) output: Vec<u8>,
    pub(crate) errors: Vec<u8>,
}

/// Has a program lead a group of processes, in which it is found with all that it starts.
pub(crate) fn set_process_group(command: &mut Command) {
    command.process_group(0);
}

/// Reads until it ends, and of either stream at most this; what is more is dropped.
pub(crate) fn gather_output(child: &mut Child, end: Instant, most: usize) -> io::Result<Gathered> {
    let (mut out, mut err) = (child.stdout.take(), child.stderr.take());
    let mut gathered = Gathered::default();
    loop {
        if out.is_none() && err.is_none() {
            gathered.status = child.try_wait()?;
            if gathered.status.is_some() {
                return Ok(gathered);
            }
            thread::sleep(LOOK_AGAIN);
        }
        let left = end.saturating_duration_since(Instant::now());
        if left.is_zero() {
            if let Some(group) = Pid::from_raw(child.id() as i32) {
                let _ = kill_process_group(group, Signal::KILL);
            }
            child.wait()?;
            return Ok(gathered);
        }
        wait_for_bytes(out.as_ref(), err.as_ref(), left)?;
        take(&mut out, &mut gathered.output, most);
        take(&mut err, &mut gathered.errors, most);
    }
}

fn wait_for_bytes(out: Option<&impl AsFd>, err: Option<&impl AsFd>, left: Duration) -> io::Result<()> {
    let mut pipes: Vec<PollFd> = Vec::with_capacity(2);
    pipes.extend(out.map(|pipe| PollFd::from_borrowed_fd(pipe.as_fd(), PollFlags::IN)));
    pipes.extend(err.map(|pipe| PollFd::from_borrowed_fd(pipe.as_fd(), PollFlags::IN)));
    if pipes.is_empty() {
        return Ok(());
    }
    until_ready(&mut pipes, left).map(drop)
}

/// Reads what a pipe has now; at its end the pipe is dropped.
fn take<P: AsFd + Read>(pipe: &mut Option<P>, bytes: &mut Vec<u8>, most: usize) {
    let Some(reader) = pipe else { return };
    let mut ready = [PollFd::new(reader, PollFlags::IN)];
    if !until_ready(&mut ready, Duration::ZERO).unwrap_or(false) {
        return;
    }
    let mut buffer = [0u8; 4096];
    match reader.read(&mut buffer) {
        Ok(0) | Err(_) => *pipe = None,
        Ok(read) => bytes.extend_from_slice(&buffer[..read.min(most.saturating_sub(bytes.len()))]),
    }
}
