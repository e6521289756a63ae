//! Judging a single cell: from paired rounds to an estimate, an interval and a verdict.
//!
//! The running session and the findings both pass through here, so that a session stops exactly when the report will
//! say that it may.

use tare_data::warning::{Group, Warning};

use crate::findings::sameness::{FAR, FEWEST_FOR_SAME, FEWEST_STARTS, TOTAL_MARGINS};
use crate::findings::{Leading, Needed, SharedStarts, Smallest, Span, Total, Verdict, Why};
use crate::statistics::level::ALPHA;
use crate::statistics::modes;
use crate::statistics::operation_times::OperationTimes;
use crate::statistics::ratio_of_means::{RatioOfMeans, least_interval, ratio_of_means};
use crate::statistics::serial;
use crate::statistics::signed_ranks::{self, Interval, Nulls, compute_median, hodges_lehmann, sort_values};
use crate::statistics::slow_batches::TailDifference;
use crate::verdicts::doubts::stability;
use crate::verdicts::evidence::{Evidence, fewest_of, last_look};
use crate::verdicts::pairs::{Blocks, Pairs, Units};
use crate::verdicts::stopping::{self, FEWEST_UNITS, Look, Schedule};
use crate::verdicts::verdict::{Margin, Scatter, convert_units, decide_verdict};

/// A round stalls where it is this many deviations slower than the median of the others.
const STALL_DEVIATIONS: f64 = 6.0;

/// A cell judged alone: no correction for the other cells is in it.
#[derive(Clone, Debug, PartialEq)]
pub struct Judgement {
    /// ln of the cost ratio, and its interval.
    pub estimate: f64,
    pub interval: Interval,
    pub signs: Interval,
    pub leading: Leading,
    pub p: f64,
    /// The least p that its rounds or starts could have given.
    pub least_p: f64,
    pub verdict: Verdict,
    /// The verdict on the typical cost alone.
    pub typical: Verdict,
    pub decided_at: Option<u32>,
    pub needed: Option<Needed>,
    pub hodges_lehmann: f64,
    pub median: f64,
    pub skewed: bool,
    /// Groups into which the differences fall; one where they do not.
    pub groups: Vec<Group>,
    /// The ratio of the mean costs; none where they are not known.
    pub total: Option<RatioOfMeans>,
    /// The addition of slow batches; none where trials did not take turns.
    pub(crate) tail: Option<TailDifference>,
    pub starts: Option<SharedStarts>,
    /// The joining of its rounds or starts.
    pub(crate) blocks: Blocks,
    /// Rounds run, failures included; units compared (rounds, starts or blocks of them), and the units' spread as a robust standard
    /// deviation.
    pub reached: u32,
    pub units: usize,
    pub deviation: f64,
    /// The rounds and the time over which it was seen.
    pub seen: Span,
    /// The margin at which it was judged.
    pub margin: Margin,
    /// True where a direction beyond the margin would stay one if it were the only one among all cells.
    pub is_safe: bool,
    evidence: Evidence,
}

/// Judges a cell at a margin. None when no round is within the schedule.
pub fn judge_pairs(
    pairs: &Pairs,
    schedule: &Schedule,
    margin: Margin,
    nulls: &mut Nulls,
) -> Option<Judgement> {
    let starts = Units::from_pairs(&pairs.pairs);
    let (blocks, is_one_sided) = Blocks::choose(&starts);
    let units = starts.clone().into_blocks(blocks);
    let values = units.differences_before(u32::MAX);
    if values.is_empty() {
        return None;
    }
    let fewest = fewest_of(&units);
    let looks =
        stopping::follow_looks(schedule, pairs.reached, fewest, nulls, |at| units.differences_before(at));
    let Shape { hodges_lehmann, median, skewed, groups, leading } = Shape::of(&values, margin);
    let interval_at = |look: &Look| look.interval(leading).widen(pairs.resolution);
    let last = looks.last();
    let p_at_look = |look: &Look| (look.p(leading), look.least_p);
    let mut p = last.map_or((1.0, 1.0), p_at_look);
    let one_sided = (blocks.length > 1 && is_one_sided).then(|| starts.clone());
    if let Some(starts) = &one_sided {
        p = last_look(starts, schedule, pairs.reached, nulls).as_ref().map_or(p, p_at_look);
    }
    let typical_at = |look: &Look| decide_verdict(interval_at(look), margin);
    let totals = Totals { pairs, units: &units, all: ratio_of_means(&units.costs_before(u32::MAX)) };
    let verdict_at = |look: &Look| in_total(typical_at(look), &totals, look.rounds, margin);
    let typical = match last {
        None => Verdict::Inconclusive,
        Some(look) if look.units >= fewest => typical_at(look),
        Some(_) => in_these_starts((&units, &values), pairs, schedule, margin, nulls),
    };
    let verdict = last.map_or(typical, |look| in_total(typical, &totals, look.rounds, margin));
    let judged = Judgement {
        estimate: if leading == Leading::Sign { median } else { hodges_lehmann },
        interval: last.map_or(Interval::EVERYTHING, interval_at),
        signs: last.map_or(Interval::EVERYTHING, |look| look.signs.widen(pairs.resolution)),
        leading,
        p: p.0,
        least_p: p.1,
        verdict,
        typical,
        decided_at: decided_at(&looks, verdict, verdict_at),
        needed: None,
        hodges_lehmann,
        median,
        skewed,
        groups,
        total: totals.all,
        tail: pairs.tail_before(u32::MAX),
        starts: stability::shared_starts(&starts),
        blocks,
        reached: pairs.reached,
        units: values.len(),
        deviation: deviation(&values),
        seen: pairs.measure_span(),
        margin,
        is_safe: false,
        evidence: Evidence {
            units,
            one_sided,
            schedule: schedule.clone(),
            leading,
            reached: pairs.reached,
            resolution: pairs.resolution,
        },
    };
    Some(judged.finish(pairs, schedule, nulls))
}

