//! A link: the host's end of the stream into an environment, with a deadline on every wait.
//!
//! What the other end sends is not trusted: lines, notes and frames are bounded.

pub(crate) mod allowance;
pub(crate) mod claims;
mod held_memory;
pub(crate) mod listening;

use std::collections::VecDeque;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use tare_data::failure::{Failure, FailureKind};
use tare_data::frame::{Frame, LONGEST_REQUEST, MOST_NOTES, Received, Splitter, encode_frame};
use tare_data::request::Request;

use crate::platform::{Stream, Streams};

/// Frames taken in but not yet received. A trial sends a few; an environment that sends thousands is broken.
const MOST_FRAMES: usize = 4096;
/// Bytes that were taken in while frames waited to be received.
const MOST_WAITING_BYTES: usize = 16 << 20;
/// A wait is cut into pieces of this length, so that a signal which arrives just before it is not missed.
const WAIT_PIECE: Duration = Duration::from_millis(500);
/// For taking the request to leave.
const TO_LEAVE: Duration = Duration::from_millis(100);

/// A frame, with the host's time of its arrival.
#[derive(Clone, Debug, PartialEq)]
pub struct Arrived {
    pub frame: Frame,
    pub at: Instant,
}

/// Why nothing arrived.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LinkError {
    /// The deadline passed.
    Deadline,
    /// The stream ended.
    Ended,
    /// The user wants to stop.
    Interrupted,
    /// The other end does not keep to the protocol.
    Unruly(String),
}

impl LinkError {
    /// Converts the error to the failure of a trial.
    pub(crate) fn to_failure(&self, waited_for: &str) -> Failure {
        match self {
            LinkError::Deadline => Failure::new(FailureKind::Deadline, format!("no {waited_for} in time")),
            LinkError::Ended => {
                Failure::new(FailureKind::Died, format!("the environment ended before its {waited_for}"))
            }
            LinkError::Interrupted => Failure::new(FailureKind::Died, "interrupted"),
            LinkError::Unruly(what) => Failure::new(FailureKind::Broken, what.clone()),
        }
    }
}

/// The host's end of a stream. Standard error of the far end is read too: its lines are notes.
#[derive(Debug)]
pub struct Link<'i> {
    streams: Streams,
    splitter: Splitter,
    error_splitter: Splitter,
    frames: VecDeque<Arrived>,
    /// Bytes since no frame waited.
    waiting_bytes: usize,
    notes: VecDeque<String>,
    ended: bool,
    interrupted: &'i AtomicBool,
}

impl<'i> Link<'i> {
    /// Links the streams of an agent: it reads from `input` and writes to `output` and `errors`.
    /// `interrupted` ends every wait.
    pub fn new(input: Stream, output: Stream, errors: Option<Stream>, interrupted: &'i AtomicBool) -> Self {
        Link {
            streams: Streams::new(input, output, errors),
            splitter: Splitter::default(),
            error_splitter: Splitter::default(),
            frames: VecDeque::new(),
            waiting_bytes: 0,
            notes: VecDeque::new(),
            ended: false,
            interrupted,
        }
    }

    /// Sends a request. It fits a pipe's buffer, so a stuck reader cannot hold the host for long: poll reports
    /// when there is room.
    pub fn send(&mut self, request: &Request, deadline: Instant) -> Result<(), LinkError> {
        let line = encode_frame(request);
        if line.len() > LONGEST_REQUEST {
            return Err(LinkError::Unruly(format!("a request of {} bytes is too long", line.len())));
        }
        let mut rest = line.as_bytes();
        while !rest.is_empty() {
            self.wait(deadline, true)?;
            match self.streams.write(rest) {
                Ok(written) => rest = &rest[written..],
                Err(e) if is_to_repeat(&e) => {}
                Err(_) => return Err(LinkError::Ended),
            }
        }
        Ok(())
    }

    pub fn receive(&mut self, deadline: Instant) -> Result<Arrived, LinkError> {
        loop {
            if let Some(arrived) = self.frames.pop_front() {
                return Ok(arrived);
            }
            if self.ended {
                return Err(LinkError::Ended);
            }
            self.wait(deadline, false)?;
        }
    }

    /// Waits until a frame of one of two links is there, or a link ended; takes in whatever came.
    #[cfg(unix)]
    pub(crate) fn await_either(
        first: &mut Link<'_>,
        second: &mut Link<'_>,
        deadline: Instant,
    ) -> Result<(), LinkError> {
        loop {
            if first.interrupted.load(Ordering::Relaxed) {
                return Err(LinkError::Interrupted);
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(LinkError::Deadline);
            }
            let unruly = |e: io::Error| LinkError::Unruly(format!("poll: {e}"));
            Streams::wait_for_either([&first.streams, &second.streams], left.min(WAIT_PIECE))
                .map_err(unruly)?;
            first.take_in()?;
            second.take_in()?;
            if first.has_news() || second.has_news() {
                return Ok(());
            }
        }
    }

