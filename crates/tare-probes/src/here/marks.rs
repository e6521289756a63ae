//! Marks: files and labels that engines leave inside. An image may hold any of them, too.

use super::bounded::{is_there, read_line};
use super::steps::Noting;
use tare_data::facts::keys::{MARKS_CONTROL_GROUPS, MARKS_LABEL, MARKS_MANAGER, MARKS_SEEN};

const FILES: [&str; 14] = [
    "/.dockerenv",
    "/var/run/docker.sock",
    "/run/.containerenv",
    "/dev/lxd/sock",
    "/dev/incus/sock",
    "/dev/.lxc",
    "/.flatpak-info",
    "/.singularity.d",
    "/var/run/secrets/kubernetes.io",
    "/proc/sys/fs/binfmt_misc/WSLInterop",
    "/dev/dxg",
    "/mnt/wsl",
    "/usr/lib/wsl",
    "/run/WSL",
];
/// Managers that are kept; a file may hold anything.
const MANAGERS: [&str; 6] = ["systemd-nspawn", "lxc", "docker", "podman", "oci", "firejail"];

/// Notes the marks that are there.
pub fn note_all(noting: &mut Noting<'_>) {
    let found: Vec<&str> = FILES.into_iter().filter(|file| is_there(file)).collect();
    noting.add_fact(MARKS_SEEN, found.join(" "));
    let manager = read_line("/run/host/container-manager").unwrap_or_default();
    noting.add_fact(MARKS_MANAGER, if MANAGERS.contains(&manager.as_str()) { &manager } else { "" });
    let label = read_line("/proc/self/attr/current").unwrap_or_default();
    noting.add_fact(MARKS_LABEL, if label.starts_with("snap.") { "snap" } else { "" });
}

/// Notes control groups whose names belong to engines. Their numbers are not kept.
pub fn note_control_groups(noting: &mut Noting<'_>) {
    let groups = read_line("/proc/self/cgroup").unwrap_or_default();
    let engines: Vec<&str> =
        ENGINES.iter().filter(|(_, is_its)| groups.lines().any(is_its)).map(|(name, _)| *name).collect();
    noting.add_fact(MARKS_CONTROL_GROUPS, engines.join(" "));
}

type IsItsGroup = fn(&str) -> bool;

const ENGINES: [(&str, IsItsGroup); 5] = [
    ("docker", |line| is_numbered(line, "/docker/") || is_numbered(line, "/docker-")),
    ("podman", |line| is_numbered(line, "/libpod-") || is_numbered(line, "libpod_")),
    ("lxc", |line| ["/lxc.payload", "/lxc/", "/lxc.monitor"].iter().any(|name| line.contains(name))),
    ("kubernetes", |line| line.contains("/kubepods")),
    ("containerd", |line| is_numbered(line, "/cri-containerd-")),
];

/// Tells whether the number of a container follows.
fn is_numbered(line: &str, before: &str) -> bool {
    const DIGITS: usize = 12;
    line.split_once(before)
        .is_some_and(|(_, behind)| behind.bytes().take_while(u8::is_ascii_hexdigit).count() >= DIGITS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn engines_number_their_control_groups() {
        let engines = |line: &str| -> Vec<&str> {
            ENGINES.iter().filter(|(_, is_its)| is_its(line)).map(|(name, _)| *name).collect()
        };
        assert_eq!(engines("0::/system.slice/docker-0123456789ab.scope"), ["docker"]);
        assert_eq!(engines("4:memory:/docker/0123456789abcdef"), ["docker"]);
        assert_eq!(engines("0::/docker/compose"), [""; 0]);
        assert_eq!(engines("0::/machine.slice/libpod-0123456789abcdef.scope/container"), ["podman"]);
        assert_eq!(engines("0::/lxc.payload.web/init.scope"), ["lxc"]);
    }
}
