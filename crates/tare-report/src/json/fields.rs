//! The fields of the JSON document and what each holds, in the order in which they are written.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::Serialize;
use tare_analysis::findings::{
    Certificate, CheckBeside, CommandFactor, Family, Kind, Leading, Outcome, SharedStarts, Smallest, Why,
    WithoutRow,
};
use tare_analysis::outcome::CommandOutcome;
use tare_analysis::published::Beside;
use tare_data::facts::Facts;
use tare_data::failure::FailureKind;
use tare_data::session::lasting::LastingWork;
use tare_data::session::specification::Specification;
use tare_data::session::{Ending, RepeatedRound, Role, TargetFacts};
use tare_data::unit::{Direction, Unit};

/// A session and its findings.
#[derive(Debug, Serialize)]
pub struct Document<'a> {
    pub schema: &'static str,
    pub version: u32,
    pub session: About<'a>,
    pub plan: Plan<'a>,
    pub baseline: &'a str,
    /// Subject environments, in the order of the cells of every row.
    pub subjects: &'a [String],
    /// Costs of work that lasts, by kind of work and environment; empty where no stretches of it were measured.
    pub lasting: Vec<LastingCost<'a>>,
    /// Outcomes of commands, by command and environment: whether they do the same, and what differs.
    pub outcomes: &'a [CommandOutcome],
    /// Commands beside the first one in each environment, by runs that did not take turns: an interval, and no answer.
    pub across_commands: &'a [CommandFactor],
    /// Reliability of the session.
    pub certificate: &'a Certificate,
    /// Reasons to doubt an environment, or the session if none is given.
    pub warnings: Vec<TargetWarning<'a>>,
    /// Sentences, one per subject environment.
    pub sentences: Vec<Sentence>,
    /// Rows, one per case and metric.
    pub rows: Vec<Row<'a>>,
    /// Articles: their conclusions, judged by this session, and printed values that no row measures.
    pub articles: Vec<Article<'a>>,
    pub facts: AllFacts<'a>,
    pub failures: Vec<FailedTrial<'a>>,
    /// Rounds that broke a noise limit and were run again.
    pub repeated: &'a [RepeatedRound],
}

/// Program, machine and time of the measurement.
#[derive(Debug, Serialize)]
pub struct About<'a> {
    /// Version of tare.
    pub tare: &'a str,
    /// SHA-256 of the program that measured, in hex.
    pub binary: &'a str,
    /// RFC 3339 with offset.
    pub started: &'a str,
    /// Time from the beginning to the end of the last trial, in seconds; null without a trial.
    pub measured_s: Option<f64>,
    pub command: &'a [String],
    /// `complete`, `interrupted`, `baseline_failed`, `subjects_failed` or `broken_off`.
    pub ending: Ending,
    /// Number of trials, disturbed ones and failures included.
    pub trials: usize,
}

/// Plan of the session.
#[derive(Debug, Serialize)]
pub struct Plan<'a> {
    pub study: &'a str,
    /// In hex, because a JSON number does not hold 64 bits.
    pub seed: String,
    /// Largest number of rounds of a case.
    pub rounds: u32,
    /// Rounds after which the stopping rule looks.
    pub looks: &'a [u32],
    pub budget_s: Option<f64>,
    #[serde(rename = "environments")]
    pub targets: Vec<PlannedTarget<'a>>,
}

#[derive(Debug, Serialize)]
pub struct PlannedTarget<'a> {
    pub name: &'a str,
    pub specification: &'a Specification,
    pub role: Role,
    /// About five words.
    pub short_description: Cow<'a, str>,
    /// Words of the command that it runs; absent where all run that of the case.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub command: Option<Vec<String>>,
}

#[derive(Debug, Serialize)]
pub struct TargetWarning<'a> {
    #[serde(rename = "environment")]
    pub target: Option<&'a str>,
    pub warning: Warning,
}

/// A reason to doubt, with advice.
#[derive(Debug, Serialize)]
pub struct Warning {
    /// Name of the kind, e.g. `clock_disagrees`.
    pub kind: String,
    pub words: String,
    pub advice: &'static str,
}

#[derive(Debug, Serialize)]
pub struct Sentence {
    #[serde(rename = "environment")]
    pub target: String,
    pub sentence: String,
}

/// An article shown with the session.
#[derive(Debug, Serialize)]
pub struct Article<'a> {
    pub source: &'a str,
    pub title: &'a str,
    /// Printed values that no row of this session measures.
    pub without_row: Vec<WithWords<'a, WithoutRow>>,
    pub claims: Vec<Claim<'a>>,
}

