//! The reader: takes a record apart again, as far as it goes.
//!
//! A record whose last line is torn broke off there; what stands before it counts. A bad line with good lines after it
//! did not come from breaking off: its trial is left out, and the session carries a warning.

use std::io::{self, BufRead, BufReader, Read};
use std::ops::Range;
use std::path::Path;

use tare_data::imported::Imported;
use tare_data::session::{Header, Session};

use crate::assembly::Assembly;
use crate::entry::{Entry, LONGEST_WRITTEN, from_line};
use crate::error::RecordError;
use crate::input;
use crate::room::{LONGEST_RECORD, Room};

/// Longest line that is read; every line that is written is shorter.
pub(crate) const LONGEST_LINE: usize = 8 << 20;
const _: () = assert!(LONGEST_WRITTEN < LONGEST_LINE);

/// A record that was read.
#[derive(Debug)]
pub struct Recording {
    pub session: Session,
    /// Bytes up to the end of the last whole line.
    pub whole_bytes: u64,
    /// Number of the first line that is torn, if one is: no whole line follows.
    pub torn_line: Option<u64>,
    pub(crate) room: Room,
}

/// Figures of other tools that were read.
#[derive(Debug)]
pub struct ImportedRecord {
    pub header: Header,
    /// One for each file, in the order in which they were named.
    pub imported: Vec<Imported>,
}

/// What a record holds: one of two things that are never mixed.
#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "there is one of it, for as long as a record is open")]
pub enum Contents {
    Session(Recording),
    Imported(ImportedRecord),
}

/// Whether a file is there and begins as a record does.
pub fn is_record(path: &Path) -> bool {
    let first = |file| Lines::new(BufReader::new(file), 0, 0).next().ok().flatten().and_then(from_line);
    matches!(input::open(path).ok().and_then(first), Some(Entry::Record { .. }))
}

/// Reads a record of a session.
pub fn read(path: &Path) -> Result<Recording, RecordError> {
    match open(path)? {
        Contents::Session(recording) => Ok(recording),
        Contents::Imported(_) => Err(RecordError::Imported { path: path.to_owned() }),
    }
}

/// Reads a record, whatever it holds.
pub fn open(path: &Path) -> Result<Contents, RecordError> {
    let io = |source| RecordError::Io { action: "read", path: path.to_owned(), source };
    let file = input::open(path).map_err(io)?;
    if file.metadata().map_err(io)?.len() > LONGEST_RECORD {
        return Err(RecordError::TooLong { path: path.to_owned(), limit: LONGEST_RECORD });
    }
    let mut assembly = Assembly::default();
    assembly.lies_in(&file).map_err(io)?;
    let mut lines = Lines::new(BufReader::new(file).take(LONGEST_RECORD), 0, 0);
    while let Some(line) = lines.next().map_err(io)? {
        match from_line(line) {
            Some(entry) => assembly.take(entry, lines.passed(), path)?,
            None if lines.number == 1 => return Err(RecordError::NotARecord { path: path.to_owned() }),
            None => lines.is_bad(),
        }
    }
    let (whole_bytes, torn_line) = (lines.whole_bytes, lines.bad.map(|bad| bad.first));
    if !assembly.imported.is_empty() {
        return assembly.finish_imported(path).map(Contents::Imported);
    }
    let room = assembly.room.clone();
    Ok(Contents::Session(Recording { session: assembly.finish(path)?, whole_bytes, torn_line, room }))
}

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
    /// Of the line that was read last, from 1.
    pub(crate) number: u64,
    /// Bytes up to the beginning and the end of the line that was read last.
    begin: u64,
    bytes: u64,
    /// Bytes and lines up to the end of the last good line.
    pub(crate) whole_bytes: u64,
    pub(crate) whole_lines: u64,
    /// Those since the last good line.
    pub(crate) bad: Option<Bad>,
}

impl<R: BufRead> Lines<R> {
    /// Lines from here on; so many bytes and lines were read before.
    pub(crate) fn new(reader: R, bytes: u64, number: u64) -> Self {
        let (line, bad) = Default::default();
        Lines { reader, line, number, begin: bytes, bytes, whole_bytes: bytes, whole_lines: number, bad }
    }

    /// The next line with its end, unless the file ends before it. One that is too long comes empty.
    pub(crate) fn next(&mut self) -> io::Result<Option<&[u8]>> {
        self.line.clear();
        let mut read = (&mut self.reader).take(LONGEST_LINE as u64).read_until(b'\n', &mut self.line)?;
        if read == LONGEST_LINE && !self.line.ends_with(b"\n") {
            self.line.clear();
            read += self.reader.skip_until(b'\n')?;
        }
        if read == 0 {
            return Ok(None);
        }
        self.number += 1;
        self.begin = self.bytes;
        self.bytes += read as u64;
        Ok(Some(&self.line))
    }

    /// The line that was read last is not an entry.
    pub(crate) fn is_bad(&mut self) {
        self.bad.get_or_insert(Bad { first: self.number, lines: 0 }).lines += 1;
    }

    /// The line that was read last is an entry.
    pub(crate) fn passed(&mut self) -> Passed {
        (self.whole_bytes, self.whole_lines) = (self.bytes, self.number);
        Passed { number: self.number, bytes: self.begin..self.bytes, bad: self.bad.take() }
    }
}
