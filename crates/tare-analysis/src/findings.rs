//! Findings of a session, ready to be printed.

use std::collections::BTreeMap;

use serde::Serialize;
use tare_data::failure::{Failure, FailureKind};
use tare_data::metric::Metric;
use tare_data::session::Ending;
use tare_data::unit::Unit;
use tare_data::warning::{LimitPair, SettingPair, Warning};

use self::answer::largest_bound;
use self::sameness::FEWEST_FOR_SAME;
use crate::article_table::{FigureTable, Table};
use crate::outcome::{CommandOutcome, Word};
use crate::quantity::Quantity;

pub mod answer;
pub mod interval;
pub mod lasting;
pub mod reach;
pub mod sameness;
pub mod seen;
pub mod verdict;

pub use answer::{Answer, Kind, Why};
pub use interval::{Interval, Position};
pub use lasting::{Estimate, LastingCost, Outcome};
pub use reach::{Reach, Stop};
pub use seen::{SlowSeen, Span};
pub use verdict::{Trend, Verdict};

/// Findings of a session.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Findings {
    /// Name of the baseline environment, or of the command that others are compared with.
    pub baseline: String,
    /// The environment in which commands are compared, where each is a side; none where environments are compared.
    pub commands_in: Option<String>,
    /// Subject environments, in the order of the plan; cells of a row are in this order.
    pub subjects: Vec<String>,
    /// A row for each case and metric, in the order of the plan; the headline metric of a case comes first.
    pub rows: Vec<Row>,
    /// Costs of work that lasts, by kind of work and environment; empty where no stretches were measured.
    pub lasting: Vec<LastingCost>,
    /// Outcomes of commands, by command and environment.
    pub outcomes: Vec<CommandOutcome>,
    /// Commands beside the first one in each environment, where environments are compared.
    pub across_commands: Vec<CommandFactor>,
    pub certificate: Certificate,
    /// Warnings of an environment as a whole (environment name) or of the session (None).
    pub warnings: Vec<(Option<String>, Warning)>,
    pub limits: Vec<OwnLimits>,
    pub ending: Ending,
    /// Articles that were added to the session: its answers to their conclusions, and their figures without a
    /// row.
    pub articles: Vec<ArticleBeside>,
}

impl Findings {
    /// Tells whether the outcomes of a command are an answer by themselves, although no times are compared: a side is told apart.
    pub fn tells_sides_apart(&self) -> bool {
        self.outcomes.iter().any(|outcome| outcome.word.is_difference())
    }

    /// Tells whether outcomes of commands are answered although times may not be: a side is told apart, or does the same.
    pub fn answers_outcomes(&self) -> bool {
        self.tells_sides_apart() || self.outcomes.iter().any(|outcome| outcome.word == Word::Same)
    }

    /// Finds the outcome of a command in an environment.
    pub fn find_outcome(&self, case: &str, target: &str) -> Option<&CommandOutcome> {
        self.outcomes.iter().find(|outcome| outcome.case == case && outcome.target == target)
    }

    /// Tells whether nothing is compared where runs of a command failed: too few ended alike, and no side is told apart.
    pub fn lacks_good_runs(&self) -> bool {
        let failed = self.warnings.iter().any(|(_, warning)| matches!(warning, Warning::RunsEnded { .. }))
            || self.outcomes.iter().any(|outcome| outcome.end.is_some());
        let judged = self.rows.iter().filter(|row| row.headline && Row::is_judged(&row.probe));
        let mut cells = judged.flat_map(|row| &row.cells).peekable();
        failed
            && !self.tells_sides_apart()
            && cells.peek().is_some()
            && cells.all(|cell| matches!(cell, Cell::Missing(_)))
    }
}

/// A command beside the first one in the same environment, by runs that did not take turns: no verdict, and no answer.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CommandFactor {
    #[serde(rename = "environment")]
    pub target: String,
    /// `PlannedCase::id` of the command, and of the first one.
    pub case: String,
    pub against: String,
    /// Pairs of runs that followed each other.
    pub rounds: u32,
    /// Its time over the first one's, with the 95 % interval, which has both ends.
    pub ratio: f64,
    pub interval: Interval,
}

