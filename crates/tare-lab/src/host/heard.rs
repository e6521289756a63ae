//! A stream of a program's output, listened to beside others: what has come so far, within a limit.

use std::io::Read;
use std::os::fd::AsFd;
use std::time::Duration;

use anstream::adapter::strip_bytes;
use rustix::event::{PollFd, PollFlags};

use crate::platform::until_ready;

/// Bytes of a stream that are kept; the rest is read and dropped.
const LONGEST_OUTPUT: usize = 64 << 10;
const READ_AT_ONCE: usize = 16 << 10;
/// Longest line that an error shows, in letters.
const LONGEST_SHOWN: usize = 300;

/// A stream until its end, and its first bytes.
pub(crate) struct Heard<S> {
    stream: Option<S>,
    pub bytes: Vec<u8>,
    /// Room for what is read next.
    piece: Box<[u8; READ_AT_ONCE]>,
}

impl<S: AsFd + Read> Heard<S> {
    /// Listens to a stream; none is one that has ended.
    pub fn from_stream(stream: Option<S>) -> Self {
        Heard { stream, bytes: Vec::new(), piece: Box::new([0; READ_AT_ONCE]) }
    }

    pub fn has_ended(&self) -> bool {
        self.stream.is_none()
    }

    /// Returns the stream for a poll until it has something to read; none after its end.
    pub fn as_polled(&self) -> Option<PollFd<'_>> {
        self.stream.as_ref().map(|open| PollFd::from_borrowed_fd(open.as_fd(), PollFlags::IN))
    }

    /// Reads what has come, without waiting; returns it.
    pub fn read_ready(&mut self) -> &[u8] {
        let Some(open) = &mut self.stream else { return &[] };
        let mut ready = [PollFd::from_borrowed_fd(open.as_fd(), PollFlags::IN)];
        if !until_ready(&mut ready, Duration::ZERO).unwrap_or(false) {
            return &[];
        }
        let read = open.read(&mut self.piece[..]).unwrap_or(0);
        if read == 0 {
            self.stream = None;
        }
        let room = LONGEST_OUTPUT.saturating_sub(self.bytes.len());
        self.bytes.extend_from_slice(&self.piece[..read.min(room)]);
        &self.piece[..read]
    }

    /// Extracts the last line that says something, without its colours.
    pub fn last_line(&self) -> Option<String> {
        let plain = strip_bytes(&self.bytes).into_vec();
        let text = String::from_utf8_lossy(&plain);
        let line =
            text.lines().rev().map(str::trim).find(|line| !line.is_empty() && !line.starts_with("hint: "))?;
        Some(line.chars().take(LONGEST_SHOWN).collect())
    }
}
