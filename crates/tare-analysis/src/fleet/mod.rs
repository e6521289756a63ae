//! Many nodes at once: the cost of a layer in a fleet, and slow nodes.
//!
//! The units, from the inside out, are round, session and node, and nothing is pooled across a level: a node is one value
//! in whatever is said of the fleet, however many rounds it ran. Figures are compared across nodes of one kind only,
//! a layer's ratios, which were paired within a session, across all.

pub mod cells;
pub mod change;
pub mod cost;
pub mod gate;
mod scale;
pub mod slow;
pub mod summary;

use std::collections::BTreeMap;

/// Figure of a case in the baseline of one session of a node.
#[derive(Clone, Debug, PartialEq)]
pub struct NodeFigure {
    pub node: String,
    /// Nodes of one kind are expected to be alike.
    pub kind: String,
    /// Number of the session on its node, from 1.
    pub session: u32,
    pub case: String,
    pub metric: String,
    /// ln of the cost: greater is slower, whatever the metric's direction.
    pub ln_figure: f64,
    /// Robust standard deviation of ln of the rounds, and how many there are.
    pub deviation: f64,
    pub rounds: u32,
    /// The margin of the case, as ln of a ratio.
    pub margin: f64,
}

/// Cost of a layer in one session of a node.
#[derive(Clone, Debug, PartialEq)]
pub struct NodeRatio {
    pub node: String,
    pub session: u32,
    pub case: String,
    pub metric: String,
    pub target: String,
    /// ln of the cost ratio, and its interval.
    pub ln_ratio: f64,
    pub low: f64,
    pub high: f64,
    pub margin: f64,
}

/// Collects rows by a key, each group in the order of the rows.
fn grouped<'a, T, K: Ord>(rows: &'a [T], key: impl Fn(&'a T) -> K) -> BTreeMap<K, Vec<&'a T>> {
    let mut groups: BTreeMap<K, Vec<&T>> = BTreeMap::new();
    for row in rows {
        groups.entry(key(row)).or_default().push(row);
    }
    groups
}
