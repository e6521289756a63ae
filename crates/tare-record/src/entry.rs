//! An entry: one line of a record.

use serde::{Deserialize, Serialize};
use tare_data::batch::Batch;
use tare_data::batch::Batches;
use tare_data::failure::{Failure, LONGEST_REASON};
use tare_data::frame::{LONGEST_FRAME, LONGEST_NOTE, MOST_NOTES};
use tare_data::imported::Imported;
use tare_data::session::lasting::Stretch;
use tare_data::session::limits::LimitCounts;
use tare_data::session::outcome::OutcomeRun;
use tare_data::session::{Ending, Header, Interference, Plan, RepeatedRound, TargetFacts, Trial};

use crate::moments;

/// Schema that is written, and the only one that is read. Its entries may still change, so that a record of another build may not fit.
pub const SCHEMA: u32 = 4;

/// Longest line that is written. It has room for all that an environment can send: a frame as it came, or a reason and all notes of a trial.
pub const LONGEST_WRITTEN: usize = 4 << 20;
/// The rest of such a line: names of fields, counters, facts that the host adds.
const BESIDE: usize = 256 << 10;
const _: () = assert!(LONGEST_FRAME + BESIDE <= LONGEST_WRITTEN);
const _: () = assert!(LONGEST_REASON + MOST_NOTES * (LONGEST_NOTE + 3) + BESIDE <= LONGEST_WRITTEN);

/// Fact of the host in a record's first line: how many other sessions ran when this one began.
pub const OTHER_SESSIONS: &str = "sessions.others";

/// Bytes of a line before its JSON: the checksum in hex, and a space.
pub(crate) const CHECKSUM: usize = 9;

/// Line of a record, in the order in which things happened.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Entry {
    /// The first line.
    Record { schema: u32, header: Header },
    /// Facts of an environment; once an environment, before the plan.
    Facts(TargetFacts),
    /// Plan of the session; once, before the first trial.
    Plan(Plan),
    /// A trial begins.
    Begin(Begin),
    /// Batch of the trial that began last.
    Batch { trial: u64, batch: Batch },
    /// The trial ended, well or not.
    End(End),
    /// Two trials whose processes alternated.
    Pair(Box<Pair>),
    /// A round was disturbed and will be run again.
    Repeated(RepeatedRound),
    /// Counts of an environment's control groups: after each of its starts began, before it ends, and in between.
    Limits(LimitCounts),
    /// A stretch of work that lasts, of an environment while all others were left.
    Stretch(Stretch),
    /// The outcome of a command's first run in a start in which nothing is timed.
    Outcome(OutcomeRun),
    /// The contents of another tool's file; only in a record without a session.
    Imported(Imported),
    /// The session was taken up again.
    Resumed {
        at: String,
        command: Vec<String>,
        /// Since which boot of the machine: see [`tare_data::session::identity::Identity::boot`].
        boot: String,
    },
    /// The session ended by itself or by its user.
    Ended {
        ending: Ending,
        at: String,
        /// Sessions that ran on this machine at the same time.
        #[serde(default, skip_serializing_if = "is_zero")]
        others: u64,
    },
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// Beginning of a trial; see [`tare_data::session::Trial`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Begin {
    pub trial: u64,
    pub case: String,
    #[serde(rename = "environment")]
    pub target: String,
    pub round: u32,
    pub attempt: u32,
    pub position: u32,
    pub start: u32,
    pub started_ns: u64,
}

/// Result of a trial.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct End {
    pub trial: u64,
    pub host_elapsed_ns: u64,
    pub agent_elapsed_ns: Option<u64>,
    pub inside: Interference,
    pub outside: Interference,
    pub failure: Option<Failure>,
    pub notes: Vec<String>,
}

/// A pair: two trials of one case and round, each the other's partner.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Pair {
    pub case: String,
    pub round: u32,
    #[serde(default, skip_serializing_if = "is_zero_attempt")]
    pub attempt: u32,
    pub started_ns: u64,
    pub sides: [Side; 2],
    /// Counters of the machine over both.
    #[serde(default, skip_serializing_if = "Interference::is_nothing")]
    pub outside: Interference,
}