/// A conclusion of an article, and this session's answers.
#[derive(Debug, Serialize)]
pub struct Claim<'a> {
    pub text: &'a str,
    pub recommends: bool,
    pub checks: Vec<WithWords<'a, CheckBeside>>,
    pub needs: Option<&'a str>,
}

/// A value with its words in the reports.
#[derive(Debug, Serialize)]
pub struct WithWords<'a, T> {
    #[serde(flatten)]
    pub of: &'a T,
    pub words: String,
}

/// A metric of a case in every environment.
#[derive(Debug, Serialize)]
pub struct Row<'a> {
    pub case: &'a str,
    pub probe: &'a str,
    pub family: Family,
    pub label: Cow<'a, str>,
    /// Parameters of the probe, as a person writes them.
    pub parameters: BTreeMap<&'a str, &'a str>,
    pub place: Option<&'a str>,
    pub peer: Option<&'a str>,
    /// Hash of the probe's definition and parameters; only values of equal definitions are comparable.
    pub definition: Option<&'a str>,
    /// Largest ratio that still counts as the same, e.g. 1.02.
    pub margin: Option<f64>,
    pub metric: Metric<'a>,
    pub headline: bool,
    /// The baseline's own value; null when `baseline_missing` gives the reason.
    pub baseline: Option<Level<'a>>,
    pub baseline_missing: Option<Missing<'a>>,
    pub cells: Vec<Cell<'a>>,
    /// The baseline against itself; null in a session without a control.
    pub control: Option<Cell<'a>>,
    /// Values that articles printed for this row; measured on other machines, and part of no interval.
    pub published: Vec<WithWords<'a, Beside>>,
}

impl<'a> Row<'a> {
    /// Lists the levels of the baseline and of every cell, in their order; `None` for a cell without a value.
    pub(crate) fn levels(&mut self) -> impl Iterator<Item = Option<&mut Level<'a>>> {
        let cells = self.cells.iter_mut().map(|cell| match (&mut cell.comparison, &mut cell.observed) {
            (Some(comparison), _) => Some(&mut comparison.level),
            (None, Some(level)) => Some(level),
            (None, None) => cell.missing.as_mut().and_then(|missing| missing.level.as_mut()),
        });
        std::iter::once(self.baseline.as_mut()).chain(cells)
    }

    /// Finds the level of the control, which is the baseline against itself.
    pub(crate) fn control_level(&mut self) -> Option<&mut Level<'a>> {
        self.control.as_mut()?.comparison.as_mut().map(|comparison| &mut comparison.level)
    }
}

#[derive(Debug, Serialize)]
pub struct Metric<'a> {
    pub name: &'a str,
    /// Unit of every value of the row but ratios.
    pub unit: Unit,
    pub better: Direction,
}

/// A typical value over rounds.
#[derive(Debug, Serialize)]
pub struct Level<'a> {
    pub median: f64,
    /// 95 % interval of the median.
    pub low: f64,
    pub high: f64,
    pub rounds: u32,
    /// The value of every round that counted.
    pub values: &'a [f64],
}

/// An environment's cell: exactly one of `comparison`, `observed` and `missing` is not null.
#[derive(Debug, Serialize)]
pub struct Cell<'a> {
    #[serde(rename = "environment")]
    pub target: &'a str,
    /// `none` without a comparison.
    pub answer: Kind,
    /// Why it says no more; absent where it says all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<Why>,
    /// The work that it holds for: `lasting`, `short`, `open`, `differs` or `stopped`. Absent without a comparison.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reach: Option<&'static str>,
    /// Stops by the limit; absent where there were none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stop: Option<Stop>,
    /// The answer as the table says it.
    pub words: String,
    /// The answer in a few letters, for narrow tables.
    pub short: String,
    /// Signs that follow it in tables: `!` and `+` of short operations, `^` of an emulated processor, `*` where the rounds tell more.
    pub signs: String,
    /// Interval of the factor as tables say it; null without a comparison, and with too few rounds for one.
    pub interval: Option<String>,
    /// Interval at 95 %, as if no other cell had been measured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interval_alone: Option<String>,
    /// Why the answer is not sure, or what it leaves out; null where it says all.
    pub doubt: Option<String>,
    pub comparison: Option<Comparison<'a>>,
    /// A value that is shown and never compared, such as a maximum.
    pub observed: Option<Level<'a>>,
    pub missing: Option<Missing<'a>>,
}

/// Stops by a limit of processor time that the baseline does not have.
#[derive(Debug, Serialize)]
pub struct Stop {
    /// Share of the periods in which work was stopped.
    pub share: f64,
    /// Factor of the time that work which lasts takes; null where that is not known.
    pub factor: Option<f64>,
    /// Its interval, where stretches of such work measured it; null where the quota says it.
    pub low: Option<f64>,
    pub high: Option<f64>,
}

