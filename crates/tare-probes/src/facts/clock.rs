//! Facts of the clock that probes read: its smallest step, and what a read costs.

use tare_data::facts::Facts;

use crate::harness::stopwatch::{now_ns, smallest_step_ns};

/// Clock reads that the cost of one is taken from.
const CLOCK_READS: u64 = 2_000;

pub fn note_all(facts: &mut Facts) {
    facts.add_fact("clock.step_ns", smallest_step_ns().to_string());
    let started_ns = now_ns();
    let mut last_ns = started_ns;
    for _ in 0..CLOCK_READS {
        last_ns = now_ns();
    }
    facts.add_fact("clock.read_ns", (last_ns.saturating_sub(started_ns) / CLOCK_READS).to_string());
}
