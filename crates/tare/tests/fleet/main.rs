//! Fleets on a real Slurm: three nodes on this machine, each in network, mount and host name namespaces of its own.

mod api_server;
mod cluster;
mod engines;
mod kubernetes;
mod manifests;
mod measured;
mod pods;
