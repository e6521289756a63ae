//! Facts of the clock that probes read. The cost of a read is the result of the probe `time.read`: a first look is up to 300 times
//! as much where a kernel prepares its clock later, as gVisor does.

use tare_data::facts::Facts;
use tare_data::facts::keys::CLOCK_STEP_NS;

use crate::harness::stopwatch::smallest_step_ns;

pub fn note_all(facts: &mut Facts) {
    facts.add_fact(CLOCK_STEP_NS, smallest_step_ns().to_string());
}
