//! Environments that one program enters, as far as that is there. Looking for it starts nothing.

use crate::host::programs::Programs;

/// An environment, and its program.
const ENTERED_BY: [(&str, &str); 10] = [
    ("podman", "podman"),
    ("docker", "docker"),
    ("gvisor", "runsc"),
    ("oci:runc", "runc"),
    ("bwrap", "bwrap"),
    ("nspawn", "systemd-nspawn"),
    ("proot", "proot"),
    ("qemu", "qemu-system-x86_64"),
    ("nerdctl", "nerdctl"),
    ("wsl", "wsl.exe"),
];
/// Environment of Linux itself, which needs no program.
const ALONE: &str = "container";

/// Lists environments that may be ready, before any is tried.
pub fn list_found(programs: &Programs) -> Vec<&'static str> {
    let found = ENTERED_BY.iter().filter(|(_, program)| programs.find(program).is_some());
    Some(ALONE).filter(|_| cfg!(unix)).into_iter().chain(found.map(|(name, _)| *name)).collect()
}
