//! Faults: sessions that are ended, killed or starved.

mod held;
mod homes;
mod injected;
pub mod kill;
mod kills;
mod random;
