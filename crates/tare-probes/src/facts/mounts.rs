//! Mounts: all of them, as the kernel lists them, and facts of the one that a place is on.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};
use tare_data::facts::keys::{FILE_SYSTEM_FREE_BYTES, FILE_SYSTEM_TYPE, MOUNT_TYPE, MOUNT_UPPER};

use rustix::fs::{CWD, Mode, OFlags};
use tare_data::facts::Facts;

use crate::harness::kernel_files::read_text;

/// Numbers of statfs(2), from the kernel's magic.h and the file systems' own sources.
const NAMES: [(u32, &str); 24] = [
    (0x0000_ef53, "ext4"),
    (0x9123_683e, "btrfs"),
    (0x5846_5342, "xfs"),
    (0x0102_1994, "tmpfs"),
    (0x8584_58f6, "ramfs"),
    (0x794c_7630, "overlay"),
    (0x0102_1997, "9p"),
    (0x6573_5546, "fuse"),
    (0x0000_6969, "nfs"),
    (0xff53_4d42, "cifs"),
    (0xfe53_4d42, "smb2"),
    (0x5346_4846, "wslfs"),
    (0x5346_4e45, "drvfs"),
    (0x7371_7368, "squashfs"),
    (0xe0f5_e1e2, "erofs"),
    (0x2fc1_2fc1, "zfs"),
    (0xf2f5_2010, "f2fs"),
    (0x0000_4d44, "vfat"),
    (0x2011_bab0, "exfat"),
    (0x5346_544e, "ntfs"),
    (0x7366_746e, "ntfs3"),
    (0x00c0_ffee, "hostfs (UML)"),
    (0x786f_4256, "vboxsf"),
    (0xca45_1a4e, "bcachefs"),
];

/// Reads the name of the file system that holds a path; its number in hex where it has no name here.
pub(crate) fn file_system_name(path: &Path) -> Option<String> {
    // The type has 64 bits on some machines; the number has 32, sign-extended on others.
    let number = rustix::fs::statfs(path).ok()?.f_type as u32;
    let name = NAMES.iter().find(|(its, _)| *its == number);
    Some(name.map_or_else(|| format!("0x{number:x}"), |(_, name)| (*name).to_owned()))
}

pub(crate) fn note_all(facts: &mut Facts, path: &Path) {
    // A place that is not there lies on no mount.
    let Some(name) = file_system_name(path) else { return };
    facts.add_fact(FILE_SYSTEM_TYPE, name);
    if let Ok(about) = rustix::fs::statvfs(path) {
        facts.add_fact("file_system.block_bytes", about.f_bsize.to_string());
        facts.add_fact(FILE_SYSTEM_FREE_BYTES, about.f_bavail.saturating_mul(about.f_frsize).to_string());
        facts.add_fact("file_system.total_bytes", about.f_blocks.saturating_mul(about.f_frsize).to_string());
    }
    let Ok(mounts) = list_mounts() else { return };
    let Some(mount) = mount_of(mounts, path, format_device_number(path)) else { return };
    facts.add_fact("mount.point", mount.point.to_string_lossy());
    facts.add_fact(MOUNT_TYPE, &mount.filesystem);
    facts.add_fact("mount.device", &mount.source);
    facts.add_fact("mount.options", &mount.options);
    let option = |key: &str| mount.options.split(',').find_map(|o| o.strip_prefix(key));
    facts.add_fact(MOUNT_UPPER, option("upperdir=").unwrap_or_default());
    let queue = |file: &str| {
        // A partition has its disk's queue one level up.
        ["queue", "../queue"]
            .iter()
            .find_map(|queue| read_text(&format!("/sys/dev/block/{}/{queue}/{file}", mount.number)))
    };
    facts.add_fact("device.write_cache", queue("write_cache").unwrap_or_default().trim());
    facts.add_fact("device.rotational", queue("rotational").unwrap_or_default().trim());
    facts.add_fact("device.scheduler", queue("scheduler").unwrap_or_default().trim());
}

/// Formats the device number of a folder as mountinfo writes it. By fstat: see the crate's folder module for
/// why.
pub(crate) fn format_device_number(path: &Path) -> Option<String> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let folder = rustix::fs::openat(CWD, path, flags, Mode::empty()).ok()?;
    let number = rustix::fs::fstat(&folder).ok()?.st_dev;
    Some(format!("{}:{}", rustix::fs::major(number), rustix::fs::minor(number)))
}

/// A line of /proc/self/mountinfo (proc_pid_mountinfo(5)).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mount {
    /// Major and minor device number, `254:0`.
    pub number: String,
    /// Folder of the file system that is mounted; `/` for all of it.
    pub root: String,
    pub point: PathBuf,
    /// `ext4`, `overlay`, `9p` ...
    pub filesystem: String,
    /// Device or whatever the file system names instead.
    pub source: String,
    /// Options of the mount and of the file system, joined by commas.
    pub options: String,
}

