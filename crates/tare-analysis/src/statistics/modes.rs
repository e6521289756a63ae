//! Modes: whether differences fall into separate groups, by the dip test and the widest gap.
//!
//! The dip is how far the distribution is from the nearest one with a single mode (Hartigan and Hartigan, The dip
//! test of unimodality, Annals of Statistics 13(1), 1985). A few stalls do not make a mode; half of the rounds on
//! another kind of core do.

/// Fewest values that are looked at: below, the dip rejects next to nothing.
const FEWEST: usize = 12;

/// Limit on the values that are examined, spread evenly over the sorted ones: groups show well before.
const MOST: usize = 400;

/// Splits sorted values into groups, and returns their sizes: at least one group, of at most [`MOST`] values.
/// Groups with a gap between them of less than the margin are one: they do not matter, and a clock that moves
/// in steps makes many of them.
pub(crate) fn thinned_groups(sorted: &[f64], margin: f64) -> Vec<usize> {
    if sorted.len() <= MOST {
        return count_group_values(sorted, margin);
    }
    let thinned: Vec<f64> = (0..MOST).map(|i| sorted[i * sorted.len() / MOST]).collect();
    count_group_values(&thinned, margin)
}

/// Tells whether the median lies within a group that has others on both sides.
pub(crate) fn middle_holds_median(groups: &[usize]) -> bool {
    let all: usize = groups.iter().sum();
    let ends = [groups.first(), groups.last()].map(|size| size.copied().unwrap_or(0));
    groups.len() > 2
        && ends.iter().all(|size| 2 * size < all)
        && boundaries(groups).all(|below| 2 * below != all)
}

/// Counts the values below each boundary between groups.
fn boundaries(groups: &[usize]) -> impl Iterator<Item = usize> {
    groups.iter().scan(0, |below, size| {
        *below += size;
        Some(*below)
    })
}

/// Counts the values of each group of sorted values, from the least to the greatest.
///
/// More than `MOST` values are one group here, because the time grows with the square of their number.
pub fn count_group_values(sorted: &[f64], margin: f64) -> Vec<usize> {
    if sorted.len() > MOST {
        return vec![sorted.len()];
    }
    let mut sizes = Vec::new();
    split(sorted, margin, &mut sizes);
    sizes
}

fn split(sorted: &[f64], margin: f64, sizes: &mut Vec<usize>) {
    match boundary(sorted, margin) {
        None => sizes.push(sorted.len()),
        Some(at) => {
            let (low, high) = sorted.split_at(at);
            split(low, margin, sizes);
            split(high, margin, sizes);
        }
    }
}

/// Finds where the second of two groups begins; None where there is one.
fn boundary(sorted: &[f64], margin: f64) -> Option<usize> {
    let n = sorted.len();
    if n < FEWEST || dip(sorted) <= critical_dip(n) {
        return None;
    }
    // A group has at least a tenth of the values.
    let least = n.div_ceil(10).max(3);
    let missing = |at: usize| sorted[at] - sorted[at - 1];
    let at = (least..=n - least).max_by(|a, b| missing(*a).total_cmp(&missing(*b)))?;
    (missing(at) > margin).then_some(at)
}

/// Computes the dip that one in a hundred uniform samples exceeds, at most.
///
/// Times the root of n it rises from 0.516 at 12 to 0.612 at 400 (40,000 uniform samples each at 12, 18, 27,
/// 40, 60, 90, 200, 400); this curve lies at or above all of them, by at most 0.01.
fn critical_dip(n: usize) -> f64 {
    let root = (n as f64).sqrt();
    (0.635 - 0.4 / root) / root
}

/// A distinct value, with how many values lie below it and how many up to it.
#[derive(Clone, Copy)]
struct Step {
    x: f64,
    below: f64,
    up_to: f64,
}

/// Computes Hartigan's dip of sorted values.
///
/// Narrows down the modal interval: left of it the nearest unimodal distribution is the greatest convex
/// minorant of the empirical one, right of it the least concave majorant; where the two are furthest apart
/// the next interval begins and ends, until they are no further apart than the distribution is from the part
/// fixed outside.
fn dip(sorted: &[f64]) -> f64 {
    let steps = steps(sorted);
    let (mut first, mut last) = (0, steps.len().saturating_sub(1));
    // In counts; one value's own step is the least there can be.
    let mut distance = 1.0f64;
    while first < last {
        let inside = &steps[first..=last];
        let (minorant, below) = hull(inside, |step| step.below, 1.0);
        let (majorant, above) = hull(inside, |step| step.up_to, -1.0);
        let apart = |at: &usize| above[*at] - below[*at];
        let widest =
            |contacts: &[usize]| contacts.iter().copied().max_by(|a, b| apart(a).total_cmp(&apart(b)));
        let (Some(low), Some(high)) = (widest(&minorant), widest(&majorant)) else { break };
        let (left, right) = if apart(&low) > apart(&high) {
            (low, majorant.iter().copied().find(|at| *at >= low).unwrap_or(inside.len() - 1))
        } else {
            (minorant.iter().copied().rev().find(|at| *at <= high).unwrap_or(0), high)
        };
        if apart(&low).max(apart(&high)) <= distance {
            break;
        }
        let on_left = (0..=left).map(|at| inside[at].up_to - below[at]);
        let on_right = (right..inside.len()).map(|at| above[at] - inside[at].below);
        distance = on_left.chain(on_right).fold(distance, f64::max);
        if left == 0 && right == inside.len() - 1 {
            break;
        }
        (first, last) = (first + left, first + right);
    }
    distance / (2.0 * sorted.len() as f64)
}

