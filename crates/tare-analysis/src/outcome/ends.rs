//! Ends of runs: shares of starts that ended so, on two sides.

use std::collections::BTreeSet;

use tare_data::batch::RunEnd;

use super::family::Hypothesis;
use crate::statistics::binomial::fisher::compute_share_p;

/// Limit on the starts of a side of which is said that they would tell: nobody waits for more.
const MOST_NEEDED: u32 = 10_000;

/// Shares of an end.
pub struct Table {
    pub end: RunEnd,
    /// True where there are two ends in all, so that the share of the other is the rest.
    pub is_pair: bool,
    counts: [u64; 2],
    sizes: [u64; 2],
}

impl Table {
    /// Makes a table for each end; of two in all for one alone, which tells about the other.
    pub fn list(ends: &[Vec<RunEnd>; 2]) -> Vec<Table> {
        let distinct: BTreeSet<RunEnd> = ends.iter().flatten().copied().collect();
        let count = distinct.len();
        let table = |end: RunEnd| Table {
            end,
            is_pair: count == 2,
            counts: ends.each_ref().map(|ends| ends.iter().filter(|other| **other == end).count() as u64),
            sizes: ends.each_ref().map(|ends| ends.len() as u64),
        };
        let tables = match count {
            0 | 1 => 0,
            2 => 1,
            all => all,
        };
        distinct.into_iter().take(tables).map(table).collect()
    }

    pub(crate) fn hypothesis(&self) -> Hypothesis {
        let p = compute_share_p(self.counts, self.sizes);
        Hypothesis { p, least: least_share_p(self.counts, self.sizes) }
    }
}

/// Computes the smallest p that a table with these margins can have.
pub fn least_share_p(counts: [u64; 2], sizes: [u64; 2]) -> f64 {
    let ([m, n], all) = (sizes, counts[0] + counts[1]);
    let at = |a: u64| compute_share_p([a, all - a], sizes);
    f64::min(at(all.min(m)), at(all.saturating_sub(n)))
}

/// Counts the starts of each side that would tell these shares apart at a level, if they stay as they are.
pub fn count_needed(counts: [u32; 2], sizes: [u32; 2], level: f64) -> Option<u32> {
    let shares = [0, 1].map(|side| f64::from(counts[side]) / f64::from(sizes[side]));
    let mut starts = sizes[0].max(sizes[1]);
    while shares[0] != shares[1] && starts <= MOST_NEEDED {
        let counts = shares.map(|share| (share * f64::from(starts)).round() as u64);
        if compute_share_p(counts, [u64::from(starts); 2]) <= level {
            return Some(starts);
        }
        starts += 1 + starts / 10;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::super::family::LEVEL;
    use super::*;

    #[test]
    fn five_starts_of_each_side_can_tell_one_thing_and_eight_twenty() {
        let least = |n: u64| least_share_p([n, 0], [n, n]);
        assert!(least(5) <= LEVEL && least(4) > LEVEL);
        assert!(least(8) <= LEVEL / 20.0 && least(7) > LEVEL / 20.0);
        assert_eq!(least_share_p([0, 0], [9, 9]), 1.0, "what never happens tells nothing");
    }

    #[test]
    fn shares_that_are_not_told_apart_name_the_starts_that_would_tell() {
        assert_eq!(count_needed([3, 3], [10, 10], LEVEL), None);
        let needed = count_needed([3, 0], [10, 10], LEVEL).unwrap();
        assert!((20..40).contains(&needed), "{needed}");
    }
}
