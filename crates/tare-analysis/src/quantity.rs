//! What is computed of an article's figures.

use serde::{Deserialize, Serialize};

/// What is computed of a figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Quantity {
    /// From the least to the greatest run of an environment, in percent of the greatest.
    BetweenRuns,
    /// What an environment has more than another, in percent of the other.
    More,
    /// What an environment has less than another, in percent of the other.
    Less,
    /// An environment's value over another's, or over its own in another figure.
    Ratio,
    /// What an environment has more than another, in the unit of what is stated.
    Difference,
    /// The value itself.
    Value,
    /// Whether every value of an environment lies from one to the other.
    Range,
}
