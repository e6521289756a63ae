//! Pairs of nodes, before and after something. Links share nodes, so that they do not count for themselves: the change of each is taken
//! apart into the effects of its two ends, and the unit is the node, as everywhere.

use std::collections::BTreeMap;

use super::pairs::{FEWEST_MET, by_ends};
use super::polish::{Pair, run_median_polish};
use super::{PairFigure, grouped};

/// Changes of the links of a case.
#[derive(Clone, Debug)]
pub(super) struct LinksChanged<'a> {
    pub case: &'a str,
    pub metric: &'a str,
    pub margin: f64,
    /// Change of a link between two nodes like each, as ln of a ratio.
    pub nodes: Vec<(&'a str, f64)>,
    /// Nodes that one of the fleets lacks.
    pub left_out: usize,
    /// True when each node met enough others for its part to be separated from its links'.
    pub is_judged: bool,
}

/// Compares the cases that both fleets measured between nodes.
pub(super) fn links_changed<'a>(before: &'a [PairFigure], after: &'a [PairFigure]) -> Vec<LinksChanged<'a>> {
    let cases = |all: &'a [PairFigure]| grouped(all, |row| (row.case.as_str(), row.metric.as_str()));
    let old = cases(before);
    let both = cases(after).into_iter().filter_map(|(key, new)| Some((key, old.get(&key)?.clone(), new)));
    both.map(|((case, metric), old, new)| {
        let (old, margin, new) = (by_ends(&old), new[0].margin, by_ends(&new));
        let (nodes, left_out, is_judged) = of_case(&old, &new);
        LinksChanged { case, metric, margin, nodes, left_out, is_judged }
    })
    .collect()
}

type Links<'a> = BTreeMap<(&'a str, &'a str), f64>;

fn of_case<'a>(old: &Links<'a>, new: &Links<'a>) -> (Vec<(&'a str, f64)>, usize, bool) {
    let both: Vec<((&str, &str), f64)> =
        new.iter().filter_map(|(ends, now)| Some((*ends, now - old.get(ends)?))).collect();
    let names = |links: &mut dyn Iterator<Item = (&'a str, &'a str)>| {
        let mut names: Vec<&str> = links.flat_map(|(a, b)| [a, b]).collect();
        names.sort_unstable();
        names.dedup();
        names
    };
    let all = names(&mut old.keys().chain(new.keys()).copied());
    let known = names(&mut both.iter().map(|(ends, _)| *ends));
    let number: BTreeMap<&str, usize> = known.iter().enumerate().map(|(at, name)| (*name, at)).collect();
    let pairs: Vec<Pair> =
        both.iter().map(|((a, b), value)| Pair { a: number[a], b: number[b], value: *value }).collect();
    let mut met = vec![0; known.len()];
    pairs.iter().for_each(|pair| [pair.a, pair.b].into_iter().for_each(|node| met[node] += 1));
    let polished = run_median_polish(&pairs, known.len());
    let of_node = |(name, effect): (&&'a str, &f64)| (*name, polished.common + 2.0 * effect);
    let nodes = known.iter().zip(&polished.nodes).map(of_node).collect();
    (nodes, all.len() - known.len(), met.iter().min().is_some_and(|met| *met >= FEWEST_MET))
}

#[cfg(test)]
mod tests {
    use tare_data::generator::Generator;

    use super::*;
    use crate::findings::Kind;
    use crate::fleet::change::{Values, compare_fleets};

    const NODES: usize = 12;

    /// Draws every pair of nodes from the parts of ends and links.
    fn fleet(generator: &mut Generator, of_node: f64, of_link: f64, common: f64) -> Vec<PairFigure> {
        let mut normal = || (0..12).map(|_| generator.draw_unit()).sum::<f64>() - 6.0;
        let ends: Vec<f64> = (0..NODES).map(|_| of_node * normal()).collect();
        let mut all = Vec::new();
        for a in 0..NODES {
            for b in a + 1..NODES {
                all.push(PairFigure {
                    a: format!("n{a}"),
                    b: format!("n{b}"),
                    case: "c".into(),
                    metric: "time".into(),
                    ln_figure: common + ends[a] + ends[b] + of_link * normal(),
                    margin: libm::log(1.02),
                });
            }
        }
        all
    }

    #[test]
    fn the_change_of_links_is_held_over_nodes_and_not_over_links() {
        let fleets = 300;
        let (mut held, mut false_ones, mut found) = (0, 0, 0);
        for seed in 0..fleets {
            let mut generator = Generator::for_part(seed, "links");
            let before = fleet(&mut generator, 0.02, 0.01, -9.0);
            for by in [0.0, 0.1] {
                let after = fleet(&mut generator, 0.02, 0.01, -9.0 + by);
                let of = |pairs| Values { figures: &[], ratios: &[], pairs };
                let changed = compare_fleets(of(&before), of(&after)).remove(0).change.unwrap();
                held += usize::from(changed.interval.contains(libm::exp(by)));
                match (changed.answer.kind(), by > 0.0) {
                    (Kind::Slower, true) => found += 1,
                    (Kind::Slower | Kind::Faster, false) => false_ones += 1,
                    _ => {}
                }
            }
        }
        println!("held {held} of {}, false {false_ones} and found {found} of {fleets}", 2 * fleets);
        assert!(held as f64 >= 0.935 * 2.0 * fleets as f64, "{held}");
        assert!(false_ones as f64 <= 0.05 * fleets as f64, "{false_ones}");
        assert!(found as f64 >= 0.9 * fleets as f64, "{found}");
    }

    #[test]
    fn nodes_that_one_fleet_lacks_and_few_links_are_left_out() {
        let mut generator = Generator::for_part(1, "links");
        let before = fleet(&mut generator, 0.0, 0.0, 0.0);
        let without: Vec<PairFigure> =
            before.iter().filter(|row| row.a != "n0" && row.b != "n0").cloned().collect();
        let of = links_changed(&before, &without).remove(0);
        assert_eq!((of.nodes.len(), of.left_out, of.is_judged), (11, 1, true));
        assert!(of.nodes.iter().all(|(_, ln)| ln.abs() < 1e-9));
        let few = links_changed(&before[..4], &before).remove(0);
        assert!(!few.is_judged && few.nodes.len() == 5);
        assert!(links_changed(&before, &[]).is_empty());
    }
}
