//! Frames: the lines that the agent and the host exchange.
//!
//! A frame is one line, `@tare1 CRC32 JSON\n`, so that it survives ssh, wsl.exe, docker exec and a serial
//! console. Text before the marker on a line, and every line without one, is a note: boot messages,
//! warnings of a runtime. Nothing here does I/O: [`Splitter`] is fed bytes.

use std::collections::BTreeMap;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::batch::Batch;
use crate::build::Build;
use crate::encoding::clip_text;
use crate::facts::Facts;
use crate::failure::Failure;
use crate::session::Interference;
use crate::session::outcome::Said;

/// Version of the agent protocol; an agent of another is refused.
pub const PROTOCOL: u32 = 2;
/// Opening of every frame.
pub const MARKER: &str = "@tare1 ";
/// Longest line that is read as a frame: a full histogram fits several times.
pub const LONGEST_FRAME: usize = 1024 * 1024;
/// Bytes of a note as they are written; the rest of a longer line is dropped.
pub const LONGEST_NOTE: usize = 4096;
/// Notes kept until somebody takes them; the newest show why something failed.
pub const MOST_NOTES: usize = 64;
/// Longest request line. User-mode Linux's serial line loses bytes beyond 2 KiB in flight.
pub const LONGEST_REQUEST: usize = 2000;

/// Message of the agent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Frame {
    /// The first frame of an agent. One of an older tare has no identity.
    Hello {
        protocol: u32,
        version: String,
        #[serde(default)]
        agent: Build,
        clock_ns: u64,
        /// Signs by which the host recognises the environment.
        #[serde(default)]
        signs: Facts,
    },
    /// Answer to `Describe`: facts of the environment and of each place.
    Description { facts: Facts, places: BTreeMap<String, Facts> },
    /// Answer to `Carry`.
    Carried { failure: Option<Failure> },
    /// First frame of a trial, with the nonce of its request. From here to its last frame both clocks run over the
    /// same stretch.
    Begun { trial: u64, nonce: u64, clock_ns: u64 },
    /// Batch of a trial.
    Batch { trial: u64, batch: Batch },
    /// Output and files of the only run of a trial that keeps them.
    Said { trial: u64, said: Said },
    /// Last frame of a trial that went well.
    Done { trial: u64, interference: Interference, clock_ns: u64 },
    /// Last frame of a trial that did not.
    Failed { trial: u64, failure: Failure, clock_ns: u64 },
    /// The last frame of an agent: the end is sent in band, since some streams never deliver an end of file.
    Bye,
}

/// Writes a value as one frame line.
pub fn encode_frame<T: Serialize>(value: &T) -> String {
    let json = serde_json::to_string(value).expect("tare's own types always serialise");
    format!("{MARKER}{:08x} {json}\n", crc32fast::hash(json.as_bytes()))
}

/// Reads a frame line; None when it is not one, or is damaged.
///
/// A frame is UTF-8: bytes that are not would grow threefold as replacement characters, beyond what a record can hold.
pub fn decode_frame<T: DeserializeOwned>(line: &[u8]) -> Option<T> {
    let at = line.windows(MARKER.len()).rposition(|bytes| bytes == MARKER.as_bytes())?;
    let frame = std::str::from_utf8(&line[at + MARKER.len()..]).ok()?;
    let (sum, json) = frame.trim_end().split_once(' ')?;
    let sum = u32::from_str_radix(sum, 16).ok()?;
    if sum != crc32fast::hash(json.as_bytes()) {
        return None;
    }
    serde_json::from_str(json).ok()
}

/// A line of the stream.
#[derive(Clone, Debug, PartialEq)]
pub enum Received<T> {
    Frame(T),
    /// Any other text: kept with the trial, since it often shows why something failed.
    Note(String),
}

/// Cuts a stream of bytes into frames and notes, in bounded memory.
#[derive(Debug, Default)]
pub struct Splitter {
    pending: Vec<u8>,
    /// The current line was longer than a frame may be; its rest is dropped.
    overlong: bool,
}

impl Splitter {
    /// Takes bytes and returns the lines that they complete.
    pub fn push<T: DeserializeOwned>(&mut self, bytes: &[u8]) -> Vec<Received<T>> {
        let mut lines = Vec::new();
        for piece in bytes.split_inclusive(|&b| b == b'\n') {
            let room = LONGEST_FRAME.saturating_sub(self.pending.len());
            self.overlong |= piece.len() > room;
            self.pending.extend_from_slice(&piece[..piece.len().min(room)]);
            if piece.ends_with(b"\n") {
                let whole = !std::mem::take(&mut self.overlong);
                lines.extend(line(&std::mem::take(&mut self.pending), whole));
            }
        }
        lines
    }
}

fn line<T: DeserializeOwned>(bytes: &[u8], whole: bool) -> Option<Received<T>> {
    if whole && let Some(frame) = decode_frame(bytes) {
        return Some(Received::Frame(frame));
    }
    let text = String::from_utf8_lossy(&bytes[..bytes.len().min(LONGEST_NOTE)]);
    let note = clip_text(text.trim_end().to_owned(), LONGEST_NOTE);
    (!note.is_empty()).then_some(Received::Note(note))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bye() -> String {
        encode_frame(&Frame::Bye)
    }

    #[test]
    fn frames_are_found_among_junk() {
        let stream = format!("boot: hello\r\n[ 0.1] half a line {}{}\n", bye(), &bye()[..12]);
        let lines: Vec<Received<Frame>> = Splitter::default().push(stream.as_bytes());
        assert_eq!(
            lines,
            [
                Received::Note("boot: hello".into()),
                Received::Frame(Frame::Bye),
                Received::Note(bye()[..12].to_owned())
            ]
        );
    }

    #[test]
    fn a_frame_may_arrive_byte_by_byte() {
        let mut splitter = Splitter::default();
        let lines: Vec<Received<Frame>> = bye().bytes().flat_map(|b| splitter.push(&[b])).collect();
        assert_eq!(lines, [Received::Frame(Frame::Bye)]);
    }

    #[test]
    fn every_flipped_bit_is_noticed() {
        let frame = bye();
        for i in 0..frame.len() * 8 {
            let mut bytes = frame.clone().into_bytes();
            bytes[i / 8] ^= 1 << (i % 8);
            let lines: Vec<Received<Frame>> = Splitter::default().push(&bytes);
            // A flip of letter case inside the checksum's hex digits does not change its value.
            let same = String::from_utf8(bytes).is_ok_and(|t| t.eq_ignore_ascii_case(&frame));
            assert!(same || !lines.contains(&Received::Frame(Frame::Bye)), "bit {i} went unnoticed");
        }
    }

    #[test]
    fn an_endless_line_costs_bounded_memory() {
        let mut splitter = Splitter::default();
        for _ in 0..40 {
            assert!(splitter.push::<Frame>(&[b'x'; 64 * 1024]).is_empty());
        }
        assert!(splitter.pending.len() <= LONGEST_FRAME);
        let after: Vec<Received<Frame>> = splitter.push(format!("\n{}", bye()).as_bytes());
        assert_eq!(after.last(), Some(&Received::Frame(Frame::Bye)));
    }
}
