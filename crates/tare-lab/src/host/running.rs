//! Which machine this is, since which of its boots: what process numbers and locks mean something in.

use std::fs;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use tare_data::encoding::hex;

/// Hex digits of a machine's hash: enough to tell machines apart that share a home.
const DIGITS: usize = 16;

/// A machine, and a boot of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Running {
    /// Hash of /etc/machine-id, which is not for strangers (machine-id(5)).
    pub(crate) machine: String,
    /// The boot's random name, and the namespace in which processes are numbered.
    pub(crate) boot: String,
}

impl Running {
    /// This one.
    pub(crate) fn here() -> Running {
        let read = |path: &str| fs::read_to_string(path).unwrap_or_default().trim().to_owned();
        let machine = hex(&Sha256::digest(format!("tare {}", read("/etc/machine-id"))));
        let numbers = fs::read_link("/proc/self/ns/pid").unwrap_or_default();
        let boot = format!("{} {}", read("/proc/sys/kernel/random/boot_id"), numbers.display());
        Running { machine: machine[..DIGITS].to_owned(), boot }
    }
}
