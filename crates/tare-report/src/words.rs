//! The words of verdicts, missing values, families, warnings and endings.

use serde::Serialize;
use serde_json::Value;
use tare_analysis::findings::{Cell, Comparison, Family, Missing, Needed, Total, Verdict};
use tare_analysis::verdicts::judge::FEWEST_STARTS;
use tare_data::failure::FailureKind;
use tare_data::session::Ending;
use tare_data::warning::Warning;

use crate::number::{compact_interval, counted, percent, ratio, ratio_interval};

/// Marks a difference that does not survive the correction for many cells.
pub const MAY_BE_CHANCE: char = '†';

/// How an environment does in one row: what a cell and the summary say of it, in the order of the summary.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Standing {
    Slower,
    SlowerUnclear,
    SlowerInFewStarts,
    MaybeSlower,
    SlightlySlower,
    Faster,
    FasterUnclear,
    FasterInFewStarts,
    MaybeFaster,
    SlightlyFaster,
    TypicallySame,
    Same,
    Inconclusive,
    NotComparable,
    NotMeasured,
}

impl Standing {
    /// None for a value that is shown and never judged.
    pub fn of(cell: &Cell) -> Option<Standing> {
        match cell {
            Cell::Compared(comparison) => Some(Standing::of_comparison(comparison)),
            Cell::Observed(_) => None,
            Cell::Missing(missing) => Some(Standing::of_missing(missing)),
        }
    }

    /// Of a comparison.
    pub(crate) fn of_comparison(comparison: &Comparison) -> Standing {
        let stalls = comparison.warnings.iter().any(|warning| matches!(warning, Warning::Stalls { .. }));
        let few_starts = comparison.starts.is_some_and(|shared| (shared.starts as usize) < FEWEST_STARTS);
        match Standing::of_verdict(comparison.verdict, few_starts) {
            Standing::SlowerUnclear | Standing::FasterUnclear | Standing::Inconclusive if stalls => {
                Standing::TypicallySame
            }
            standing => standing,
        }
    }

    /// Of a verdict, where the starts behind it are few or not.
    pub(crate) fn of_verdict(verdict: Verdict, few_starts: bool) -> Standing {
        match verdict {
            Verdict::Slower => Standing::Slower,
            Verdict::Faster => Standing::Faster,
            Verdict::SlightlySlower => Standing::SlightlySlower,
            Verdict::SlightlyFaster => Standing::SlightlyFaster,
            Verdict::Same => Standing::Same,
            Verdict::SlowerUnclear => Standing::SlowerUnclear,
            Verdict::FasterUnclear => Standing::FasterUnclear,
            Verdict::SlowerUnconfirmed if few_starts => Standing::SlowerInFewStarts,
            Verdict::FasterUnconfirmed if few_starts => Standing::FasterInFewStarts,
            Verdict::SlowerUnconfirmed => Standing::MaybeSlower,
            Verdict::FasterUnconfirmed => Standing::MaybeFaster,
            Verdict::Inconclusive => Standing::Inconclusive,
        }
    }

    fn of_missing(missing: &Missing) -> Standing {
        match missing {
            Missing::Failed(failure) if failure.kind == FailureKind::NotComparable => Standing::NotComparable,
            Missing::Failed(_) | Missing::NotReached => Standing::NotMeasured,
            Missing::NoBaseline(_) | Missing::NotComparable { .. } => Standing::NotComparable,
        }
    }

    /// The word of a cell.
    pub fn word(self) -> &'static str {
        match self {
            Standing::Slower | Standing::MaybeSlower => "slower",
            Standing::SlowerUnclear => "slower (size unclear)",
            Standing::SlowerInFewStarts => "slower in few starts",
            Standing::SlightlySlower => "slightly slower",
            Standing::Faster | Standing::MaybeFaster => "faster",
            Standing::FasterUnclear => "faster (size unclear)",
            Standing::FasterInFewStarts => "faster in few starts",
            Standing::SlightlyFaster => "slightly faster",
            Standing::TypicallySame => "typically the same",
            Standing::Same => "same",
            Standing::Inconclusive => "inconclusive",
            Standing::NotComparable => "not comparable",
            Standing::NotMeasured => "not measured",
        }
    }

    /// Whether the difference may be chance, given how many cells there are.
    pub(crate) fn may_be_chance(self) -> bool {
        matches!(self, Standing::MaybeSlower | Standing::MaybeFaster)
    }

    /// Whether it states by which factor the environment differs.
    pub(crate) fn has_factor(self) -> bool {
        use Standing::*;
        matches!(self, Slower | SlowerInFewStarts | MaybeSlower | Faster | FasterInFewStarts | MaybeFaster)
    }

    fn is_faster(self) -> bool {
        matches!(self, Standing::Faster | Standing::FasterInFewStarts | Standing::MaybeFaster)
    }
}

