//! Memory of held processes, as this machine sees it from outside an environment.

use tare_data::batch::{Batch, HELD, OUTSIDE, Sample};

/// Memory of this machine in the processes that a trial holds.
#[derive(Default)]
pub struct HeldMemory {
    /// Available bytes when nothing was held yet.
    before: Option<u64>,
}

impl HeldMemory {
    /// Looks when a trial reports how many it holds, and returns the bytes for each once they are all there.
    ///
    /// What did not grow is not known, and not zero: a guest's memory may have been given to it before.
    pub fn observe_batch(&mut self, batch: &Batch, available: impl Fn() -> Option<u64>) -> Option<Batch> {
        let Sample::Gauge { value: held } = batch.sample else { return None };
        if batch.series != HELD {
            return None;
        }
        if held.is_nan() || held < 1.0 {
            self.before = available();
            return None;
        }
        let grown = self.before.take()?.checked_sub(available()?).filter(|&bytes| bytes > 0)?;
        let sample = Sample::Gauge { value: grown as f64 / held };
        Some(Batch { series: OUTSIDE.into(), sample, ..batch.clone() })
    }
}

#[cfg(test)]
mod tests {
    use tare_data::batch::Phase;

    use super::*;

    #[test]
    fn memory_of_held_processes_is_measured_from_outside() {
        let held = |held: f64| Batch {
            series: HELD.into(),
            phase: Phase::Warm,
            started_ns: 0,
            sample: Sample::Gauge { value: held },
        };
        let mut memory = HeldMemory::default();
        assert_eq!(memory.observe_batch(&held(100.0), || Some(1)), None, "nothing is known of before");
        assert_eq!(memory.observe_batch(&held(0.0), || Some(9_000_000)), None);
        let other = Batch { series: "process".into(), ..held(100.0) };
        assert_eq!(memory.observe_batch(&other, || Some(1)), None);
        let taken = memory.observe_batch(&held(100.0), || Some(1_000_000)).unwrap();
        assert_eq!((taken.series.as_str(), taken.sample), (OUTSIDE, Sample::Gauge { value: 80_000.0 }));
        memory.observe_batch(&held(0.0), || Some(5));
        assert_eq!(memory.observe_batch(&held(100.0), || Some(6)), None, "memory that shrank is not a value");
        memory.observe_batch(&held(0.0), || Some(5));
        assert_eq!(memory.observe_batch(&held(f64::NAN), || Some(1)), None);
    }
}
