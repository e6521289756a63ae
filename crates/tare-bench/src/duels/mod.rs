//! The list of duels: every row of the agreement, in the order of the table.

use std::path::Path;

use crate::duel::Duel;

mod commands;
mod fileio;
mod net;
mod primes;
mod queue;
mod sequential;
mod unixbench;

/// Lists every row. `unixbench` is the folder of a built UnixBench, where there is one.
pub fn all(unixbench: Option<&Path>) -> Vec<Box<dyn Duel>> {
    let mut all: Vec<Box<dyn Duel>> = Vec::new();
    all.extend(primes::duels());
    all.extend(sequential::duels());
    all.extend(fileio::duels());
    all.extend(queue::duels());
    all.extend(net::duels());
    all.extend(commands::duels());
    all.extend(unixbench::duels(unixbench));
    all
}
