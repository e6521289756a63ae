//! The follower: reads a record while another process writes it, each time only what was appended.

use std::io::{BufReader, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use tare_data::session::{Ending, Header, Plan, RepeatedRound, Session, Trial};

use crate::assembly::Assembly;
use crate::entry::from_line;
use crate::error::RecordError;
use crate::input;
use crate::lines::Lines;
use crate::room::LONGEST_RECORD;

/// A record that may still grow.
pub struct Follower {
    path: PathBuf,
    assembly: Assembly,
    /// Bytes and lines up to the end of the last whole line that was read.
    read_bytes: u64,
    read_lines: u64,
    /// Length of the file when it was last read.
    seen_bytes: u64,
}

impl Follower {
    /// Opens a record and reads what is there. A record whose plan is not written yet is fine.
    pub fn open(path: &Path) -> Result<Self, RecordError> {
        let (assembly, read_bytes, read_lines, seen_bytes) = Default::default();
        let mut follower = Follower { path: path.to_owned(), assembly, read_bytes, read_lines, seen_bytes };
        follower.catch_up()?;
        match follower.assembly.header {
            Some(_) => Ok(follower),
            None => Err(RecordError::NotARecord { path: path.to_owned() }),
        }
    }

    /// Reads what was appended since the last time; true if anything was.
    ///
    /// A line that is still being written, or is damaged, is left until a whole one follows. A record that became shorter was taken up
    /// again at an earlier line, and is read anew.
    pub fn catch_up(&mut self) -> Result<bool, RecordError> {
        let io = |source| RecordError::Io { action: "read", path: self.path.clone(), source };
        let mut file = input::open(&self.path).map_err(io)?;
        let length = file.metadata().map_err(io)?.len();
        if length == self.seen_bytes {
            return Ok(false);
        }
        if length > LONGEST_RECORD {
            return Err(RecordError::TooLong { path: self.path.clone(), limit: LONGEST_RECORD });
        }
        if length < self.read_bytes {
            (self.assembly, self.read_bytes, self.read_lines) = Default::default();
        }
        self.seen_bytes = length;
        self.assembly.lies_in(&file).map_err(io)?;
        file.seek(SeekFrom::Start(self.read_bytes)).map_err(io)?;
        let before = self.read_bytes;
        // What is appended meanwhile is for the next time, so that a fast writer cannot hold the reader here.
        let mut lines = Lines::new(BufReader::new(file).take(length - before), before, self.read_lines);
        while let Some(line) = lines.next().map_err(io)? {
            match from_line(line) {
                Some(entry) => self.assembly.take(entry, lines.passed(), &self.path)?,
                None => lines.is_bad(),
            }
        }
        (self.read_bytes, self.read_lines) = (lines.whole_bytes, lines.whole_lines);
        Ok(self.read_bytes != before)
    }

    /// What was measured until now, as a session that broke off unless it has ended.
    ///
    /// Without a plan there is none. The trial that runs now is not part of it.
    pub fn session(&self) -> Result<Session, RecordError> {
        let mut assembly = self.assembly.clone();
        assembly.open = None;
        assembly.finish(&self.path)
    }

    pub fn header(&self) -> Option<&Header> {
        self.assembly.header.as_ref()
    }

    /// None while environments are entered and cases calibrated.
    pub fn plan(&self) -> Option<&Plan> {
        self.assembly.plan.as_ref()
    }

    /// The trials that have ended, in order.
    pub fn trials(&self) -> &[Trial] {
        &self.assembly.trials
    }

    /// The trial that runs now.
    pub fn running(&self) -> Option<&Trial> {
        self.assembly.open.as_ref()
    }

    pub fn repeated(&self) -> &[RepeatedRound] {
        &self.assembly.repeated
    }

    /// None while the session runs, or where it broke off.
    pub fn ending(&self) -> Option<Ending> {
        self.assembly.ending
    }
}
