//! One cell judged: from paired rounds to an estimate, an interval and a verdict.
//!
//! The running session, the findings and the index all pass through here, so that a session stops exactly when the
//! report will say that it may.

use std::collections::BTreeMap;

use tare_data::unit::Direction;

use crate::findings::{Leading, SharedStarts, Verdict};
use crate::statistics::modes;
use crate::statistics::sign_test;
use crate::statistics::signed_ranks::{self, Interval, Nulls, hodges_lehmann, median, sorted};
use crate::verdicts::stability;
use crate::verdicts::stopping::{self, Engine, FEWEST_TO_TELL, Look, Schedule};
use crate::verdicts::summary::Series;
use crate::verdicts::verdict::{Margin, is_decided, rounds_to_tell, verdict};

/// A round in which both the environment and the baseline gave a value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pair {
    pub round: u32,
    /// Which start of the environment's environment it ran in.
    pub start: u32,
    /// ln of the cost ratio: above 0 the environment is slower.
    pub d: f64,
}

/// The paired rounds of a cell, in order, and how many rounds both have run, failures included.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Pairs {
    pub pairs: Vec<Pair>,
    pub reached: u32,
}

/// Why values cannot be paired.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoPairs {
    /// No round in which both gave a value.
    NoCommonRound,
    /// A value of zero or below has no ratio; leaving such rounds out would choose rounds by their outcome.
    NotPositive,
}

/// Pairs an environment with the baseline, round by round.
pub fn pair(baseline: &Series, target: &Series, direction: Direction) -> Result<Pairs, NoPairs> {
    let known: BTreeMap<u32, f64> = baseline.values.iter().map(|v| (v.round, v.value)).collect();
    let mut pairs = Vec::with_capacity(target.values.len());
    for of_target in &target.values {
        let Some(of_baseline) = known.get(&of_target.round) else {
            continue;
        };
        if of_target.value <= 0.0 || *of_baseline <= 0.0 {
            return Err(NoPairs::NotPositive);
        }
        let slower = of_target.value.ln() - of_baseline.ln();
        let d = match direction {
            Direction::Lower => slower,
            Direction::Higher => -slower,
        };
        pairs.push(Pair { round: of_target.round, start: of_target.start, d });
    }
    if pairs.is_empty() {
        return Err(NoPairs::NoCommonRound);
    }
    Ok(Pairs { pairs, reached: target.reached.min(baseline.reached) })
}

/// Fewest starts that a session must have room for before they, not rounds, are compared: the fewest whose signs can
/// reject at a last look, which spends 0.9 % or a little less however many rounds there are (2 in 2^8 is 0.8 %).
const FEWEST_STARTS: u32 = 8;

/// The differences that are compared after so many rounds, sorted: one a round, or one a start of the environment
/// where several rounds share one and a session of `most` rounds has room for enough starts.
///
/// Rounds of one start differ less from each other than starts do; taken as separate they would promise a precision
/// that another start does not keep (Kalibera and Jones 2013). An environment with a start or two for the whole session has
/// nothing to average over: its rounds are compared, and a warning says that they speak of those starts.
fn units(pairs: &[Pair], rounds: u32, most: u32) -> Vec<f64> {
    let known = pairs.iter().filter(|pair| pair.round < rounds);
    let mut starts: BTreeMap<u32, (f64, u32)> = BTreeMap::new();
    for pair in known.clone() {
        let (sum, count) = starts.entry(pair.start).or_default();
        *sum += pair.d;
        *count += 1;
    }
    let a_start = starts.values().map(|(_, count)| *count).max().unwrap_or(1);
    let values: Vec<f64> = if starts.len() > 1 && a_start > 1 && most / a_start >= FEWEST_STARTS {
        starts.values().map(|(sum, count)| sum / f64::from(*count)).collect()
    } else {
        known.map(|pair| pair.d).collect()
    };
    sorted(&values)
}