    #[cfg(unix)]
    fn has_news(&self) -> bool {
        self.ended || !self.frames.is_empty()
    }

    /// Takes in whatever is there already.
    #[cfg(unix)]
    fn take_in(&mut self) -> Result<(), LinkError> {
        let ready = self.streams.wait_until_ready(false, Duration::ZERO);
        let ready = ready.map_err(|e| LinkError::Unruly(format!("poll: {e}")))?;
        let Some(ready) = ready.filter(|_| !self.ended) else { return Ok(()) };
        let at = Instant::now();
        if ready.output {
            self.read_output(at)?;
        }
        if ready.errors {
            self.read_errors();
        }
        Ok(())
    }

    /// Takes a frame that has arrived.
    #[cfg(unix)]
    pub(crate) fn take_arrived(&mut self) -> Option<Arrived> {
        self.frames.pop_front()
    }

    /// Tells whether the stream has ended, and no frame of it is left.
    #[cfg(unix)]
    pub(crate) fn has_ended(&self) -> bool {
        self.ended && self.frames.is_empty()
    }

    /// Asks the agent to leave, and says how much of the patience is left for its environment to end. The streams stay open until its
    /// last frame: the port of a guest takes no bytes once nobody listens, so that the agent would wait there for ever.
    pub(crate) fn ask_to_leave(mut self, patience: Duration) -> Duration {
        // An environment that does not take the request is not waited for.
        if self.send(&Request::Leave, Instant::now() + TO_LEAVE).is_err() {
            return Duration::ZERO;
        }
        let end = Instant::now() + patience;
        while self.receive(end).is_ok_and(|arrived| arrived.frame != Frame::Bye) {}
        end.saturating_duration_since(Instant::now())
    }

    /// Takes the lines that were not frames, since the last call.
    pub fn take_notes(&mut self) -> Vec<String> {
        self.notes.drain(..).collect()
    }

    /// Puts back lines that were taken too early.
    #[cfg(unix)]
    pub(crate) fn put_back_notes(&mut self, notes: &[String]) {
        notes.iter().rev().for_each(|note| self.notes.push_front(note.clone()));
        self.notes.truncate(MOST_NOTES);
    }

    /// Waits until something can be read (and is), or until `input` has room when `to_write`.
    fn wait(&mut self, deadline: Instant, to_write: bool) -> Result<(), LinkError> {
        loop {
            if self.interrupted.load(Ordering::Relaxed) {
                return Err(LinkError::Interrupted);
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(LinkError::Deadline);
            }
            let piece = left.min(WAIT_PIECE);
            let ready = match self.streams.wait_until_ready(to_write, piece) {
                Ok(None) => continue,
                Ok(Some(ready)) => ready,
                Err(e) => return Err(LinkError::Unruly(format!("poll: {e}"))),
            };
            let at = Instant::now();
            if ready.output {
                self.read_output(at)?;
            }
            if ready.errors {
                self.read_errors();
            }
            if ready.room {
                return Ok(());
            }
            if !to_write && (!self.frames.is_empty() || self.ended) {
                return Ok(());
            }
        }
    }

    fn read_output(&mut self, at: Instant) -> Result<(), LinkError> {
        let mut bytes = [0u8; 64 * 1024];
        match self.streams.read_output(&mut bytes) {
            Ok(0) => self.ended = true,
            Ok(read) => {
                self.waiting_bytes = if self.frames.is_empty() { read } else { self.waiting_bytes + read };
                for line in self.splitter.push::<Frame>(&bytes[..read]) {
                    match line {
                        Received::Frame(frame) => self.frames.push_back(Arrived { frame, at }),
                        Received::Note(note) => self.note(note),
                    }
                }
                if self.frames.len() > MOST_FRAMES {
                    return Err(LinkError::Unruly(format!("more than {MOST_FRAMES} frames at once")));
                }
                if self.waiting_bytes > MOST_WAITING_BYTES && !self.frames.is_empty() {
                    return Err(LinkError::Unruly(format!("more than {MOST_WAITING_BYTES} bytes at once")));
                }
            }
            Err(e) if is_to_repeat(&e) => {}
            Err(_) => self.ended = true,
        }
        Ok(())
    }

    fn read_errors(&mut self) {
        let mut bytes = [0u8; 4096];
        let read = self.streams.read_errors(&mut bytes).unwrap_or(0);
        for line in self.error_splitter.push::<Frame>(&bytes[..read]) {
            // A frame on standard error is none: the protocol runs on standard output.
            if let Received::Note(note) = line {
                self.note(note);
            }
        }
    }

    fn note(&mut self, note: String) {
        if self.notes.len() == MOST_NOTES {
            self.notes.pop_front();
        }
        self.notes.push_back(note);
    }
}

