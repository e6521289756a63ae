//! A pair of virtual network cards between two network namespaces, made for a row and removed after it.

use std::fs::File;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use rustix::fd::AsFd;
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};

use crate::tool;

/// Namespaces of the client's end, in which this thread is, and of the server's. Their names are fixed, so
/// that those of a killed run are found and removed by the next.
const NEAR: &str = "tare-bench-near";
pub const FAR: &str = "tare-bench-far";
/// Addresses of the two ends, of the range that is set aside for benchmarks (RFC 2544).
const NEAR_ADDRESS: &str = "198.18.0.1";
pub const FAR_ADDRESS: &str = "198.18.0.2";

/// `ip` does its work at once.
const PATIENCE: Duration = Duration::from_secs(10);

/// The pair; dropped, this thread is back where it was and the pair is gone.
pub struct Veth {
    before: File,
}

impl Veth {
    /// Makes the pair and moves this thread, and the programs that it starts from then on, to its near end.
    pub fn make_and_enter() -> Result<Veth, String> {
        remove();
        let before =
            File::open("/proc/thread-self/ns/net").map_err(|e| format!("this network namespace: {e}"))?;
        let veth = Veth { before };
        for arguments in [
            vec!["netns", "add", NEAR],
            vec!["netns", "add", FAR],
            vec![
                "link", "add", "veth0", "netns", NEAR, "type", "veth", "peer", "name", "veth0", "netns", FAR,
            ],
        ] {
            ip(&arguments)?;
        }
        for (namespace, address) in [(NEAR, NEAR_ADDRESS), (FAR, FAR_ADDRESS)] {
            ip(&["-n", namespace, "address", "add", &format!("{address}/30"), "dev", "veth0"])?;
            ip(&["-n", namespace, "link", "set", "lo", "up"])?;
            ip(&["-n", namespace, "link", "set", "veth0", "up"])?;
        }
        move_to(&Path::new("/run/netns").join(NEAR))?;
        Ok(veth)
    }
}

impl Drop for Veth {
    fn drop(&mut self) {
        let _ = move_into_link_name_space(self.before.as_fd(), Some(LinkNameSpaceType::Network));
        remove();
    }
}

fn move_to(path: &Path) -> Result<(), String> {
    let failed = |e: &dyn std::fmt::Display| format!("entering {}: {e}", path.display());
    let namespace = File::open(path).map_err(|e| failed(&e))?;
    move_into_link_name_space(namespace.as_fd(), Some(LinkNameSpaceType::Network)).map_err(|e| failed(&e))
}

/// Removes both namespaces, and the pair with them; a missing one is ignored.
fn remove() {
    for namespace in [NEAR, FAR] {
        let _ = ip(&["netns", "delete", namespace]);
    }
}

fn ip(arguments: &[&str]) -> Result<(), String> {
    let mut command = Command::new(tool::find_program("ip")?);
    tool::run_program(command.args(arguments), PATIENCE).map(drop)
}
