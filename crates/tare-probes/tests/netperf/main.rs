//! netperf's protocol against stock netperf and netserver 2.7, and against clients that mean no good.

#![allow(clippy::disallowed_methods)]

mod clients;
mod hostile;
mod servers;
mod stand;
