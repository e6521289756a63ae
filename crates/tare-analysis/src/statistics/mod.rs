//! Statistics of numbers alone: nothing here knows a session, a case or an environment.

pub mod binomial;
pub(crate) mod level;
pub mod modes;
pub(crate) mod multiplicity;
pub mod normal;
pub(crate) mod operation_times;
pub mod ratio_of_means;
pub(crate) mod serial;
pub mod sign_test;
pub mod signed_ranks;
pub mod slow_batches;
pub mod spread;
pub(crate) mod student;
pub(crate) mod tails;
