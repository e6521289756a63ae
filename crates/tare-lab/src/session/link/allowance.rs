//! The allowance of a trial: the batches and bytes that its plan lets come, so that no environment fills memory or disk.

use tare_data::batch::{Batch, CALIBRATION, ENDED, HELD};
use tare_data::request::{Amount, TrialRequest};
use tare_record::MOST_BATCHES;

/// Batches of a series that a probe may report where the plan has one.
const REPORTS_A_BATCH: usize = 2;
/// Batches of a series in a calibration, which doubles its operations each time.
const MOST_CALIBRATING: usize = 64;
/// Batches of a series in a trial of a fixed time; the longest study has a few hundred.
const MOST_TIMED: usize = 20_000;
/// Bytes of a batch on average: a histogram of very scattered times takes half of it.
const BYTES_A_BATCH: usize = 64 << 10;
/// Bytes of a trial, however many batches it may have.
const MOST_TRIAL_BYTES: usize = 16 << 20;
/// Bytes of all trials of an environment in a session: 60,000 trials of an ordinary one take 90 MB.
const MOST_TARGET_BYTES: u64 = 256 << 20;

/// Bytes of the notes of all its trials: they are shown beside failures, and a dozen explain as much as a thousand.
const MOST_NOTE_BYTES: usize = 2 << 20;
/// Memory that a note takes beside its text.
const NOTE: usize = size_of::<String>() + 32;

/// Data that an environment may still send in a session.
#[derive(Debug)]
pub struct Left {
    bytes: u64,
    note_bytes: usize,
}

impl Left {
    pub fn new() -> Left {
        Left { bytes: MOST_TARGET_BYTES, note_bytes: MOST_NOTE_BYTES }
    }

    /// Takes the bytes of a trial's batches off it.
    pub(crate) fn take_bytes(&mut self, bytes: u64) {
        self.bytes = self.bytes.saturating_sub(bytes);
    }

    /// Keeps those notes of a trial for which there is room.
    pub(crate) fn keep_notes(&mut self, mut notes: Vec<String>) -> Vec<String> {
        notes.retain(|note| {
            let rest = self.note_bytes.checked_sub(note.len() + NOTE);
            self.note_bytes = rest.unwrap_or(self.note_bytes);
            rest.is_some()
        });
        notes
    }
}

/// Data that a trial may still send.
#[derive(Debug)]
pub struct Allowance {
    /// None for a probe that this build does not know.
    series: Option<Vec<&'static str>>,
    batches: usize,
    bytes: usize,
}

impl Allowance {
    /// Computes the allowance from the amount and the probe of a request, and from what the environment has
    /// left.
    pub fn from_request(request: &TrialRequest, left: &Left) -> Self {
        let probe = tare_probes::find_probe(&request.case.probe);
        let series = probe.map(|probe| {
            let metrics = probe.metrics.iter().map(|metric| metric.series);
            metrics.chain([CALIBRATION, HELD, ENDED]).collect::<Vec<_>>()
        });
        let each = match request.amount {
            Amount::Calibrate => MOST_CALIBRATING,
            // The first call is a batch of its own.
            Amount::Operations { batches, .. } => (batches as usize).saturating_add(1),
            Amount::Duration { .. } => MOST_TIMED,
            Amount::Outcome => 1,
        };
        let batches =
            each.saturating_mul(series.as_ref().map_or(1, Vec::len)).saturating_mul(REPORTS_A_BATCH);
        // As many as a reader takes.
        let batches = batches.min(MOST_BATCHES);
        let bytes = batches.saturating_mul(BYTES_A_BATCH).min(MOST_TRIAL_BYTES).min(left.bytes as usize);
        Allowance { series, batches, bytes }
    }

    /// Takes a batch off it, and returns its bytes; an error names what the plan does not let come.
    pub fn take_batch(&mut self, batch: &Batch) -> Result<u64, String> {
        if self.series.as_ref().is_some_and(|known| !known.contains(&batch.series.as_str())) {
            return Err("it sent a series that its probe does not have".into());
        }
        let bytes = batch.held_bytes();
        let batches = batch.sample.iter_timed().count().max(1);
        self.batches = self.batches.checked_sub(batches).ok_or("it sent more batches than its plan has")?;
        self.bytes = self.bytes.checked_sub(bytes).ok_or("it sent more bytes than its plan has room for")?;
        Ok(bytes as u64)
    }
}

