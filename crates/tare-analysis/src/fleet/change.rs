//! Two fleets, before and after something: the change of each node's own value, paired by node.

use std::collections::BTreeMap;

use serde::Serialize;

use super::cost::FEWEST_NODES;
use super::{NodeFigure, NodeRatio};
use crate::findings::{Answer, Interval, Verdict};
use crate::statistics::level::ALPHA;
use crate::statistics::multiplicity::{FALSE_SHARE, benjamini_hochberg};
use crate::statistics::signed_ranks::{
    Nulls, compute_hodges_lehmann_interval, hodges_lehmann, p_value, sort_values,
};
use crate::verdicts::verdict::{Margin, decide_verdict};

/// A case before and after.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FleetChange {
    pub case: String,
    pub metric: String,
    /// The layer whose slowdown changed; none for the baseline's own figure.
    #[serde(rename = "environment")]
    pub target: Option<String>,
    /// Nodes that have both.
    pub nodes: usize,
    /// Nodes that have one of them alone, and are left out.
    pub left_out: usize,
    /// Change of every node, by name: the new value over the old one.
    pub of_nodes: BTreeMap<String, f64>,
    /// None below [`FEWEST_NODES`].
    pub change: Option<Changed>,
}

/// The change over nodes: above 1 it is slower than it was.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Changed {
    pub factor: f64,
    #[serde(flatten)]
    pub interval: Interval,
    pub p: f64,
    /// The largest factor that counts as the same.
    #[serde(skip)]
    pub margin: f64,
    /// The answer to whether it is slower than it was.
    pub answer: Answer,
}

/// A case, a metric, and the layer; none for the baseline.
type Key<'a> = (&'a str, &'a str, Option<&'a str>);
/// The mean of each node, over its sessions.
type OfNodes<'a> = BTreeMap<Key<'a>, (f64, BTreeMap<&'a str, (f64, usize)>)>;

/// Values of one fleet: its layers' ratios and its baseline's figures.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Values<'a> {
    pub(crate) figures: &'a [NodeFigure],
    pub(crate) ratios: &'a [NodeRatio],
}

impl<'a> Values<'a> {
    fn of_nodes(self) -> OfNodes<'a> {
        let mut all = OfNodes::new();
        let mut add = |key: Key<'a>, margin: f64, node: &'a str, value: f64| {
            let (sum, count) = all.entry(key).or_insert((margin, BTreeMap::new())).1.entry(node).or_default();
            (*sum, *count) = (*sum + value, *count + 1);
        };
        for row in self.figures {
            add((&row.case, &row.metric, None), row.margin, &row.node, row.ln_figure);
        }
        for row in self.ratios {
            add((&row.case, &row.metric, Some(&row.target)), row.margin, &row.node, row.ln_ratio);
        }
        all
    }
}

/// Compares the values of an older fleet with those of a newer one.
pub(crate) fn compare_fleets(before: Values<'_>, after: Values<'_>) -> Vec<FleetChange> {
    let (old, new) = (before.of_nodes(), after.of_nodes());
    let mut nulls = Nulls::default();
    let mut changes = Vec::new();
    for (key, (margin, of_new)) in &new {
        let Some((_, of_old)) = old.get(key) else { continue };
        let mean = |(sum, count): (f64, usize)| sum / count as f64;
        let both: BTreeMap<&str, f64> = of_new
            .iter()
            .filter_map(|(node, now)| Some((*node, mean(*now) - mean(*of_old.get(node)?))))
            .collect();
        let values = sort_values(&both.values().copied().collect::<Vec<_>>());
        changes.push(FleetChange {
            case: key.0.to_owned(),
            metric: key.1.to_owned(),
            target: key.2.map(str::to_owned),
            nodes: both.len(),
            left_out: of_new.len() + of_old.len() - 2 * both.len(),
            of_nodes: both.iter().map(|(node, ln)| ((*node).to_owned(), libm::exp(*ln))).collect(),
            change: (values.len() >= FEWEST_NODES).then(|| changed(&values, *margin, &mut nulls)),
        });
    }
    confirm(&mut changes);
    changes
}

fn changed(values: &[f64], margin: f64, nulls: &mut Nulls) -> Changed {
    let null = nulls.get_null(values.len());
    let interval = Interval::from_logarithms(compute_hodges_lehmann_interval(values, null, ALPHA));
    let (factor, margin) = (libm::exp(hodges_lehmann(values)), libm::exp(margin));
    let answer = Answer::from_verdict(judge(interval, margin), interval, margin);
    Changed { factor, interval, p: p_value(values, null), margin, answer }
}

fn judge(interval: Interval, margin: f64) -> Verdict {
    decide_verdict(interval.logarithms(), Margin::from_planned(libm::log(margin)))
}

/// Leaves the changes that the family of all cells bears out.
fn confirm(changes: &mut [FleetChange]) {
    let mut family: Vec<&mut Changed> = changes.iter_mut().filter_map(|cell| cell.change.as_mut()).collect();
    let p: Vec<f64> = family.iter().map(|changed| changed.p).collect();
    for (changed, kept) in family.iter_mut().zip(benjamini_hochberg(&p, FALSE_SHARE)) {
        let verdict = judge(changed.interval, changed.margin);
        if !kept && verdict.trend().is_some() {
            changed.answer = Answer::from_verdict(verdict.to_unconfirmed(), changed.interval, changed.margin);
        }
    }
}
