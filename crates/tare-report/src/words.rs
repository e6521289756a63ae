//! The words that stand for verdicts, gaps, families of work, caveats and endings.

use tare_analysis::findings::{Cell, Comparison, Family, Gap, Verdict};
use tare_data::caveat::Caveat;
use tare_data::failure::FailureKind;
use tare_data::session::Ending;

/// Marks a difference that does not survive the correction for many cells.
pub const UNCORRECTED: char = '†';

/// The word of a verdict, as the table shows it.
pub fn verdict(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Slower => "slower",
        Verdict::Faster => "faster",
        Verdict::Same => "same",
        Verdict::SlowerUnclear => "slower?",
        Verdict::FasterUnclear => "faster?",
        Verdict::CannotTell => "cannot tell",
    }
}

/// The name of a verdict in files that programs read.
pub fn verdict_name(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Slower => "slower",
        Verdict::Faster => "faster",
        Verdict::Same => "same",
        Verdict::SlowerUnclear => "slower_unclear",
        Verdict::FasterUnclear => "faster_unclear",
        Verdict::CannotTell => "cannot_tell",
    }
}

/// Whether a comparison claims a difference that many cells together may have made by chance.
pub fn is_uncorrected(comparison: &Comparison) -> bool {
    matches!(comparison.verdict, Verdict::Slower | Verdict::Faster) && !comparison.coloured
}

/// What a gap is called in a cell, and its reason, which stands below the table.
pub fn gap(gap: &Gap) -> (&'static str, Option<&str>) {
    match gap {
        Gap::Failed(failure) => (failure_kind(failure.kind), Some(&failure.reason)),
        Gap::NotReached => ("not reached", None),
        Gap::NoReference(_) => ("no reference", None),
        Gap::NotComparable { reason, .. } => ("not comparable", Some(reason)),
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
pub fn gap_name(gap: &Gap) -> &'static str {
    match gap {
        Gap::Failed(failure) => failure_name(failure.kind),
        Gap::NotReached => "not_reached",
        Gap::NoReference(_) => "no_reference",
        Gap::NotComparable { .. } => "not_comparable",
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

/// What every caveat of a kind has in common, for a note that stands for several of them.
pub fn caveat_kind(caveat: &Caveat) -> &'static str {
    match caveat {
        Caveat::ControlColoured { .. } => "the reference differs from itself",
        Caveat::SkewedTail { .. } => "differences are skewed: their centre and their median disagree",
        Caveat::Modal { .. } => "rounds fall into separate groups",
        Caveat::CanaryOutside { .. } => "a fixed piece of arithmetic took another time than in the reference",
        Caveat::ClockDisagrees { .. } => "its clock and the host's disagree",
        Caveat::CoarseClock { .. } => "its clock moves in coarse steps",
        Caveat::RoundsRepeated { .. } => "rounds were disturbed and run again",
        Caveat::TrialsFailed { .. } => "some trials failed",
        Caveat::SharedStarts { .. } => "rounds share starts of the environment",
        Caveat::BrokenOff { .. } => "the session broke off early",
        Caveat::EmulatedProcessor => "the processor is emulated",
        Caveat::DatagramsAstray { .. } => "datagrams were lost, late, doubled or out of order",
    }
}

/// The name of a caveat in files that programs read.
pub fn caveat_name(caveat: &Caveat) -> &'static str {
    match caveat {
        Caveat::ControlColoured { .. } => "control_coloured",
        Caveat::SkewedTail { .. } => "skewed_tail",
        Caveat::Modal { .. } => "modal",
        Caveat::CanaryOutside { .. } => "canary_outside",
        Caveat::ClockDisagrees { .. } => "clock_disagrees",
        Caveat::CoarseClock { .. } => "coarse_clock",
        Caveat::RoundsRepeated { .. } => "rounds_repeated",
        Caveat::TrialsFailed { .. } => "trials_failed",
        Caveat::SharedStarts { .. } => "shared_starts",
        Caveat::BrokenOff { .. } => "broken_off",
        Caveat::EmulatedProcessor => "emulated_processor",
        Caveat::DatagramsAstray { .. } => "datagrams_astray",
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
        Cell::Observed(_) | Cell::Gap(_) => None,
    }
}
