//! netperf's protocol against stock netperf and netserver 2.7, and against clients that mean no good.

mod clients;
mod hostile;
mod servers;
mod stand;
