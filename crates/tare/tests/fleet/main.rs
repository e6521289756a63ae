//! Fleets on a real Slurm: three nodes on this machine, each in network, mount and host name namespaces of its own.

mod cluster;
mod engines;
mod manifests;
mod measured;
mod pods;
