//! The sources of spread: between nodes, between sessions of a node, or between rounds of a session.

use serde::Serialize;

use super::scale::{Scale, within_groups};
use super::{NodeFigure, grouped};
use crate::statistics::signed_ranks::{compute_median, sort_values};

/// The spread of a case's figures, level by level, as standard deviations of ln by medians. The spread that a
/// level adds is that of its values without that of the levels below.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Spread {
    pub case: String,
    pub metric: String,
    /// Between nodes of a kind; none below three nodes.
    pub nodes: Option<f64>,
    /// Between sessions of a node; none where every node has one.
    pub sessions: Option<f64>,
    pub rounds: f64,
    /// Shares of the variance of a single round.
    pub share_nodes: Option<f64>,
    pub share_sessions: Option<f64>,
    /// Advice that would sharpen the figure of a node.
    pub advice: Advice,
}

/// Advice by the place of the spread.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Advice {
    /// Nodes differ by more than the errors of their values.
    MoreNodes,
    /// A session's state outweighs the node it ran on.
    MoreSessions,
    /// The uncertainty within a session outweighs both.
    MoreRounds,
    /// Not known: one session a node, or too few nodes.
    Unknown,
}

/// Fewest nodes that a spread is taken of.
const FEWEST: usize = 3;
/// Variance of a median over that of a mean of as many normal values.
const OF_MEDIAN: f64 = std::f64::consts::FRAC_PI_2;

/// Computes the spread of every case.
pub(crate) fn compute_spreads(figures: &[NodeFigure]) -> Vec<Spread> {
    let groups = grouped(figures, |row| (row.case.as_str(), row.metric.as_str()));
    groups.into_values().filter_map(|rows| spread(&rows)).collect()
}

fn spread(rows: &[&NodeFigure]) -> Option<Spread> {
    let first = rows.first()?;
    let mut kinds: std::collections::BTreeMap<&str, std::collections::BTreeMap<&str, Vec<f64>>> =
        Default::default();
    for row in rows {
        kinds.entry(&row.kind).or_default().entry(&row.node).or_default().push(row.ln_figure);
    }
    let rounds = compute_median(&sort_values(&rows.iter().map(|row| row.deviation).collect::<Vec<_>>()));
    let own = compute_median(&sort_values(
        &rows.iter().map(|row| f64::from(row.rounds.max(1))).collect::<Vec<_>>(),
    ));
    let of_rounds = rounds * rounds * OF_MEDIAN / own;
    let sessions = within_groups(kinds.values().flat_map(|nodes| nodes.values().map(Vec::as_slice)));
    let left = |variance: f64, below: f64| (variance - below).max(0.0);
    let of_sessions = sessions.map(|deviation| left(deviation * deviation, of_rounds));
    let counts: Vec<f64> =
        kinds.values().flat_map(|nodes| nodes.values().map(|values| values.len() as f64)).collect();
    let a_node = compute_median(&sort_values(&counts));
    // Nodes of different kinds are expected to differ: each is compared with the middle of its kind.
    let off: Vec<f64> = kinds.values().filter(|nodes| nodes.len() >= FEWEST).flat_map(off_kind).collect();
    let nodes = Scale::from_values(&off, 0.0).filter(|scale| scale.values >= FEWEST);
    let below = (of_sessions.unwrap_or(0.0) + of_rounds) / a_node;
    let of_nodes = nodes.map(|scale| left(scale.deviation * scale.deviation, below));
    let all = of_nodes.unwrap_or(0.0) + of_sessions.unwrap_or(0.0) + rounds * rounds;
    let share = |of: Option<f64>| of.filter(|_| all > 0.0).map(|of| of / all);
    Some(Spread {
        case: first.case.clone(),
        metric: first.metric.clone(),
        nodes: of_nodes.map(f64::sqrt),
        sessions: of_sessions.map(f64::sqrt),
        rounds,
        share_nodes: share(of_nodes),
        share_sessions: share(of_sessions),
        advice: match (of_nodes, of_sessions) {
            (Some(nodes), Some(sessions)) if of_rounds > nodes.max(sessions) => Advice::MoreRounds,
            (Some(nodes), Some(sessions)) if sessions > nodes => Advice::MoreSessions,
            (Some(_), Some(_)) => Advice::MoreNodes,
            _ => Advice::Unknown,
        },
    })
}

fn off_kind(nodes: &std::collections::BTreeMap<&str, Vec<f64>>) -> Vec<f64> {
    let values: Vec<f64> = nodes.values().map(|values| compute_median(&sort_values(values))).collect();
    let centre = compute_median(&sort_values(&values));
    values.iter().map(|value| value - centre).collect()
}
