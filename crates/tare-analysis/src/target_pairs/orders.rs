//! Steps in two orders: by how much a mechanism adds more in one than in the other.
//!
//! A mechanism is added in both orders, each time to other ones: four environments, which are all compared with the baseline in the
//! same rounds. The effect of the order is the difference of the two logarithms of what it adds, round by round.

use crate::findings::Interval;
use tare_data::session::{Role, Session};

use crate::findings::sameness::MARGIN;
use crate::statistics::level::ALPHA;
use crate::statistics::multiplicity::benjamini_hochberg;
use crate::statistics::signed_ranks::Nulls;
use crate::verdicts::pairs::{Pair, Pairs, pair_rounds};
use crate::verdicts::rows::{Judge, Options};
use crate::verdicts::verdict::Margin;

/// A mechanism that is added in two orders. Environments are places among the subjects of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exchange {
    /// The step that adds it.
    pub step: usize,
    /// The environments without it and with it, in the order of the steps.
    pub forward: [usize; 2],
    /// ... and in the reverse order.
    pub reverse: [usize; 2],
}

/// Effect of the order on a mechanism, in a row of the session's findings.
#[derive(Clone, Debug, PartialEq)]
pub struct OrderEffect {
    pub case: String,
    pub metric: String,
    pub step: usize,
    /// Slowdown by the mechanism in the order of the steps, over its slowdown in the reverse order, and the interval.
    pub ratio: f64,
    pub interval: Interval,
    /// True where the two differ, corrected for all effects together.
    pub differs: bool,
}

/// Compares what mechanisms add in two orders, by the headline of each case.
pub fn compare_orders(session: &Session, options: &Options, exchanges: &[Exchange]) -> Vec<OrderEffect> {
    let judge = Judge::of_session(session, options);
    let targets = &session.plan.targets;
    let subjects: Vec<usize> = targets.list_role(Role::Subject).collect();
    let mut nulls = Nulls::default();
    let (mut effects, mut p) = (Vec::new(), Vec::new());
    for (at, case) in session.plan.cases.iter().enumerate() {
        let Some(metric) = case.metrics.first() else { continue };
        let costs = read_costs(&judge, at, &subjects);
        for exchange in exchanges {
            let Some(pairs) = exchange_rounds(&costs, exchange) else { continue };
            let Some(target) = subjects.get(exchange.forward[1]) else { continue };
            let margin = Margin::from_planned(MARGIN);
            let Some(judgement) = judge.judge(&pairs, (at, *target), margin, &mut nulls) else {
                continue;
            };
            p.push(judgement.p);
            effects.push(OrderEffect {
                case: case.id.clone(),
                metric: metric.name.clone(),
                step: exchange.step,
                ratio: libm::exp(judgement.estimate),
                interval: Interval::from_logarithms(judgement.interval),
                differs: false,
            });
        }
    }
    for (effect, kept) in effects.iter_mut().zip(benjamini_hochberg(&p, ALPHA)) {
        effect.differs = kept && !effect.interval.contains(1.0);
    }
    effects
}

/// Reads the cost of each subject against the baseline, round by round, in the headline of a case.
fn read_costs(judge: &Judge<'_>, case: usize, subjects: &[usize]) -> Vec<Pairs> {
    let metrics = &judge.progress.plan.cases[case].metrics[..1];
    let rows = judge.read_rows(case, metrics);
    let (Some(row), Some(baseline)) = (rows.first(), judge.baseline) else { return Vec::new() };
    let cost = |subject: &usize| {
        let against = row.against(*subject, &row.own[baseline]);
        pair_rounds(against, &row.own[*subject], metrics[0].direction).unwrap_or_default()
    };
    subjects.iter().map(cost).collect()
}

/// Joins the rounds in which all four environments of an exchange have a cost; none where there are none.
fn exchange_rounds(costs: &[Pairs], Exchange { forward, reverse, .. }: &Exchange) -> Option<Pairs> {
    let of = |at: usize| costs.get(at);
    let [without, with] = [of(forward[0])?, of(forward[1])?];
    let [without_reverse, with_reverse] = [of(reverse[0])?, of(reverse[1])?];
    let find = |pairs: &Pairs, round: u32| {
        let at = pairs.pairs.binary_search_by_key(&round, |pair| pair.round).ok()?;
        Some((pairs.pairs[at].d, pairs.pairs[at].start))
    };
    let joined = with.pairs.iter().filter_map(|with| {
        let (of_without, baseline_start) = find(without, with.round)?;
        let added = with.d - of_without;
        let in_reverse = find(with_reverse, with.round)?.0 - find(without_reverse, with.round)?.0;
        let d = added - in_reverse;
        let Pair { round, start, at_s, .. } = *with;
        Some(Pair { round, baseline_start, start, at_s, d, costs: None, batches: None })
    });
    let pairs: Vec<Pair> = joined.collect();
    let reached = [without, with, without_reverse, with_reverse].map(|pairs| pairs.reached);
    let reached = reached.into_iter().min().unwrap_or(0);
    (!pairs.is_empty()).then_some(Pairs { pairs, reached, resolution: 0.0 })
}
