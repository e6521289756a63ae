//! Statements on fleets keep their promises, over simulated fleets with planted nodes, kinds and gaps.

use std::collections::{BTreeMap, BTreeSet};

use tare_analysis::fleet::cost::compute_layer_costs;
use tare_analysis::fleet::slow::{Ranking, Standing, rank_nodes};
use tare_analysis::fleet::{NodeFigure, NodeRatio};
use tare_data::generator::Generator;

use super::noise_models::draw_normal;

/// The spread of a fleet's figures: standard deviations of ln.
#[derive(Clone, Copy)]
struct Shape {
    nodes: usize,
    sessions: u32,
    cases: usize,
    /// Effect of a node in all its cases, in each of them, and of a session.
    of_node: f64,
    of_case: f64,
    of_session: f64,
    /// Student's t with three degrees of freedom in place of normal sessions.
    heavy: bool,
    /// The first nodes are slower by this, in one case of this many.
    slow: usize,
    one_of: usize,
    by: f64,
    /// Two kinds, of which one is 40 % slower.
    kinds: u64,
    /// Share of cells that is not there.
    gaps: f64,
}

const SHAPE: Shape = Shape {
    nodes: 64,
    sessions: 2,
    cases: 6,
    of_node: 0.005,
    of_case: 0.0085,
    of_session: 0.008,
    heavy: false,
    slow: 0,
    one_of: 2,
    by: 0.0,
    kinds: 1,
    gaps: 0.0,
};

fn noise(generator: &mut Generator, heavy: bool) -> f64 {
    if !heavy {
        return draw_normal(generator);
    }
    let squares: f64 = (0..3).map(|_| draw_normal(generator).powi(2)).sum();
    draw_normal(generator) / (squares / 3.0).sqrt() / 3.0f64.sqrt()
}

fn name(node: usize) -> String {
    format!("n{node:04}")
}

/// Draws the figures of a fleet. `fresh` are sessions of some nodes after it, which have the same nodes'
/// effects.
fn figures(shape: Shape, seed: u64, fresh: Option<&BTreeSet<String>>) -> Vec<NodeFigure> {
    let mut of_nodes = Generator::for_part(seed, "nodes");
    let mut of_sessions = Generator::for_part(seed, if fresh.is_some() { "fresh" } else { "sessions" });
    let mut rows = Vec::new();
    for node in 0..shape.nodes {
        let kind = of_nodes.draw_below(shape.kinds);
        let of_node = shape.of_node * draw_normal(&mut of_nodes);
        for case in 0..shape.cases {
            let is_slow = node < shape.slow && case % shape.one_of == 0;
            let slow = if is_slow { libm::log1p(shape.by) } else { 0.0 };
            let centre = of_node + shape.of_case * draw_normal(&mut of_nodes) + slow + 0.34 * kind as f64;
            let is_gap = of_nodes.draw_unit() < shape.gaps;
            for session in 0..shape.sessions {
                let ln_figure = centre + shape.of_session * noise(&mut of_sessions, shape.heavy);
                if !is_gap && fresh.is_none_or(|nodes| nodes.contains(&name(node))) {
                    rows.push(NodeFigure {
                        node: name(node),
                        kind: kind.to_string(),
                        session: session + 1,
                        case: format!("c{case}"),
                        metric: "time".into(),
                        ln_figure,
                        deviation: 0.01,
                        rounds: 12,
                        margin: libm::log(1.02),
                    });
                }
            }
        }
    }
    rows
}

fn flagged(ranking: &Ranking) -> BTreeSet<usize> {
    let chosen = |standing: Standing| matches!(standing, Standing::Slow | Standing::MaybeSlow);
    let nodes = ranking.nodes.iter().filter(|node| chosen(node.standing));
    nodes.map(|node| node.node[1..].parse().unwrap()).collect()
}

/// Applies the usual rule: two standard deviations above the mean of any case.
fn usual(rows: &[NodeFigure]) -> BTreeSet<usize> {
    let mut cases: BTreeMap<(&str, &str), BTreeMap<&str, Vec<f64>>> = BTreeMap::new();
    for row in rows {
        let nodes = cases.entry((&row.kind, &row.case)).or_default();
        nodes.entry(&row.node).or_default().push(row.ln_figure);
    }
    let mut found = BTreeSet::new();
    for nodes in cases.values() {
        let means: Vec<(&str, f64)> =
            nodes.iter().map(|(node, of)| (*node, of.iter().sum::<f64>() / of.len() as f64)).collect();
        let n = means.len() as f64;
        let mean = means.iter().map(|(_, of)| of).sum::<f64>() / n;
        let deviation = (means.iter().map(|(_, of)| (of - mean).powi(2)).sum::<f64>() / (n - 1.0)).sqrt();
        found.extend(
            means
                .iter()
                .filter(|(_, of)| *of > mean + 2.0 * deviation)
                .map(|(node, _)| node[1..].parse::<usize>().unwrap()),
        );
    }
    found
}

