//! Paired differences compared by signed ranks: Hodges-Lehmann estimate, interval and p, exact up to 400 rounds.
//!
//! A Walsh average is (d_i + d_j)/2 with i <= j; n differences have M = n(n+1)/2 of them. The signed-rank statistic
//! T+ counts those above zero, so that test, interval and estimate are three views of one sorted list
//! (Hollander, Wolfe and Chicken, Nonparametric Statistical Methods, chapter 3).

use std::collections::BTreeMap;

use crate::statistics::normal;

/// Limit on the differences for which the distribution of T+ is computed exactly; beyond, the normal
/// approximation with continuity correction is right to better than 1e-4 of the tail.
const MOST_EXACT: usize = 400;

/// An interval of a logarithm of a cost ratio.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval {
    pub low: f64,
    pub high: f64,
}

impl Interval {
    /// Interval before there are enough rounds.
    pub(crate) const EVERYTHING: Interval = Interval { low: f64::NEG_INFINITY, high: f64::INFINITY };

    /// Intersects two intervals. The result is empty, its ends crossed, where they contradict each other.
    pub fn intersection(self, other: Interval) -> Interval {
        Interval { low: self.low.max(other.low), high: self.high.min(other.high) }
    }

    /// Returns the least interval that holds both.
    pub(crate) fn hull(self, other: Interval) -> Interval {
        Interval { low: self.low.min(other.low), high: self.high.max(other.high) }
    }

    /// Moves both ends away from each other.
    pub(crate) fn widen(self, by: f64) -> Interval {
        Interval { low: self.low - by, high: self.high + by }
    }

    pub fn half_width(&self) -> f64 {
        0.5 * (self.high - self.low)
    }

    pub fn contains(&self, value: f64) -> bool {
        self.low <= value && value <= self.high
    }
}

/// The distribution of T+ when the signs of n differences are fair coins.
#[derive(Clone, Debug)]
pub struct Null {
    n: usize,
    /// P(T+ <= t) for t up to M/2; empty beyond [`MOST_EXACT`].
    lower: Vec<f64>,
}

impl Null {
    /// Computes the distribution for n differences: T+ is the sum of a random subset of 1..=n.
    pub fn new(n: usize) -> Self {
        if n > MOST_EXACT {
            return Null { n, lower: Vec::new() };
        }
        let half = n * (n + 1) / 4;
        let mut chance = vec![0.0; half + 1];
        chance[0] = 1.0;
        let mut reached = 0;
        for rank in 1..=n {
            reached = (reached + rank).min(half);
            for t in (0..=reached).rev() {
                let with = if t >= rank { chance[t - rank] } else { 0.0 };
                chance[t] = 0.5 * (chance[t] + with);
            }
        }
        let mut sum = 0.0;
        for value in &mut chance {
            sum += *value;
            *value = sum;
        }
        Null { n, lower: chance }
    }

    pub(crate) fn count_averages(&self) -> u64 {
        self.n as u64 * (self.n as u64 + 1) / 2
    }

    /// Computes P(T+ <= t).
    pub(crate) fn at_most(&self, t: u64) -> f64 {
        let all = self.count_averages();
        if t >= all {
            return 1.0;
        }
        if self.lower.is_empty() {
            let n = self.n as f64;
            let deviation = (n * (n + 1.0) * (2.0 * n + 1.0) / 24.0).sqrt();
            return normal::upper_tail((all as f64 / 2.0 - t as f64 - 0.5) / deviation);
        }
        match self.lower.get(t as usize) {
            Some(chance) => *chance,
            // T+ and M - T+ have the same distribution.
            None => 1.0 - self.lower[(all - t - 1) as usize],
        }
    }

    /// Finds the largest c with P(T+ <= c - 1) <= level / 2: the interval ends at the c-th Walsh average from
    /// either end. 0 when no interval of this level exists.
    pub fn find_rank(&self, level: f64) -> u64 {
        let (mut low, mut high) = (0, self.count_averages() / 2);
        while low < high {
            let c = low + (high - low).div_ceil(2);
            if self.at_most(c - 1) <= level / 2.0 { low = c } else { high = c - 1 }
        }
        low
    }
}

/// Distributions of T+ by number of differences, computed once each.
#[derive(Debug, Default)]
pub struct Nulls(BTreeMap<usize, Null>);

impl Nulls {
    pub fn get_null(&mut self, n: usize) -> &Null {
        self.0.entry(n).or_insert_with(|| Null::new(n))
    }
}

