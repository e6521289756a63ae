//! Identity: which session a record is of, on which machine, since which of its boots, and its cell of a fleet.

use serde::{Deserialize, Serialize};

/// Identity of a session and of its machine. They are hashes, so that a record tells nobody a machine-id.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Identity {
    /// 128 random bits in hex.
    pub session: String,
    /// Keyed hash of the machine's id and its host name, in hex.
    pub machine: String,
    /// Keyed hash of the boot's random name, in hex: the same in all containers of one boot.
    pub boot: String,
}

/// Which cell of a fleet a session is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FleetCell {
    /// The fleet's, 128 random bits in hex.
    pub id: String,
    /// As the engine names the node.
    pub node: String,
    /// From 1.
    pub session: u32,
    /// SHA-256 of the fleet's plan, in hex.
    pub plan: String,
}
