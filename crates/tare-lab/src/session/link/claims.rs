//! Claims: what a trial's batches say, held against the amount that was demanded and the time that passed here.

use std::collections::BTreeMap;
use std::time::Instant;

use tare_data::batch::{Batch, Phase, Timed};
use tare_data::failure::{Failure, FailureKind};
use tare_data::request::{Amount, TrialRequest};
use tare_probes::Count;

/// Share by which a clock may run faster than the host's: by more, every figure is about the clock.
const CLOCK_TOLERANCE: f64 = 0.05;
/// Further difference of both clocks: one may be read in ticks.
const CLOCK_SLACK_NS: u64 = 20_000_000;

/// Work and time that the batches of a trial have claimed so far.
pub(crate) struct Claims<'t> {
    request: &'t TrialRequest,
    /// When the request was sent, by the host's clock.
    sent: Instant,
    /// Time that the batches of each series claim: they follow one another.
    claimed_ns: BTreeMap<String, u64>,
}

impl<'t> Claims<'t> {
    pub(crate) fn new(request: &'t TrialRequest, sent: Instant) -> Self {
        Claims { request, sent, claimed_ns: BTreeMap::new() }
    }

    /// Fails where a batch that arrived then counts other work than was demanded, or more time than has passed.
    pub(crate) fn check_batch(&mut self, batch: &Batch, at: Instant) -> Result<(), Failure> {
        let wrong = |reason: String| Err(Failure::new(FailureKind::WrongWork, reason));
        let demanded = self.demanded(batch.phase);
        let count = demanded
            .map(|demanded| (Count::from_case(&self.request.case, &batch.series, demanded), demanded));
        let claimed_ns = self.claimed_ns.entry(batch.series.clone()).or_default();
        for Timed { operations, elapsed_ns, .. } in batch.sample.iter_timed() {
            if let Some((count, demanded)) = &count
                && !count.matches_operations(operations)
            {
                return wrong(format!("{operations} operations in a batch of {demanded}"));
            }
            *claimed_ns = claimed_ns.saturating_add(elapsed_ns);
        }
        let passed_ns = at.saturating_duration_since(self.sent).as_nanos() as f64;
        if *claimed_ns as f64 > passed_ns * (1.0 + CLOCK_TOLERANCE) + CLOCK_SLACK_NS as f64 {
            let (claimed, passed) = (*claimed_ns as f64 / 1e6, passed_ns / 1e6);
            return wrong(format!("{claimed:.0} ms of work in {passed:.0} ms of the host's clock"));
        }
        Ok(())
    }

    /// Returns the operations of a batch; None where the trial is to find out.
    fn demanded(&self, phase: Phase) -> Option<u64> {
        let warm = match self.request.amount {
            Amount::Calibrate | Amount::Outcome => return None,
            Amount::Operations { batch, .. } | Amount::Duration { batch, .. } => batch,
        };
        Some(if phase == Phase::Cold { 1 } else { warm })
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tare_data::batch::Sample;
    use tare_data::names::Case;

    use super::*;

    fn request(probe: &str, amount: Amount) -> TrialRequest {
        let case = Case { probe: probe.into(), parameters: Default::default(), place: None, peer: None };
        TrialRequest {
            turn: None,
            trial: 1,
            case,
            amount,
            directory: None,
            peer: None,
            seed: 0,
            deadline_ms: 1000,
            slower: 0.0,
            settling_ms: 0,
            nonce: 0,
        }
    }

    fn batch(phase: Phase, operations: u64, elapsed_ns: u64) -> Batch {
        let sample = Sample::Throughput { operations, bytes: 0, elapsed_ns };
        Batch { series: "call".into(), phase, started_ns: 0, sample }
    }

    #[test]
    fn a_count_is_the_plans() {
        let request = request("sys.getppid", Amount::Operations { batch: 1000, batches: 5 });
        let sent = Instant::now();
        let check = |phase, operations| {
            Claims::new(&request, sent).check_batch(&batch(phase, operations, 5), sent).map_err(|f| f.kind)
        };
        assert_eq!(check(Phase::Warm, 1000), Ok(()));
        assert_eq!(check(Phase::Cold, 1), Ok(()));
        for (phase, operations) in [(Phase::Warm, 999), (Phase::Warm, 1_000_000), (Phase::Cold, 1000)] {
            assert_eq!(check(phase, operations), Err(FailureKind::WrongWork), "{operations}");
        }
    }

    #[test]
    fn no_more_time_is_claimed_than_passed() {
        let request = request("sys.getppid", Amount::Calibrate);
        let (sent, second) = (Instant::now(), 1_000_000_000);
        let mut claims = Claims::new(&request, sent);
        let at = |seconds| sent + Duration::from_secs(seconds);
        assert!(claims.check_batch(&batch(Phase::Warm, 7, second), at(1)).is_ok());
        assert!(claims.check_batch(&batch(Phase::Warm, 7, second), at(2)).is_ok());
        let failure = claims.check_batch(&batch(Phase::Warm, 7, second), at(2)).unwrap_err();
        assert_eq!(failure.kind, FailureKind::WrongWork);
        let ages = batch(Phase::Warm, 7, u64::MAX);
        assert!(Claims::new(&request, sent).check_batch(&ages, at(1)).is_err());
    }
}
