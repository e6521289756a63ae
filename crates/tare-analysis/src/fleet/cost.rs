//! A layer's cost in a fleet: every node is one value, judged by signed ranks over nodes.

use serde::Serialize;

use super::scale::Scale;
use super::{NodeRatio, grouped};
use crate::findings::{Answer, Interval, Verdict};
use crate::statistics::level::ALPHA;
use crate::statistics::multiplicity::{FALSE_SHARE, benjamini_hochberg};
use crate::statistics::signed_ranks::{
    self, Nulls, compute_hodges_lehmann_interval, hodges_lehmann, p_value, sort_values,
};
use crate::statistics::student;
use crate::verdicts::verdict::{Margin, decide_verdict};

/// Fewest nodes that have an interval: the extremes of five hold the centre in 93.75 %.
pub const FEWEST_NODES: usize = 6;
/// Nodes from which the range of a further one is read from the nodes themselves; of fewer, the extremes would not hold it
/// in 95 %.
const FEWEST_FOR_RANKS: usize = 39;

/// Cost of a layer in a case, over all nodes.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LayerCost {
    pub case: String,
    pub metric: String,
    #[serde(rename = "environment")]
    pub target: String,
    /// In the order of their names.
    pub nodes: Vec<NodeCost>,
    /// None below [`FEWEST_NODES`].
    pub fleet: Option<FleetCost>,
}

/// A layer's cost on one node.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct NodeCost {
    pub node: String,
    pub sessions: usize,
    /// The mean of its sessions, of logarithms.
    pub ratio: f64,
    /// The mean of its sessions' own intervals; none where one has none.
    pub low: Option<f64>,
    pub high: Option<f64>,
    /// True when the layer costs something else here: further off than ordinary nodes lie apart, and than the
    /// margin, given how many nodes there are.
    pub apart: bool,
}

/// A layer's cost over nodes.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FleetCost {
    /// The Hodges-Lehmann estimate over nodes, and its 95 % interval.
    pub ratio: f64,
    #[serde(flatten)]
    pub interval: Interval,
    /// Standard deviation between nodes of ln of the ratio, by medians.
    pub between: f64,
    /// Interval in which the ratio of a further node lies with a chance of 95 %.
    pub next_low: f64,
    pub next_high: f64,
    pub p: f64,
    /// The largest ratio that counts as the same.
    pub margin: f64,
    pub verdict: Verdict,
}

impl FleetCost {
    /// Returns the answer of verdict, interval and margin.
    pub fn answer(&self) -> Answer {
        Answer::from_verdict(self.verdict, self.interval, self.margin)
    }
}

/// Computes the costs of layers, case by case and environment by environment.
pub fn compute_layer_costs(ratios: &[NodeRatio]) -> Vec<LayerCost> {
    let mut nulls = Nulls::default();
    let groups = grouped(ratios, |row| (row.case.as_str(), row.metric.as_str(), row.target.as_str()));
    let mut costs: Vec<LayerCost> = groups.into_values().filter_map(|rows| cost(&rows, &mut nulls)).collect();
    confirm(&mut costs);
    costs
}

fn cost(rows: &[&NodeRatio], nulls: &mut Nulls) -> Option<LayerCost> {
    let first = rows.first()?;
    let mut nodes: Vec<NodeCost> = Vec::new();
    let mut values = Vec::new();
    for of_node in by_node(rows).values() {
        let value = mean(of_node.iter().map(|row| row.ln_ratio));
        values.push(value);
        nodes.push(NodeCost {
            node: of_node[0].node.clone(),
            sessions: of_node.len(),
            ratio: libm::exp(value),
            low: end(of_node.iter().map(|row| row.low)),
            high: end(of_node.iter().map(|row| row.high)),
            apart: false,
        });
    }
    for (node, apart) in nodes.iter_mut().zip(apart(&values, first.margin)) {
        node.apart = apart;
    }
    let fleet = (values.len() >= FEWEST_NODES).then(|| over_nodes(&values, first.margin, nulls));
    let (case, metric, target) = (first.case.clone(), first.metric.clone(), first.target.clone());
    Some(LayerCost { case, metric, target, nodes, fleet })
}

