//! Doubts about a comparison: skewed tails, starts that rounds share, a canary that differs, clocks that disagree,
//! datagrams astray.

use std::borrow::Cow;

use tare_data::batch::{ASTRAY, Batch, Sample};
use tare_data::generator::Generator;
use tare_data::session::Trial;
use tare_data::warning::Warning;

use crate::findings::SharedStarts;
use crate::statistics::level::ALPHA;
use crate::statistics::sign_test;
use crate::statistics::signed_ranks::{self, Interval, compute_median, sort_values};
use crate::verdicts::pairs::Units;

/// Sign flips, and how many of them may show as much skew as the differences do: 5 % with the differences themselves.
const FLIPS: usize = 199;
const MOST_AS_SKEWED: usize = 9;

/// Limit on the values that the test of skew takes, spread evenly over the sorted ones.
const MOST_FLIPPED: usize = 200;

/// Tells whether centre and median are so far apart that it matters which one is meant, and further than
/// chance puts those of symmetric differences: by flipping the signs of the distances from the centre.
///
/// Hodges-Lehmann aims at the pseudo-median and signs at the median; they are one for symmetric differences.
pub(crate) fn is_skewed(values: &[f64], hodges_lehmann: f64, median: f64, margin: f64) -> bool {
    if (hodges_lehmann - median).abs() <= margin {
        return false;
    }
    let thinned = thinned(values);
    let centre = signed_ranks::hodges_lehmann(&thinned);
    let apart =
        |sorted: &[f64]| (signed_ranks::hodges_lehmann(sorted) - signed_ranks::compute_median(sorted)).abs();
    let seen = apart(&thinned);
    let mut generator = Generator::for_part(0, "skew");
    let mut flip = || {
        let distance =
            |value: &f64| if generator.draw_below(2) == 0 { value - centre } else { centre - value };
        apart(&sort_values(&thinned.iter().map(distance).collect::<Vec<_>>()))
    };
    let mut as_skewed = 0;
    (0..FLIPS).all(|_| {
        as_skewed += usize::from(flip() >= seen);
        as_skewed <= MOST_AS_SKEWED
    })
}

fn thinned(values: &[f64]) -> Vec<f64> {
    let most = values.len().min(MOST_FLIPPED);
    (0..most).map(|at| values[at * values.len() / most]).collect()
}

/// Describes how rounds depend on starts; none when no start has two rounds.
pub(crate) fn shared_starts(units: &Units) -> Option<SharedStarts> {
    if !units.are_shared() {
        return None;
    }
    let groups = units.differences_by_unit();
    let rounds: usize = groups.iter().map(Vec::len).sum();
    let between = intraclass_correlation(&groups);
    let a_start = rounds as f64 / groups.len() as f64;
    Some(SharedStarts {
        starts: groups.len() as u32,
        between,
        design_effect: between.map(|share| 1.0 + (a_start - 1.0) * share),
    })
}

/// Computes the share of the variance between groups, from one-way analysis of variance, 0 where it comes out
/// below; none when there is a single group, no group of two, or no variance at all (Shrout and Fleiss 1979,
/// case 1).
fn intraclass_correlation(groups: &[Vec<f64>]) -> Option<f64> {
    let (count, all) = (groups.len() as f64, groups.iter().map(Vec::len).sum::<usize>() as f64);
    if count < 2.0 || all <= count {
        return None;
    }
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
    let grand = groups.iter().flatten().sum::<f64>() / all;
    let square = |x: f64| x * x;
    let between: f64 =
        groups.iter().map(|g| g.len() as f64 * square(mean(g) - grand)).sum::<f64>() / (count - 1.0);
    let within: f64 = groups.iter().map(|g| g.iter().map(|d| square(d - mean(g))).sum::<f64>()).sum::<f64>()
        / (all - count);
    // The size of a group that unequal groups amount to.
    let size = (all - groups.iter().map(|g| square(g.len() as f64)).sum::<f64>() / all) / (count - 1.0);
    let share = (between - within) / (between + (size - 1.0) * within);
    share.is_finite().then(|| share.clamp(0.0, 1.0))
}

