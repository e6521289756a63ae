//! What a plan is made of: how much a trial does, how many rounds there may be, and how often environments start.

pub(crate) mod amount;
pub(crate) mod budget;
pub(crate) mod starts;
