//! What arrives of a trial: how much may come, what may be in it, and what this machine sees beside it.

pub(crate) mod allowance;
pub(crate) mod claims;
pub(crate) mod held_memory;
pub(crate) mod listening;
