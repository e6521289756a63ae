//! Slow nodes: those whose baseline is slower than that of their kind, with the share of false ones held at 5 %.
//!
//! A node is one hypothesis, whatever the number of cases: a node that is slow in all of them would otherwise
//! make room for false ones to go with it. The p of a node is that of its cases together (Simes), nodes are
//! chosen by Benjamini and Hochberg's procedure, and within a chosen node the cases at the share that is left
//! of the level (Benjamini and Bogomolov 2014). The typical case of a node is a separate test: a little in
//! each adds up.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use super::scale::{Scale, combine_p_values, within_groups};
use super::{NodeFigure, grouped};
use crate::statistics::level::ALPHA;
use crate::statistics::multiplicity::{FALSE_SHARE, benjamini_hochberg, select_by_holm};
use crate::statistics::signed_ranks::{compute_median, sort_values};

/// Fewest nodes of a kind among which one can be judged slow; fewer are ranked.
pub const FEWEST_OF_KIND: usize = 8;
/// Ordinary nodes that are measured again with those that were chosen.
const BESIDE: usize = 2;
/// Stands for the typical case: no case has an empty name.
const TYPICAL: (&str, &str) = ("", "");
/// Fewest cases from which a typical one is known.
const FEWEST_CASES: usize = 3;

/// Ranking of all nodes.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Ranking {
    /// Slowest first; those of kinds that are not judged last.
    pub nodes: Vec<NodeStanding>,
    /// Nodes of each kind.
    pub kinds: BTreeMap<String, usize>,
}

impl Ranking {
    /// Lists the nodes to measure again: those that were chosen, and of each of their kinds ordinary ones,
    /// the most typical first, whose fresh sessions show the effect of the day.
    pub fn to_confirm(&self) -> BTreeSet<String> {
        let was_chosen = |node: &&NodeStanding| {
            matches!(node.standing, Standing::Slow | Standing::MaybeSlow | Standing::NotConfirmed)
        };
        let chosen: Vec<&NodeStanding> = self.nodes.iter().filter(was_chosen).collect();
        let kinds: BTreeSet<&str> = chosen.iter().map(|node| node.kind.as_str()).collect();
        let beside = kinds.into_iter().flat_map(|kind| {
            let is_ordinary = |node: &&NodeStanding| node.kind == kind && node.standing == Standing::Ordinary;
            let mut ordinary: Vec<&NodeStanding> = self.nodes.iter().filter(is_ordinary).collect();
            let off = |node: &NodeStanding| libm::log(node.typical).abs();
            ordinary.sort_by(|a, b| off(a).total_cmp(&off(b)).then(a.node.cmp(&b.node)));
            ordinary.into_iter().take(BESIDE)
        });
        chosen.iter().copied().chain(beside).map(|node| node.node.clone()).collect()
    }
}

/// Verdict on a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Standing {
    /// Slow in sessions that were measured for this question alone.
    Slow,
    /// Chosen among all nodes; fresh sessions have to bear it out.
    MaybeSlow,
    /// Chosen among all nodes, and not slow in fresh sessions.
    NotConfirmed,
    Ordinary,
    /// Its kind has too few nodes.
    NotJudged,
}

/// A node among those of its kind.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct NodeStanding {
    pub node: String,
    pub kind: String,
    pub standing: Standing,
    /// Slowdown of its typical case against that of its kind: 1.05 for 5 %.
    pub typical: f64,
    /// Chance of such a node among ordinary ones, all its cases together; none where its kind is not judged.
    pub p: Option<f64>,
    /// Largest first.
    pub cases: Vec<Deviation>,
}

/// Distance of a node from its kind in a case.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Deviation {
    /// None for the typical case.
    pub case: Option<String>,
    pub metric: Option<String>,
    /// 1.05 for 5 % slower.
    pub slower: f64,
    /// Distance in deviations of ordinary nodes.
    pub t: f64,
    pub p: f64,
    /// True when the node is slow in this case.
    pub is_slow: bool,
    /// Deviation in fresh sessions; None where there are none.
    pub fresh: Option<Fresh>,
}

/// Result of fresh sessions in a case that was chosen.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Fresh {
    pub slower: f64,
    pub p: f64,
    pub sessions: usize,
    pub is_slow: bool,
}

