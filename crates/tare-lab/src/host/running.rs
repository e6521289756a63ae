//! Which machine this is, since which of its boots: what process numbers and locks mean something in.

use std::io;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use tare_data::encoding::encode_hex;
use tare_data::session::identity::Identity;

use crate::platform::{boot_id, identify_pid_namespace, machine_id, node_name, randomise_bytes};

/// Hex digits of a hash: enough to distinguish the machines of a site.
const DIGITS: usize = 32;

/// A machine, and a boot of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Running {
    /// Hash that identifies this machine; never its /etc/machine-id itself, which must not be revealed
    /// (machine-id(5)).
    pub(crate) machine: String,
    /// The boot's random name, and the namespace in which processes are numbered.
    pub(crate) boot: String,
}

impl Running {
    /// Tells whether processes have the same numbers there, whatever the machine was called then.
    pub(crate) fn is_same_boot(&self, other: &Running) -> bool {
        self.boot == other.boot && !self.boot.starts_with(' ')
    }
}

impl Running {
    pub(crate) fn from_this_host() -> Running {
        Running {
            machine: identify_machine(),
            boot: format!("{} {}", boot_id(), identify_pid_namespace().display()),
        }
    }
}

/// Identifies a session that begins here and now.
pub(crate) fn make_session_identity() -> io::Result<Identity> {
    let mut session = [0; 16];
    randomise_bytes(&mut session)?;
    Ok(Identity { session: encode_hex(&session), machine: identify_machine(), boot: identify_boot() })
}

/// Identifies this machine. Cloned images share a machine-id, and host names differ; values that only root
/// can read (the firmware's UUID) are left out, or root and others would be on different machines.
pub(crate) fn identify_machine() -> String {
    keyed("machine", &[&machine_id(), &node_name()])
}

/// Identifies this boot of the machine. A kernel gives its random name to every container.
pub(crate) fn identify_boot() -> String {
    keyed("boot", &[&boot_id()])
}

/// Hashes with a key. The key is public: it keeps these hashes apart from those of other programs.
fn keyed(key: &str, parts: &[&str]) -> String {
    let mut hash = Sha256::new();
    hash.update(format!("tare {key}\0"));
    for part in parts {
        hash.update(part);
        hash.update("\0");
    }
    encode_hex(&hash.finalize())[..DIGITS].to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_of_a_name_do_not_run_into_each_other() {
        assert_ne!(keyed("machine", &["ab", "c"]), keyed("machine", &["a", "bc"]));
        assert_ne!(keyed("machine", &["a"]), keyed("boot", &["a"]));
        let (one, other) = (make_session_identity().unwrap(), make_session_identity().unwrap());
        assert_eq!((&one.machine, &one.boot), (&other.machine, &other.boot));
        assert_ne!(one.session, other.session);
        assert!([&one.session, &one.machine, &one.boot].iter().all(|text| text.len() == DIGITS));
    }
}