/// The cost of a kind of work that lasts in an environment.
#[derive(Debug, Serialize)]
pub struct LastingCost<'a> {
    #[serde(rename = "environment")]
    pub target: &'a str,
    pub work: LastingWork,
    /// Stretches that have one of the baseline's in their round.
    pub stretches: u32,
    /// Time of the environment's stretches.
    pub seconds: f64,
    /// Time of an operation over the baseline's; null with too few stretches.
    pub ratio: Option<RatioWithEnds>,
    /// That ratio over the one of short slices of the same work.
    pub excess: Option<RatioWithEnds>,
    /// Outcome for answers of short turns: `excludes`, `open` or `differs`; null with too few stretches.
    pub outcome: Option<Outcome>,
}

/// An environment compared with the baseline.
#[derive(Debug, Serialize)]
pub struct Comparison<'a> {
    /// Slowdown: above 1 the environment is slower, whichever direction of the metric is better.
    pub slowdown: f64,
    /// The baseline's value times the slowdown, or of a rate divided by it: the environment's, as it is shown.
    pub value: Option<f64>,
    /// Interval of the slowdown among all cells, by the method that `leading` names; null with too few rounds for one.
    pub low: Option<f64>,
    pub high: Option<f64>,
    /// Its 95 % interval, as if no other cell had been measured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub low_alone: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub high_alone: Option<f64>,
    /// Ratio of mean costs, in which every stall counts; null if only typical values are known, as of
    /// quantiles.
    pub total: Option<RatioWithEnds>,
    /// The interval by signs, for comparison.
    pub sign_low: Option<f64>,
    pub sign_high: Option<f64>,
    pub leading: Leading,
    /// Sequential p of "no difference".
    pub p: f64,
    /// Paired rounds.
    pub rounds: u32,
    /// Time from the first of them to the last, in seconds.
    pub seen_s: f64,
    /// The slowdown that `at_most` gives, of the mean where slow batches are bounded as well; absent where nothing is excluded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub most: Option<f64>,
    /// Slow batches in the environment; absent where trials did not take turns.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub slow_batches: Option<SlowBatches>,
    /// Rounds after which the verdict no longer changed; null while undecided.
    pub decided_at: Option<u32>,
    /// Total that would decide the cell; null if the verdict is decided.
    pub needed: Option<Needed>,
    /// Smallest slowdowns that this cell could have shown; absent with too few rounds or starts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub smallest: Option<Smallest>,
    /// Median over rounds of environment minus baseline, in the metric's unit.
    pub difference: f64,
    /// Rounds that share a start of the environment; null if none do.
    pub starts: Option<SharedStarts>,
    /// The environment's own value over all its rounds, paired or not.
    pub level: Level<'a>,
    pub warnings: Vec<Warning>,
}

/// Batches that took 1.5 times the usual cost, of all in an environment.
#[derive(Debug, Serialize)]
pub struct SlowBatches {
    pub slow: u64,
    pub batches: u64,
    /// Share that may be slow where none was seen, at 95 %; null where some were.
    pub unseen_share: Option<f64>,
}

/// A ratio of mean or lasting costs with its interval; no bounds where the rounds cannot tell.
#[derive(Debug, Serialize)]
pub struct RatioWithEnds {
    pub ratio: f64,
    pub low: Option<f64>,
    pub high: Option<f64>,
}

#[derive(Debug, Serialize)]
pub struct Needed {
    /// `rounds`, `starts`, or `less_noise` if ten times as many rounds would not be enough.
    pub kind: &'static str,
    pub count: Option<u32>,
}

/// Reason for having no comparison.
#[derive(Debug, Serialize)]
pub struct Missing<'a> {
    /// Name of the kind, e.g. `not_permitted`.
    pub kind: String,
    /// Reason in words.
    pub words: &'static str,
    pub reason: Option<Cow<'a, str>>,
    /// Value of the environment, if one was measured that must not be compared.
    pub level: Option<Level<'a>>,
}

/// Facts about the machine and the environments.
#[derive(Debug, Serialize)]
pub struct AllFacts<'a> {
    /// Facts about the machine that ran the session.
    pub host: &'a Facts,
    #[serde(rename = "environments")]
    pub targets: &'a [TargetFacts],
}

#[derive(Debug, Serialize)]
pub struct FailedTrial<'a> {
    pub trial: u64,
    pub case: &'a str,
    #[serde(rename = "environment")]
    pub target: &'a str,
    pub round: u32,
    pub attempt: u32,
    pub kind: FailureKind,
    pub reason: &'a str,
}
