//! The network probes and the tools that measure the same, on loopback and over a pair of virtual cards.

use crate::duel::Duel;

mod netperf;
mod server;
mod sockperf;
mod stream;

pub fn duels() -> Vec<Box<dyn Duel>> {
    let mut all = netperf::duels();
    all.extend(sockperf::duels());
    all.extend(stream::duels());
    all
}