fn by_node<'a>(rows: &[&'a NodeRatio]) -> std::collections::BTreeMap<&'a str, Vec<&'a NodeRatio>> {
    let mut nodes = std::collections::BTreeMap::<&str, Vec<&NodeRatio>>::new();
    rows.iter().for_each(|row| nodes.entry(&row.node).or_default().push(row));
    nodes
}

fn mean(values: impl ExactSizeIterator<Item = f64>) -> f64 {
    let count = values.len() as f64;
    values.sum::<f64>() / count
}

fn end(ends: impl ExactSizeIterator<Item = f64>) -> Option<f64> {
    let mean = mean(ends);
    mean.is_finite().then(|| libm::exp(mean))
}

/// Computes the centre of values that each are a node, with its interval, and the range of a further one.
fn over_nodes(values: &[f64], margin: f64, nulls: &mut Nulls) -> FleetCost {
    let values = sort_values(values);
    let null = nulls.get_null(values.len());
    let range = compute_hodges_lehmann_interval(&values, null, ALPHA);
    let next = further(&values);
    FleetCost {
        ratio: libm::exp(hodges_lehmann(&values)),
        interval: Interval::from_logarithms(range),
        between: Scale::from_values(&values, 0.0).map_or(0.0, |scale| scale.deviation),
        next_low: libm::exp(next.low),
        next_high: libm::exp(next.high),
        p: p_value(&values, null),
        margin: libm::exp(margin),
        verdict: decide_verdict(range, Margin::from_planned(margin)),
    }
}

/// Computes the range of one more value with a chance of 95 %: between two of the sorted values where there
/// are enough, which holds for any distribution; else by Student's t.
fn further(values: &[f64]) -> signed_ranks::Interval {
    let n = values.len();
    if n >= FEWEST_FOR_RANKS {
        let outside = (0.5 * ALPHA * (n as f64 + 1.0)) as usize;
        return signed_ranks::Interval { low: values[outside - 1], high: values[n - outside] };
    }
    let count = n as f64;
    let mean = values.iter().sum::<f64>() / count;
    let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (count - 1.0);
    let half = student::find_two_sided_quantile(1.0 - ALPHA, (n - 1) as u32)
        * (variance * (1.0 + 1.0 / count)).sqrt();
    signed_ranks::Interval { low: mean - half, high: mean + half }
}

/// Finds the nodes that differ from the others, on either side.
fn apart(values: &[f64], margin: f64) -> Vec<bool> {
    let scale = Scale::from_values(values, 0.0).filter(|scale| scale.values >= super::slow::FEWEST_OF_KIND);
    let Some(scale) = scale else { return vec![false; values.len()] };
    let distance = |value: &f64| (value - scale.centre).abs();
    let p: Vec<f64> =
        values.iter().map(|value| (2.0 * scale.tail_probability(distance(value))).min(1.0)).collect();
    let kept = benjamini_hochberg(&p, FALSE_SHARE);
    values.iter().zip(kept).map(|(value, kept)| kept && distance(value) >= margin).collect()
}

/// Leaves the directions that the family of all layers and cases bears out.
fn confirm(costs: &mut [LayerCost]) {
    let mut family: Vec<&mut FleetCost> = costs.iter_mut().filter_map(|cost| cost.fleet.as_mut()).collect();
    let p: Vec<f64> = family.iter().map(|cost| cost.p).collect();
    for (cost, kept) in family.iter_mut().zip(benjamini_hochberg(&p, FALSE_SHARE)) {
        if !kept && cost.verdict.trend().is_some() {
            cost.verdict = cost.verdict.to_unconfirmed();
        }
    }
}
