//! A session: environments entered, cases calibrated, rounds run in random order, every result written down.

pub mod amount;
pub mod arena;
pub mod bring_up;
pub mod budget;
pub mod entered;
pub mod link;
pub mod live;
pub mod peers;
pub mod prepare;
pub mod progress;
pub mod rounds;
pub mod startup;
pub mod targets;