/// By what factor an environment is slower or, where its verdict is that, faster.
pub fn factor(comparison: &Comparison) -> f64 {
    match Standing::of_comparison(comparison).is_faster() {
        true => 1.0 / comparison.ratio,
        false => comparison.ratio,
    }
}

/// What a cell says: `3.4x slower`, `same`, `slightly slower (0.8 %)`.
pub fn verdict(comparison: &Comparison) -> String {
    let standing = Standing::of_comparison(comparison);
    let (word, size) = (standing.word(), ratio(factor(comparison)));
    match standing {
        Standing::Slower | Standing::Faster => format!("{size} {word}"),
        Standing::MaybeSlower | Standing::MaybeFaster => format!("{size} {word}{MAY_BE_CHANCE}"),
        Standing::SlowerInFewStarts | Standing::FasterInFewStarts => {
            let starts = comparison.starts.map_or(0, |shared| shared.starts) as usize;
            format!("{size} {}", word.replace("few starts", &counted(starts, "start", "starts")))
        }
        Standing::SlightlySlower | Standing::SlightlyFaster => {
            format!("{word} ({})", percent((comparison.ratio - 1.0).abs()))
        }
        _ => word.into(),
    }
}

/// The ratio of mean costs, where that of typical costs is not within its interval: `1.30x [1.12, 1.62]`.
pub fn mean_where_it_differs(comparison: &Comparison) -> Option<String> {
    let Total { ratio: mean, low, high } = comparison.total?;
    let differs = !(low..=high).contains(&comparison.ratio)
        || Standing::of_comparison(comparison) == Standing::TypicallySame;
    differs.then(|| format!("{} {}", ratio(mean), ratio_interval(low, high, mean)))
}

/// The interval of the factor that the verdict states, or of the slowdown where it states none.
pub fn interval(comparison: &Comparison) -> String {
    let (low, high, factor) = bounds(comparison);
    ratio_interval(low, high, factor)
}

/// The same in few columns.
pub fn narrow_interval(comparison: &Comparison) -> String {
    let (low, high, _) = bounds(comparison);
    compact_interval(low, high)
}

fn bounds(comparison: &Comparison) -> (f64, f64, f64) {
    match Standing::of_comparison(comparison).is_faster() {
        true => (1.0 / comparison.high, 1.0 / comparison.low, factor(comparison)),
        false => (comparison.low, comparison.high, comparison.ratio),
    }
}

/// Rounds that would decide a comparison, where rounds are what it lacks.
pub fn rounds_needed(comparison: &Comparison) -> Option<u32> {
    match comparison.needed? {
        Needed::Rounds(rounds) => Some(rounds),
        Needed::Starts(_) | Needed::LessNoise => None,
    }
}

/// The smallest difference from the baseline that a comparison could have found, as a share.
pub fn smallest_difference(comparison_cell: &Cell) -> Option<f64> {
    let smallest = comparison(comparison_cell)?.smallest?;
    Some((smallest.differs - 1.0).abs()).filter(|share| share.is_finite())
}

/// What a cell says, in one line: `3.4x slower [3.2, 3.5]`, `not measured: not permitted: needs root`.
pub fn cell(cell: &Cell) -> String {
    match cell {
        Cell::Compared(comparison) => format!("{} {}", verdict(comparison), interval(comparison)),
        Cell::Observed(_) => "observed, never compared".into(),
        Cell::Missing(found) => missing(found),
    }
}

/// What a cell without a comparison says, with the reason.
pub(crate) fn missing(missing: &Missing) -> String {
    match reason(missing) {
        reason if reason.is_empty() => missing_word(missing).into(),
        reason => format!("{}: {reason}", missing_word(missing)),
    }
}

