//! Facts of the clock that probes read. The cost of a read is the result of the probe `time.read`: a first look is up to 300 times
//! as much where a kernel prepares its clock later, as gVisor does.

use tare_data::facts::Facts;

use crate::harness::stopwatch::smallest_step_ns;

pub fn note_all(facts: &mut Facts) {
    facts.add_fact("clock.step_ns", smallest_step_ns().to_string());
}
