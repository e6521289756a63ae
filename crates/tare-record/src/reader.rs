//! The reader: takes a record apart again, as far as it goes.
//!
//! A record whose last line is torn broke off there; the lines before it count. A bad line with good lines after it
//! did not come from breaking off: its trial is left out, and the session carries a warning.

use std::fs::File;
use std::io::{BufReader, ErrorKind, Read};
use std::path::Path;

use tare_data::session::{Header, Session};
use tare_paths::door::Door;

pub use crate::assembly::ImportedRecord;

use crate::assembly::Assembly;
use crate::entry::{Entry, SCHEMA, from_line, read_schema};
use crate::error::RecordError;
use crate::input;
use crate::lines::Lines;
use crate::packed;
use crate::room::{LONGEST_RECORD, Room};

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

/// Contents of a record: one of two things that are never mixed.
#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "there is one of it, for as long as a record is open")]
pub enum Contents {
    Session(Recording),
    Imported(ImportedRecord),
}

/// Checks that a file exists and begins as a record does, of whatever schema.
pub fn is_record(path: &Path) -> bool {
    let first = input::open_regular_file(path).ok().map(|file| parse_header(file, path));
    matches!(first, Some(Ok(_) | Err(RecordError::OtherSchema { .. })))
}

/// Reads the first line of a record, which tells its origin. None where the file does not begin as a
/// record does.
pub fn read_header(path: &Path) -> Option<Header> {
    parse_header(input::open_regular_file(path).ok()?, path).ok()
}

/// Reads the first line of a record that is open.
pub fn parse_header(file: File, path: &Path) -> Result<Header, RecordError> {
    let none = || RecordError::NotARecord { path: path.to_owned() };
    let other = |found| RecordError::OtherSchema { path: path.to_owned(), found };
    let text = packed::read_text(file).map_err(|_| none())?;
    let mut lines = Lines::new(text, 0, 0);
    let line = lines.next().ok().flatten().ok_or_else(none)?;
    match from_line(line) {
        Some(Entry::Record { schema: SCHEMA, header }) => Ok(header),
        Some(Entry::Record { schema, .. }) => Err(other(schema)),
        Some(_) => Err(none()),
        None => Err(read_schema(line).map_or_else(none, other)),
    }
}

/// Reads a record of a session.
pub fn read_session(path: &Path) -> Result<Recording, RecordError> {
    only_session(read_record(path)?, path)
}

/// Reads a record of a session in a folder in which others may write.
pub fn read_session_in(folder: &Door, inside: &Path) -> Result<Recording, RecordError> {
    let path = folder.join(inside);
    let file = folder.open_file(inside);
    let file = file.map_err(|source| RecordError::Io { action: "read", path: path.clone(), source })?;
    only_session(parse_record(file, &path)?, &path)
}

fn only_session(contents: Contents, path: &Path) -> Result<Recording, RecordError> {
    match contents {
        Contents::Session(recording) => Ok(recording),
        Contents::Imported(_) => Err(RecordError::Imported { path: path.to_owned() }),
    }
}

/// Reads a record, whatever it holds.
pub fn read_record(path: &Path) -> Result<Contents, RecordError> {
    let file = input::open_regular_file(path);
    parse_record(
        file.map_err(|source| RecordError::Io { action: "read", path: path.to_owned(), source })?,
        path,
    )
}

/// Unpacks a record; none where it is not packed.
pub(crate) fn unpack(file: &File, path: &Path) -> Result<Option<File>, RecordError> {
    let path = path.to_owned();
    packed::unpack(file).map_err(|source| match source.kind() {
        ErrorKind::FileTooLarge => RecordError::TooLong { path, limit: packed::LONGEST_PACKED },
        _ => RecordError::Io { action: "read", path, source },
    })
}

fn parse_record(file: File, path: &Path) -> Result<Contents, RecordError> {
    let io = |source| RecordError::Io { action: "read", path: path.to_owned(), source };
    if file.metadata().map_err(io)?.len() > LONGEST_RECORD {
        return Err(RecordError::TooLong { path: path.to_owned(), limit: LONGEST_RECORD });
    }
    let file = unpack(&file, path)?.unwrap_or(file);
    let mut assembly = Assembly::default();
    assembly.lies_in(&file).map_err(io)?;
    let mut lines = Lines::new(BufReader::new(file).take(LONGEST_RECORD), 0, 0);
    while let Some(line) = lines.next().map_err(io)? {
        match from_line(line).ok_or_else(|| read_schema(line)) {
            Ok(entry) => assembly.add_entry(entry, lines.mark_entry(), path)?,
            Err(Some(found)) => return Err(RecordError::OtherSchema { path: path.to_owned(), found }),
            Err(None) if lines.number == 1 => return Err(RecordError::NotARecord { path: path.to_owned() }),
            Err(None) => lines.is_bad(),
        }
    }
    let (whole_bytes, torn_line) = (lines.whole_bytes, lines.bad.map(|bad| bad.first));
    if !assembly.imported.is_empty() {
        return assembly.finish_imported(path).map(Contents::Imported);
    }
    let room = assembly.room.clone();
    Ok(Contents::Session(Recording { session: assembly.finish_session(path)?, whole_bytes, torn_line, room }))
}