/// A node's distance from its kind in a case, and the scale that it is measured by.
struct Off<'a> {
    case: Option<(&'a str, &'a str)>,
    distance: f64,
    scale: Scale,
    margin: f64,
}

/// Chooses the slow nodes among all. `fresh` are sessions that were measured after a first report, to confirm.
pub fn rank_nodes(figures: &[NodeFigure], fresh: &[NodeFigure]) -> Ranking {
    let mut kinds = BTreeMap::new();
    let mut nodes = Vec::new();
    let mut scales = BTreeMap::new();
    for (kind, rows) in grouped(figures, |row| row.kind.as_str()) {
        let off = of_kind(&rows, &mut scales);
        kinds.insert(kind.to_owned(), off.len());
        let is_judged = off.len() >= FEWEST_OF_KIND;
        nodes.extend(off.into_iter().map(|(node, off)| standing(node, kind, off, is_judged)));
    }
    choose(&mut nodes);
    confirm(&mut nodes, figures, fresh, &scales);
    nodes.sort_by(|a, b| {
        let by = |node: &NodeStanding| (node.standing, node.p.unwrap_or(1.0), -node.typical);
        let (a_by, b_by) = (by(a), by(b));
        let by_p = a_by.1.total_cmp(&b_by.1);
        a_by.0.cmp(&b_by.0).then(by_p).then(a_by.2.total_cmp(&b_by.2)).then(a.node.cmp(&b.node))
    });
    Ranking { nodes, kinds }
}

/// A kind and a case of it; that of the typical case has no name.
type OfKind<'a> = (&'a str, &'a str, &'a str);

/// Computes how far each node of a kind is off in each case, the typical one last.
fn of_kind<'a>(
    rows: &[&'a NodeFigure],
    scales: &mut BTreeMap<OfKind<'a>, Scale>,
) -> BTreeMap<&'a str, Vec<Off<'a>>> {
    let mut cases: BTreeMap<(&str, &str), Vec<&NodeFigure>> = BTreeMap::new();
    let mut off: BTreeMap<&str, Vec<Off>> = BTreeMap::new();
    for row in rows {
        cases.entry((&row.case, &row.metric)).or_default().push(row);
        off.entry(&row.node).or_default();
    }
    for (case, rows) in cases {
        let (nodes, floor) = of_case(&rows);
        let values: Vec<f64> = nodes.values().copied().collect();
        let Some(scale) = Scale::from_values(&values, floor) else { continue };
        scales.insert((&rows[0].kind, case.0, case.1), scale);
        for (node, value) in nodes {
            let distance = value - scale.centre;
            off.entry(node).or_default().push(Off {
                case: Some(case),
                distance,
                scale,
                margin: rows[0].margin,
            });
        }
    }
    if let Some(scale) = typical(&mut off) {
        scales.insert((rows[0].kind.as_str(), TYPICAL.0, TYPICAL.1), scale);
    }
    off
}

/// Computes the figure of each node, and how far sessions alone would spread them.
fn of_case<'a>(rows: &[&'a NodeFigure]) -> (BTreeMap<&'a str, f64>, f64) {
    let mut nodes: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
    rows.iter().for_each(|row| nodes.entry(&row.node).or_default().push(row.ln_figure));
    let counts: Vec<f64> = nodes.values().map(|values| values.len() as f64).collect();
    let a_node = compute_median(&sort_values(&counts));
    let of_rounds = |row: &&NodeFigure| row.deviation / f64::from(row.rounds.max(1)).sqrt();
    let rounds = compute_median(&sort_values(&rows.iter().map(of_rounds).collect::<Vec<_>>()));
    let sessions = within_groups(nodes.values().map(Vec::as_slice)).unwrap_or(0.0);
    let floor = sessions.max(rounds) / a_node.sqrt();
    let figures =
        nodes.into_iter().map(|(node, values)| (node, compute_median(&sort_values(&values)))).collect();
    (figures, floor)
}

