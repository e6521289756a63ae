//! Mount table: signs of engines and kernels in it, and the entry of the root. Paths of this machine are not kept.

use std::collections::BTreeSet;
use std::path::Path;
use tare_data::facts::keys::{MOUNTS_SIGNS, ROOT_MOUNT, ROOT_MOUNT_DEVICE};

use super::bounded::{MOST_MOUNTS, read_proc_itself};
use super::steps::Noting;
use crate::facts::mounts::{Mount, parse_table};

/// Length of the number of a container in the paths of its engine, in hex digits.
const CONTAINER_NUMBER: usize = 64;
/// Files that engines cover with their own, so that a container has a name and a resolver.
const COVERED: [&str; 3] = ["/etc/hostname", "/etc/hosts", "/etc/resolv.conf"];
/// Folders of the kernel's, whose files runtimes cover.
const OF_KERNEL: [&str; 2] = ["/proc/", "/sys/"];

/// Notes the signs of the mount table, and the mount at the root.
pub fn note_all(noting: &mut Noting<'_>) {
    let Some(table) = read_proc_itself("/proc/self/mountinfo", MOST_MOUNTS) else { return };
    let is_cut = table.len() >= MOST_MOUNTS;
    let mounts = parse_table(table.as_bytes());
    if mounts.is_empty() {
        return;
    }
    noting.add_fact("mounts", if is_cut { "cut" } else { "read" });
    noting.add_fact(MOUNTS_SIGNS, list_signs(&mounts).into_iter().collect::<Vec<_>>().join(" "));
    match mounts.iter().rfind(|mount| mount.point == Path::new("/")) {
        // The lines that were cut off may have it.
        None if is_cut => {}
        None => noting.add_fact(ROOT_MOUNT, "none"),
        Some(root) => {
            noting.add_fact(ROOT_MOUNT, if root.root == "/" { "whole" } else { "part" });
            noting.add_fact(ROOT_MOUNT_DEVICE, &root.number);
        }
    }
}

pub(super) fn list_signs(mounts: &[Mount]) -> BTreeSet<String> {
    let mut signs: BTreeSet<String> = mounts.iter().flat_map(signs_of).map(str::to_owned).collect();
    let masked = mounts.iter().filter(|mount| is_mask(mount)).count();
    if masked > 0 {
        signs.insert(format!("masked:{masked}"));
    }
    signs
}

/// Tells whether a mount hides a file or folder of /proc or /sys, as runtimes do by an empty one.
fn is_mask(mount: &Mount) -> bool {
    let is_below = OF_KERNEL.iter().any(|folder| mount.point.to_string_lossy().starts_with(folder));
    is_below && ["tmpfs", "devtmpfs", "proc"].contains(&mount.filesystem.as_str())
}

fn signs_of(mount: &Mount) -> Vec<&'static str> {
    let point = mount.point.to_string_lossy();
    let (from, options, kind) = (mount.root.as_str(), mount.options.as_str(), mount.filesystem.as_str());
    let has = |option: &str| options.split(',').any(|known| known == option);
    // A machine that runs containers sees their mounts, too, where its engine keeps them; those that are around this process are its
    // root, or cover files of it.
    let (is_root, covers) = (point == "/", COVERED.contains(&point.as_ref()));
    let is_of_kernel = OF_KERNEL.iter().any(|folder| point.starts_with(folder));
    let is_drive = ["9p", "virtiofs", "drvfs"].contains(&kind)
        && (options.contains("drvfs") || mount.source.to_lowercase().starts_with("drvfs"));
    let signs = [
        (covers && has_numbered_folder(from, "/containers/"), "docker-files"),
        (covers && from.contains("io.containerd"), "containerd-files"),
        (is_root && options.contains("io.containerd"), "containerd-files"),
        (point == "/run/.containerenv", "containerenv"),
        (covers && has_numbered_folder(from, "-containers/") && from.contains("/userdata/"), "podman-files"),
        (is_root && options.contains("/containers/storage/overlay"), "podman-storage"),
        (from.contains("/kubelet/pods/") && !point.contains("/kubelet/"), "kubelet-files"),
        (kind == "fuse.lxcfs" && is_of_kernel, "lxcfs"),
        (mount.source == "systemd-nspawn" || point.starts_with("/run/host/"), "nspawn-files"),
        (kind == "hostfs", "hostfs"),
        (kind == "wslfs", "wslfs"),
        (is_drive, "drvfs"),
        (kind == "9p" && (has("directfs") || options.contains("dentry_cache_limit")), "gofer"),
        (point == "/dev" && kind == "tmpfs" && has("size=65536k"), "dev-64m"),
    ];
    signs.iter().filter(|(is_there, _)| *is_there).map(|(_, sign)| *sign).collect()
}