fn steps(sorted: &[f64]) -> Vec<Step> {
    let mut steps: Vec<Step> = Vec::new();
    for (i, x) in sorted.iter().enumerate() {
        match steps.last_mut() {
            Some(step) if step.x == *x => step.up_to += 1.0,
            _ => steps.push(Step { x: *x, below: i as f64, up_to: i as f64 + 1.0 }),
        }
    }
    steps
}

/// Computes the convex hull of (x, y) from below (`side` 1) or from above (`side` -1): the points that it
/// touches, and its height at every point.
fn hull(steps: &[Step], y: impl Fn(&Step) -> f64, side: f64) -> (Vec<usize>, Vec<f64>) {
    let slope = |a: usize, b: usize| (y(&steps[b]) - y(&steps[a])) / (steps[b].x - steps[a].x);
    let mut contacts: Vec<usize> = Vec::new();
    for at in 0..steps.len() {
        while let [.., before, last] = contacts[..] {
            if side * slope(before, last) < side * slope(last, at) {
                break;
            }
            contacts.pop();
        }
        contacts.push(at);
    }
    let mut heights: Vec<f64> = steps.iter().map(&y).collect();
    for pair in contacts.windows(2) {
        for at in pair[0] + 1..pair[1] {
            heights[at] = y(&steps[pair[0]]) + slope(pair[0], pair[1]) * (steps[at].x - steps[pair[0]].x);
        }
    }
    (contacts, heights)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::statistics::signed_ranks::sort_values;
    use tare_data::generator::Generator;

    #[test]
    fn dips_agree_with_the_package_diptest() {
        // diptest 0.12.0 for Python, diptest.dipstat.
        let even: Vec<f64> = (1..=12).map(|i| f64::from(i) / 10.0).collect();
        let apart = [1.0, 1.1, 1.2, 1.3, 1.4, 1.5, 5.0, 5.1, 5.2, 5.3, 5.4, 5.5];
        let uneven =
            [0.3, 1.7, 1.9, 2.2, 2.3, 2.35, 2.4, 2.9, 3.8, 4.1, 7.7, 9.0, 9.05, 9.3, 9.9, 10.4, 12.0];
        let ties = [1., 1., 1., 2., 2., 3., 3., 3., 3., 4., 8., 8., 9., 9., 9., 10.];
        for (values, expected) in [
            (&even[..], 0.041_666_666_666_666_68),
            (&apart, 0.218_75),
            (&uneven, 0.107_843_137_254_901_97),
            (&ties, 0.125),
        ] {
            assert!((dip(values) - expected).abs() < 1e-12, "{} is not {expected}", dip(values));
        }
    }

    fn normal(generator: &mut Generator) -> f64 {
        (0..12).map(|_| generator.draw_unit()).sum::<f64>() - 6.0
    }

    #[test]
    fn one_group_is_rarely_called_two() {
        let mut generator = Generator::new(21);
        for n in [12, 27, 60, 90] {
            let called = (0..400)
                .filter(|_| {
                    let values: Vec<f64> = (0..n).map(|_| 0.03 * normal(&mut generator)).collect();
                    thinned_groups(&sort_values(&values), 0.02).len() > 1
                })
                .count();
            assert!(called <= 4, "{n}: {called} of 400");
        }
    }

    #[test]
    fn groups_that_stand_apart_are_counted() {
        let mut generator = Generator::new(22);
        for groups in [2, 3] {
            let values: Vec<f64> =
                (0..60).map(|i| f64::from(i % groups) * 0.5 + 0.03 * normal(&mut generator)).collect();
            assert_eq!(thinned_groups(&sort_values(&values), 0.02).len(), groups as usize);
        }
    }

    #[test]
    fn steps_smaller_than_the_margin_are_no_groups() {
        let values: Vec<f64> = (0..60).map(|i| f64::from(i % 2) * 0.01).collect();
        assert_eq!(thinned_groups(&sort_values(&values), 0.02).len(), 1);
    }

    #[test]
    fn only_a_group_in_the_middle_holds_the_median() {
        for (groups, holds) in [
            (&[60][..], false),
            (&[30, 30], false),
            (&[15, 30, 15], true),
            (&[40, 10, 10], false),
            (&[20, 10, 20, 10], false),
            (&[10, 25, 15, 10], true),
        ] {
            assert_eq!(middle_holds_median(groups), holds, "{groups:?}");
        }
    }

    #[test]
    fn stalls_and_constants_are_no_groups() {
        let mut values = vec![0.0; 60];
        values[57..].fill(3.0);
        assert_eq!(thinned_groups(&values, 0.02).len(), 1);
        assert_eq!(thinned_groups(&[0.5; 40], 0.02).len(), 1);
        assert_eq!(dip(&[1.0]), 0.5);
    }

    #[test]
    fn thousands_of_values_are_thinned() {
        let values: Vec<f64> =
            (0..100_000).map(|i| if i < 50_000 { 0.0 } else { 1.0 } + f64::from(i) * 1e-7).collect();
        assert_eq!(thinned_groups(&values, 0.02).len(), 2);
    }
}
