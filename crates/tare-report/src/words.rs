//! The words that stand for verdicts, gaps, families of work, warnings and endings.

use tare_analysis::findings::{Cell, Comparison, Family, Missing, Needed, Verdict};
use tare_data::failure::FailureKind;
use tare_data::session::Ending;
use tare_data::warning::Warning;

/// Marks a difference that does not survive the correction for many cells.
pub const UNCORRECTED: char = '†';

/// The word of a verdict, as the table shows it.
pub fn verdict(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Slower => "slower",
        Verdict::Faster => "faster",
        Verdict::SlightlySlower => "slightly slower",
        Verdict::SlightlyFaster => "slightly faster",
        Verdict::Same => "same",
        Verdict::SlowerUnclear => "slower?",
        Verdict::FasterUnclear => "faster?",
        Verdict::SlowerUnconfirmed => "slower",
        Verdict::FasterUnconfirmed => "faster",
        Verdict::Inconclusive => "inconclusive",
    }
}

/// The name of a verdict in files that programs read.
pub fn verdict_name(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Slower => "slower",
        Verdict::Faster => "faster",
        Verdict::SlightlySlower => "slightly_slower",
        Verdict::SlightlyFaster => "slightly_faster",
        Verdict::Same => "same",
        Verdict::SlowerUnclear => "slower_unclear",
        Verdict::FasterUnclear => "faster_unclear",
        Verdict::SlowerUnconfirmed => "slower_unconfirmed",
        Verdict::FasterUnconfirmed => "faster_unconfirmed",
        Verdict::Inconclusive => "inconclusive",
    }
}

/// Whether a comparison claims a difference that many cells together may have made by chance.
pub fn is_uncorrected(comparison: &Comparison) -> bool {
    matches!(comparison.verdict, Verdict::SlowerUnconfirmed | Verdict::FasterUnconfirmed)
}

/// Rounds that would decide a comparison, where rounds are what it lacks.
pub fn rounds_needed(comparison: &Comparison) -> Option<u32> {
    match comparison.needed? {
        Needed::Rounds(rounds) => Some(rounds),
        Needed::Starts(_) | Needed::LessNoise => None,
    }
}

/// What a gap is called in a cell, and its reason, which stands below the table.
pub fn missing(missing: &Missing) -> (&'static str, Option<&str>) {
    match missing {
        Missing::Failed(failure) => (failure_kind(failure.kind), Some(&failure.reason)),
        Missing::NotReached => ("not reached", None),
        Missing::NoBaseline(_) => ("no baseline", None),
        Missing::NotComparable { reason, .. } => ("not comparable", Some(reason)),
    }
}

/// What a kind of failure is called in a cell.
pub fn failure_kind(kind: FailureKind) -> &'static str {
    match kind {
        FailureKind::NotSupported => "not supported",
        FailureKind::NotPermitted => "not permitted",
        FailureKind::NotComparable => "not comparable",
        FailureKind::WrongWork => "wrong work",
        FailureKind::Broken => "failed",
        FailureKind::Deadline => "deadline passed",
        FailureKind::Died => "died",
    }
}

/// The name of a kind of failure in files that programs read.
pub fn failure_name(kind: FailureKind) -> &'static str {
    match kind {
        FailureKind::NotSupported => "not_supported",
        FailureKind::NotPermitted => "not_permitted",
        FailureKind::NotComparable => "not_comparable",
        FailureKind::WrongWork => "wrong_work",
        FailureKind::Broken => "broken",
        FailureKind::Deadline => "deadline",
        FailureKind::Died => "died",
    }
}

/// The name of a gap in files that programs read.
pub fn missing_name(missing: &Missing) -> &'static str {
    match missing {
        Missing::Failed(failure) => failure_name(failure.kind),
        Missing::NotReached => "not_reached",
        Missing::NoBaseline(_) => "no_reference",
        Missing::NotComparable { .. } => "not_comparable",
    }
}

/// A family of work in plain words, to stand after "pays for".
pub fn family(family: Family) -> &'static str {
    match family {
        Family::Cpu => "computing",
        Family::Memory => "memory",
        Family::SystemCall => "system calls",
        Family::Process => "processes",
        Family::Ipc => "talk between processes",
        Family::Time => "reading the clock",
        Family::File => "files",
        Family::Network => "the network",
        Family::Start => "coming up",
        Family::Other => "other work",
    }
}

/// The name of a family in files that programs read.
pub fn family_name(family: Family) -> &'static str {
    match family {
        Family::Cpu => "cpu",
        Family::Memory => "memory",
        Family::SystemCall => "system_call",
        Family::Process => "process",
        Family::Ipc => "ipc",
        Family::Time => "time",
        Family::File => "file",
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
        Warning::Modal { .. } => "rounds fall into separate groups",
        Warning::CanaryOutside { .. } => "a fixed piece of arithmetic took another time than in the baseline",
        Warning::ClockDisagrees { .. } => "its clock and the host's disagree",
        Warning::CoarseClock { .. } => "its clock moves in coarse steps",
        Warning::RoundsRepeated { .. } => "rounds were disturbed and run again",
        Warning::TrialsFailed { .. } => "some trials failed",
        Warning::SharedStarts { .. } => "rounds share starts of the environment",
        Warning::BrokenOff { .. } => "the session broke off early",
        Warning::EmulatedProcessor => "the processor is emulated",
        Warning::DatagramsAstray { .. } => "datagrams were lost, late, doubled or out of order",
    }
}

/// The name of a warning in files that programs read.
pub fn warning_name(warning: &Warning) -> &'static str {
    match warning {
        Warning::ControlColoured { .. } => "control_coloured",
        Warning::SkewedTail { .. } => "skewed_tail",
        Warning::Modal { .. } => "modal",
        Warning::CanaryOutside { .. } => "canary_outside",
        Warning::ClockDisagrees { .. } => "clock_disagrees",
        Warning::CoarseClock { .. } => "coarse_clock",
        Warning::RoundsRepeated { .. } => "rounds_repeated",
        Warning::TrialsFailed { .. } => "trials_failed",
        Warning::SharedStarts { .. } => "shared_starts",
        Warning::BrokenOff { .. } => "broken_off",
        Warning::EmulatedProcessor => "emulated_processor",
        Warning::DatagramsAstray { .. } => "datagrams_astray",
    }
}

/// How a session ended, when it did not end by itself.
pub fn ending(ending: Ending) -> Option<&'static str> {
    match ending {
        Ending::Complete => None,
        Ending::Interrupted => Some("The session was stopped early: this is what was measured until then."),
        Ending::BrokenOff => Some("The record breaks off: this is what was measured until then."),
    }
}

/// The name of an ending in files that programs read.
pub fn ending_name(ending: Ending) -> &'static str {
    match ending {
        Ending::Complete => "complete",
        Ending::Interrupted => "interrupted",
        Ending::BrokenOff => "broken_off",
    }
}

/// The comparison in a cell, if there is one.
pub fn comparison(cell: &Cell) -> Option<&Comparison> {
    match cell {
        Cell::Compared(comparison) => Some(comparison),
        Cell::Observed(_) | Cell::Missing(_) => None,
    }
}