/// Tells whether a path has, after `folder`, the number that an engine gives a container.
fn has_numbered_folder(path: &str, folder: &str) -> bool {
    path.split_once(folder).is_some_and(|(_, behind)| {
        let number = behind.split('/').next().unwrap_or_default();
        number.len() == CONTAINER_NUMBER && number.bytes().all(|digit| digit.is_ascii_hexdigit())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn signs(table: &str) -> Vec<String> {
        list_signs(&parse_table(table.as_bytes())).into_iter().collect()
    }

    #[test]
    fn engines_show_by_their_own_files() {
        let number = "a1".repeat(32);
        let docker = format!(
            "9 1 8:1 /var/lib/docker/containers/{number}/hostname /etc/hostname rw - ext4 /dev/sda1 rw\n"
        );
        assert_eq!(signs(&docker), ["docker-files"]);
        let podman = format!(
            "9 1 0:5 /containers/overlay-containers/{number}/userdata/hostname /etc/hostname rw - tmpfs tmpfs rw\n\
             8 1 0:5 /x/.containerenv /run/.containerenv rw - tmpfs tmpfs rw\n"
        );
        assert_eq!(signs(&podman), ["containerenv", "podman-files"]);
        assert_eq!(
            signs("9 1 8:1 /containers/short/hostname /etc/hostname rw - ext4 /dev/sda1 rw\n"),
            [""; 0]
        );
    }

    #[test]
    fn containers_that_a_machine_runs_are_not_around_it() {
        let number = "a1".repeat(32);
        let storage = "rw,lowerdir=/var/lib/containers/storage/overlay/l/A,workdir=/var/lib/containers/storage/overlay/b/work";
        let snapshots =
            "rw,upperdir=/var/lib/containerd/io.containerd.snapshotter.v1.overlayfs/snapshots/7/fs";
        let runs = format!(
            "1 0 8:1 / / rw - ext4 /dev/sda1 rw\n\
             2 1 0:9 / /var/lib/containers/storage/overlay/{number}/merged rw - overlay overlay {storage}\n\
             3 1 0:8 / /run/containerd/io.containerd.runtime.v2.task/k8s.io/{number}/rootfs rw - overlay overlay {snapshots}\n\
             4 1 0:7 / /var/lib/lxcfs rw - fuse.lxcfs lxcfs rw\n\
             5 1 8:1 /var/lib/kubelet/pods/7/volumes /var/lib/kubelet/pods/7/volume-subpaths/a rw - ext4 /dev/sda1 rw\n\
             6 1 8:1 /containers/overlay-containers/{number}/userdata/shm /mnt/seen rw - ext4 /dev/sda1 rw\n"
        );
        assert_eq!(signs(&runs), [""; 0]);
        assert_eq!(signs(&format!("1 0 0:9 / / rw - overlay overlay {storage}\n")), ["podman-storage"]);
        assert_eq!(signs(&format!("1 0 0:9 / / rw - overlay overlay {snapshots}\n")), ["containerd-files"]);
        assert_eq!(signs("1 0 0:7 /proc/stat /proc/stat rw - fuse.lxcfs lxcfs rw\n"), ["lxcfs"]);
    }

    #[test]
    fn runtimes_show_by_their_small_dev_and_their_masks() {
        let table = "1 0 0:9 / /dev rw,nosuid - tmpfs tmpfs rw,size=65536k,mode=755\n\
                     2 0 0:3 /null /proc/kcore rw - devtmpfs devtmpfs rw\n\
                     3 0 0:4 / /proc/acpi ro - tmpfs tmpfs ro\n\
                     4 0 0:4 / /sys/firmware ro - tmpfs tmpfs ro\n\
                     5 0 0:6 / /sys/fs/cgroup ro - cgroup2 cgroup2 ro\n";
        assert_eq!(signs(table), ["dev-64m", "masked:3"]);
    }

    #[test]
    fn drives_of_windows_and_folders_of_hosts_show() {
        let table = "1 0 0:9 / /mnt/c rw - 9p C:\\134 rw,aname=drvfs;path=C:\\;uid=1000,trans=fd\n\
                     2 0 0:3 / /mnt/d rw - virtiofs drvfsaD rw\n3 0 0:4 / / rw - hostfs none rw\n";
        assert_eq!(signs(table), ["drvfs", "hostfs"]);
    }
}