/// Limits that an environment has because somebody asked for them, beside those of the one that it is compared with.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct OwnLimits {
    /// Name of the environment.
    pub target: String,
    pub limits: Vec<LimitPair>,
    pub settings: Vec<SettingPair>,
}

/// A metric of a case, in every environment.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Row {
    /// `PlannedCase::id`.
    pub case: String,
    /// Name of the probe, e.g. `file.seq`.
    pub probe: String,
    pub label: String,
    pub place: Option<String>,
    pub peer: Option<String>,
    pub metric: Metric,
    pub headline: bool,
    /// The baseline's own value; none when the case could not be measured there.
    pub baseline: Option<Level>,
    pub cells: Vec<Cell>,
    /// The baseline against itself; none when the session has no control environment.
    pub control: Option<Cell>,
    /// Articles' statements on this row, measured on other machines; empty unless they were added.
    pub published: Vec<Beside>,
}

impl Row {
    /// Probe of the harness itself, which times nothing.
    pub const HARNESS: &str = "null";

    /// Name in place of a probe's, and of a case's, for what environments use while others are measured.
    pub(crate) const HELPERS: &str = "helpers";

    /// Name in place of a probe's for work that lasts.
    pub const LASTING: &str = "lasting";

    /// Checks if it is of the session as a whole, and of none of its cases.
    pub fn is_of_session(&self) -> bool {
        [Row::HELPERS, Row::LASTING].contains(&self.probe.as_str())
    }

    /// Checks if it shows what the harness takes, and no cost of an environment.
    pub fn is_of_harness(&self) -> bool {
        self.probe == Row::HARNESS
    }

    /// Checks if rows of a probe answer whether an environment is slower.
    pub fn is_judged(probe: &str) -> bool {
        ![Row::HARNESS, Row::HELPERS, Row::LASTING].contains(&probe)
    }

    /// Computes the value that a cost ratio makes of the baseline's: what is shown of an environment that is compared, so that the
    /// quotient of two values is the ratio beside them. The ratio is that of pairs, and medians of all rounds may have another.
    pub fn scale_baseline(&self, ratio: f64) -> Option<f64> {
        self.baseline.as_ref().map(|baseline| self.metric.direction.scale(baseline.median, ratio))
    }
}

/// An article's statement on a row. It was measured on another machine, on another day.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Beside {
    /// `Published::id`.
    pub source: String,
    pub title: String,
    /// The article's names of the environment that it measured in, and of the one that it is compared with.
    pub environment: Option<String>,
    pub reference: Option<String>,
    /// The mean of the numbers that it printed for `environment`, in `unit`; none where it gives the ratio
    /// alone.
    pub value: Option<f64>,
    /// The mean printed for `reference`, likewise.
    pub reference_value: Option<f64>,
    /// As it printed them: a value a run.
    pub printed: Vec<String>,
    pub reference_printed: Vec<String>,
    pub unit: Option<String>,
    /// Factor from the row's values to `unit`, where the article counts in another.
    pub factor: Option<f64>,
    /// Ratio of the article's own figures, `environment` over `reference`: of rates above 1 it is faster, of times slower.
    pub ratio: Option<f64>,
    /// The environment of the session that corresponds to `environment`.
    #[serde(rename = "session_environment")]
    pub target: Option<String>,
    /// The environment that corresponds to the article's `reference`: the session's own, or another of its
    /// subjects.
    #[serde(rename = "session_baseline")]
    pub against_target: Option<String>,
    /// The session's own values in these two environments, in the row's unit.
    pub session_value: Option<OwnValue>,
    pub session_baseline_value: Option<OwnValue>,
    /// Ratio of the one environment's value over the other's and its interval.
    pub session_ratio: Option<f64>,
    pub session_ratio_low: Option<f64>,
    pub session_ratio_high: Option<f64>,
    /// True where the session's interval holds the article's ratio; none where the two are not comparable.
    pub contained: Option<bool>,
    /// Why they are not, where there is a ratio of each: another size, an emulated processor.
    pub because: Option<String>,
}

/// A value of the session, to compare with one of an article.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct OwnValue {
    pub median: f64,
    pub low: f64,
    pub high: f64,
    pub rounds: u32,
}

