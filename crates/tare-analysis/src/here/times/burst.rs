//! Burst against steady: a control group's quota stops a process at equal distances, also where the group does not show.

use super::{Estimate, others_run};
use crate::here::signs::View;
use tare_data::facts::keys::{BURST_GAPS, BURST_RAN, BURST_THREADS, BURST_USED};

/// Fewest gaps that can be at equal distances.
const FEWEST_GAPS: usize = 3;
/// Distances between the ends of gaps agree within this share of the shortest.
const AGREE: f64 = 1.06;
/// Distances from which on gaps belong to different passes, or to somebody else, in µs.
const LONGEST_PERIOD_US: f64 = 1_200_000.0;
/// Share of a period below which a gap is somebody else's.
const SMALLEST_SHARE: f64 = 0.03;
/// Slowdown of work on all processors up to which nobody else wanted them.
const ALONE: f64 = 1.05;
/// Slices over which the used time is averaged: a hundred milliseconds.
const WINDOW: usize = 10;

/// A limit of processors that showed by its gaps.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Throttling {
    pub period_ms: f64,
    /// Time for which no thread ran in the longest gap.
    pub pause_ms: f64,
    /// Processors that were granted, over the periods: the least, the middle one and the most.
    pub cpus: Estimate,
}

/// Finds a limit that stops all threads at equal distances.
pub fn find_throttling(view: View<'_>) -> Option<Throttling> {
    let gaps = read_gaps(view);
    let follow = |pair: &[Gap]| Period {
        us: pair[1].end - pair[0].end,
        gap_us: pair[1].end - pair[1].start,
        ran_us: pair[1].ran,
    };
    let periods: Vec<Period> =
        gaps.windows(2).map(follow).filter(|period| period.us < LONGEST_PERIOD_US).collect();
    let shortest = periods.iter().map(|period| period.us).reduce(f64::min)?;
    let longest = periods.iter().map(|period| period.us).fold(0.0, f64::max);
    let is_regular = gaps.len() >= FEWEST_GAPS
        && longest <= AGREE * shortest
        && periods.iter().all(|period| period.gap_us > SMALLEST_SHARE * period.us);
    if !is_regular {
        return None;
    }
    let mut cpus: Vec<f64> = periods.iter().map(|period| period.ran_us / period.us).collect();
    cpus.sort_unstable_by(f64::total_cmp);
    let (low, middle, high) = (*cpus.first()?, cpus[cpus.len() / 2], *cpus.last()?);
    let pause_ms = periods.iter().map(|period| period.gap_us).fold(0.0, f64::max) / 1_000.0;
    Some(Throttling { period_ms: shortest / 1_000.0, pause_ms, cpus: Estimate { low, middle, high } })
}

/// Computes the time that a processor's time took, over the least that it could, in each window: 1 where nothing stopped it.
pub fn compute_slowdowns(view: View<'_>) -> Option<Estimate> {
    if let (Some(throttling), Some(threads)) = (find_throttling(view), view.number(BURST_THREADS)) {
        let Estimate { low, middle, high } = throttling.cpus;
        return Some(Estimate { low: threads / high, middle: threads / middle, high: threads / low });
    }
    let used: Vec<f64> = view
        .text(BURST_USED)
        .split(' ')
        .filter_map(|share| share.parse().ok())
        .filter(|share| *share >= 0.0)
        .collect();
    let window = |slices: &[f64]| slices.len() as f64 / slices.iter().sum::<f64>();
    let mut slowdowns: Vec<f64> =
        used.chunks_exact(WINDOW).map(window).filter(|value| value.is_finite()).collect();
    slowdowns.sort_unstable_by(f64::total_cmp);
    let (low, high) = (*slowdowns.first()?, *slowdowns.last()?);
    Some(Estimate { low, middle: slowdowns[slowdowns.len() / 2], high })
}

/// Tells whether other programs use the processors. A layer that works for this process in another one (`is_served`) uses them as long as it
/// is called, and not while the process computes on all of them; other programs do.
pub fn is_busy(view: View<'_>, is_served: bool) -> bool {
    let is_alone = || compute_slowdowns(view).is_some_and(|slowdowns| slowdowns.middle <= ALONE);
    others_run(view) && !(is_served && is_alone())
}

/// Time in which no thread ran, in µs, with the processor time of all threads since the gap before it.
struct Gap {
    start: f64,
    end: f64,
    ran: f64,
}

/// Time from the end of a gap to the end of the next.
struct Period {
    us: f64,
    gap_us: f64,
    ran_us: f64,
}

/// Reads gaps in their order.
fn read_gaps(view: View<'_>) -> Vec<Gap> {
    let parse =
        |(gap, ran): (&str, &str)| {
            let (start, end) = gap.split_once('-')?;
            let (start, end, ran): (f64, f64, f64) =
                (start.parse().ok()?, end.parse().ok()?, ran.parse().ok()?);
            (start.is_finite() && end.is_finite() && start < end && ran.is_finite() && ran > 0.0)
                .then_some(Gap { start, end, ran })
        };
    let texts = view.text(BURST_GAPS).split(' ').zip(view.text(BURST_RAN).split(' '));
    let mut gaps: Vec<Gap> = texts.filter_map(parse).collect();
    gaps.sort_by(|one, other| one.end.total_cmp(&other.end));
    gaps
}

#[cfg(test)]
mod tests {
    use super::*;
    use tare_data::facts::Facts;

    fn facts(gaps: &str, used: &str) -> Facts {
        let ran = ["50000"; 6].join(" ");
        let mut facts = Facts::default();
        let texts = [("burst.gaps", gaps), ("burst.ran", &ran), ("burst.threads", "2"), ("burst.used", used)];
        for (key, value) in texts {
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