/// Lists all mounts, oldest first: of two at one point the later covers the earlier.
pub fn list_mounts() -> io::Result<Vec<Mount>> {
    Ok(parse_table(&fs::read("/proc/self/mountinfo")?))
}

/// Parses a mount table; lines that are not of one are left out.
pub(crate) fn parse_table(table: &[u8]) -> Vec<Mount> {
    table.split(|&b| b == b'\n').filter_map(Mount::of).collect()
}

impl Mount {
    fn of(line: &[u8]) -> Option<Mount> {
        let mut fields = line.split(|&b| b == b' ');
        let number = text(fields.nth(2)?);
        let root = text(fields.next()?);
        let point = PathBuf::from(unescape(fields.next()?));
        let options = text(fields.next()?);
        // Optional fields end with a lone hyphen.
        let mut rest = fields.skip_while(|field| *field != b"-").skip(1);
        let (filesystem, source, of_filesystem) =
            (text(rest.next()?), text(rest.next()?), text(rest.next()?));
        Some(Mount { number, root, point, filesystem, source, options: format!("{options},{of_filesystem}") })
    }
}

fn text(field: &[u8]) -> String {
    unescape(field).to_string_lossy().into_owned()
}

/// Decodes space, tab, newline and backslash, which the kernel writes as `\` and three octal digits.
fn unescape(field: &[u8]) -> OsString {
    let mut bytes = Vec::with_capacity(field.len());
    let mut at = 0;
    while at < field.len() {
        let digits = field
            .get(at + 1..at + 4)
            .filter(|d| field[at] == b'\\' && d.iter().all(|d| (b'0'..b'8').contains(d)));
        match digits {
            Some(d) => {
                bytes.push(
                    d.iter().fold(0u8, |value, digit| value.wrapping_mul(8).wrapping_add(digit - b'0')),
                );
                at += 4;
            }
            None => {
                bytes.push(field[at]);
                at += 1;
            }
        }
    }
    OsString::from_vec(bytes)
}

/// Finds the mount that holds a path: the deepest of those on its device, or of all when none is (btrfs
/// subvolumes and some shares have device numbers that the table does not show). The later of two at one
/// point hides the earlier.
fn mount_of(mut mounts: Vec<Mount>, path: &Path, device: Option<String>) -> Option<Mount> {
    mounts.retain(|mount| path.starts_with(&mount.point));
    let is_same = |mount: &Mount| Some(&mount.number) == device.as_ref();
    // Mounts on its device come after all others, and the last of equals is taken.
    mounts.into_iter().max_by_key(|mount| (is_same(mount), mount.point.as_os_str().len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &str = "\
22 1 254:0 / / rw,relatime - ext4 /dev/vda rw
30 22 0:40 / /run rw,nosuid - tmpfs tmpfs rw,size=10%
31 22 0:41 / /merged rw - overlay overlay rw,lowerdir=/l,upperdir=/run/u,workdir=/run/w,volatile
nonsense
33 22 7:0 / /a\\040b rw - btrfs /dev/loop0 rw";

    #[test]
    fn a_path_lies_on_the_deepest_mount_of_its_device() {
        let point = |path: &str, device: Option<&str>| {
            mount_of(parse_table(TABLE.as_bytes()), Path::new(path), device.map(str::to_owned)).unwrap().point
        };
        assert_eq!(point("/merged/x", Some("0:41")), Path::new("/merged"));
        assert_eq!(point("/runner", None), Path::new("/"));
        // Bind mounts show a path of another device below.
        assert_eq!(point("/run/x", Some("254:0")), Path::new("/"));
        // A device number that the table does not have.
        assert_eq!(point("/a b/c", Some("0:99")), Path::new("/a b"));
    }

    #[test]
    fn options_of_an_overlay_are_read() {
        let mount = mount_of(parse_table(TABLE.as_bytes()), Path::new("/merged"), None).unwrap();
        assert!(mount.options.ends_with(",volatile"));
        assert_eq!(mount.filesystem, "overlay");
    }

    #[test]
    fn every_escape_of_a_line_is_decoded() {
        let line = br"41 31 0:38 / /a\040b\011c\134d rw,relatime shared:3 master:1 - cgroup2 the\040group rw";
        let mount = Mount::of(line).unwrap();
        assert_eq!(mount.point, Path::new("/a b\tc\\d"));
        assert_eq!((mount.number.as_str(), mount.filesystem.as_str()), ("0:38", "cgroup2"));
        assert_eq!((mount.source.as_str(), mount.options.as_str()), ("the group", "rw,relatime,rw"));
        assert_eq!(Mount::of(b"41 31 0:38 / /a rw - cgroup2"), None);
        assert_eq!(Mount::of(b""), None);
    }
}
