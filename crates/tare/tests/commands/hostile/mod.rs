//! Hostile hands: environments that lie, other users, records from elsewhere.

mod liar;
mod lies;
mod memory;
mod owners;
mod strangers;
mod trust;