/// An article's part in a session's findings, besides its figures in rows.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ArticleBeside {
    /// `Published::id`.
    pub source: String,
    pub title: String,
    /// Figures and ratios that no row of this session measures.
    pub without_row: Vec<WithoutRow>,
    pub claims: Vec<ClaimBeside>,
    /// Its tables in its tool's form, filled from this session.
    pub tables: Vec<Table>,
    /// Its figures with this session's, where the session repeats it.
    pub figures: Option<FigureTable>,
}

/// A figure or a stated ratio of an article that no row of a session measures.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct WithoutRow {
    pub name: String,
    /// By environment of the article, a value a run; empty where it stated a ratio alone.
    pub printed: BTreeMap<String, Vec<String>>,
    pub unit: Option<String>,
    pub ratio: Option<f64>,
    /// The probe that measures it; none where tare has no such metric.
    pub probe: Option<String>,
    /// Why tare has no such metric.
    pub because: Option<String>,
}

/// A conclusion of an article, and this session's answer to it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ClaimBeside {
    pub text: String,
    /// True for the choice that the article recommends.
    pub recommends: bool,
    /// Empty where no row of this session shows anything of it.
    pub checks: Vec<CheckBeside>,
    /// The requirement for a session to judge it; none where another session could.
    pub needs: Option<String>,
    /// The article's environments that it is about and that were not measured.
    pub unmeasured: Vec<String>,
}

/// The direction in which a session's results point, compared with a conclusion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    Same,
    Other,
    Unknown,
}

impl ClaimBeside {
    /// Tells in which direction the results of all its parts point that can be told.
    pub fn way(&self) -> Way {
        let has =
            |outcomes: &[ClaimOutcome]| self.checks.iter().any(|check| outcomes.contains(&check.answer));
        match (has(&[ClaimOutcome::Holds, ClaimOutcome::SameDirection]), has(&[ClaimOutcome::Opposite])) {
            (true, false) => Way::Same,
            (false, true) => Way::Other,
            (true, true) | (false, false) => Way::Unknown,
        }
    }
}

/// A part of a conclusion in one row of a session.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CheckBeside {
    /// As the article states it: `0.89 %`, `slower`.
    pub states: String,
    pub case: String,
    pub label: String,
    pub metric: String,
    pub unit: Unit,
    #[serde(rename = "session_environment")]
    pub target: String,
    #[serde(rename = "session_baseline")]
    pub against_target: Option<String>,
    /// Label of the other row, where the conclusion is about two of one environment.
    pub over: Option<String>,
    pub of: Quantity,
    /// As `of` has it, or in the metric's unit where it is a value; none where the session does not compare. A ratio is
    /// one of values: of rates above 1 it is faster, of times slower.
    pub value: Option<f64>,
    pub low: Option<f64>,
    pub high: Option<f64>,
    /// Sizes of the row that the article's statement depends on, by their names: `32MiB` by `size`.
    pub sizes: BTreeMap<String, String>,
    pub answer: ClaimOutcome,
    /// Why it is not judged, or the size that is not the article's; none where it is judged at its sizes, and where the article's
    /// value is another machine's.
    pub because: Option<String>,
}

/// A session's answer to a conclusion of an article.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ClaimOutcome {
    Holds,
    /// In the stated direction, by another amount.
    SameDirection,
    Opposite,
    /// The interval reaches to both sides, or there is none.
    Undecided,
    /// Shown next to the session's and not judged: a value of another machine, another size, an emulated processor.
    NotJudged,
}

/// A typical value over rounds, with its interval, in the metric's unit.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Level {
    pub median: f64,
    /// Sign interval of the median at 95 %; equal to the extremes below 6 rounds.
    pub low: f64,
    pub high: f64,
    pub rounds: u32,
    /// Value of every round that counted, in order of rounds.
    pub values: Vec<f64>,
}

/// A case in an environment: compared, or the reason why not.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Cell {
    Compared(Box<Comparison>),
    /// Shown, never judged: a maximum is an observation, not a parameter.
    Observed(Level),
    Missing(Missing),
}

