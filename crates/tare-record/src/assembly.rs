//! The assembly: a session that is put together again, line by line, and the trials that damage cost it.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io;
use std::ops::Range;
use std::path::Path;

use tare_data::batch::{Batch, Batches};
use tare_data::failure::{BROKE_OFF, Failure, FailureKind};
use tare_data::imported::Imported;
use tare_data::session::lasting::Stretch;
use tare_data::session::limits::LimitCounts;
use tare_data::session::outcome::OutcomeRun;
use tare_data::session::{Ending, Header, Plan, RepeatedRound, Session, TargetFacts, Trial};
use tare_data::warning::Warning;

use crate::entry::{Entry, OTHER_SESSIONS, Pair, SCHEMA};
use crate::error::RecordError;
use crate::lines::{Bad, Passed};
use crate::room::{MOST_BATCHES, MOST_KEPT, Room};
use crate::shelf::Keeper;

/// Figures of other tools that were read.
#[derive(Debug)]
pub struct ImportedRecord {
    pub header: Header,
    /// Imported files, in the order in which they were named.
    pub imported: Vec<Imported>,
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
    limits: Vec<LimitCounts>,
    stretches: Vec<Stretch>,
    outcomes: Vec<OutcomeRun>,
    pub(crate) ending: Option<Ending>,
    pub(crate) imported: Vec<Imported>,
    pub(crate) room: Room,
    keeper: Keeper,
    open_batches: OpenBatches,
    damage: Damage,
    /// Other sessions at the same time.
    others: u64,
    /// Boots of the machine in which the session was resumed.
    boots: BTreeSet<String>,
    /// Time before the session was last resumed, whose clock began anew.
    before_ns: u64,
    /// End of the last trial, on the clock of the whole session.
    end_ns: u64,
    /// Lines of trials that are not open, and that no damage explains.
    stray_lines: u64,
}

/// The batches of the trial that has begun and not ended.
#[derive(Clone, Default)]
struct OpenBatches {
    /// Offset at which its first line ends.
    from: u64,
    count: usize,
    /// Memory that they take, or would take, in bytes.
    held_bytes: usize,
    /// True when they are left in the record.
    lie: bool,
}

/// Losses by lines that cannot be read.
#[derive(Clone, Default)]
struct Damage {
    lines: u64,
    /// True when such lines follow the last `begin`: then one of them may be another `begin`, or the end of
    /// its trial.
    is_near: bool,
    trials: BTreeSet<u64>,
    /// Number of the next trial, if none is lost.
    next: u64,
}

impl Assembly {
    /// Reads the batches that are not held from this file.
    pub(crate) fn lies_in(&mut self, file: &File) -> io::Result<()> {
        if !self.keeper.has_shelf() {
            self.keeper.set_shelf(file.try_clone()?);
        }
        Ok(())
    }

