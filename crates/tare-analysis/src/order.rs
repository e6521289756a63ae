//! The order in which environments run: rows of randomly relabelled Williams squares, and a shuffled order of cases.
//!
//! The executed order is a pure function of the seed and of which environments remained at each round, so that a record
//! which holds both can be checked, and a session that is resumed goes on where it would have gone.
//!
//! Why: with a fresh random order the sign of "environment minus baseline" is a fair coin when there is no effect,
//! whatever drift, neighbour or warm-up there is. A fixed order turns a position effect into a finding.

use tare_data::generator::Generator;

/// Draws the rows of a Williams square over `targets` environments, labels and rows in random order.
///
/// In every `targets` rows each environment takes every position once, and each follows every other equally
/// often (Williams 1949): an even number needs `targets` rows, an odd one the square and its mirror image.
/// Two environments get four rows, two each way, so that the last row does not give the next one away. One
/// environment gets one row.
pub(crate) fn draw_williams_square(generator: &mut Generator, targets: usize) -> Vec<Vec<usize>> {
    let mut labels: Vec<usize> = (0..targets).collect();
    generator.shuffle(&mut labels);
    // 0, 1, k-1, 2, k-2, ...: neighbours differ by every amount once.
    let first: Vec<usize> =
        (0..targets).map(|i| if i % 2 == 1 { i.div_ceil(2) } else { (targets - i / 2) % targets }).collect();
    let shifted = |by: usize| first.iter().map(|target| labels[(target + by) % targets]).collect::<Vec<_>>();
    let square: Vec<Vec<usize>> = (0..targets).map(shifted).collect();
    let mut rows = square.clone();
    if targets == 2 {
        rows.extend(square);
    } else if targets % 2 == 1 && targets > 1 {
        rows.extend(square.into_iter().map(|row| row.into_iter().rev().collect()));
    }
    generator.shuffle(&mut rows);
    rows
}

/// The order of environments, round by round, of one case.
#[derive(Clone, Debug)]
pub struct Orders {
    generator: Generator,
    targets: Vec<usize>,
    /// Rows of the present square that have not run, the next one last.
    rows: Vec<Vec<usize>>,
}

impl Orders {
    /// Seeds the orders of a case. Every case has a generator for itself, so that one that ends early does
    /// not move the others.
    pub fn new(seed: u64, case: &str) -> Self {
        Orders {
            generator: Generator::for_part(seed, &format!("order of {case}")),
            targets: Vec::new(),
            rows: Vec::new(),
        }
    }

    /// Draws the order of the next round, or of the next attempt at one, over these environments (indices
    /// into the plan, ascending).
    ///
    /// A square is used up before the next is drawn; when an environment has left, a new one is begun over
    /// those that remain.
    pub fn draw_next(&mut self, targets: &[usize]) -> Vec<usize> {
        if self.targets != targets {
            self.targets = targets.to_vec();
            self.rows.clear();
        }
        if self.rows.is_empty() {
            self.rows = draw_williams_square(&mut self.generator, targets.len());
        }
        self.rows.pop().unwrap_or_default().into_iter().map(|i| targets[i]).collect()
    }
}

/// Shuffles the environments of a round of a case, as indices into the plan: a fair coin between any two, whatever was before.
pub fn shuffle_targets(seed: u64, case: &str, (round, attempt): (u32, u32), targets: &[usize]) -> Vec<usize> {
    let mut order = targets.to_vec();
    Generator::for_part(seed, &format!("environments of {case} {round} {attempt}")).shuffle(&mut order);
    order
}

/// Draws the place of a case among those that are level with it, from 0 to 1, for each of its rounds.
pub fn draw_place(seed: u64, case: &str, round: u32) -> f64 {
    Generator::for_part(seed, &format!("place of {case} {round}")).draw_unit()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    #[test]
    fn every_target_stands_everywhere_and_follows_every_other_equally_often() {
        for targets in 2..=9 {
            let rows = draw_williams_square(&mut Generator::new(targets as u64), targets);
            let mut stands = BTreeMap::new();
            let mut follows = BTreeMap::new();
            for row in &rows {
                for (position, target) in row.iter().enumerate() {
                    *stands.entry((position, *target)).or_insert(0) += 1;
                }
                for pair in row.windows(2) {
                    *follows.entry((pair[0], pair[1])).or_insert(0) += 1;
                }
            }
            let each = rows.len() / targets;
            assert_eq!(
                (stands.len(), follows.len()),
                (targets * targets, targets * (targets - 1)),
                "{targets} environments"
            );
            assert!(
                stands.values().chain(follows.values()).all(|count| *count == each),
                "{targets} environments"
            );
            assert_eq!(
                rows.len(),
                if targets == 2 {
                    4
                } else if targets % 2 == 0 {
                    targets
                } else {
                    2 * targets
                }
            );
        }
    }

    #[test]
    fn no_target_and_one_target_are_trivial() {
        assert_eq!(draw_williams_square(&mut Generator::new(1), 1), [[0]]);
        assert!(draw_williams_square(&mut Generator::new(1), 0).is_empty());
        assert!(Orders::new(1, "x").draw_next(&[]).is_empty());
    }

    #[test]
    fn a_square_restarts_when_a_target_leaves() {
        let mut orders = Orders::new(7, "sys.getppid");
        let all: Vec<_> = (0..6).map(|_| orders.draw_next(&[0, 1, 2])).collect();
        let mut first: Vec<_> = all.iter().map(|row| row[0]).collect();
        first.sort_unstable();
        assert_eq!(first, [0, 0, 1, 1, 2, 2], "six rows make one square and its mirror");
        orders.draw_next(&[0, 1, 2]);
        let two: Vec<_> = (0..4).map(|_| orders.draw_next(&[0, 2])).collect();
        assert_eq!(two.iter().filter(|row| row[0] == 0).count(), 2);
        assert!(two.iter().all(|row| row.len() == 2 && !row.contains(&1)));
    }

    #[test]
    fn the_order_is_a_function_of_the_seed() {
        let run = |seed| {
            let mut orders = Orders::new(seed, "net.rr->loopback");
            (0..12).map(|_| orders.draw_next(&[0, 1, 2, 3])).collect::<Vec<_>>()
        };
        assert_eq!(run(5), run(5));
        assert_ne!(run(5), run(6));
        // A record from years ago must be explained by its seed: this may never change.
        let shuffled =
            |attempt| shuffle_targets(0x7f3a_91c2, "net.rr->loopback", (3, attempt), &[0, 1, 2, 3, 4, 5]);
        assert_eq!([shuffled(0), shuffled(1)], [[5, 2, 1, 4, 0, 3], [3, 5, 1, 0, 4, 2]]);
        assert_eq!((draw_place(0x7f3a_91c2, "net.rr->loopback", 3) * 1e9) as u64, 768_672_715);
        assert_eq!(run(0x7f3a_91c2)[..2], [[1, 3, 0, 2], [3, 2, 1, 0]]);
    }
}