/// Lowers a verdict on the typical cost to one that rare events allow: a typical cost within the margin is the same only where slow
/// batches are known to add little, or, where trials did not take turns, where the mean cost is close as well, over rounds
/// enough to have met them.
fn in_total(typical: Verdict, totals: &Totals<'_>, rounds: u32, margin: Margin) -> Verdict {
    let without = match typical {
        Verdict::Same => Verdict::Inconclusive,
        Verdict::SlightlySlower => Verdict::SlowerUnclear,
        Verdict::SlightlyFaster => Verdict::FasterUnclear,
        other => return other,
    };
    let edge = total_edge(margin);
    if let Some(tail) = totals.pairs.tail_before(rounds) {
        return if tail.is_within(edge) { typical } else { without };
    }
    let are_enough = totals.units.rounds_before(rounds) >= FEWEST_FOR_SAME;
    if are_enough && totals.are_within(edge, rounds) { typical } else { without }
}

/// The ratios of mean costs of a cell, after all its rounds and at looks.
struct Totals<'a> {
    pairs: &'a Pairs,
    units: &'a Units,
    all: Option<RatioOfMeans>,
}

impl Totals<'_> {
    /// Tells whether the mean cost before a round is known to be no further off than this, or not known at
    /// all.
    fn are_within(&self, edge: f64, rounds: u32) -> bool {
        let is_within = |interval: Interval| -edge <= interval.low && interval.high <= edge;
        if self.units.rounds_before(rounds) == self.units.rounds_before(u32::MAX) {
            return self.all.is_none_or(|total| is_within(total.interval));
        }
        let costs = self.units.costs_before(rounds);
        // To draw again takes time, and is needless where the interval is too wide without it.
        least_interval(&costs).is_none_or(is_within)
            && ratio_of_means(&costs).is_none_or(|total| is_within(total.interval))
    }
}

/// Computes how far the mean cost may be off where the verdict is "same".
fn total_edge(margin: Margin) -> f64 {
    TOTAL_MARGINS * margin.sameness_edge()
}

/// Converts the ratio of mean costs from logarithms.
pub(crate) fn ratio_in_total(total: RatioOfMeans) -> Total {
    Total {
        ratio: libm::exp(total.estimate),
        low: libm::exp(total.interval.low),
        high: libm::exp(total.interval.high),
    }
}

/// Computes the smallest ratios that a cell could have found.
pub(crate) fn smallest_ratios(judgement: &Judgement, margin: Margin) -> Option<Smallest> {
    let effect = judgement.scatter().smallest_effect();
    (judgement.units >= FEWEST_UNITS as usize).then(|| Smallest {
        differs: libm::exp(effect),
        slower: libm::exp(margin.difference_edge() + effect),
    })
}

/// Says why a cell that is typically the same is not the same: rounds that stall where such show, or else the mean cost.
pub(crate) fn mean_cost(pairs: &Pairs, judgement: &Judgement) -> Option<Warning> {
    let total = judgement.total.filter(|_| judgement.typical.is_within_margin())?;
    if let Some(tail) = judgement.tail {
        return tail_warning(tail, total, judgement);
    }
    stalls(pairs, judgement, total).or_else(|| {
        let Total { ratio, low, high } = ratio_in_total(total);
        let is_open = !judgement.verdict.is_within_margin() && pairs.pairs.len() >= FEWEST_FOR_SAME;
        is_open.then_some(Warning::MeanCost { ratio, low, high })
    })
}

