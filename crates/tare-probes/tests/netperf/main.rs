//! The client of netperf's protocol against a stock netserver 2.7, and against a stand-in for it.

#![allow(clippy::disallowed_methods)]

#[path = "../../../tare-bench/src/ports.rs"]
mod ports;
mod servers;
mod stand_in;