/// Shares, of the nodes flagged in each fleet, that are not slow.
#[derive(Default)]
struct FalseShare(Vec<f64>);

impl FalseShare {
    fn count(&mut self, flagged: &BTreeSet<usize>, slow: usize) {
        let not_slow = flagged.iter().filter(|node| **node >= slow).count();
        self.0.push(not_slow as f64 / flagged.len().max(1) as f64);
    }

    /// Averages the shares, and gives the limit at this many fleets.
    fn of(&self) -> (f64, f64) {
        let n = self.0.len() as f64;
        let mean = self.0.iter().sum::<f64>() / n;
        let variance = self.0.iter().map(|share| (share - mean).powi(2)).sum::<f64>() / (n - 1.0);
        (mean, 0.05 + 3.0 * (variance / n).sqrt())
    }
}

#[test]
fn few_of_the_nodes_that_are_called_slow_are_not() {
    let slow = Shape { slow: 3, by: 0.08, ..SHAPE };
    for (what, shape, fleets) in [
        ("none is slow", SHAPE, 400),
        ("three are slow", slow, 400),
        ("heavy tails, two kinds, gaps", Shape { heavy: true, kinds: 2, gaps: 0.1, ..slow }, 400),
        ("one session", Shape { sessions: 1, ..slow }, 300),
        ("the least kind", Shape { nodes: 8, slow: 1, ..slow }, 300),
        ("a thousand", Shape { nodes: 1000, slow: 10, cases: 3, ..slow }, 12),
    ] {
        let (mut ours, mut theirs, mut found) = (FalseShare::default(), FalseShare::default(), 0);
        for seed in 0..fleets {
            let rows = figures(shape, seed, None);
            let chosen = flagged(&rank_nodes(&rows, &[]));
            found += chosen.iter().filter(|node| **node < shape.slow).count();
            ours.count(&chosen, shape.slow);
            theirs.count(&usual(&rows), shape.slow);
        }
        let (share, allowed) = ours.of();
        let of_all = found as f64 / (fleets as usize * shape.slow).max(1) as f64;
        println!("{what}: {share:.3} of {allowed:.3} false, {of_all:.2} found; usual {:.3}", theirs.of().0);
        assert!(share <= allowed, "{what}: {share} of the flagged are not slow, {allowed} are allowed");
        let (share, allowed) = theirs.of();
        assert!(shape.nodes < 64 || share > allowed, "{what}: the usual rule has {share}, within {allowed}");
    }
}

#[test]
fn a_node_5_percent_off_is_found_in_nine_of_ten_fleets() {
    for (one_of, least) in [(1, 180), (2, 150)] {
        let shape = Shape { slow: 1, by: 0.05, one_of, ..SHAPE };
        let is_found = |seed: &u64| flagged(&rank_nodes(&figures(shape, *seed, None), &[])).contains(&0);
        let found = (0..200).filter(is_found).count();
        println!("slow in one case of {one_of}: found in {found} of 200");
        assert!(found >= least, "slow in one case of {one_of}: found in {found} of 200 fleets");
    }
}

#[test]
fn fewer_than_eight_nodes_of_a_kind_are_ranked_and_not_judged() {
    let ranking = rank_nodes(&figures(Shape { nodes: 7, slow: 1, by: 0.3, ..SHAPE }, 1, None), &[]);
    assert!(ranking.nodes.iter().all(|node| node.standing == Standing::NotJudged && node.p.is_none()));
    assert_eq!((ranking.nodes[0].node.as_str(), ranking.kinds["0"]), ("n0000", 7));
    assert!((ranking.nodes[0].cases[0].slower - 1.3).abs() < 0.05, "{:?}", ranking.nodes[0]);
}