/// Warns of slow batches that make a difference, or a mean that differs for another reason. Neither holds up the verdict on what is
/// typical, unless slow batches are known to be there.
fn tail_warning(tail: TailDifference, total: RatioOfMeans, judgement: &Judgement) -> Option<Warning> {
    let edge = total_edge(judgement.margin);
    let (slow, batches) = tail.slow;
    if tail.is_beyond(edge) && slow > 0 {
        let one_in = (batches as f64 / slow as f64).round() as u32;
        return Some(Warning::SlowBatches { one_in, added: tail.estimate });
    }
    let Interval { low, high } = total.interval;
    let Total { ratio, low: low_ratio, high: high_ratio } = ratio_in_total(total);
    let differs = judgement.verdict.is_within_margin() && (low > edge || high < -edge);
    differs.then_some(Warning::MeanCost { ratio, low: low_ratio, high: high_ratio })
}

/// Finds rounds that took much longer than the others, where the cost is not the same in total.
fn stalls(pairs: &Pairs, judgement: &Judgement, total: RatioOfMeans) -> Option<Warning> {
    let edge = total_edge(judgement.margin);
    if total.estimate <= edge {
        return None;
    }
    let far = edge.max(STALL_DEVIATIONS * judgement.deviation);
    let off = pairs.pairs.iter().map(|pair| pair.d - judgement.median);
    let stalls: Vec<f64> = off.filter(|off| *off > far).map(libm::exp).collect();
    let mean = stalls.iter().sum::<f64>() / stalls.len() as f64;
    let one_in = (pairs.pairs.len() as f64 / stalls.len() as f64).round() as u32;
    (!stalls.is_empty()).then_some(Warning::Stalls { one_in, factor: mean })
}

/// Judges a few starts: a direction where each of them, and their rounds taken together, are beyond the
/// margin. It holds for these starts; another may differ.
fn in_these_starts(
    (units, values): (&Units, &[f64]),
    pairs: &Pairs,
    schedule: &Schedule,
    margin: Margin,
    nulls: &mut Nulls,
) -> Verdict {
    let by_round = units.by_round();
    let looks =
        stopping::follow_looks(schedule, pairs.reached, 0, nulls, |at| by_round.differences_before(at));
    let of_look = |look: &Look| decide_verdict(look.ranks.widen(pairs.resolution), margin);
    let all = looks.last().map_or(Verdict::Inconclusive, of_look);
    let edge = margin.difference_edge() + pairs.resolution;
    let are_slower = values.iter().all(|d| *d >= edge);
    let are_faster = values.iter().all(|d| *d <= -edge);
    if all == Verdict::Slower && are_slower {
        Verdict::SlowerInFewStarts
    } else if all == Verdict::Faster && are_faster {
        Verdict::FasterInFewStarts
    } else {
        Verdict::Inconclusive
    }
}

/// The shape of the differences, which chooses the interval.
struct Shape {
    hodges_lehmann: f64,
    median: f64,
    skewed: bool,
    groups: Vec<Group>,
    leading: Leading,
}

impl Shape {
    fn of(values: &[f64], margin: Margin) -> Shape {
        let (hodges_lehmann, median) = (hodges_lehmann(values), compute_median(values));
        let skewed = stability::is_skewed(values, hodges_lehmann, median, margin.planned);
        let groups = modes::thinned_groups(values, margin.planned);
        // Between two groups the median jumps, and its signs find nothing; within one in the middle it is sharp.
        let leading = if skewed || modes::middle_holds_median(&groups) {
            Leading::Sign
        } else {
            Leading::HodgesLehmann
        };
        Shape { hodges_lehmann, median, skewed, groups: sized(values, &groups), leading }
    }
}

/// Measures the groups of sorted values, some of which may have been left out when they were counted.
fn sized(values: &[f64], sizes: &[usize]) -> Vec<Group> {
    let all: usize = sizes.iter().sum();
    let mut below = 0;
    let group = |size: &usize| {
        let from = below * values.len() / all;
        below += size;
        let of_group = &values[from..below * values.len() / all];
        Group { share: *size as f64 / all as f64, ratio: libm::exp(compute_median(of_group)) }
    };
    sizes.iter().map(group).collect()
}