/// Trial of a pair.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Side {
    pub trial: u64,
    #[serde(rename = "environment")]
    pub target: String,
    pub start: u32,
    pub host_elapsed_ns: u64,
    pub agent_elapsed_ns: Option<u64>,
    #[serde(with = "moments")]
    pub batches: Vec<Batch>,
    #[serde(default, skip_serializing_if = "Interference::is_nothing")]
    pub inside: Interference,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<Failure>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

impl Pair {
    /// Splits the pair into its two trials. The batches of each come beside it.
    pub fn into_trials(self) -> [(Trial, Vec<Batch>); 2] {
        let Pair { case, round, attempt, started_ns, sides: [first, second], outside } = self;
        let partners = [second.target.clone(), first.target.clone()];
        let trial = |position: u32, side: Side, partner: String| {
            let trial = Trial {
                number: side.trial,
                case: case.clone(),
                target: side.target,
                round,
                attempt,
                position,
                start: side.start,
                partner: Some(partner),
                started_ns,
                host_elapsed_ns: side.host_elapsed_ns,
                agent_elapsed_ns: side.agent_elapsed_ns,
                batches: Batches::default(),
                inside: side.inside,
                outside: outside.clone(),
                failure: side.failure,
                notes: side.notes,
            };
            (trial, side.batches)
        };
        let [of_first, of_second] = partners;
        [trial(0, first, of_first), trial(1, second, of_second)]
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero_attempt(attempt: &u32) -> bool {
    *attempt == 0
}

impl Begin {
    /// Creates the trial, about which nothing more is known yet.
    pub fn into_trial(self) -> Trial {
        Trial {
            number: self.trial,
            case: self.case,
            target: self.target,
            round: self.round,
            attempt: self.attempt,
            position: self.position,
            start: self.start,
            partner: None,
            started_ns: self.started_ns,
            host_elapsed_ns: 0,
            agent_elapsed_ns: None,
            batches: Batches::default(),
            inside: Interference::default(),
            outside: Interference::default(),
            failure: None,
            notes: Vec::new(),
        }
    }
}

impl End {
    /// Completes the trial that this is the end of.
    pub fn complete_trial(self, trial: Trial) -> Trial {
        Trial {
            host_elapsed_ns: self.host_elapsed_ns,
            agent_elapsed_ns: self.agent_elapsed_ns,
            inside: self.inside,
            outside: self.outside,
            failure: self.failure,
            notes: self.notes,
            ..trial
        }
    }
}

/// Writes an entry as a line: checksum, space, JSON.
pub fn to_line(entry: &Entry) -> String {
    let json = serde_json::to_string(entry).expect("tare's own types always serialise");
    format!("{:08x} {json}\n", crc32fast::hash(json.as_bytes()))
}

/// Reads a line; None when it is damaged or incomplete, or of another schema.
pub fn from_line(line: &[u8]) -> Option<Entry> {
    serde_json::from_slice(check_line(line)?).ok()
}

/// Finds the schema of a line that is whole and no entry here: the one that it names, as a first line does, or else this one as another
/// build has it. None where the line is damaged.
pub(crate) fn read_schema(line: &[u8]) -> Option<u32> {
    #[derive(Deserialize)]
    struct First {
        record: Versioned,
    }
    #[derive(Deserialize)]
    struct Versioned {
        schema: u32,
    }
    let first = serde_json::from_slice(check_line(line)?);
    Some(first.map_or(SCHEMA, |First { record: Versioned { schema } }| schema))
}

/// Returns the JSON of a line whose checksum is right.
fn check_line(line: &[u8]) -> Option<&[u8]> {
    let line = line.strip_suffix(b"\n")?;
    let (sum, json) = line.split_at_checked(CHECKSUM)?;
    let sum = u32::from_str_radix(std::str::from_utf8(sum).ok()?.strip_suffix(' ')?, 16).ok()?;
    (sum == crc32fast::hash(json)).then_some(json)
}