/// Counts the Walsh averages that are at most `x`.
fn averages_at_most(sorted: &[f64], x: f64) -> u64 {
    let mut end = sorted.len();
    let mut count = 0;
    for (i, &first) in sorted.iter().enumerate() {
        while end > i && average(first, sorted[end - 1]) > x {
            end -= 1;
        }
        if end <= i {
            break;
        }
        count += (end - i) as u64;
    }
    count
}

/// Averages two values. Rounding keeps this monotone in both arguments, which the counting relies on.
fn average(a: f64, b: f64) -> f64 {
    0.5 * (a + b)
}

/// Finds the k-th smallest Walsh average, k from 1.
///
/// Halves the range of values until few averages are left in it, and picks among those: some ten counts of 2n
/// steps, exact, without forming the whole list.
fn walsh_average(sorted: &[f64], k: u64) -> f64 {
    let (Some(&first), Some(&last)) = (sorted.first(), sorted.last()) else { return f64::NAN };
    let (mut low, mut high) = (first, last);
    let (mut up_to_low, mut up_to_high) = (averages_at_most(sorted, low), averages_at_most(sorted, high));
    if k <= up_to_low {
        return low;
    }
    // From here on: averages up to `low` are fewer than k, averages up to `high` are not.
    while up_to_high - up_to_low > sorted.len() as u64 {
        let middle = average(low, high);
        if middle <= low || middle >= high {
            // Neighbouring numbers: all that are left are equal.
            return high;
        }
        let up_to_middle = averages_at_most(sorted, middle);
        if up_to_middle < k {
            (low, up_to_low) = (middle, up_to_middle);
        } else {
            (high, up_to_high) = (middle, up_to_middle);
        }
    }
    let mut left = averages_between(sorted, low, high);
    let (_, found, _) = left.select_nth_unstable_by((k - up_to_low - 1) as usize, f64::total_cmp);
    *found
}

/// Lists the Walsh averages above `low` and at most `high`.
fn averages_between(sorted: &[f64], low: f64, high: f64) -> Vec<f64> {
    let mut between = Vec::new();
    let (mut above, mut end) = (sorted.len(), sorted.len());
    for (i, &first) in sorted.iter().enumerate() {
        while end > i && average(first, sorted[end - 1]) > high {
            end -= 1;
        }
        while above > i && average(first, sorted[above - 1]) > low {
            above -= 1;
        }
        between.extend(sorted[above.max(i).min(end)..end].iter().map(|second| average(first, *second)));
    }
    between
}

/// Computes the Hodges-Lehmann estimate: median of the Walsh averages. `sorted` must not be empty.
pub fn hodges_lehmann(sorted: &[f64]) -> f64 {
    let n = sorted.len() as u64;
    let all = n * (n + 1) / 2;
    if all % 2 == 1 {
        walsh_average(sorted, all / 2 + 1)
    } else {
        average(walsh_average(sorted, all / 2), walsh_average(sorted, all / 2 + 1))
    }
}

/// Computes the interval of the Hodges-Lehmann estimate that misses the truth with a chance of at most
/// `level`.
pub fn compute_hodges_lehmann_interval(sorted: &[f64], null: &Null, level: f64) -> Interval {
    let c = null.find_rank(level);
    if c == 0 {
        return Interval::EVERYTHING;
    }
    Interval { low: walsh_average(sorted, c), high: walsh_average(sorted, null.count_averages() + 1 - c) }
}

/// Computes the two-sided p of "centre zero". Averages of exactly zero count against rejection, so that p <=
/// level exactly when the interval of that level excludes zero.
pub fn p_value(sorted: &[f64], null: &Null) -> f64 {
    let at_most_zero = averages_at_most(sorted, 0.0);
    let below_zero = averages_at_most(sorted, -f64::from_bits(1));
    let at_least_zero = null.count_averages() - below_zero;
    (2.0 * null.at_most(at_most_zero.min(at_least_zero))).min(1.0)
}

/// Computes the median; the mean of the two in the middle for an even number. `sorted` must not be empty.
pub fn compute_median(sorted: &[f64]) -> f64 {
    let n = sorted.len();
    if n % 2 == 1 { sorted[n / 2] } else { average(sorted[n / 2 - 1], sorted[n / 2]) }
}

/// Sorts a copy of finite values.
pub fn sort_values(values: &[f64]) -> Vec<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    sorted
}

#[cfg(test)]
mod tests {
    use super::*;
    use tare_data::generator::Generator;

