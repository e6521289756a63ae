//! Parts of a plan: how much a trial does, how many rounds there may be, which environments take part in them and how
//! often they start, and where a known cost is planted.

pub(crate) mod amount;
pub(crate) mod before;
pub(crate) mod budget;
pub(crate) mod calibrated;
mod fitting;
pub(crate) mod hopeless;
pub(crate) mod lasting;
pub(crate) mod outcomes;
pub(crate) mod paces;
pub(crate) mod planting;
pub(crate) mod prepare;
pub(crate) mod spacing;
pub(crate) mod staging;
pub(crate) mod starts;
