//! Burst: all processors are kept busy for a while, and the gaps noted in which this process did not run: a limit of a control group
//! stops it at equal distances, also where the group does not show.

use crate::harness::affinity::list_allowed_processors;
use crate::harness::stopwatch::now_ns;
use tare_data::facts::keys::{BURST_GAPS, BURST_RAN, BURST_THREADS, BURST_USED};

use crate::here::steps::Noting;

/// Time for which the processors are kept busy: three periods of the kernel's usual length.
const SPUN_NS: u64 = 300_000_000;
/// Slices for which the share of time that was used is noted.
const SLICES: usize = 30;
/// Shortest gap that is taken off the time that was used: an interrupt is far shorter.
const GAP_NS: u64 = 100_000;
/// Shortest gap of all threads at once that is noted.
const COMMON_GAP_NS: u64 = 2_000_000;
const MOST_THREADS: usize = 64;
/// Gaps of a thread that are kept: one is at least as long as [`GAP_NS`], so that no more fit.
const MOST_GAPS: usize = (SPUN_NS / GAP_NS) as usize;

/// Start and end of a gap, in ns.
type Gap = (u64, u64);

/// Notes gaps of all threads at once, in µs after `zero_ns`, for each gap the processor time since the one before it, and the share of
/// each slice that was used.
pub fn note_burst(noting: &mut Noting<'_>, zero_ns: u64) {
    let wanted = list_allowed_processors().len().clamp(1, MOST_THREADS);
    let began_ns = now_ns();
    let ends_ns = began_ns + SPUN_NS;
    let others: Vec<_> = (1..wanted)
        .map_while(|_| std::thread::Builder::new().spawn(move || spin_until(ends_ns)).ok())
        .collect();
    let mut gaps = vec![spin_until(ends_ns)];
    gaps.extend(others.into_iter().filter_map(|thread| thread.join().ok()));
    noting.add_fact(BURST_THREADS, gaps.len().to_string());
    let used = share_used(&gaps, began_ns);
    noting.add_fact(BURST_USED, used.map(|share| format!("{share:.3}")).join(" "));
    let common = gaps.iter().cloned().reduce(|one, other| intersect_gaps(&one, &other)).unwrap_or_default();
    let long: Vec<Gap> = common.into_iter().filter(|(start, end)| end - start >= COMMON_GAP_NS).collect();
    let ran = sum_between_ends(&gaps, &long, began_ns);
    let us = |ns: u64| ns.saturating_sub(zero_ns) / 1_000;
    let list = |texts: Vec<String>| if texts.is_empty() { "none".to_owned() } else { texts.join(" ") };
    let texts = long.iter().map(|(start, end)| format!("{}-{}", us(*start), us(*end)));
    noting.add_fact(BURST_GAPS, list(texts.collect()));
    noting.add_fact(BURST_RAN, list(ran.iter().map(|ns| (ns / 1_000).to_string()).collect()));
}

/// Reads the clock until then, and returns the gaps between two readings.
fn spin_until(ends_ns: u64) -> Vec<Gap> {
    let (mut gaps, mut before_ns) = (Vec::with_capacity(MOST_GAPS), now_ns());
    while before_ns < ends_ns {
        let read_ns = now_ns();
        if read_ns - before_ns >= GAP_NS && gaps.len() < MOST_GAPS {
            gaps.push((before_ns, read_ns));
        }
        before_ns = read_ns;
    }
    gaps
}

/// Gives the times that are in gaps of both.
fn intersect_gaps(one: &[Gap], other: &[Gap]) -> Vec<Gap> {
    let (mut common, mut at, mut other_at) = (Vec::new(), 0, 0);
    while let (Some(first), Some(second)) = (one.get(at), other.get(other_at)) {
        let (start, end) = (first.0.max(second.0), first.1.min(second.1));
        if start < end {
            common.push((start, end));
        }
        if first.1 < second.1 { at += 1 } else { other_at += 1 }
    }
    common
}

/// Sums the time that the threads ran from the end of each long gap, or from the beginning, to the end of the next, in ns: a quota counts
/// this time, and other processes take some of the time between two gaps for themselves.
fn sum_between_ends(gaps: &[Vec<Gap>], long: &[Gap], began_ns: u64) -> Vec<u64> {
    let begins = std::iter::once(began_ns).chain(long.iter().map(|(_, end)| *end));
    let spans = begins.zip(long.iter().map(|(_, end)| *end));
    spans.map(|(start, end)| gaps.len() as u64 * (end - start) - sum_within(gaps, start, end)).collect()
}

/// Sums the parts of all threads' gaps that lie between two times.
fn sum_within(gaps: &[Vec<Gap>], start: u64, end: u64) -> u64 {
    gaps.iter().flatten().map(|gap| gap.1.min(end).saturating_sub(gap.0.max(start))).sum()
}

/// Computes the share of each slice in which threads ran, on average over them.
fn share_used(gaps: &[Vec<Gap>], began_ns: u64) -> [f64; SLICES] {
    let slice_ns = SPUN_NS / SLICES as u64;
    std::array::from_fn(|slice| {
        let start = began_ns + slice as u64 * slice_ns;
        let lost = sum_within(gaps, start, start + slice_ns);
        1.0 - lost as f64 / (slice_ns * gaps.len().max(1) as u64) as f64
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gaps_of_all_threads_are_those_that_overlap() {
        let (one, other) = (vec![(0, 10), (20, 30), (50, 60)], vec![(5, 22), (55, 90)]);
        assert_eq!(intersect_gaps(&one, &other), [(5, 10), (20, 22), (55, 60)]);
        assert_eq!(intersect_gaps(&one, &[]), []);
    }

    #[test]
    fn time_of_others_is_not_time_that_ran() {
        // A quota stops both threads from 40 to 100; others had one thread's processor from 10 to 30.
        let gaps = [vec![(40, 100), (140, 200)], vec![(10, 30), (40, 100), (120, 200)]];
        assert_eq!(sum_between_ends(&gaps, &[(40, 100), (140, 200)], 0), [60, 60]);
        assert_eq!(sum_between_ends(&gaps, &[], 0), [0; 0]);
    }

    #[test]
    fn a_slice_is_used_as_far_as_no_gap_covers_it() {
        let slice_ns = SPUN_NS / SLICES as u64;
        let gaps = [vec![(1_000 + slice_ns / 2, 1_000 + 2 * slice_ns)], vec![]];
        let used = share_used(&gaps, 1_000);
        assert_eq!(used[..3], [0.75, 0.5, 1.0]);
    }
}