/// What a cell without a comparison says.
pub fn missing_word(missing: &Missing) -> &'static str {
    Standing::of_missing(missing).word()
}

/// Why there is no comparison.
pub fn reason(missing: &Missing) -> String {
    match missing {
        Missing::Failed(failure) if failure.kind == FailureKind::NotComparable => failure.reason.clone(),
        Missing::Failed(failure) => failure.to_string().trim_end_matches([':', ' ']).to_owned(),
        Missing::NotReached => "the session ended before it".into(),
        Missing::NoBaseline(_) => "the baseline was not measured".into(),
        Missing::NotComparable { reason, .. } => reason.clone(),
    }
}

/// What kind of missing value it is, in a word or two.
pub fn missing_kind(missing: &Missing) -> &'static str {
    match missing {
        Missing::Failed(failure) => failure.kind.words(),
        Missing::NotReached => "not reached",
        Missing::NoBaseline(_) => "no baseline",
        Missing::NotComparable { .. } => "not comparable",
    }
}

/// The name of a variant in files that programs read: the one that serde gives it.
pub fn machine_name(variant: &impl Serialize) -> String {
    match serde_json::to_value(variant) {
        Ok(Value::String(name)) => name,
        Ok(Value::Object(fields)) => fields.into_iter().next().map(|(name, _)| name).unwrap_or_default(),
        _ => String::new(),
    }
}

/// The name of the kind of a missing value in files that programs read.
pub fn missing_name(missing: &Missing) -> String {
    match missing {
        Missing::Failed(failure) => machine_name(&failure.kind),
        _ => machine_name(missing),
    }
}

/// A family of probes.
pub fn family(family: Family) -> &'static str {
    match family {
        Family::Cpu => "CPU",
        Family::Memory => "memory",
        Family::SystemCall => "system calls",
        Family::Process => "processes",
        Family::Ipc => "IPC",
        Family::Time => "clock",
        Family::File => "files",
        Family::Network => "network",
        Family::Start => "start",
        Family::Other => "other",
    }
}

/// What every warning of a kind has in common, for a note that stands for several of them.
pub fn warning_kind(warning: &Warning) -> &'static str {
    match warning {
        Warning::ControlColoured { .. } => "the baseline differs from itself",
        Warning::SkewedTail { .. } => "differences are skewed: their centre and their median disagree",
        Warning::Stalls { .. } => "typically the same, but some rounds take much longer",
        Warning::Modal { .. } => "rounds fall into separate groups",
        Warning::RoundsAlike { .. } => "rounds that follow each other are alike: blocks of them were judged",
        Warning::CanaryOutside { .. } => "a fixed piece of arithmetic took another time than in the baseline",
        Warning::ClockDisagrees { .. } => "its clock and the host's disagree",
        Warning::CoarseClock { .. } => "its clock moves in coarse steps",
        Warning::RoundsRepeated { .. } => "rounds were disturbed and repeated",
        Warning::TrialsFailed { .. } | Warning::SessionFailed { .. } => "some trials failed",
        Warning::SharedStarts { .. } => "rounds share starts of the environment",
        Warning::OwnControlDiffers { .. } => "the environment differs from itself",
        Warning::BrokenOff { .. } => "the session ended early",
        Warning::EmulatedProcessor => "the CPU is emulated",
        Warning::DamagedLines { .. } => "the record is damaged",
        Warning::StrayLines { .. } => "lines of the record belong to no trial",
        Warning::SessionsAtOnce { .. } => "other sessions ran at the same time",
        Warning::DatagramsAstray { .. } => "datagrams were lost, late, duplicated or out of order",
    }
}

/// How a session ended, when it did not end by itself.
pub fn ending(ending: Ending) -> Option<&'static str> {
    match ending {
        Ending::Complete => None,
        Ending::Interrupted => Some("The session was stopped early: this is what was measured until then."),
        Ending::BaselineFailed => {
            Some("The session ended early: the baseline gave no value in ten rounds in a row.")
        }
        Ending::BrokenOff => Some("The record breaks off: this is what was measured until then."),
    }
}

/// The comparison in a cell, if there is one.
pub fn comparison(cell: &Cell) -> Option<&Comparison> {
    match cell {
        Cell::Compared(comparison) => Some(comparison),
        Cell::Observed(_) | Cell::Missing(_) => None,
    }
}
