//! Length of a cycle: the shortest block of a chain of additions, where a chain of multiplications shows that it is one.

use crate::here::signs::View;
use tare_data::facts::keys::{CYCLE_ADDITION, CYCLE_MULTIPLICATION};

/// Cycles that a multiplication takes, on processors of the last twenty years.
const MULTIPLICATION: [f64; 2] = [2.85, 4.5];
/// Blocks agree where a quarter of them is within this share of the shortest: others are disturbed.
const AGREE: f64 = 1.15;
const FEWEST_BLOCKS: usize = 6;

/// Reads the length of a cycle in ns; None where it does not show.
pub fn read_cycle_ns(view: View<'_>) -> Option<f64> {
    let shortest = |key: &str| {
        let mut blocks: Vec<f64> =
            view.text(key).split(' ').filter_map(|block| block.parse().ok()).filter(|ns| *ns > 0.0).collect();
        blocks.sort_unstable_by(f64::total_cmp);
        let (first, quarter) = (*blocks.first()?, *blocks.get(blocks.len() / 4)?);
        (blocks.len() >= FEWEST_BLOCKS && quarter <= AGREE * first).then_some(first)
    };
    let chains = shortest(CYCLE_ADDITION).zip(shortest(CYCLE_MULTIPLICATION));
    let valid = chains.filter(|(addition, multiplication)| {
        let cycles = multiplication / addition;
        (MULTIPLICATION[0]..=MULTIPLICATION[1]).contains(&cycles)
    });
    valid.map(|(addition, _)| addition)
}

#[cfg(test)]
mod tests {
    use super::*;
    use tare_data::facts::Facts;

    fn read(addition: &str, multiplication: &str) -> Option<f64> {
        let mut facts = Facts::default();
        facts.add_fact("cycle.addition", addition);
        facts.add_fact("cycle.multiplication", multiplication);
        read_cycle_ns(View(&facts))
    }

    #[test]
    fn a_cycle_is_valid_where_a_multiplication_takes_three_and_blocks_agree() {
        let three = "0.9 0.9 0.95 1.5 0.9 0.9";
        assert_eq!(read("0.3 0.31 0.5 0.3 0.4 0.9", three), Some(0.3));
        assert_eq!(read("0.3 0.3 0.3 0.3 0.3", three), None, "too few");
        assert_eq!(read("0.3 0.4 0.5 0.4 0.4 0.9", three), None, "they do not agree");
        assert_eq!(read("0.9 0.9 0.9 0.9 0.9 0.9", three), None, "an addition takes no cycle");
        assert_eq!(read("", ""), None);
    }
}
