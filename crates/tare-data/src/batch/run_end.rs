//! The end of a run of a command: its exit code, or the signal that ended it.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::batch::{Batch, Sample};

/// Series of the gauges that state the end of each run of a command, in order.
pub const ENDED: &str = "ended";

/// Added to the number of a signal by shells, and by tools that know exit codes alone.
const SIGNALLED: i32 = 128;
/// Gauge of a run that was ended because it took too long: no signal has this number.
const OVERDUE: i32 = -1000;
/// Exit code by which timeout(1) reports such a run.
const OVERDUE_CODE: i32 = 124;

/// The end of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunEnd {
    ExitCode(i32),
    Signal(i32),
    /// It took longer than it may, and was ended.
    TimedOut,
}

impl RunEnd {
    /// Converts the end of a run to a gauge: an exit code, or a signal below zero.
    pub fn to_gauge(self) -> f64 {
        f64::from(match self {
            RunEnd::ExitCode(code) => code,
            RunEnd::Signal(signal) => -signal,
            RunEnd::TimedOut => OVERDUE,
        })
    }

    /// Reads the end that a batch states; none where it states something else.
    pub fn from_batch(batch: &Batch) -> Option<RunEnd> {
        let Sample::Gauge { value } = batch.sample else { return None };
        if batch.series != ENDED || value.fract() != 0.0 || value.abs() > f64::from(i32::MAX) {
            return None;
        }
        let number = value as i32;
        Some(match number {
            OVERDUE => RunEnd::TimedOut,
            0.. => RunEnd::ExitCode(number),
            _ => RunEnd::Signal(-number),
        })
    }

    /// Returns the exit code by which a shell reports it.
    pub fn shell_code(self) -> i32 {
        match self {
            RunEnd::ExitCode(code) => code,
            RunEnd::Signal(signal) => signal.saturating_add(SIGNALLED),
            RunEnd::TimedOut => OVERDUE_CODE,
        }
    }
}

impl fmt::Display for RunEnd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RunEnd::ExitCode(code) => write!(f, "exit code {code}"),
            RunEnd::Signal(signal) => write!(f, "signal {signal}"),
            RunEnd::TimedOut => f.write_str("a time-out"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::batch::Phase;

    #[test]
    fn an_end_survives_as_a_gauge_and_nothing_else_is_one() {
        let gauge = |series: &str, value| {
            let sample = Sample::Gauge { value };
            RunEnd::from_batch(&Batch { series: series.into(), phase: Phase::Warm, started_ns: 0, sample })
        };
        for end in [RunEnd::ExitCode(0), RunEnd::ExitCode(255), RunEnd::Signal(9), RunEnd::TimedOut] {
            assert_eq!(gauge(ENDED, end.to_gauge()), Some(end));
        }
        assert_eq!(RunEnd::Signal(9).shell_code(), 137);
        assert_eq!(gauge("user", 0.0), None);
        for foreign in [0.5, f64::NAN, f64::INFINITY, 1e300] {
            assert_eq!(gauge(ENDED, foreign), None);
        }
    }
}
