//! Streams of an agent, and the wait for any of them until a deadline.

use std::io;
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

pub type Stream = OwnedFd;

/// Streams of an agent: its input, its output, and its errors until they end.
#[derive(Debug)]
pub(crate) struct Streams {
    input: Stream,
    output: Stream,
    errors: Option<Stream>,
}

/// Streams that can be used now without waiting.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Ready {
    pub(crate) room: bool,
    pub(crate) output: bool,
    pub(crate) errors: bool,
}

impl Streams {
    pub(crate) fn new(input: Stream, output: Stream, errors: Option<Stream>) -> Streams {
        Streams { input, output, errors }
    }

    /// Waits until something can be read, or written where that is asked for; none where nothing could in this time, or a
    /// signal came.
    pub(crate) fn wait_until_ready(&mut self, to_write: bool, wait: Duration) -> io::Result<Option<Ready>> {
        let mut fds = vec![PollFd::new(&self.output, PollFlags::IN)];
        if to_write {
            fds.push(PollFd::new(&self.input, PollFlags::OUT));
        }
        if let Some(errors) = &self.errors {
            fds.push(PollFd::new(errors, PollFlags::IN));
        }
        if !until_ready_or_signal(&mut fds, wait)? {
            return Ok(None);
        }
        let is_ready: Vec<bool> = fds.iter().map(|fd| !fd.revents().is_empty()).collect();
        let errors = self.errors.is_some() && is_ready[is_ready.len() - 1];
        Ok(Some(Ready { output: is_ready[0], room: to_write && is_ready[1], errors }))
    }

    /// Waits until something can be read of one of two agents' streams; false where nothing could in this time, or a signal came.
    pub(crate) fn wait_for_either(both: [&Streams; 2], wait: Duration) -> io::Result<bool> {
        let mut descriptors = Vec::with_capacity(4);
        for streams in both {
            descriptors.push(PollFd::new(&streams.output, PollFlags::IN));
            descriptors.extend(streams.errors.iter().map(|errors| PollFd::new(errors, PollFlags::IN)));
        }
        until_ready_or_signal(&mut descriptors, wait)
    }

    /// Writes as much as there is room for.
    pub(crate) fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        Ok(rustix::io::write(&self.input, bytes)?)
    }

    /// Reads the agent's output; nothing at its end.
    pub(crate) fn read_output(&mut self, into: &mut [u8]) -> io::Result<usize> {
        Ok(rustix::io::read(&self.output, into)?)
    }

    /// Reads the agent's errors, which are not waited for any more after their end.
    pub(crate) fn read_errors(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let Some(errors) = &self.errors else { return Ok(0) };
        match rustix::io::read(errors, into) {
            Err(e @ (Errno::INTR | Errno::AGAIN)) => Err(e.into()),
            Ok(0) | Err(_) => {
                self.errors = None;
                Ok(0)
            }
            Ok(read) => Ok(read),
        }
    }
}

/// Waits until one of the descriptors is ready; false when the time is up first. A signal does not end the wait.
pub(crate) fn until_ready(descriptors: &mut [PollFd<'_>], wait: Duration) -> io::Result<bool> {
    let end = Instant::now() + wait;
    loop {
        let left = end.saturating_duration_since(Instant::now());
        if until_ready_or_signal(descriptors, left)? {
            return Ok(true);
        }
        if left.is_zero() {
            return Ok(false);
        }
    }
}

/// Waits until a stream is ready or a signal arrives, for callers that check a flag then.
fn until_ready_or_signal(descriptors: &mut [PollFd<'_>], wait: Duration) -> io::Result<bool> {
    let wait = Timespec { tv_sec: wait.as_secs() as i64, tv_nsec: wait.subsec_nanos().into() };
    match poll(descriptors, Some(&wait)) {
        Ok(ready) => Ok(ready > 0),
        Err(Errno::INTR) => Ok(false),
        Err(e) => Err(e.into()),
    }
}

#[cfg(test)]
mod tests {
    use rustix::pipe::pipe;

    use super::*;

    #[test]
    fn a_wait_ends_when_something_is_there_or_the_time_is_up() {
        let (reader, writer) = pipe().unwrap();
        let wait =
            |ms| until_ready(&mut [PollFd::new(&reader, PollFlags::IN)], Duration::from_millis(ms)).unwrap();
        assert!(!wait(1));
        rustix::io::write(&writer, b"x").unwrap();
        assert!(wait(10_000));
    }
}
