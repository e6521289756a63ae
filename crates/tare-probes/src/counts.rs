//! Counts: how many operations a batch may report of those that a trial's amount demands. The host holds them against
//! what an environment sends.

use tare_data::names::Case;

use crate::descriptions::cpu_whetstone::MILLIONS_A_PASS;
use crate::descriptions::sys_mix::CALLS_A_TURN;
use crate::probes::events_an_operation;

/// Operations of a batch of a series.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Count {
    Exactly(u64),
    /// As many were begun, and some have no answer, or are of another kind.
    AtMost(u64),
    /// The case's parameters fix the work, or time does, and not the amount.
    Free,
}

impl Count {
    /// Computes what a batch of `operations` reports in a series.
    pub fn from_case(case: &Case, series: &str, operations: u64) -> Count {
        match (case.probe.as_str(), series) {
            ("time.spin" | "proc.thread_hold" | "proc.fork_hold" | "file.seq" | "work.lasting", _) => {
                Count::Free
            }
            ("file.random", "read" | "write" | "fsync") => Count::Free,
            ("file.queue" | "file.random" | "cpu.primes", _) => match events_an_operation(case) {
                Some(events) => Count::Exactly(operations.saturating_mul(events)),
                None => Count::Free,
            },
            ("net.rr" | "net.stream", "connect") => Count::AtMost(1),
            ("net.rr", _) => Count::AtMost(operations),
            ("cpu.whetstone", "million") => Count::Exactly(operations.saturating_mul(MILLIONS_A_PASS)),
            ("sys.mix", "call") => Count::Exactly(operations.saturating_mul(CALLS_A_TURN)),
            _ => Count::Exactly(operations),
        }
    }

    pub fn matches_operations(self, operations: u64) -> bool {
        match self {
            Count::Exactly(count) => operations == count,
            Count::AtMost(count) => operations <= count,
            Count::Free => true,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn several_threads_of_primes_share_sixteen_events_for_each_in_an_operation() {
        let of = |threads: &str| {
            let parameters = [("threads".to_owned(), threads.to_owned())].into();
            let case = Case {
                probe: "cpu.primes".into(),
                parameters: tare_data::names::Parameters(parameters),
                place: None,
                peer: None,
            };
            Count::from_case(&case, "event", 5)
        };
        assert_eq!([of("1"), of("2")], [Count::Exactly(5), Count::Exactly(5 * 2 * 16)]);
    }
}