/// Counts the datagrams of these trials that went astray, if any did.
pub(crate) fn count_astray_datagrams(trials: &[&Trial]) -> Option<Warning> {
    let total = |series: &str| -> u64 {
        let batches = trials.iter().flat_map(|trial| trial.batches.iter_series(series));
        let count = |batch: Cow<'_, Batch>| match batch.sample {
            // A cast of a value that is not a count gives 0 or the largest one.
            Sample::Gauge { value } => value as u64,
            _ => 0,
        };
        batches.map(count).fold(0, u64::saturating_add)
    };
    let [lost, late, duplicated, reordered] = ASTRAY.map(total);
    let any = [lost, late, duplicated, reordered].iter().any(|count| *count > 0);
    any.then_some(Warning::DatagramsAstray { lost, late, duplicated, reordered })
}

/// Compares the canary's time in the environment with that in the baseline, over trials of the same case and
/// round; none when the two do not differ by more than the margin, or there are too few trials.
pub(crate) fn canary_outside<'a>(
    by_round: impl Iterator<Item = (&'a Trial, &'a Trial)>,
    margin: f64,
) -> Option<f64> {
    let canary = |trial: &Trial| trial.inside.canary_ns.filter(|ns| *ns > 0).map(|ns| libm::log(ns as f64));
    let d: Vec<f64> =
        by_round.filter_map(|(baseline, target)| Some(canary(target)? - canary(baseline)?)).collect();
    outside(&sort_values(&d), margin).map(libm::exp)
}

/// Finds the median, where it is further than the margin from zero and the signs show that this is not an
/// accident.
fn outside(sorted: &[f64], margin: f64) -> Option<f64> {
    let interval = sign_test::compute_median_interval(sorted, ALPHA);
    if interval == Interval::EVERYTHING || interval.contains(0.0) {
        return None;
    }
    Some(compute_median(sorted)).filter(|median| median.abs() > margin)
}

/// Smallest disagreement of clocks that is worth a word, in parts per million: a tenth of the smallest usual margin,
/// and ten times the drift of an undisciplined crystal.
const CLOCK_LIMIT_PPM: f64 = 1_000.0;
/// Least difference in length between two trials that clocks are compared over.
const LEAST_CLOCK_RUN_NS: u64 = 100_000_000;
/// By how much frames arrive sooner or later on a busy machine, and not by accident: the host wakes more slowly for the
/// first frame of a trial that leaves it idle. A disagreement has to be larger over the trials that show it.
const ARRIVAL_NS: f64 = 2e6;

/// Measures how much faster the environment's clock runs than the host's, in parts per million; none when the
/// two agree.
///
/// The host's times include entering the environment, which the agent cannot see. Slopes between a short and
/// a long trial are free of that constant; each trial is used in one slope only, so that signs may be counted
/// (Theil 1950, the incomplete method).
pub(crate) fn clock_disagreement(target: &[&Trial]) -> Option<f64> {
    let mut times: Vec<(u64, u64)> = target
        .iter()
        .filter(|t| t.failure.is_none())
        .filter_map(|t| Some((t.host_elapsed_ns, t.agent_elapsed_ns?)))
        .collect();
    times.sort_unstable();
    let half = times.len() / 2;
    let slope = |((host, agent), (longer_host, longer_agent)): ((u64, u64), (u64, u64))| {
        let (rise, run) = (longer_agent as f64 - agent as f64, longer_host as f64 - host as f64);
        // Between trials of like length there is nothing but noise.
        (longer_host / 2 >= host && longer_host - host >= LEAST_CLOCK_RUN_NS)
            .then(|| ((rise / run - 1.0) * 1e6, run))
    };
    let pairs = times.iter().copied().zip(times[times.len() - half..].iter().copied()).take(half);
    let (slopes, runs): (Vec<f64>, Vec<f64>) = pairs.filter_map(slope).unzip();
    let disagreement = outside(&sort_values(&slopes), CLOCK_LIMIT_PPM)?;
    (disagreement.abs() / 1e6 * compute_median(&sort_values(&runs)) > ARRIVAL_NS).then_some(disagreement)
}