/// Adds the typical case of each node that has enough of them, and returns its scale.
fn typical(off: &mut BTreeMap<&str, Vec<Off<'_>>>) -> Option<Scale> {
    let most = off.values().map(Vec::len).max().unwrap_or(0);
    let has_enough = |cases: &Vec<Off>| cases.len() >= FEWEST_CASES && 2 * cases.len() > most;
    let middle = |of: &dyn Fn(&Off) -> f64, cases: &[Off]| {
        compute_median(&sort_values(&cases.iter().map(of).collect::<Vec<_>>()))
    };
    let values: Vec<f64> = off
        .values()
        .filter(|cases| has_enough(cases))
        .map(|cases| middle(&|off| off.distance, cases))
        .collect();
    let scale = Scale::from_values(&values, 0.0)?;
    for cases in off.values_mut().filter(|cases| has_enough(cases)) {
        let (distance, margin) = (middle(&|off| off.distance, cases), middle(&|off| off.margin, cases));
        cases.push(Off { case: None, distance: distance - scale.centre, scale, margin });
    }
    Some(scale)
}

fn standing(node: &str, kind: &str, off: Vec<Off<'_>>, is_judged: bool) -> NodeStanding {
    let deviation = |off: &Off| Deviation {
        case: off.case.map(|(case, _)| case.to_owned()),
        metric: off.case.map(|(_, metric)| metric.to_owned()),
        slower: libm::exp(off.distance),
        t: off.scale.to_deviations(off.distance),
        p: off.scale.tail_probability(off.distance),
        // Until nodes are chosen: whether it is large enough to matter.
        is_slow: off.distance >= off.margin,
        fresh: None,
    };
    let distances: Vec<f64> = off.iter().map(|off| off.distance).collect();
    let of_typical = off.iter().find(|off| off.case.is_none()).map(|off| off.distance);
    let typical =
        of_typical.or_else(|| (!distances.is_empty()).then(|| compute_median(&sort_values(&distances))));
    let mut cases: Vec<Deviation> = off.iter().map(deviation).collect();
    cases.sort_by(|a, b| b.t.total_cmp(&a.t).then(a.case.cmp(&b.case)));
    let p: Vec<f64> = cases.iter().map(|case| case.p).collect();
    NodeStanding {
        node: node.to_owned(),
        kind: kind.to_owned(),
        standing: if is_judged { Standing::Ordinary } else { Standing::NotJudged },
        typical: libm::exp(typical.unwrap_or(0.0)),
        p: is_judged.then(|| combine_p_values(&p)),
        cases,
    }
}

/// Chooses nodes by Benjamini and Hochberg's procedure, and their cases at the share of the level that nodes
/// were chosen at.
fn choose(nodes: &mut [NodeStanding]) {
    let p: Vec<f64> = nodes.iter().filter_map(|node| node.p).collect();
    let kept = benjamini_hochberg(&p, FALSE_SHARE);
    let share = FALSE_SHARE * kept.iter().filter(|kept| **kept).count() as f64 / p.len().max(1) as f64;
    let mut kept = kept.into_iter();
    for node in nodes {
        let is_chosen = node.p.is_some() && kept.next().unwrap_or(false);
        let p: Vec<f64> = node.cases.iter().map(|case| case.p).collect();
        for (case, is_far) in node.cases.iter_mut().zip(benjamini_hochberg(&p, share)) {
            case.is_slow &= is_chosen && is_far;
        }
        if node.cases.iter().any(|case| case.is_slow) {
            node.standing = Standing::MaybeSlow;
        }
    }
}

/// Judges the chosen nodes by fresh sessions alone, compared with those of nodes that were not chosen and
/// were measured again with them: a movement of all of these is the day's, and no node's.
fn confirm(
    nodes: &mut [NodeStanding],
    figures: &[NodeFigure],
    fresh: &[NodeFigure],
    scales: &BTreeMap<OfKind<'_>, Scale>,
) {
    let chosen: BTreeSet<String> = nodes
        .iter()
        .filter(|node| node.standing == Standing::MaybeSlow)
        .map(|node| node.node.clone())
        .collect();
    let drift = Drift::of(figures, fresh, &chosen);
    let mut family = Vec::new();
    for (at, node) in nodes.iter().enumerate().filter(|(_, node)| chosen.contains(&node.node)) {
        for (of_case, case) in node.cases.iter().enumerate().filter(|(_, case)| case.is_slow) {
            let (case, metric) = case.case.as_deref().zip(case.metric.as_deref()).unwrap_or(TYPICAL);
            let key = (node.kind.as_str(), case, metric);
            if let Some(fresh) = drift.judged(&node.node, key, scales) {
                family.push((at, of_case, fresh));
            }
        }
    }
    let p: Vec<f64> = family.iter().map(|(_, _, fresh)| fresh.p).collect();
    for ((at, of_case, fresh), kept) in family.into_iter().zip(select_by_holm(&p, ALPHA)) {
        let node = &mut nodes[at];
        node.cases[of_case].fresh = Some(Fresh { is_slow: kept && fresh.is_slow, ..fresh });
        let is_slow = node.cases.iter().any(|case| case.fresh.is_some_and(|fresh| fresh.is_slow));
        node.standing = if is_slow { Standing::Slow } else { Standing::NotConfirmed };
    }
}

