//! Arriving data of a trial: how much may come, what may be in it, and what this machine observes meanwhile.

pub(crate) mod allowance;
pub(crate) mod claims;
pub(crate) mod describing;
pub(crate) mod held_memory;
pub(crate) mod listening;
pub(crate) mod placing;