/// What is said of a cell.
#[derive(Clone, Debug, PartialEq)]
pub struct Judgement {
    /// ln of the cost ratio, and its interval.
    pub estimate: f64,
    pub interval: Interval,
    pub signs: Interval,
    pub leading: Leading,
    pub p: f64,
    /// Evidence against "no effect" as it stands now, for the anytime-valid engine's correction.
    pub e: f64,
    pub verdict: Verdict,
    pub decided_at: Option<u32>,
    pub rounds_to_tell: Option<u32>,
    pub hodges_lehmann: f64,
    pub median: f64,
    pub skewed: bool,
    /// Groups into which the differences fall; 1 for none.
    pub modes: usize,
    pub starts: Option<SharedStarts>,
    /// Rounds paired, units compared (rounds or starts), and the units' spread as a robust standard deviation.
    pub rounds: usize,
    pub units: usize,
    pub deviation: f64,
}

/// Judges a cell at a margin. None when no round is within the schedule.
pub fn judge(
    pairs: &Pairs,
    schedule: &Schedule,
    engine: Engine,
    margin: Margin,
    nulls: &mut Nulls,
) -> Option<Judgement> {
    let values = units(&pairs.pairs, u32::MAX, schedule.most());
    if values.is_empty() {
        return None;
    }
    let looks = stopping::follow(schedule, pairs.reached, engine, nulls, |rounds| {
        units(&pairs.pairs, rounds, schedule.most())
    });
    let (hodges_lehmann, median) = (hodges_lehmann(&values), median(&values));
    let skewed = stability::is_skewed(hodges_lehmann, median, margin.within);
    let modes = modes::count(&values, margin.within);
    let leading = match engine {
        Engine::GroupSequential if !skewed && modes == 1 => Leading::HodgesLehmann,
        _ => Leading::Sign,
    };
    let of = |look: &Look| match leading {
        Leading::HodgesLehmann => (look.ranks, look.ranks_p),
        Leading::Sign => (look.signs, look.signs_p),
    };
    let (interval, p) = looks.last().map_or((Interval::EVERYTHING, 1.0), of);
    let verdict = verdict(interval, margin);
    Some(Judgement {
        estimate: if leading == Leading::Sign { median } else { hodges_lehmann },
        interval,
        signs: looks.last().map_or(Interval::EVERYTHING, |look| look.signs),
        leading,
        p,
        e: sign_test::evidence_against_zero(&values),
        verdict,
        decided_at: decided_at(&looks, verdict, margin, |look| of(look).0),
        rounds_to_tell: more_rounds(verdict, interval, margin.within, pairs.reached, schedule),
        hodges_lehmann,
        median,
        skewed,
        modes,
        starts: stability::shared_starts(&pairs.pairs),
        rounds: pairs.pairs.len(),
        units: values.len(),
        deviation: deviation(&values),
    })
}

/// The first look at which the verdict was what it is at the end, where that is a decided one.
fn decided_at(looks: &[Look], last: Verdict, margin: Margin, of: impl Fn(&Look) -> Interval) -> Option<u32> {
    let same = |look: &&Look| verdict(of(look), margin) == last;
    looks.iter().rev().take_while(same).last().filter(|_| is_decided(last)).map(|look| look.rounds)
}

fn more_rounds(
    said: Verdict,
    interval: Interval,
    margin: f64,
    reached: u32,
    schedule: &Schedule,
) -> Option<u32> {
    if said != Verdict::Inconclusive {
        return None;
    }
    // Without any interval yet, the next look is the least that could tell.
    let next =
        || schedule.look_after(reached).unwrap_or(0).max(FEWEST_TO_TELL).max(reached.saturating_add(1));
    Some(rounds_to_tell(reached, interval, margin).unwrap_or_else(next))
}

/// Spread as 1.4826 times the median distance from the median: the standard deviation of normal differences, and
/// unmoved by the rare stall.
fn deviation(values: &[f64]) -> f64 {
    let centre = signed_ranks::median(values);
    let distances: Vec<f64> = values.iter().map(|d| (d - centre).abs()).collect();
    1.4826 * signed_ranks::median(&sorted(&distances))
}