/// Recognises errors after which a call is made again: a signal came, or somebody else was faster.
fn is_to_repeat(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::Interrupted | io::ErrorKind::WouldBlock)
}

#[cfg(test)]
mod tests {
    use std::os::fd::OwnedFd;

    use super::*;
    use rustix::pipe::{PipeFlags, pipe_with};
    use tare_data::frame::MARKER;

    static QUIET: AtomicBool = AtomicBool::new(false);

    fn soon() -> Instant {
        Instant::now() + Duration::from_millis(50)
    }

    /// A deadline of what comes at once, which only a defect meets.
    fn late() -> Instant {
        Instant::now() + Duration::from_secs(60)
    }

    /// Creates a link whose far end the test holds: (link, the agent's input, the agent's output). No program that another test starts
    /// keeps an end of it open.
    fn link(interrupted: &AtomicBool) -> (Link<'_>, OwnedFd, OwnedFd) {
        let (agent_reads, host_writes) = pipe_with(PipeFlags::CLOEXEC).unwrap();
        let (host_reads, agent_writes) = pipe_with(PipeFlags::CLOEXEC).unwrap();
        (Link::new(host_writes, host_reads, None, interrupted), agent_reads, agent_writes)
    }

    #[test]
    fn frames_come_out_and_the_rest_is_notes() {
        let (mut link, _reads, writes) = link(&QUIET);
        rustix::io::write(&writes, format!("booting\n{}", encode_frame(&Frame::Bye)).as_bytes()).unwrap();
        assert_eq!(link.receive(late()).unwrap().frame, Frame::Bye);
        assert_eq!(link.take_notes(), ["booting"]);
        drop(writes);
        assert_eq!(link.receive(late()), Err(LinkError::Ended));
    }

    #[test]
    fn a_silent_end_meets_the_deadline() {
        let (mut link, _reads, _writes) = link(&QUIET);
        assert_eq!(link.receive(Instant::now() + Duration::from_millis(5)), Err(LinkError::Deadline));
    }

    #[test]
    fn an_end_that_does_not_read_meets_the_deadline() {
        let (mut link, _reads, _writes) = link(&QUIET);
        let error = (0..100_000).find_map(|_| link.send(&Request::Leave, soon()).err());
        assert_eq!(error, Some(LinkError::Deadline));
    }

    #[test]
    fn a_flood_is_cut_off() {
        let (mut link, _reads, writes) = link(&QUIET);
        rustix::io::ioctl_fionbio(&writes, true).unwrap();
        let frames = encode_frame(&Frame::Bye).repeat(500);
        let mut unruly = false;
        for _ in 0..1000 {
            let _ = rustix::io::write(&writes, frames.as_bytes());
            unruly |= matches!(link.wait(soon(), true), Err(LinkError::Unruly(_)));
        }
        assert!(unruly);
    }

    #[test]
    fn a_flood_of_long_frames_is_cut_off_by_its_bytes() {
        let (mut link, _reads, writes) = link(&QUIET);
        let series = "x".repeat(900_000);
        let frame = Frame::Failed { trial: 0, failure: Failure::new(FailureKind::Died, ""), clock_ns: 0 };
        let frame = encode_frame(&frame).replacen(MARKER, &format!("{series}{MARKER}"), 1);
        std::thread::scope(|scope| {
            let flood = scope.spawn(|| {
                let mut file = std::fs::File::from(writes);
                (0..64).all(|_| std::io::Write::write_all(&mut file, frame.as_bytes()).is_ok())
            });
            let end = late();
            let cut = std::iter::repeat_with(|| link.wait(end, true)).find_map(Result::err);
            assert_eq!(cut, Some(LinkError::Unruly(format!("more than {MOST_WAITING_BYTES} bytes at once"))));
            drop(link);
            assert!(!flood.join().unwrap());
        });
    }

    #[test]
    fn the_last_frame_of_an_agent_is_read_before_the_streams_end() {
        let (link, reads, writes) = link(&QUIET);
        std::thread::scope(|scope| {
            let agent = scope.spawn(move || {
                let mut request = [0; 256];
                let length = rustix::io::read(&reads, &mut request).unwrap();
                assert!(request[..length].starts_with(MARKER.as_bytes()));
                // A host that has gone by now leaves a broken pipe.
                std::thread::sleep(Duration::from_millis(20));
                let written = rustix::io::write(&writes, encode_frame(&Frame::Bye).as_bytes());
                assert!(written.is_ok(), "{written:?}");
            });
            assert!(link.ask_to_leave(Duration::from_secs(60)) > Duration::from_secs(50));
            agent.join().unwrap();
        });
    }

    #[test]
    fn an_interruption_ends_the_wait() {
        let interrupted = AtomicBool::new(true);
        let (mut link, _reads, _writes) = link(&interrupted);
        assert_eq!(link.receive(late()), Err(LinkError::Interrupted));
    }
}
