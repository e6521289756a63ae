//! Times of single operations, out of histograms: every quantile that is shown or judged is read here.

use tare_data::batch::Histogram;
use tare_data::metric::Reading;

use crate::statistics::binomial::lower_rank;

/// Sorted points with counts; each point is the middle of its bucket, in nanoseconds.
#[derive(Default)]
pub(crate) struct OperationTimes {
    points: Vec<(u64, u64)>,
    total: u64,
}

impl FromIterator<Histogram> for OperationTimes {
    fn from_iter<I: IntoIterator<Item = Histogram>>(histograms: I) -> Self {
        let mut points: Vec<(u64, u64)> = Vec::new();
        for Histogram(histogram) in histograms {
            let middle = |value| histogram.median_equivalent(value);
            let buckets = histogram.iter_recorded();
            points.extend(buckets.map(|p| (middle(p.value_iterated_to()), p.count_at_value())));
        }
        points.sort_unstable();
        let total = points.iter().fold(0, |sum: u64, (_, count)| sum.saturating_add(*count));
        OperationTimes { points, total }
    }
}

impl OperationTimes {
    pub(crate) fn total(&self) -> u64 {
        self.total
    }

    /// Returns the smallest time that a share `q` of the operations does not exceed.
    pub(crate) fn quantile(&self, q: f64) -> Option<u64> {
        self.at_rank(((q.clamp(0.0, 1.0) * self.total as f64).ceil() as u64).max(1))
    }

    /// Computes the interval of a quantile by order statistics, which misses it with a chance of at most `level`: an end that the
    /// operations do not hold is none.
    pub(crate) fn quantile_interval(&self, q: f64, level: f64) -> [Option<u64>; 2] {
        let below = lower_rank(self.total, q, level / 2.0);
        let above = lower_rank(self.total, 1.0 - q, level / 2.0);
        let at = |rank: u64| (1..=self.total).contains(&rank).then(|| self.at_rank(rank)).flatten();
        [at(below), at(self.total + 1 - above)]
    }

    /// Returns the time of an operation by its place among all, from 1.
    fn at_rank(&self, wanted: u64) -> Option<u64> {
        let mut seen: u64 = 0;
        let point = self.points.iter().find(|(_, count)| {
            seen = seen.saturating_add(*count);
            seen >= wanted
        });
        point.map(|(value, _)| *value)
    }

    /// Computes mean and standard deviation.
    fn moments(&self) -> Option<(f64, f64)> {
        if self.total == 0 {
            return None;
        }
        let total = self.total as f64;
        let mean =
            self.points.iter().map(|(value, count)| *value as f64 * *count as f64).sum::<f64>() / total;
        let square = |value: u64| (value as f64 - mean).powi(2);
        let variance =
            self.points.iter().map(|(value, count)| square(*value) * *count as f64).sum::<f64>() / total;
        Some((mean, variance.sqrt()))
    }

    /// Reads a metric; none where it is not of single operations' times.
    pub(crate) fn read_metric(&self, reading: Reading) -> Option<f64> {
        match reading {
            Reading::Quantile(q) => self.quantile(q).map(|value| value as f64),
            Reading::Minimum => self.points.first().map(|(value, _)| *value as f64),
            Reading::Maximum => self.points.last().map(|(value, _)| *value as f64),
            Reading::Mean => self.moments().map(|(mean, _)| mean),
            Reading::StandardDeviation => self.moments().map(|(_, deviation)| deviation),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn times(parts: &[&[u64]]) -> OperationTimes {
        let histogram = |part: &&[u64]| {
            let mut histogram = Histogram::new();
            part.iter().for_each(|ns| histogram.record(*ns));
            histogram
        };
        parts.iter().map(histogram).collect()
    }

    #[test]
    fn a_quantile_is_the_smallest_time_that_its_share_does_not_exceed() {
        let times = times(&[&[40, 10], &[30, 20]]);
        let read = [0.0, 0.25, 0.26, 0.5, 0.75, 1.0].map(|q| times.quantile(q).unwrap());
        assert_eq!(read, [10, 10, 20, 20, 30, 40]);
        assert_eq!(times.total(), 4);
        let (mean, deviation) = times.moments().unwrap();
        assert_eq!((mean, deviation), (25.0, 125f64.sqrt()));
        assert_eq!(
            (times.read_metric(Reading::Minimum), times.read_metric(Reading::Maximum)),
            (Some(10.0), Some(40.0))
        );
        assert_eq!(times.read_metric(Reading::Gauge), None);
    }

    #[test]
    fn a_long_time_is_the_middle_of_its_bucket() {
        let mut histogram = Histogram::new();
        histogram.record(1_000_000);
        let middle = histogram.0.median_equivalent(1_000_000);
        assert_ne!(histogram.0.highest_equivalent(1_000_000), middle);
        let times: OperationTimes = [histogram].into_iter().collect();
        assert_eq!([0.5, 0.99].map(|q| times.quantile(q)), [Some(middle); 2]);
    }

    #[test]
    fn a_quantile_has_an_interval_where_the_operations_hold_it() {
        let all: Vec<u64> = (1..=1_000).map(|at| at % 100).collect();
        // qbinom(0.025, 1000, 0.5) = 469: ranks 469 and 532.
        assert_eq!(times(&[&all]).quantile_interval(0.5, 0.05), [Some(46), Some(53)]);
        // 367 hold p99 from below alone, 368 from above as well.
        let some = |operations: usize| times(&[&vec![7; operations]]).quantile_interval(0.99, 0.05);
        assert_eq!((some(367), some(368)), ([Some(7), None], [Some(7), Some(7)]));
        assert_eq!(times(&[&[]]).quantile_interval(0.99, 0.05), [None, None]);
    }

    #[test]
    fn nothing_has_no_times() {
        let nothing = times(&[&[]]);
        assert_eq!((nothing.quantile(0.5), nothing.moments(), nothing.total()), (None, None, 0));
    }
}