    /// Takes the next entry, and the lines before it that cannot be read.
    ///
    /// Nothing can be made of a record whose damage comes before its plan. After it, damage costs a trial.
    pub(crate) fn add_entry(
        &mut self,
        entry: Entry,
        Passed { number: line, bytes, bad }: Passed,
        path: &Path,
    ) -> Result<(), RecordError> {
        if !self.room.count_entry(&entry, (bytes.end - bytes.start) as usize) {
            return Err(RecordError::TooMuch { path: path.to_owned(), limit: MOST_KEPT });
        }
        let second = |entry| RecordError::Second { path: path.to_owned(), entry, line };
        if let Some(Bad { first, lines }) = bad {
            if self.plan.is_none() {
                return Err(RecordError::Damaged { path: path.to_owned(), line: first });
            }
            self.damage.lines += lines;
            self.damage.is_near = true;
            self.damage.trials.extend(self.open.as_ref().map(|open| open.number));
        }
        match entry {
            Entry::Record { schema: found, .. } if found != SCHEMA => {
                return Err(RecordError::OtherSchema { path: path.to_owned(), found });
            }
            Entry::Record { .. } if self.header.is_some() => return Err(second("header")),
            Entry::Record { header, .. } => self.header = Some(header),
            Entry::Facts(facts) => self.facts.push(facts),
            Entry::Plan(_) if self.plan.is_some() => return Err(second("plan")),
            Entry::Plan(plan) => self.plan = Some(plan),
            Entry::Begin(begin) => {
                self.abandon();
                self.skip_to(begin.trial);
                // A session that goes on has not ended, even if the line that resumed it cannot be read.
                self.ending = None;
                self.open = Some(begin.into_trial());
                self.open_batches = OpenBatches { from: bytes.end, ..Default::default() };
            }
            Entry::Batch { trial, batch } => match self.open.as_mut().filter(|open| open.number == trial) {
                Some(open) => {
                    let of_open = &mut self.open_batches;
                    of_open.count += batch.sample.iter_timed().count().max(1);
                    of_open.held_bytes += batch.held_bytes();
                    match self.keeper.leave_in_record(of_open.held_bytes, trial, of_open.from..bytes.end) {
                        Some(lying) => (open.batches, of_open.lie) = (lying, true),
                        None => open.batches.push(batch),
                    }
                }
                None => self.stray(trial),
            },
            Entry::End(end) => match self.open.take_if(|open| open.number == end.trial) {
                Some(open) => self.close(end.complete_trial(open)),
                None => self.stray(end.trial),
            },
            Entry::Pair(pair) => self.add_pair(*pair, bytes),
            Entry::Repeated(repeated) => self.repeated.push(repeated),
            Entry::Limits(counts) => self.limits.push(counts),
            Entry::Stretch(stretch) => self.stretches.push(stretch),
            Entry::Outcome(outcome) => self.outcomes.push(outcome),
            Entry::Imported(imported) => self.imported.push(imported),
            Entry::Resumed { boot, .. } => {
                self.ending = None;
                self.abandon();
                self.before_ns = self.end_ns;
                self.boots.insert(boot);
            }
            Entry::Ended { ending, others, .. } => {
                self.ending = Some(ending);
                self.others = self.others.max(others);
            }
        }
        Ok(())
    }

    /// Adds both trials of a pair, which is one line.
    fn add_pair(&mut self, pair: Pair, bytes: Range<u64>) {
        self.abandon();
        self.ending = None;
        for (mut trial, batches) in pair.into_trials() {
            self.skip_to(trial.number);
            let held_bytes = batches.iter().map(Batch::held_bytes).sum();
            let count = batches.iter().map(|batch| batch.sample.iter_timed().count().max(1)).sum();
            let lying = self.keeper.leave_in_record(held_bytes, trial.number, bytes.clone());
            self.open_batches = OpenBatches { from: bytes.start, count, held_bytes, lie: lying.is_some() };
            trial.batches = lying.unwrap_or_else(|| batches.into());
            self.close(trial);
        }
    }

    /// Keeps a trial without an end, which broke off with its session and does not count.
    fn abandon(&mut self) {
        if let Some(mut trial) = self.open.take() {
            trial.failure = Some(Failure::new(FailureKind::Died, BROKE_OFF));
            self.close(trial);
        }
    }

    /// Adds a trial; one with a damaged line is kept, and does not count.
    fn close(&mut self, mut trial: Trial) {
        let of_open = std::mem::take(&mut self.open_batches);
        if !of_open.lie {
            self.keeper.count_held(of_open.held_bytes);
        }
        if of_open.count > MOST_BATCHES {
            let reason = format!("it has more than {MOST_BATCHES} batches in the record");
            (trial.batches, trial.failure) =
                (Batches::default(), Some(Failure::new(FailureKind::Broken, reason)));
        }
        if self.damage.trials.contains(&trial.number) {
            trial.failure = Some(Failure::new(FailureKind::Broken, "a line of it in the record is damaged"));
        }
        trial.started_ns = trial.started_ns.saturating_add(self.before_ns);
        self.end_ns = self.end_ns.max(trial.started_ns.saturating_add(trial.host_elapsed_ns));
        self.trials.push(trial);
    }