#[cfg(test)]
mod tests {
    use tare_data::batch::{EncodedHistogram, Phase, Sample};
    use tare_data::names::Case;

    use super::*;

    fn request(amount: Amount) -> TrialRequest {
        let (parameters, place, peer) = Default::default();
        let case = Case { probe: "null".into(), parameters, place, peer };
        let (trial, directory, seed, slower, settling_ms, nonce) = Default::default();
        TrialRequest {
            turn: None,
            trial,
            case,
            amount,
            directory,
            peer: None,
            seed,
            deadline_ms: 1,
            slower,
            settling_ms,
            nonce,
        }
    }

    fn batch(series: &str, histogram: usize) -> Batch {
        let histogram = EncodedHistogram("x".repeat(histogram));
        let sample = Sample::Latency { operations: 1, bytes: 0, elapsed_ns: 1, histogram };
        Batch { series: series.into(), phase: Phase::Warm, started_ns: 0, sample }
    }

    /// Counts how many such batches are taken, and explains why no more.
    fn taken(allowance: &mut Allowance, batch: &Batch) -> (usize, String) {
        (0..1_000_000).find_map(|n| Some((n, allowance.take_batch(batch).err()?))).unwrap()
    }

    #[test]
    fn notes_of_a_session_are_bounded() {
        let (notes, mut left) = (vec!["x".repeat(1000); 64], Left { note_bytes: 3000, ..Left::new() });
        assert_eq!(left.keep_notes(notes.clone()).len(), 2);
        assert_eq!(left.keep_notes(vec!["short".into()]).len(), 1);
        assert!(left.keep_notes(notes).is_empty());
    }

    #[test]
    fn stretches_are_as_many_batches() {
        let five = request(Amount::Operations { batch: 1, batches: 5 });
        let own = tare_probes::find_probe("null").unwrap().metrics[0].series;
        let of = |stretches| {
            let sample = Sample::Stretches {
                operations: 1,
                bytes: 0,
                elapsed_ns: vec![1; stretches],
                histogram: None,
            };
            Batch { sample, ..batch(own, 0) }
        };
        assert!(Allowance::from_request(&five, &Left::new()).take_batch(&of(6)).is_ok());
        assert!(Allowance::from_request(&five, &Left::new()).take_batch(&of(1_000)).is_err());
    }

    #[test]
    fn only_what_the_plan_lets_come_is_taken() {
        let own = tare_probes::find_probe("null").unwrap().metrics[0].series;
        let five = request(Amount::Operations { batch: 1, batches: 5 });
        let (batches, why) = taken(&mut Allowance::from_request(&five, &Left::new()), &batch(own, 1_000));
        assert!((12..=200).contains(&batches), "{batches}");
        assert_eq!(why, "it sent more batches than its plan has");
        let (batches, why) = taken(&mut Allowance::from_request(&five, &Left::new()), &batch(own, 1 << 20));
        assert!(batches < 5, "{batches}");
        assert_eq!(why, "it sent more bytes than its plan has room for");
        let timed = request(Amount::Duration { batch: 1, seconds: 60.0 });
        let (batches, _) = taken(&mut Allowance::from_request(&timed, &Left::new()), &batch(own, 1 << 20));
        assert_eq!(batches, 15, "16 MiB in all");
        let (batches, _) = taken(
            &mut Allowance::from_request(&timed, &Left { bytes: 3 << 20, ..Left::new() }),
            &batch(own, 1 << 20),
        );
        assert_eq!(batches, 2, "the rest of the environment's allowance");
        assert!(Allowance::from_request(&five, &Left::new()).take_batch(&batch("other", 1)).is_err());
        for series in [CALIBRATION, HELD] {
            assert!(Allowance::from_request(&five, &Left::new()).take_batch(&batch(series, 1)).is_ok());
        }
    }
}