/// Finds the first look from which on the verdict was the final one, where that is a decided one.
fn decided_at(looks: &[Look], last: Verdict, verdict_at: impl Fn(&Look) -> Verdict) -> Option<u32> {
    // Slightly slower is the same with a narrower interval: it was decided when that was.
    let word = |verdict: Verdict| match verdict {
        Verdict::SlightlySlower | Verdict::SlightlyFaster => Verdict::Same,
        other => other,
    };
    let same = |look: &&Look| last.is_settled() && word(verdict_at(look)) == word(last);
    looks.iter().rev().take_while(same).last().map(|look| look.rounds)
}

/// Estimates the rounds or starts that would decide a cell that is not decided.
fn needed_to_decide(judged: &Judgement, pairs: &Pairs, units: &Units, schedule: &Schedule) -> Option<Needed> {
    if judged.verdict.is_settled() {
        return None;
    }
    let margin = judged.margin;
    if judged.typical.is_within_margin() {
        let tail = judged.tail.map(|tail| tail.pairs_to_decide(total_edge(margin)));
        let a_unit = pairs.pairs.len().div_ceil(judged.units.max(1)).max(1);
        let units = match tail {
            Some(needed) => needed.map(|needed| needed.div_ceil(a_unit)),
            None => needed_in_total(judged, units),
        };
        return Some(judged.convert_units(units));
    }
    if judged.units >= judged.fewest_units() {
        return Some(judged.convert_units(judged.scatter().units_to_decide(margin)));
    }
    if units.are_shared() {
        return Some(judged.convert_units(Some(FEWEST_STARTS)));
    }
    // Without a usable spread yet, the next look is the least that could decide, and where it may become "same", the fewest for that.
    let fewest = if judged.estimate.abs() < libm::log(FAR) { FEWEST_FOR_SAME as u32 } else { FEWEST_UNITS };
    let next = schedule.look_after(judged.reached).unwrap_or(0).max(fewest);
    Some(Needed::Rounds(next.max(judged.reached.saturating_add(1))))
}

/// Counts the units with which the mean cost of a cell that is typically the same would be known to be close.
fn needed_in_total(judged: &Judgement, units: &Units) -> Option<usize> {
    let rounds = units.rounds_before(u32::MAX).max(1);
    let for_rounds = (FEWEST_FOR_SAME * judged.units).div_ceil(rounds);
    match judged.total {
        Some(total) if for_rounds <= judged.units => {
            let scatter = Scatter::of_mean(judged.units, total.estimate, total.error);
            scatter.units_to_decide(Margin::from_planned(total_edge(judged.margin)))
        }
        _ => Some(for_rounds),
    }
}

impl Judgement {
    /// Tells whether its rounds or starts were joined because they are alike.
    pub fn has_blocks(&self) -> bool {
        self.blocks.length > 1
    }

    /// Estimates how long a state lasts that makes rounds alike: a part of a block.
    pub(crate) fn state_s(&self) -> Option<f64> {
        self.has_blocks().then(|| self.seen.seconds / self.units as f64 / serial::BLOCK_TIMES)
    }

    /// Widens the interval of a quantile to what the operations of all trials hold, the other side's first.
    ///
    /// The quantile of a few hundred operations is not that of all: near the edge of a tail, more stalls on one side lift most of
    /// its trials over the edge, and leave the quantile where it was.
    pub(crate) fn limit_to_quantiles(self, q: f64, times: &[OperationTimes; 2]) -> Judgement {
        let interval = ratio_of_quantiles(q, times).hull(self.interval);
        if interval == self.interval {
            return self;
        }
        let verdict = self.weaken(interval);
        let p = if interval.contains(0.0) { 1.0 } else { self.p };
        let decided_at = self.decided_at.filter(|_| verdict.is_settled());
        let needed = self.needed.or((!verdict.is_settled()).then_some(Needed::LessNoise));
        Judgement { interval, verdict, p, decided_at, needed, ..self }
    }

    /// Returns the verdict that is left of it with a wider interval.
    pub(crate) fn weaken(&self, interval: Interval) -> Verdict {
        let weaker = decide_verdict(interval, self.margin);
        match self.verdict {
            held if weaker == decide_verdict(self.interval, self.margin) => held,
            held @ (Verdict::SlowerInFewStarts | Verdict::FasterInFewStarts | Verdict::TypicallySame)
                if weaker.is_settled() =>
            {
                held
            }
            _ => weaker,
        }
    }