impl Comparison {
    /// Returns the answer of verdict, interval and margin, with what they leave out.
    pub fn answer(&self) -> Answer {
        let answer = Answer::from_verdict(self.verdict, self.interval, self.margin).with_reach(self.reach);
        match (answer.kind(), answer.why()) {
            (Kind::Slower | Kind::Faster, None) if self.seen.may_be_state(self.interval) => {
                answer.because(Why::Seen)
            }
            (Kind::AtMost, _) if self.most().is_none_or(|most| most > largest_bound(self.margin)) => {
                answer.because(Why::Typical)
            }
            (Kind::AtMost | Kind::NotSure, Some(Why::Rounds)) => answer.because(self.lacks),
            _ => answer,
        }
    }

    /// Returns the ratio beyond which the mean is excluded, the typical cost and what slow batches add taken together; none where the
    /// rounds exclude nothing. A quantile has no mean, and is bounded by its own interval.
    pub fn most(&self) -> Option<f64> {
        let [_, high] = self.interval.bounds();
        let most = match (self.slow, self.total) {
            (Some(slow), _) => high + slow.most,
            (None, Some(total)) if self.rounds as usize >= FEWEST_FOR_SAME => high.max(total.high),
            (None, Some(_)) => f64::INFINITY,
            (None, None) => high,
        };
        most.is_finite().then_some(most)
    }
}

impl Missing {
    /// Returns why nothing is compared: no value, or one that must not be.
    pub fn why(&self) -> Why {
        match self {
            Missing::Failed(failure) if failure.kind == FailureKind::NotComparable => Why::NotComparable,
            Missing::Failed(_) | Missing::NotReached => Why::NotMeasured,
            Missing::NoBaseline(_) | Missing::NotComparable { .. } => Why::NotComparable,
        }
    }
}

impl Cell {
    /// Returns the answer, or why there is none.
    pub fn answer(&self) -> Answer {
        match self {
            Cell::Compared(comparison) => comparison.answer(),
            Cell::Observed(_) => Answer::from_reason(Why::Observed),
            Cell::Missing(missing) => Answer::from_reason(missing.why()),
        }
    }

    /// Gives the comparison; none where there is none.
    pub fn comparison(&self) -> Option<&Comparison> {
        match self {
            Cell::Compared(comparison) => Some(comparison),
            Cell::Observed(_) | Cell::Missing(_) => None,
        }
    }

    /// Gives the environment's own value, whether or not it is compared; none where there is none.
    pub fn level(&self) -> Option<&Level> {
        match self {
            Cell::Compared(comparison) => Some(&comparison.level),
            Cell::Observed(level) => Some(level),
            Cell::Missing(Missing::NoBaseline(level) | Missing::NotComparable { level, .. }) => Some(level),
            Cell::Missing(Missing::Failed(_) | Missing::NotReached) => None,
        }
    }

    pub(crate) fn compared_mut(&mut self) -> Option<&mut Comparison> {
        match self {
            Cell::Compared(comparison) => Some(comparison),
            Cell::Observed(_) | Cell::Missing(_) => None,
        }
    }
}

/// Why a cell has no comparison.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Missing {
    /// The environment or the probe in it said why.
    Failed(Failure),
    /// It can be measured, but the session ended before it was.
    NotReached,
    /// The baseline has no value to compare with; the environment's own is here.
    NoBaseline(Level),
    /// There are values, but comparing them would mislead.
    NotComparable { reason: String, level: Level },
}

/// An environment's cost against the baseline, over paired rounds.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Comparison {
    /// The environment's own value over all its rounds, paired or not; `Row::scale_baseline` has the one to show.
    pub level: Level,
    /// Paired rounds.
    pub rounds: u32,
    /// Cost ratio: above 1 the environment is slower (slower, or less a second), whatever the metric's direction.
    pub ratio: f64,
    /// Interval of the ratio, at the level that its direction has among all cells; unknown while there are too few rounds for one.
    pub interval: Interval,
    /// The interval at 95 %, as if no other cell had been measured.
    pub interval_alone: Interval,
    /// Ratio of the mean costs; none where only typical values are known, as of quantiles.
    pub total: Option<Total>,
    /// Interval of the median difference by signs, to go with the Hodges-Lehmann one; equal where that one
    /// leads.
    pub signs: Interval,
    /// Which of the two intervals is in `interval`.
    pub leading: Leading,
    /// Sequential p of "no effect", from the test that belongs to the leading interval.
    pub p: f64,
    /// The largest ratio that counted as the same when it was judged.
    pub margin: f64,
    /// The decision at the margin, among all cells.
    pub verdict: Verdict,
    /// The work that the decision holds for.
    pub reach: Reach,
    /// The rounds and the time over which it was seen.
    pub seen: Span,
    /// Slow batches that were seen, and what they add; none where trials did not take turns.
    pub slow: Option<SlowSeen>,
    /// The reason why it is not decided, where rounds are what is missing first.
    pub lacks: Why,
    /// The rounds after which the verdict was first the final one; none while undecided.
    pub decided_at: Option<u32>,
    /// The rounds or starts that would decide it; none where it is decided.
    pub needed: Option<Needed>,
    /// Ratios that this cell could have found with 80 % power; none where there are too few rounds or starts
    /// to say.
    pub smallest: Option<Smallest>,
    /// Median over rounds of environment minus baseline, in the metric's unit.
    pub difference: f64,
    /// Dependence of rounds that share a start of the environment or of the baseline; none where none do.
    pub starts: Option<SharedStarts>,
    pub warnings: Vec<Warning>,
}

