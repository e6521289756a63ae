//! Consistency of an article's statements: names, numbers, and claims that its figures can tell of.

use super::Published;
use super::stated::compute_check;

/// Digits after the point that an article may print: those of a number in a file.
const MOST_DECIMALS: usize = 15;

impl Published {
    /// Explains the first inconsistency found.
    pub fn check_consistency(&self) -> Result<(), String> {
        let known = |id: &str| match self.find_environment(id) {
            Some(_) => Ok(()),
            None => Err(format!("no environment is called '{id}'")),
        };
        self.reference.as_deref().map_or(Ok(()), known)?;
        for (at, figure) in self.figures.iter().enumerate() {
            if self.figures[..at].iter().any(|other| other.name == figure.name) {
                return Err(format!("two figures are called '{}'", figure.name));
            }
            figure.values.keys().try_for_each(|id| known(id))?;
            if figure.decimals.is_some_and(|decimals| decimals > MOST_DECIMALS) {
                return Err(format!("the figure '{}' has more than {MOST_DECIMALS} decimals", figure.name));
            }
            if figure.factor.is_some_and(|factor| !(factor.is_finite() && factor > 0.0)) {
                return Err(format!("the factor of the figure '{}' is not above 0", figure.name));
            }
            if figure.values.values().any(|values| values.is_empty() || values.iter().any(|v| !v.is_finite()))
            {
                return Err(format!("the figure '{}' has an environment without a number", figure.name));
            }
        }
        for ratio in &self.ratios {
            known(&ratio.environment)?;
            known(&ratio.against)?;
            if !(ratio.value.is_finite() && ratio.value > 0.0) {
                return Err(format!("the ratio '{}' is not above 0", ratio.name));
            }
        }
        for expectation in self.claims.iter().flat_map(|claim| &claim.expectations) {
            known(&expectation.environment)?;
            known(&expectation.against)?;
        }
        for check in self.claims.iter().flat_map(|claim| &claim.checks) {
            known(&check.environment)?;
            check.against.as_deref().map_or(Ok(()), known)?;
            if compute_check(self, check).is_none() {
                return Err(format!(
                    "'{}' cannot be computed from the figure '{}' of '{}'",
                    check.states, check.figure, check.environment
                ));
            }
        }
        Ok(())
    }
}
