//! What a plan is made of: how much a trial does, how many rounds there may be, how often environments start, and where
//! a known cost is planted.

pub(crate) mod amount;
pub(crate) mod budget;
pub(crate) mod label;
pub(crate) mod planting;
pub(crate) mod starts;
