//! Many cells at once: which verdicts survive being chosen among many.
//!
//! The family is every headline cell of a subject environment that was compared: every cell that may get a colour. A cell is
//! coloured when its verdict names a direction and the procedure here keeps it. Cells share the baseline, so their
//! tests are positively dependent, under which Benjamini and Hochberg's procedure holds (Benjamini and Yekutieli 2001).

/// Share of the coloured cells that may be false.
pub(crate) const FALSE_SHARE: f64 = 0.05;

/// Selects the p that keep the false discovery rate at `q` (Benjamini and Hochberg 1995).
pub(crate) fn benjamini_hochberg(p: &[f64], q: f64) -> Vec<bool> {
    let family = p.len() as f64;
    let sorted = crate::statistics::signed_ranks::sort_values(p);
    let limit =
        sorted.iter().enumerate().rev().find(|(i, p)| **p <= q * (*i as f64 + 1.0) / family).map(|(_, p)| *p);
    p.iter().map(|p| limit.is_some_and(|limit| *p <= limit)).collect()
}

/// Selects the p that keep the chance of any false one at `alpha` (Holm 1979): for gates and `--strict`.
pub(crate) fn select_by_holm(p: &[f64], alpha: f64) -> Vec<bool> {
    let sorted = crate::statistics::signed_ranks::sort_values(p);
    let left = |i: usize| (p.len() - i) as f64;
    let kept = sorted.iter().enumerate().take_while(|(i, p)| **p <= alpha / left(*i)).count();
    let limit = kept.checked_sub(1).map(|last| sorted[last]);
    p.iter().map(|p| limit.is_some_and(|limit| *p <= limit)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    // The worked example of Benjamini and Hochberg 1995, section 3.1.
    const P: [f64; 15] = [
        0.0001, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.0298, 0.0344, 0.0459, 0.3240, 0.4262, 0.5719,
        0.6528, 0.7590, 1.0000,
    ];

    #[test]
    fn the_worked_example_of_1995_is_reproduced() {
        assert_eq!(benjamini_hochberg(&P, 0.05).iter().filter(|kept| **kept).count(), 4);
        assert_eq!(select_by_holm(&P, 0.05).iter().filter(|kept| **kept).count(), 3);
    }

    #[test]
    fn order_does_not_matter() {
        let mut reversed = P;
        reversed.reverse();
        let mut kept = benjamini_hochberg(&reversed, 0.05);
        kept.reverse();
        assert_eq!(kept, benjamini_hochberg(&P, 0.05));
    }

    #[test]
    fn an_empty_family_keeps_nothing() {
        assert!(benjamini_hochberg(&[], 0.05).is_empty());
        assert!(select_by_holm(&[], 0.05).is_empty());
    }
}
