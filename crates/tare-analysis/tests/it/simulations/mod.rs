//! The promises under every kind of noise that is known to have broken one: simulated sessions with a known truth.

mod carry;
mod dependence;
mod failures;
mod fleets;
mod horizon;
mod lasting;
mod looks;
pub mod noise_models;
pub mod outcomes;
mod promises;
mod quantiles;
mod ticks;
mod totals;
mod until_decided;
