//! Pairs of nodes by rounds: everybody meets everybody (the circle method), or in a large fleet eight others.

use tare_data::generator::Generator;

use crate::fleet::plan::{Node, shuffle_slice};

/// Nodes up to which everybody meets everybody: 127 rounds.
const MOST_FOR_ALL: usize = 128;
/// Rounds of a larger fleet: each node meets as many others.
const PARTNERS: usize = 8;

/// Arranges pairs in rounds in which no node is in two pairs, and no pair comes twice. With an odd number one
/// node rests in each round. The first of a pair measures, the second serves: a coin decides.
pub fn arrange_pairs(nodes: &[Node], seed: u64) -> Vec<Vec<(String, String)>> {
    if nodes.len() < 2 {
        return Vec::new();
    }
    let mut circle: Vec<Option<&str>> = nodes.iter().map(|node| Some(node.name.as_str())).collect();
    let mut generator = Generator::for_part(seed, "pairs");
    shuffle_slice(&mut circle, &mut generator);
    if circle.len() % 2 == 1 {
        // The node that meets nobody rests.
        circle.push(None);
    }
    let mut numbers: Vec<usize> = (0..circle.len() - 1).collect();
    if nodes.len() > MOST_FOR_ALL {
        shuffle_slice(&mut numbers, &mut generator);
        numbers.truncate(PARTNERS);
    }
    numbers.into_iter().map(|number| round(&circle, number, &mut generator)).collect()
}

/// Arranges one round of the circle: the last stays, all others move on by one place a round, and those that
/// face each other meet.
fn round(circle: &[Option<&str>], number: usize, generator: &mut Generator) -> Vec<(String, String)> {
    let (last, moving) = (circle.len() - 1, circle.len() - 1);
    let at = |place: usize| circle[(place + number) % moving];
    let facing = (0..circle.len() / 2).map(|place| match place {
        0 => (at(0), circle[last]),
        _ => (at(place), at(moving - place)),
    });
    let meet = |(a, b): (Option<&str>, Option<&str>)| {
        let (a, b) = (a?.to_owned(), b?.to_owned());
        Some(if generator.draw_below(2) == 0 { (a, b) } else { (b, a) })
    };
    facing.filter_map(meet).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use super::*;

    fn nodes(count: usize) -> Vec<Node> {
        (1..=count).map(|n| Node { name: format!("n{n}") }).collect()
    }

    #[test]
    fn nobody_is_in_two_pairs_of_a_round_and_no_pair_comes_twice() {
        for count in [2, 3, 4, 5, 7, 8, 64, 127, 128, 129, 130, 1000] {
            let rounds = arrange_pairs(&nodes(count), 11);
            let expected = match count {
                129.. => PARTNERS,
                _ => count - 1 + count % 2,
            };
            assert_eq!(rounds.len(), expected, "{count}");
            let mut met = BTreeSet::new();
            for round in &rounds {
                let busy: BTreeSet<&String> = round.iter().flat_map(|(a, b)| [a, b]).collect();
                assert_eq!(busy.len(), 2 * round.len(), "{count}");
                assert_eq!(round.len(), count / 2, "{count}");
                for (a, b) in round {
                    assert!(met.insert(if a < b { (a, b) } else { (b, a) }), "{a} meets {b} again");
                }
            }
            if count <= MOST_FOR_ALL {
                assert_eq!(met.len(), count * (count - 1) / 2);
            }
        }
        assert!(arrange_pairs(&nodes(1), 11).is_empty() && arrange_pairs(&[], 11).is_empty());
    }

    #[test]
    fn who_measures_and_who_serves_changes() {
        let mut measures: BTreeMap<String, usize> = BTreeMap::new();
        for (a, _) in arrange_pairs(&nodes(16), 3).into_iter().flatten() {
            *measures.entry(a).or_default() += 1;
        }
        assert_eq!(measures.len(), 16);
        assert!(measures.values().all(|count| (2..=13).contains(count)), "{measures:?}");
    }
}
