//! Faults: sessions that are ended, killed or starved.

mod held;
pub mod kill;
mod kills;
mod random;
