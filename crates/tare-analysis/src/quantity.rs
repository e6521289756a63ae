//! Quantities that are computed from an article's figures.

use serde::{Deserialize, Serialize};

/// A quantity that is computed from a figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Quantity {
    /// From the least to the greatest run of an environment, in percent of the greatest.
    BetweenRuns,
    /// Surplus of an environment over another, in percent of the other.
    More,
    /// Deficit of an environment against another, in percent of the other.
    Less,
    /// An environment's value over another's, or over its own in another figure.
    Ratio,
    /// Surplus of an environment over another, in the stated unit.
    Difference,
    /// The value itself.
    Value,
    /// Every value of an environment lies from one number to the other.
    Range,
}