    /// Adds the parts that rest on the others: p where clocks are coarse, likeness in typical costs alone, and what is needed.
    fn finish(mut self, pairs: &Pairs, schedule: &Schedule, nulls: &mut Nulls) -> Judgement {
        if pairs.resolution > 0.0 {
            self.p = self.evidence.p_of_no_effect(self.estimate, nulls);
        }
        let is_typically_same = !self.verdict.is_within_margin() && mean_cost(pairs, &self).is_some();
        let is_safe = self.find_safety(nulls);
        let needed = needed_to_decide(&self, pairs, &self.evidence.units, schedule);
        let verdict = if is_typically_same { Verdict::TypicallySame } else { self.verdict };
        Judgement { verdict, is_safe, needed, ..self }
    }

    /// Finds its interval at a share of its level: no narrower than its own.
    pub(crate) fn interval_at(&self, share: f64, nulls: &mut Nulls) -> Interval {
        self.evidence.interval_at(share, nulls).hull(self.interval)
    }

    /// Tells whether a direction beyond the margin would stay one if it were the only one among all cells.
    fn find_safety(&self, nulls: &mut Nulls) -> bool {
        let cells = self.evidence.schedule.count_cells() as f64;
        matches!(self.verdict, Verdict::Slower | Verdict::Faster)
            && decide_verdict(self.interval_at(1.0 / cells, nulls), self.margin) == self.verdict
    }

    /// Returns what it lacks where it is not decided for want of rounds.
    pub(crate) fn lack(&self) -> Why {
        match self.tail {
            Some(tail) if self.typical.is_within_margin() && tail.has_pairs() => Why::Tail,
            _ if self.has_blocks() => Why::States,
            _ => Why::Rounds,
        }
    }

    pub(crate) fn scatter(&self) -> Scatter {
        Scatter { units: self.units, estimate: self.estimate, deviation: self.deviation }
    }

    /// Converts a number of units to rounds or to starts.
    pub(crate) fn convert_units(&self, units: Option<usize>) -> Needed {
        let rounds_a_unit = f64::from(self.reached) / self.units as f64;
        convert_units(units, rounds_a_unit, self.starts.map(|_| self.blocks.length))
    }

    /// Gives the number of units below which nothing is decided.
    pub(crate) fn fewest_units(&self) -> usize {
        if self.starts.is_some() || self.has_blocks() { FEWEST_STARTS } else { FEWEST_UNITS as usize }
    }

    /// Tells whether its p would be no smaller at any cost: then it lacks rounds or starts, not a difference.
    pub(crate) fn is_out_of_reach(&self) -> bool {
        self.p >= self.least_p && self.p <= self.least_p * (1.0 + 1e-9) || self.units < FEWEST_UNITS as usize
    }
}

/// Computes the interval of the ratio of two sides' quantiles, each of all operations, as a logarithm: the arms that face each other
/// are added as squares (Zou and Donner 2008). An end that the operations do not hold has none.
fn ratio_of_quantiles(q: f64, times: &[OperationTimes; 2]) -> Interval {
    let [other, own] = times.each_ref().map(|times| {
        let ln = |ns: Option<u64>| ns.map(|ns| libm::log(ns.max(1) as f64));
        (ln(times.quantile(q)), times.quantile_interval(q, ALPHA).map(ln))
    });
    let (Some(of_other), Some(of_own)) = (other.0, own.0) else { return Interval::EVERYTHING };
    let arm = |end: Option<f64>, from: f64| end.map_or(f64::INFINITY, |end| (end - from).abs());
    let below = libm::hypot(arm(own.1[0], of_own), arm(other.1[1], of_other));
    let above = libm::hypot(arm(own.1[1], of_own), arm(other.1[0], of_other));
    Interval { low: of_own - of_other - below, high: of_own - of_other + above }
}

/// Raises the margin for differences to the size of a control's false one.
pub(crate) fn raise_margin(margin: Margin, control: &Judgement) -> Margin {
    if is_off(control) { margin.raise_floor(control.estimate.abs()) } else { margin }
}

/// Tells whether a control shows a difference where there is none, or rounds so alike that it could not.
pub(crate) fn is_off(control: &Judgement) -> bool {
    !control.interval.contains(0.0) || control.has_blocks() && control.interval == Interval::EVERYTHING
}

/// Computes the spread as 1.4826 times the median distance from the median: the standard deviation of normal
/// differences, and unmoved by the rare stall.
fn deviation(values: &[f64]) -> f64 {
    let centre = signed_ranks::compute_median(values);
    let distances: Vec<f64> = values.iter().map(|d| (d - centre).abs()).collect();
    1.4826 * signed_ranks::compute_median(&sort_values(&distances))
}