    fn walsh_list(d: &[f64]) -> Vec<f64> {
        let all = (0..d.len()).flat_map(|i| (i..d.len()).map(move |j| (i, j)));
        sort_values(&all.map(|(i, j)| average(d[i], d[j])).collect::<Vec<_>>())
    }

    #[test]
    fn ranks_agree_with_known_vectors() {
        // Number of rounds, level, c, M.
        for (n, level, c, all) in [
            (12, 0.05 * 12.0 / 90.0, 6, 78),
            (18, 0.05 * 6.0 / 90.0, 21, 171),
            (27, 0.05 * 9.0 / 90.0, 75, 378),
            (40, 0.05 * 13.0 / 90.0, 213, 820),
            (60, 0.05 * 20.0 / 90.0, 573, 1830),
            (90, 0.05 * 30.0 / 90.0, 1455, 4095),
            (12, 0.05 * 12.0 / 60.0, 8, 78),
            (18, 0.05 * 6.0 / 60.0, 24, 171),
            (27, 0.05 * 9.0 / 60.0, 80, 378),
            (40, 0.05 * 13.0 / 60.0, 223, 820),
            (60, 0.05 * 20.0 / 60.0, 592, 1830),
            (12, 0.05 * 12.0 / 40.0, 9, 78),
            (18, 0.05 * 6.0 / 40.0, 26, 171),
            (27, 0.05 * 9.0 / 40.0, 86, 378),
            (40, 0.05 * 13.0 / 40.0, 233, 820),
        ] {
            let null = Null::new(n);
            assert_eq!((null.find_rank(level), null.count_averages()), (c, all), "{n} rounds at {level}");
        }
    }

    #[test]
    fn the_distribution_is_that_of_random_subsets() {
        // All 2^10 subsets, counted.
        let mut counts = [0u32; 56];
        for subset in 0..1u32 << 10 {
            counts[(1..=10).filter(|rank| subset >> (rank - 1) & 1 == 1).sum::<usize>()] += 1;
        }
        let null = Null::new(10);
        let mut sum = 0;
        for (t, count) in counts.iter().enumerate() {
            sum += count;
            assert!((null.at_most(t as u64) - f64::from(sum) / 1024.0).abs() < 1e-12, "t = {t}");
        }
    }

    #[test]
    fn exact_and_approximate_meet_at_their_border() {
        let exact = Null::new(MOST_EXACT);
        let approximate = Null { n: MOST_EXACT, lower: Vec::new() };
        for level in [0.05, 0.005] {
            let (a, b) = (exact.find_rank(level) as f64, approximate.find_rank(level) as f64);
            assert!((a / b - 1.0).abs() < 2e-3, "{level}: {a} against {b}");
        }
    }

    #[test]
    fn order_statistics_of_averages_need_no_list() {
        let mut generator = Generator::new(11);
        for n in [1, 2, 3, 7, 12, 31] {
            // A coarse grid makes ties and zeros.
            let d: Vec<f64> = (0..n).map(|_| (generator.draw_below(9) as f64 - 4.0) / 8.0).collect();
            let (d, list) = (sort_values(&d), walsh_list(&d));
            for (k, expected) in list.iter().enumerate() {
                assert_eq!(walsh_average(&d, k as u64 + 1), *expected, "n = {n}, k = {k}");
            }
            assert_eq!(hodges_lehmann(&d), compute_median(&list));
        }
    }

    #[test]
    fn p_is_below_the_level_exactly_when_the_interval_excludes_zero() {
        let mut generator = Generator::new(12);
        for n in [6, 9, 12, 20] {
            let null = Null::new(n);
            for _ in 0..200 {
                let d: Vec<f64> = (0..n).map(|_| (generator.draw_below(13) as f64 - 4.0) / 8.0).collect();
                let d = sort_values(&d);
                let (p, interval) = (p_value(&d, &null), compute_hodges_lehmann_interval(&d, &null, 0.05));
                assert_eq!(p <= 0.05, !interval.contains(0.0), "{d:?}: p {p}, {interval:?}");
            }
        }
    }

    #[test]
    fn fewer_than_six_rounds_give_no_interval_at_five_percent() {
        let d = [0.5, 0.6, 0.7, 0.8, 0.9];
        assert_eq!(compute_hodges_lehmann_interval(&d, &Null::new(5), 0.05), Interval::EVERYTHING);
        assert!(p_value(&d, &Null::new(5)) > 0.05);
    }
}
