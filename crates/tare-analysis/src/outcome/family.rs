//! The family of all that is compared in a session: the chance that alike sides are told apart anywhere is at most 1 %.

/// Chance of any false difference in a session.
pub const LEVEL: f64 = 0.01;

/// A hypothesis that two sides are alike in something.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Hypothesis {
    pub p: f64,
    /// The smallest p that the margins of its table allow: one above the level can never be rejected, and costs the others nothing.
    pub least: f64,
}

/// Tells which hypotheses are rejected, by the step-down procedure of Holm with Tarone's count of those that can be rejected at all.
pub fn reject(hypotheses: &[Hypothesis]) -> Vec<bool> {
    let mut rejected = vec![false; hypotheses.len()];
    loop {
        let left = || hypotheses.iter().enumerate().filter(|(at, _)| !rejected[*at]);
        let can = |k: usize| left().filter(|(_, one)| one.least <= LEVEL / k as f64).count();
        let k = (1..).find(|k| can(*k) <= *k).unwrap_or(hypotheses.len()).max(1);
        let Some((at, one)) = left().min_by(|(_, a), (_, b)| a.p.total_cmp(&b.p)) else { return rejected };
        // A NaN is not below anything.
        if one.p <= LEVEL / k as f64 {
            rejected[at] = true;
        } else {
            return rejected;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hypotheses_that_cannot_be_rejected_cost_nothing() {
        let of = |p, least| Hypothesis { p, least };
        let idle = vec![of(1.0, 1.0); 19];
        assert!(reject(&[vec![of(0.008, 0.008)], idle.clone()].concat())[0]);
        let alive = vec![of(1.0, 0.008); 19];
        assert!(!reject(&[vec![of(0.008, 0.008)], alive].concat())[0]);
        let many = vec![of(0.00016, 0.00016); 20];
        assert_eq!(reject(&many), [true; 20]);
        assert_eq!(reject(&[]), [false; 0]);
        assert_eq!(reject(&[of(f64::NAN, f64::NAN)]), [false]);
    }
}
