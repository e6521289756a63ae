//! Fleets on a real Slurm: three nodes on this machine, each in separate network, mount and host name
//! namespaces.

#![allow(clippy::disallowed_methods, reason = "tests start what they look for by name")]

mod api_server;
mod cluster;
mod engines;
mod hostile;
mod kubernetes;
mod manifests;
mod measured;
mod pods;
#[path = "../refusals/mod.rs"]
mod refusals;
