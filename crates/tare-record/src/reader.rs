//! The reader: takes a record apart again, as far as it goes.
//!
//! A record whose last line is torn broke off there; what stands before it counts. A bad line with good
//! lines after it did not come from breaking off, and is an error.

use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;

use tare_data::failure::{Failure, FailureKind};
use tare_data::imported::Imported;
use tare_data::session::{Ending, Header, Interference, Plan, RepeatedRound, Session, TargetFacts, Trial};

use crate::entry::{Begin, End, Entry, SCHEMA, from_line};
use crate::error::RecordError;

/// Longest record that is read. The largest study fills a small part of it.
pub(crate) const LONGEST_RECORD: u64 = 4 << 30;
/// Longest line that is read; a batch frame is bounded to half of it.
pub(crate) const LONGEST_LINE: u64 = 2 << 20;

/// A record that was read.
#[derive(Debug)]
pub struct Recording {
    pub session: Session,
    /// Bytes up to the end of the last whole line.
    pub whole_bytes: u64,
    /// Number of the first line that is torn, if one is.
    pub torn_line: Option<usize>,
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
    let file = File::open(path).map_err(io)?;
    if file.metadata().map_err(io)?.len() > LONGEST_RECORD {
        return Err(RecordError::TooLong { path: path.to_owned(), limit: LONGEST_RECORD });
    }
    let mut lines = BufReader::new(file);
    let mut assembly = Assembly::default();
    let (mut whole_bytes, mut torn_line) = (0, None);
    let mut line = Vec::new();
    for number in 1.. {
        line.clear();
        let read = (&mut lines).take(LONGEST_LINE).read_until(b'\n', &mut line).map_err(io)?;
        if read == 0 {
            break;
        }
        match (from_line(&line), torn_line) {
            (Some(entry), None) => {
                assembly.take(entry, path)?;
                whole_bytes += read as u64;
            }
            (Some(_), Some(line)) => return Err(RecordError::Damaged { path: path.to_owned(), line }),
            (None, _) if number == 1 => return Err(RecordError::NotARecord { path: path.to_owned() }),
            (None, torn) => torn_line = torn.or(Some(number)),
        }
    }
    if !assembly.imported.is_empty() {
        return assembly.finish_imported(path).map(Contents::Imported);
    }
    Ok(Contents::Session(Recording { session: assembly.finish(path)?, whole_bytes, torn_line }))
}

/// A session while its entries come in.
#[derive(Clone, Default)]
pub(crate) struct Assembly {
    pub(crate) header: Option<Header>,
    pub(crate) plan: Option<Plan>,
    facts: Vec<TargetFacts>,
    pub(crate) trials: Vec<Trial>,
    /// The trial that has begun and not ended.
    pub(crate) open: Option<Trial>,
    pub(crate) repeated: Vec<RepeatedRound>,
    pub(crate) ending: Option<Ending>,
    imported: Vec<Imported>,
}

impl Assembly {
    pub(crate) fn take(&mut self, entry: Entry, path: &Path) -> Result<(), RecordError> {
        match entry {
            Entry::Record { schema, header } if schema <= SCHEMA => self.header = Some(header),
            Entry::Record { schema, .. } => {
                return Err(RecordError::Newer { path: path.to_owned(), found: schema, newest: SCHEMA });
            }
            Entry::Facts(facts) => self.facts.push(facts),
            Entry::Plan(plan) => self.plan = Some(plan),
            Entry::Begin(begin) => {
                self.abandon();
                self.open = Some(begun(begin));
            }
            Entry::Batch { trial, batch } => {
                if let Some(open) = self.open.as_mut().filter(|open| open.number == trial) {
                    open.batches.push(batch);
                }
            }
            Entry::End(end) => {
                if let Some(open) = self.open.take_if(|open| open.number == end.trial) {
                    self.trials.push(ended(open, end));
                }
            }
            Entry::Repeated(repeated) => self.repeated.push(repeated),
            Entry::Imported(imported) => self.imported.push(imported),
            Entry::Resumed { .. } => self.ending = None,
            Entry::Ended { ending, .. } => self.ending = Some(ending),
        }
        Ok(())
    }

    /// A trial without an end broke off with its session; it is kept, and does not count.
    fn abandon(&mut self) {
        if let Some(mut trial) = self.open.take() {
            trial.failure = Some(Failure::new(FailureKind::Died, "the session broke off during this trial"));
            self.trials.push(trial);
        }
    }

    /// Without its end, the number of missing figures is unknown.
    fn finish_imported(self, path: &Path) -> Result<ImportedRecord, RecordError> {
        let header = self.header.ok_or_else(|| RecordError::NotARecord { path: path.to_owned() })?;
        if self.ending != Some(Ending::Complete) || self.plan.is_some() {
            return Err(RecordError::ImportCut { path: path.to_owned() });
        }
        Ok(ImportedRecord { header, imported: self.imported })
    }

    pub(crate) fn finish(mut self, path: &Path) -> Result<Session, RecordError> {
        self.abandon();
        if !self.imported.is_empty() {
            return Err(RecordError::Imported { path: path.to_owned() });
        }
        let header = self.header.ok_or_else(|| RecordError::NotARecord { path: path.to_owned() })?;
        let plan = self.plan.ok_or_else(|| RecordError::NoPlan { path: path.to_owned() })?;
        Ok(Session {
            header,
            plan,
            facts: self.facts,
            trials: self.trials,
            repeated: self.repeated,
            ending: self.ending.unwrap_or(Ending::BrokenOff),
        })
    }
}

fn begun(begin: Begin) -> Trial {
    Trial {
        number: begin.trial,
        case: begin.case,
        target: begin.target,
        round: begin.round,
        attempt: begin.attempt,
        position: begin.position,
        start: begin.start,
        started_ns: begin.started_ns,
        host_elapsed_ns: 0,
        agent_elapsed_ns: None,
        batches: Vec::new(),
        inside: Interference::default(),
        outside: Interference::default(),
        failure: None,
        notes: Vec::new(),
    }
}

fn ended(trial: Trial, end: End) -> Trial {
    Trial {
        host_elapsed_ns: end.host_elapsed_ns,
        agent_elapsed_ns: end.agent_elapsed_ns,
        inside: end.inside,
        outside: end.outside,
        failure: end.failure,
        notes: end.notes,
        ..trial
    }
}
