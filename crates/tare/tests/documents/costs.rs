//! Records with known costs, for examples of gates, exports and comparisons over time.

use tare_data::session::Ending;
use tare_record::Entry;
use tare_record::entry::{Begin, to_line};

use crate::examples::{make_opening_entries, make_trial_entries, make_warm_batch};

/// Enough rounds for an interval.
const ROUNDS: u32 = 12;
/// Nanoseconds in which the baseline does a trial's operations.
const ELAPSED_NS: f64 = 4e6;

/// Builds the record of a day on which the container has this cost.
fn record(day: &str, kernel: &str, cost: f64) -> String {
    let mut entries = make_opening_entries();
    for entry in &mut entries {
        match entry {
            Entry::Record { header, .. } => {
                header.started = format!("{day}T12:00:00+01:00");
                header.host.add_fact("kernel.release", kernel);
            }
            Entry::Plan(plan) => (plan.rounds, plan.looks) = (ROUNDS, vec![ROUNDS]),
            _ => {}
        }
    }
    for round in 0..ROUNDS {
        for (at, (target, cost)) in [("native", 1.0), ("container", cost)].into_iter().enumerate() {
            // A spread of a twentieth, another in each environment.
            let place = (f64::from(round) * 0.618 + at as f64 * 0.3).fract() - 0.5;
            let elapsed_ns = (ELAPSED_NS * cost * (1.0 + 0.05 * place)) as u64;
            let number = u64::from(round) * 2 + at as u64;
            for mut entry in
                make_trial_entries(number, target, 0, 0, vec![make_warm_batch(23_000, elapsed_ns)])
            {
                if let Entry::Begin(Begin { round: of, start, .. }) = &mut entry {
                    (*of, *start) = (round, 0);
                }
                entries.push(entry);
            }
        }
    }
    entries.push(Entry::Ended { ending: Ending::Complete, at: format!("{day}T12:00:02+01:00"), others: 0 });
    entries.iter().map(to_line).collect()
}

/// Builds two named records: system calls of the container have become slower, and the kernel has changed.
pub fn make_records() -> [(&'static str, String); 2] {
    [
        ("before.tare", record("2026-01-30", "6.11.2", 2.2)),
        ("after.tare", record("2026-01-31", "6.12.0", 2.9)),
    ]
}
