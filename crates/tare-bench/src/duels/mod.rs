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
pub fn list_all_duels(unixbench: Option<&Path>) -> Vec<Box<dyn Duel>> {
    let mut all: Vec<Box<dyn Duel>> = Vec::new();
    all.extend(primes::list_duels());
    all.extend(sequential::list_duels());
    all.extend(fileio::list_duels());
    all.extend(queue::list_duels());
    all.extend(net::list_duels());
    all.extend(commands::list_duels());
    all.extend(unixbench::list_duels(unixbench));
    all
}