/// Fresh figures, and how the nodes that were measured again without being chosen moved since.
struct Drift<'a> {
    fresh: BTreeMap<(&'a str, OfKind<'a>), Vec<f64>>,
    /// Movement of such nodes, and their fresh sessions' distances from it.
    moved: BTreeMap<OfKind<'a>, (f64, usize)>,
    margins: BTreeMap<OfKind<'a>, f64>,
}

impl<'a> Drift<'a> {
    fn of(figures: &'a [NodeFigure], fresh: &'a [NodeFigure], chosen: &BTreeSet<String>) -> Drift<'a> {
        let key = |row: &'a NodeFigure| -> (&'a str, OfKind<'a>) {
            (&row.node, (&row.kind, &row.case, &row.metric))
        };
        let values = |rows: Vec<&NodeFigure>| rows.iter().map(|row| row.ln_figure).collect::<Vec<f64>>();
        let before: BTreeMap<_, Vec<f64>> =
            grouped(figures, key).into_iter().map(|(key, rows)| (key, values(rows))).collect();
        let after: BTreeMap<_, Vec<f64>> =
            grouped(fresh, key).into_iter().map(|(key, rows)| (key, values(rows))).collect();
        let mut moves: BTreeMap<OfKind, Vec<f64>> = BTreeMap::new();
        for ((node, of), values) in after.iter().filter(|((node, _), _)| !chosen.contains(*node)) {
            if let Some(before) = before.get(&(*node, *of)) {
                moves.entry(*of).or_default().push(middle(values) - middle(before));
            }
        }
        let moved = moves.into_iter().map(|(of, moves)| (of, (middle(&moves), moves.len()))).collect();
        let margins = fresh.iter().map(|row| (key(row).1, row.margin)).collect();
        Drift { fresh: after, moved, margins }
    }

    /// Compares a node's fresh sessions with ordinary ones of its kind.
    fn judged(&self, node: &str, of: OfKind<'_>, scales: &BTreeMap<OfKind<'_>, Scale>) -> Option<Fresh> {
        let scale = scales.get(&of)?;
        let off = |case: &OfKind<'_>, values: &[f64]| {
            let moved = self.moved.get(case).map_or(0.0, |(moved, _)| *moved);
            Some(middle(values) - scales.get(case)?.centre - moved)
        };
        let of_node: Vec<(&OfKind<'_>, &Vec<f64>)> = self
            .fresh
            .iter()
            .filter(|((name, case), _)| *name == node && case.0 == of.0)
            .map(|((_, case), values)| (case, values))
            .collect();
        let is_typical = (of.1, of.2) == TYPICAL;
        let chosen = of_node.iter().filter(|(case, _)| is_typical || **case == of);
        let distances: Vec<f64> = chosen.clone().filter_map(|(case, values)| off(case, values)).collect();
        let sessions = chosen.clone().map(|(_, values)| values.len()).max()?;
        let distance =
            distances.first().map(|_| middle(&distances))? - if is_typical { scale.centre } else { 0.0 };
        let margins: Vec<f64> = chosen.filter_map(|(case, _)| self.margins.get(*case).copied()).collect();
        // The movement of the others is known from few: that widens the ordinary range.
        let nodes = self.moved.values().map(|(_, nodes)| *nodes).max().unwrap_or(1).max(1) as f64;
        let wider = Scale { deviation: scale.deviation * (1.0 + 1.0 / nodes).sqrt(), ..*scale };
        let is_slow = distance >= margins.first().map_or(0.0, |_| middle(&margins));
        Some(Fresh { slower: libm::exp(distance), p: wider.tail_probability(distance), sessions, is_slow })
    }
}

fn middle(values: &[f64]) -> f64 {
    compute_median(&sort_values(values))
}
