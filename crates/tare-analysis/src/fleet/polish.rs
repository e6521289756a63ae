//! Median polish of pairs: a value of each pair taken apart into a common part, an effect of each end, and a
//! rest.

use crate::statistics::signed_ranks::{compute_median, sort_values};

/// Sweeps after which nothing moves any more, in practice a dozen.
const MOST_SWEEPS: usize = 60;
const STILL: f64 = 1e-10;

/// A value of a pair of nodes, by their numbers.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pair {
    pub a: usize,
    pub b: usize,
    pub value: f64,
}

/// Decomposition of values of pairs.
#[derive(Clone, Debug)]
pub(super) struct Polished {
    pub common: f64,
    /// Part of each node; their median is zero.
    pub nodes: Vec<f64>,
    /// Rest of each pair, in order.
    pub left: Vec<f64>,
}

/// Takes values apart (Tukey 1977, for a table of which each cell belongs to two of the same rows).
pub(super) fn run_median_polish(pairs: &[Pair], nodes: usize) -> Polished {
    let mut effects = vec![0.0; nodes];
    let mut common = middle(&pairs.iter().map(|pair| pair.value).collect::<Vec<_>>());
    let mut ends: Vec<Vec<(usize, usize)>> = vec![Vec::new(); nodes];
    for (at, pair) in pairs.iter().enumerate() {
        ends[pair.a].push((at, pair.b));
        ends[pair.b].push((at, pair.a));
    }
    for _ in 0..MOST_SWEEPS {
        let mut moved: f64 = 0.0;
        for node in 0..nodes {
            let off = |(at, other): &(usize, usize)| pairs[*at].value - common - effects[*other];
            let effect = middle(&ends[node].iter().map(off).collect::<Vec<_>>());
            moved = moved.max((effect - effects[node]).abs());
            effects[node] = effect;
        }
        let centre = middle(&effects);
        effects.iter_mut().for_each(|effect| *effect -= centre);
        common += 2.0 * centre;
        if moved < STILL {
            break;
        }
    }
    let left = pairs.iter().map(|pair| pair.value - common - effects[pair.a] - effects[pair.b]).collect();
    Polished { common, nodes: effects, left }
}

/// Divides pairs and nodes by the typical pair, a node by the middle of its pairs.
pub(super) fn beside_typical(pairs: &[Pair], nodes: usize) -> Polished {
    let common = middle(&pairs.iter().map(|pair| pair.value).collect::<Vec<_>>());
    let left: Vec<f64> = pairs.iter().map(|pair| pair.value - common).collect();
    let of_node = |node: usize| {
        let own = pairs.iter().zip(&left).filter(|(pair, _)| pair.a == node || pair.b == node);
        middle(&own.map(|(_, left)| *left).collect::<Vec<_>>())
    };
    Polished { common, nodes: (0..nodes).map(of_node).collect(), left }
}

fn middle(values: &[f64]) -> f64 {
    if values.is_empty() { 0.0 } else { compute_median(&sort_values(values)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_slow_node_and_one_slow_link_are_taken_apart() {
        let mut pairs = Vec::new();
        for a in 0..9 {
            for b in a + 1..9 {
                let slow_node = if a == 3 || b == 3 { 0.3 } else { 0.0 };
                let slow_link = if (a, b) == (5, 7) { 1.0 } else { 0.0 };
                pairs.push(Pair { a, b, value: 2.0 + slow_node + slow_link });
            }
        }
        let polished = run_median_polish(&pairs, 9);
        assert!((polished.common - 2.0).abs() < 1e-9, "{polished:?}");
        for (node, effect) in polished.nodes.iter().enumerate() {
            assert!((effect - if node == 3 { 0.3 } else { 0.0 }).abs() < 1e-9);
        }
        for (pair, left) in pairs.iter().zip(&polished.left) {
            let expected = if (pair.a, pair.b) == (5, 7) { 1.0 } else { 0.0 };
            assert!((left - expected).abs() < 1e-9, "{pair:?}: {left}");
        }
    }

    #[test]
    fn nothing_is_made_of_nothing() {
        let polished = run_median_polish(&[], 2);
        assert_eq!((polished.common, polished.nodes, polished.left.len()), (0.0, vec![0.0, 0.0], 0));
    }
}