#[test]
fn slow_is_said_on_fresh_sessions_alone() {
    let (mut false_ones, mut found, mut asked) = (0, 0, 0);
    let fleets = 120;
    for seed in 0..fleets {
        let shape = Shape { of_session: 0.015, slow: 2, by: 0.1, ..SHAPE };
        let rows = figures(shape, seed, None);
        let first = flagged(&rank_nodes(&rows, &[]));
        let good = (0..shape.nodes).filter(|node| !first.contains(node)).take(2);
        let again: BTreeSet<String> = first.iter().copied().chain(good).map(name).collect();
        let fresh = figures(Shape { sessions: 4, ..shape }, seed, Some(&again));
        // A day later everything is slower, and nodes have no part in it.
        let fresh: Vec<NodeFigure> =
            fresh.into_iter().map(|row| NodeFigure { ln_figure: row.ln_figure + 0.05, ..row }).collect();
        let ranking = rank_nodes(&rows, &fresh);
        let slow: Vec<&str> = ranking
            .nodes
            .iter()
            .filter(|node| node.standing == Standing::Slow)
            .map(|n| n.node.as_str())
            .collect();
        assert!(
            ranking.nodes.iter().all(|node| node.standing != Standing::MaybeSlow),
            "all were measured again"
        );
        asked += first.iter().filter(|node| **node < 2).count();
        found += slow.iter().filter(|node| ["n0000", "n0001"].contains(node)).count();
        false_ones += usize::from(slow.iter().any(|node| !["n0000", "n0001"].contains(node)));
    }
    println!("{found} of {asked} confirmed, {false_ones} fleets of {fleets} with a false one");
    assert!(found * 10 >= asked * 8, "{found} of {asked}");
    assert!(false_ones as f64 <= fleets as f64 * 0.05 + 3.0 * (fleets as f64 * 0.05 * 0.95).sqrt());
}

#[test]
fn the_cost_of_a_layer_is_held_over_nodes_and_not_over_rounds() {
    for (nodes, fleets) in [(6, 2000), (64, 1000), (1000, 100)] {
        let (mut held, mut next, mut pooled) = (0, 0, 0);
        for seed in 0..fleets {
            let mut generator = Generator::for_part(seed, "ratios");
            let (sd_nodes, sd_session, truth) = (0.015, 0.006, 0.2);
            let of_nodes: Vec<f64> =
                (0..=nodes).map(|_| truth + sd_nodes * draw_normal(&mut generator)).collect();
            let mut ratio = |node: usize, session: u32| NodeRatio {
                node: name(node),
                session,
                case: "c".into(),
                metric: "time".into(),
                target: "gvisor".into(),
                ln_ratio: of_nodes[node] + sd_session * draw_normal(&mut generator),
                low: 0.0,
                high: 1.0,
                margin: libm::log(1.02),
            };
            // As many sessions a node as rounds would give pairs.
            let sessions = if nodes > 100 { 2 } else { 8 };
            let rows: Vec<NodeRatio> = (0..nodes)
                .flat_map(|node| (0..sessions).map(move |s| (node, s)))
                .map(|(n, s)| ratio(n, s))
                .collect();
            let a_next = ratio(nodes, 1).ln_ratio;
            let of = compute_layer_costs(&rows).remove(0).fleet.unwrap();
            let is_in = |low: f64, high: f64, ln: f64| (libm::log(low)..=libm::log(high)).contains(&ln);
            held += u32::from(of.interval.contains(libm::exp(truth)));
            next += u32::from(is_in(of.next_low, of.next_high, a_next));
            let n = rows.len() as f64;
            let mean = rows.iter().map(|row| row.ln_ratio).sum::<f64>() / n;
            let variance = rows.iter().map(|row| (row.ln_ratio - mean).powi(2)).sum::<f64>() / (n - 1.0);
            pooled += u32::from((mean - truth).abs() <= 1.96 * (variance / n).sqrt());
        }
        let share = |count: u32| f64::from(count) / fleets as f64;
        println!("{nodes}: held {:.3}, next {:.3}, pooled {:.3}", share(held), share(next), share(pooled));
        let chance = 3.0 * (0.05f64 * 0.95 / fleets as f64).sqrt();
        assert!(
            share(held) >= 0.935 || share(held) >= 0.95 - chance && fleets < 100,
            "{nodes}: {}",
            share(held)
        );
        assert!(share(next) >= 0.95 - chance, "{nodes}: {}", share(next));
        assert!(share(pooled) < 0.88, "{nodes}: rounds pooled hold {}", share(pooled));
    }
}
