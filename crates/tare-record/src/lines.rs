//! The lines of a record: each in bounded memory, good or bad.

use std::io::{self, BufRead, Read};
use std::ops::Range;

use crate::entry::LONGEST_WRITTEN;

/// Longest line that is read; every line that is written is shorter.
pub(crate) const LONGEST_LINE: usize = 8 << 20;
const _: () = assert!(LONGEST_WRITTEN < LONGEST_LINE);

/// A good line: where it is, and the bad ones before it.
pub(crate) struct Passed {
    /// Number, from 1.
    pub(crate) number: u64,
    /// Its first byte, and the one after its last.
    pub(crate) bytes: Range<u64>,
    pub(crate) bad: Option<Bad>,
}

/// Lines that cannot be read.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bad {
    /// Number of the first, from 1.
    pub(crate) first: u64,
    pub(crate) lines: u64,
}

/// The lines of a record, each in bounded memory, and where the last good one ended.
pub(crate) struct Lines<R> {
    reader: R,
    line: Vec<u8>,
    /// Number of the last line that was read, from 1.
    pub(crate) number: u64,
    /// Bytes up to the beginning and the end of the line that was read last.
    begin: u64,
    bytes: u64,
    /// Bytes and lines up to the end of the last good line.
    pub(crate) whole_bytes: u64,
    pub(crate) whole_lines: u64,
    /// Bad lines since the last good one.
    pub(crate) bad: Option<Bad>,
}

impl<R: BufRead> Lines<R> {
    /// Reads lines from here on; those bytes and lines were read before.
    pub(crate) fn new(reader: R, bytes: u64, number: u64) -> Self {
        let (line, bad) = Default::default();
        Lines { reader, line, number, begin: bytes, bytes, whole_bytes: bytes, whole_lines: number, bad }
    }

    /// Reads the next line with its end, unless the file ends before it. One that is too long comes empty.
    pub(crate) fn next(&mut self) -> io::Result<Option<&[u8]>> {
        self.line.clear();
        let mut read = (&mut self.reader).take(LONGEST_LINE as u64).read_until(b'\n', &mut self.line)?;
        if read == LONGEST_LINE && !self.line.ends_with(b"\n") {
            self.line.clear();
            // A file without a first line is not a record, however long it is.
            if self.number > 0 {
                read += self.reader.skip_until(b'\n')?;
            }
        }
        if read == 0 {
            return Ok(None);
        }
        self.number += 1;
        self.begin = self.bytes;
        self.bytes += read as u64;
        Ok(Some(&self.line))
    }

    /// Marks the last line as none of an entry.
    pub(crate) fn is_bad(&mut self) {
        self.bad.get_or_insert(Bad { first: self.number, lines: 0 }).lines += 1;
    }

    /// Marks the last line as an entry.
    pub(crate) fn mark_entry(&mut self) -> Passed {
        (self.whole_bytes, self.whole_lines) = (self.bytes, self.number);
        Passed { number: self.number, bytes: self.begin..self.bytes, bad: self.bad.take() }
    }
}
