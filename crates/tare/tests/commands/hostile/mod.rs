//! Hostile input: environments that lie, other users, and records from elsewhere.

mod escapes;
mod liar;
mod lies;
mod memory;
mod owners;
mod strangers;
mod trust;
