//! The path between an environment and this machine: the address that leads out of it, and the port that leads in.

use std::net::{IpAddr, Ipv4Addr};

/// Path of an environment to this machine, and back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HostPath {
    /// Address at which the environment reaches this machine.
    pub address: IpAddr,
    /// The way in; none where nothing here can connect to the environment.
    pub published: Option<Published>,
}

/// Ports of an environment that lead there from this machine, at the address that its own packets come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Published {
    /// All of them: it is reached by an address that nobody translates.
    AnyPort,
    /// A single port, for TCP and UDP, with the same number at both ends.
    Port(u16),
}

impl HostPath {
    /// The path of an environment that has this machine's own network.
    pub const LOOPBACK: HostPath =
        HostPath { address: IpAddr::V4(Ipv4Addr::LOCALHOST), published: Some(Published::AnyPort) };

    /// Describes a path that leads out alone.
    pub(crate) fn only_out(address: IpAddr) -> HostPath {
        HostPath { address, published: None }
    }
}

impl Published {
    /// Returns the port's number; 0 where any will do.
    pub(crate) fn number(self) -> u16 {
        match self {
            Published::AnyPort => 0,
            Published::Port(port) => port,
        }
    }
}

impl From<Ipv4Addr> for HostPath {
    fn from(address: Ipv4Addr) -> HostPath {
        HostPath::only_out(address.into())
    }
}
