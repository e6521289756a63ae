//! Pairs of nodes: ln of a pair's figure is the sum of a common value, the effects of both nodes and that of
//! the link.

use std::collections::BTreeMap;

use serde::Serialize;

use super::polish::{Pair, Polished, beside_typical, run_median_polish};
use super::scale::Scale;
use super::slow::FEWEST_OF_KIND;
use super::{PairFigure, grouped};
use crate::statistics::multiplicity::{FALSE_SHARE, benjamini_hochberg};
use crate::statistics::signed_ranks::{compute_median, sort_values};

/// Fewest other nodes that each has to meet, for its effect to be told from those of its links.
pub(super) const FEWEST_MET: usize = 6;

/// A case over all pairs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PairsOfCase {
    pub case: String,
    pub metric: String,
    /// The typical pair's cost: of a time the time, of a rate its inverse.
    pub typical: f64,
    /// True when nodes and links are judged; else they are only ranked.
    pub judged: bool,
    /// Part of each node, slowest first; where they are only ranked, its middle pair over the typical one.
    pub nodes: Vec<NodeEffect>,
    /// Every pair, the slowest link first.
    pub links: Vec<Link>,
}

/// Part of a node in all its pairs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct NodeEffect {
    pub node: String,
    /// 1.3 where pairs of this node are 30 % slower.
    pub slower: f64,
    pub p: f64,
    pub met: usize,
    pub is_slow: bool,
}

/// A pair of nodes, and its cost without the effects of its nodes.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Link {
    pub a: String,
    pub b: String,
    /// The pair's cost over that of the typical pair.
    pub ratio: f64,
    /// Part of the link, as a ratio; where links are only ranked, the same as `ratio`.
    pub slower: f64,
    /// None where one of its nodes is slow itself, or links are not judged.
    pub p: Option<f64>,
    pub is_slow: bool,
}

/// Takes the pairs of every case apart.
pub fn decompose_pairs(figures: &[PairFigure]) -> Vec<PairsOfCase> {
    let groups = grouped(figures, |row| (row.case.as_str(), row.metric.as_str()));
    groups.into_values().map(|rows| of_case(&rows)).collect()
}

/// Collects the figure of each pair by its ends, whichever of them measured; of several the median.
pub(super) fn by_ends<'a>(rows: &[&'a PairFigure]) -> BTreeMap<(&'a str, &'a str), f64> {
    let mut values: BTreeMap<(&str, &str), Vec<f64>> = BTreeMap::new();
    for row in rows.iter().filter(|row| row.a != row.b) {
        let ends =
            if row.a < row.b { (row.a.as_str(), row.b.as_str()) } else { (row.b.as_str(), row.a.as_str()) };
        values.entry(ends).or_default().push(row.ln_figure);
    }
    values.into_iter().map(|(ends, values)| (ends, compute_median(&sort_values(&values)))).collect()
}

fn of_case(rows: &[&PairFigure]) -> PairsOfCase {
    let values = by_ends(rows);
    let mut names: Vec<&str> = values.keys().flat_map(|(a, b)| [*a, *b]).collect();
    names.sort_unstable();
    names.dedup();
    let numbers: BTreeMap<&str, usize> = names.iter().enumerate().map(|(at, name)| (*name, at)).collect();
    let all: Vec<Pair> =
        values.iter().map(|((a, b), value)| Pair { a: numbers[a], b: numbers[b], value: *value }).collect();
    let mut met = vec![0; names.len()];
    all.iter().for_each(|pair| [pair.a, pair.b].into_iter().for_each(|node| met[node] += 1));
    let judged = names.len() >= FEWEST_OF_KIND && met.iter().all(|met| *met >= FEWEST_MET);
    // With few pairs, the effect of a node cannot be told from those of its links: each pair is compared with
    // the typical one.
    let polished =
        if judged { run_median_polish(&all, names.len()) } else { beside_typical(&all, names.len()) };
    let margin = rows[0].margin;
    let mut nodes = node_effects(&names, &met, &polished, judged, margin);
    let mut links = links(&all, &names, &polished, &nodes, judged, margin);
    let order = |a: (f64, &str), b: (f64, &str)| b.0.total_cmp(&a.0).then(a.1.cmp(b.1));
    nodes.sort_by(|a, b| order((a.slower, &a.node), (b.slower, &b.node)));
    links.sort_by(|a, b| order((a.slower, &a.a), (b.slower, &b.a)).then(a.b.cmp(&b.b)));
    let (case, metric) = (rows[0].case.clone(), rows[0].metric.clone());
    PairsOfCase { case, metric, typical: libm::exp(polished.common), judged, nodes, links }
}

fn node_effects(
    names: &[&str],
    met: &[usize],
    polished: &Polished,
    judged: bool,
    margin: f64,
) -> Vec<NodeEffect> {
    // The scatter of links is in every effect, however alike the nodes are.
    let floor = Scale::of_left(&polished.left, names.len()).map_or(0.0, |scale| scale.deviation);
    let least_met = met.iter().copied().min().unwrap_or(0).max(1) as f64;
    let scale = Scale::from_values(&polished.nodes, floor * (std::f64::consts::FRAC_PI_2 / least_met).sqrt());
    let p: Vec<f64> = polished
        .nodes
        .iter()
        .map(|effect| scale.map_or(1.0, |s| s.tail_probability(effect - s.centre)))
        .collect();
    let kept = benjamini_hochberg(&p, FALSE_SHARE);
    let effects = names.iter().zip(&polished.nodes).zip(met).zip(p.iter().zip(kept));
    effects
        .map(|(((name, effect), met), (p, kept))| NodeEffect {
            node: (*name).to_owned(),
            slower: libm::exp(*effect),
            p: *p,
            met: *met,
            is_slow: judged && kept && *effect >= margin,
        })
        .collect()
}

fn links(
    all: &[Pair],
    names: &[&str],
    polished: &Polished,
    nodes: &[NodeEffect],
    judged: bool,
    margin: f64,
) -> Vec<Link> {
    let is_sound = |pair: &Pair| judged && !nodes[pair.a].is_slow && !nodes[pair.b].is_slow;
    let sound: Vec<f64> =
        all.iter().zip(&polished.left).filter(|(pair, _)| is_sound(pair)).map(|(_, left)| *left).collect();
    let scale = Scale::of_left(&sound, names.len());
    let p: Vec<f64> =
        sound.iter().map(|left| scale.map_or(1.0, |s| s.tail_probability(left - s.centre))).collect();
    let mut kept = p.iter().zip(benjamini_hochberg(&p, FALSE_SHARE));
    let link = |(pair, left): (&Pair, &f64)| {
        let judged = is_sound(pair).then(|| kept.next()).flatten();
        Link {
            a: names[pair.a].to_owned(),
            b: names[pair.b].to_owned(),
            ratio: libm::exp(pair.value - polished.common),
            slower: libm::exp(*left),
            p: judged.map(|(p, _)| *p),
            is_slow: judged.is_some_and(|(_, kept)| kept && *left >= margin),
        }
    };
    all.iter().zip(&polished.left).map(link).collect()
}
