//! The network probes and the tools that measure the same, on loopback and over a pair of virtual cards.

use crate::duel::Duel;

mod netperf;
mod server;
mod sockperf;
mod stream;

pub fn list_duels() -> Vec<Box<dyn Duel>> {
    let mut all = netperf::list_duels();
    all.extend(sockperf::list_duels());
    all.extend(stream::list_duels());
    all
}