    /// Moves on to the next trial. Trials are numbered in order, so a gap at damaged lines was in them.
    fn skip_to(&mut self, trial: u64) {
        if std::mem::take(&mut self.damage.is_near) {
            self.damage.trials.extend((self.damage.next..trial).take(self.damage.lines as usize));
        }
        self.damage.next = trial.saturating_add(1);
    }

    /// Handles a line of a trial that is not open: its `begin` may be a line that cannot be read.
    fn stray(&mut self, trial: u64) {
        if self.damage.is_near {
            self.damage.trials.insert(trial);
        } else {
            self.stray_lines += 1;
        }
    }

    /// Infers rounds that were repeated, since their line may be damaged. An attempt has a later one only if
    /// it does not count.
    fn repeat_by_attempts(&mut self) {
        let mut last: BTreeMap<(&str, u32), u32> = BTreeMap::new();
        for trial in &self.trials {
            let attempt = last.entry((&trial.case, trial.round)).or_default();
            *attempt = trial.attempt.max(*attempt);
        }
        let known = |trial: &Trial| {
            let same = |r: &RepeatedRound| {
                r.case == trial.case && r.round == trial.round && r.attempt == trial.attempt
            };
            self.repeated.iter().any(same)
        };
        let earlier =
            |trial: &&Trial| trial.attempt < last[&(trial.case.as_str(), trial.round)] && !known(trial);
        let missing: BTreeSet<(String, u32, u32)> = (self.trials.iter().filter(earlier))
            .map(|trial| (trial.case.clone(), trial.round, trial.attempt))
            .collect();
        self.repeated.extend(missing.into_iter().map(|(case, round, attempt)| {
            let reason = "the line of the record that gives the reason is damaged".into();
            RepeatedRound { case, round, attempt, reason }
        }));
    }

    /// Finishes an import. Without its end, the number of missing figures is unknown.
    pub(crate) fn finish_imported(self, path: &Path) -> Result<ImportedRecord, RecordError> {
        let header = self.header.ok_or_else(|| RecordError::NotARecord { path: path.to_owned() })?;
        if self.ending != Some(Ending::Complete) || self.plan.is_some() {
            return Err(RecordError::ImportCut { path: path.to_owned() });
        }
        Ok(ImportedRecord { header, imported: self.imported })
    }

    pub(crate) fn finish_session(mut self, path: &Path) -> Result<Session, RecordError> {
        self.abandon();
        if !self.imported.is_empty() {
            return Err(RecordError::Imported { path: path.to_owned() });
        }
        let header = self.header.take().ok_or_else(|| RecordError::NotARecord { path: path.to_owned() })?;
        let plan = self.plan.take().ok_or_else(|| RecordError::NoPlan { path: path.to_owned() })?;
        let mut warnings = Vec::new();
        if self.damage.lines > 0 {
            self.repeat_by_attempts();
            let trials = std::mem::take(&mut self.damage.trials).into_iter().collect();
            warnings.push(Warning::DamagedLines { lines: self.damage.lines, trials });
        }
        if self.stray_lines > 0 {
            warnings.push(Warning::StrayLines { lines: self.stray_lines });
        }
        let others = self.others.max(header.host.get_integer(OTHER_SESSIONS).unwrap_or(0));
        if others > 0 {
            warnings.push(Warning::SessionsAtOnce { others });
        }
        if let Some(identity) = &header.identity {
            self.boots.insert(identity.boot.clone());
        }
        if self.boots.len() > 1 {
            warnings.push(Warning::SeveralBoots { boots: self.boots.len() });
        }
        Ok(Session {
            header,
            plan,
            facts: self.facts,
            trials: self.trials,
            repeated: self.repeated,
            limits: self.limits,
            stretches: self.stretches,
            outcomes: self.outcomes,
            ending: self.ending.unwrap_or(Ending::BrokenOff),
            warnings,
        })
    }
}