/// The mean cost in an environment over the mean cost in the baseline, with every stall in it, and its 95 % interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Total {
    pub ratio: f64,
    /// 0 and infinity where the rounds cannot tell.
    pub low: f64,
    pub high: f64,
}

/// Rounds that share starts, of the environment or of the baseline.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct SharedStarts {
    /// Starts of the side that was started less often.
    pub starts: u32,
    /// Share of the variance between starts (intraclass correlation); none with a single start.
    pub between: Option<f64>,
    /// Rounds needed, over those needed if each had a start for itself.
    pub design_effect: Option<f64>,
}

/// Which interval leads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Leading {
    HodgesLehmann,
    Sign,
    /// Student's, of a mean of logarithms: of work that lasts.
    Student,
}

/// Rounds or starts that would decide a cell, as a total and not on top of those it has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Needed {
    Rounds(u32),
    /// Starts of whichever side was started less often, where rounds share starts.
    Starts(u32),
    /// Ten times as many would not be enough at this noise.
    LessNoise,
}

/// The smallest ratios that a cell could have found, with 80 % power.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Smallest {
    /// ... as different from 1.
    pub differs: f64,
    /// ... as slower: beyond the margin.
    pub slower: f64,
}

/// The session's statement on its own power.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Certificate {
    /// Cells of the control environment, and how many of them differ by more than the margin or by an unclear size.
    pub control_cells: usize,
    #[serde(rename = "control_differing")]
    pub control_coloured: usize,
    /// More of them differ than chance allows at 5 % (Binomial): the report carries a banner.
    pub banner: bool,
    /// Smallest ratio that the session could have found to differ from 1 in a typical cell, e.g. 1.026; none when too few rounds.
    pub smallest_effect: Option<f64>,
    /// Headline cells with a decided verdict, and all headline cells that were compared.
    pub decided: usize,
    pub compared: usize,
    /// Rounds that were disturbed and run again.
    pub repeated: u32,
    /// Result for the cost that was planted; none where there was none, or it was not measured for as long as
    /// the others of its case.
    pub planted: Option<PlantedCost>,
}

/// A cost of known size that a session put into a hidden copy of its baseline, in one case.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PlantedCost {
    pub case: String,
    /// 0.05 for trials that worked 5 % longer.
    pub share: f64,
    pub rounds: u32,
    pub ratio: f64,
    pub interval: Interval,
    /// True where its cell would have said slower, by whatever size, in the table.
    pub found: bool,
}

/// A kind of work, from the first part of a probe's name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Family {
    Cpu,
    Memory,
    SystemCall,
    Process,
    Ipc,
    Time,
    File,
    Network,
    /// An environment's own: being entered, and being there.
    Start,
    Other,
}

impl Family {
    /// Finds the family of a probe, by the first part of its name.
    pub fn from_probe(probe: &str) -> Family {
        match probe.split('.').next().unwrap_or("") {
            "cpu" => Family::Cpu,
            "mem" => Family::Memory,
            "sys" => Family::SystemCall,
            "proc" => Family::Process,
            "ipc" => Family::Ipc,
            "time" => Family::Time,
            "file" => Family::File,
            "net" => Family::Network,
            "env" => Family::Start,
            _ => Family::Other,
        }
    }
}
