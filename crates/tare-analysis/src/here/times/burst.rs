//! Burst against steady: a control group's quota stops a process at equal distances, also where the group does not show.

use super::Estimate;
use crate::here::signs::View;

/// Fewest gaps that can be at equal distances.
const FEWEST_GAPS: usize = 3;
/// Distances between the ends of gaps agree within this share of the shortest.
const AGREE: f64 = 1.06;
/// Distances from which on gaps belong to different passes, or to somebody else, in µs.
const LONGEST_PERIOD_US: f64 = 1_200_000.0;
/// Share of a period below which a gap is somebody else's.
const SMALLEST_SHARE: f64 = 0.03;
/// Slices over which the used time is averaged: a hundred milliseconds.
const WINDOW: usize = 10;

/// A limit of processors that showed by its gaps.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Throttling {
    pub period_ms: f64,
    /// Processors that were granted, over the periods: the least, the middle one and the most.
    pub cpus: Estimate,
}

/// Finds a limit that stops all threads at equal distances.
pub fn find_throttling(view: View<'_>) -> Option<Throttling> {
    let gaps = read_gaps(view);
    let threads = view.number("burst.threads")?;
    let ends = gaps.windows(2).map(|pair| (pair[1].1 - pair[0].1, pair[1].1 - pair[1].0));
    let periods: Vec<(f64, f64)> = ends.filter(|(period, _)| *period < LONGEST_PERIOD_US).collect();
    let shortest = periods.iter().map(|(period, _)| *period).reduce(f64::min)?;
    let longest = periods.iter().map(|(period, _)| *period).fold(0.0, f64::max);
    let is_regular = gaps.len() >= FEWEST_GAPS
        && longest <= AGREE * shortest
        && periods.iter().all(|(period, gap)| *gap > SMALLEST_SHARE * period);
    if !is_regular {
        return None;
    }
    let mut cpus: Vec<f64> = periods.iter().map(|(period, gap)| threads * (period - gap) / period).collect();
    cpus.sort_by(f64::total_cmp);
    let (low, middle, high) = (*cpus.first()?, cpus[cpus.len() / 2], *cpus.last()?);
    Some(Throttling { period_ms: shortest / 1_000.0, cpus: Estimate { low, middle, high } })
}

/// Computes the time that a processor's time took, over the least that it could, in each window: 1 where nothing stopped it.
pub fn compute_slowdowns(view: View<'_>) -> Option<Estimate> {
    if let (Some(throttling), Some(threads)) = (find_throttling(view), view.number("burst.threads")) {
        let Estimate { low, middle, high } = throttling.cpus;
        return Some(Estimate { low: threads / high, middle: threads / middle, high: threads / low });
    }
    let used: Vec<f64> = view
        .text("burst.used")
        .split(' ')
        .filter_map(|share| share.parse().ok())
        .filter(|share| *share >= 0.0)
        .collect();
    let window = |slices: &[f64]| slices.len() as f64 / slices.iter().sum::<f64>();
    let mut slowdowns: Vec<f64> =
        used.chunks_exact(WINDOW).map(window).filter(|value| value.is_finite()).collect();
    slowdowns.sort_by(f64::total_cmp);
    let (low, high) = (*slowdowns.first()?, *slowdowns.last()?);
    Some(Estimate { low, middle: slowdowns[slowdowns.len() / 2], high })
}

/// Reads gaps: start and end in µs.
fn read_gaps(view: View<'_>) -> Vec<(f64, f64)> {
    let parse = |gap: &str| {
        let (start, end) = gap.split_once('-')?;
        let (start, end): (f64, f64) = (start.parse().ok()?, end.parse().ok()?);
        (start.is_finite() && end.is_finite() && start < end).then_some((start, end))
    };
    let mut gaps: Vec<(f64, f64)> = view.text("burst.gaps").split(' ').filter_map(parse).collect();
    gaps.sort_by(|one, other| one.1.total_cmp(&other.1));
    gaps
}

#[cfg(test)]
mod tests {
    use super::*;
    use tare_data::facts::Facts;

    fn facts(gaps: &str, used: &str) -> Facts {
        let mut facts = Facts::default();
        for (key, value) in [("burst.gaps", gaps), ("burst.threads", "2"), ("burst.used", used)] {
            facts.add_fact(key, value);
        }
        facts
    }

    #[test]
    fn gaps_at_equal_distances_are_a_quota() {
        let half = facts("30000-103000 128000-203000 229000-304000", "");
        let found = find_throttling(View(&half)).unwrap();
        assert!((99.0..102.0).contains(&found.period_ms), "{found:?}");
        assert!(found.cpus.low > 0.45 && found.cpus.high < 0.55, "{found:?}");
        let slowdowns = compute_slowdowns(View(&half)).unwrap();
        assert!((3.6..4.4).contains(&slowdowns.middle), "{slowdowns:?}");
        // Gaps of a later pass go on after a while.
        let passes = "25000-100000 125000-200000 225000-300000 4025000-4100000 4125000-4200000";
        assert!(find_throttling(View(&facts(passes, ""))).is_some());
    }

    #[test]
    fn other_gaps_are_those_of_others() {
        for gaps in
            ["none", "25000-100000 125000-200000", "10000-14000 70000-74000 90000-94000", "x-y 5-1 1-inf"]
        {
            assert_eq!(find_throttling(View(&facts(gaps, ""))), None, "{gaps}");
        }
        let used = [&["1.0"; 10][..], &["0.5"; 10], &["0.25"; 10]].concat().join(" ");
        let slowdowns = compute_slowdowns(View(&facts("none", &used))).unwrap();
        assert_eq!((slowdowns.low, slowdowns.middle, slowdowns.high), (1.0, 2.0, 4.0));
        assert_eq!(compute_slowdowns(View(&facts("none", "0 lies"))), None);
    }
}
