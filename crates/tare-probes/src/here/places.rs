//! Places: the file systems of the root, the working folder, the home and the folder for temporary files.

use std::path::{Path, PathBuf};
use tare_data::facts::keys::{
    FILE_SYSTEM_TYPE, MOUNT_TYPE, ROOT_DEVICE, ROOT_IS_MOUNT, ROOT_NUMBER, ROOT_TYPE,
};

use rustix::fs::{AtFlags, CWD, Mode, OFlags, StatxFlags};
use tare_data::facts::Facts;

use super::bounded::file_system_number;
use super::steps::Noting;
use crate::facts::mounts;

/// Options of mounts that say something of what a place is or promises.
const OPTIONS: [&str; 4] = ["volatile", "fsync=volatile", "ro", "sync"];

/// A folder of the user, by its role.
#[derive(Clone, Debug)]
pub struct Place {
    /// `root`, `work`, `home` or `tmp`.
    pub role: &'static str,
    pub path: PathBuf,
}

/// Notes what / is: its number, its file system, and whether it is the root of a mount.
pub fn note_root(noting: &mut Noting<'_>) {
    /// Bit of statx(2) for the root of a mount (Linux 5.8).
    const MOUNT_ROOT: u64 = 0x2000;
    if let Ok(about) = rustix::fs::statat(CWD, "/", AtFlags::empty()) {
        noting.add_fact(ROOT_NUMBER, about.st_ino.to_string());
        let (major, minor) = (rustix::fs::major(about.st_dev), rustix::fs::minor(about.st_dev));
        noting.add_fact(ROOT_DEVICE, format!("{major}:{minor}"));
    }
    noting.add_fact(ROOT_TYPE, mounts::file_system_name(Path::new("/")).unwrap_or_default());
    let proc = rustix::fs::openat(CWD, "/proc", OFlags::PATH | OFlags::CLOEXEC, Mode::empty());
    noting.add_fact("proc.number", proc.ok().and_then(file_system_number).unwrap_or_default());
    if let Ok(about) = rustix::fs::statx(CWD, "/", AtFlags::empty(), StatxFlags::BASIC_STATS) {
        let (known, set) = (about.stx_attributes_mask.bits(), about.stx_attributes.bits());
        let is_root = match (known & MOUNT_ROOT != 0, set & MOUNT_ROOT != 0) {
            (false, _) => "unknown",
            (true, true) => "yes",
            (true, false) => "no",
        };
        noting.add_fact(ROOT_IS_MOUNT, is_root);
    }
}

/// Notes the file system of a place. One that does not answer holds up the process that asks.
pub fn note_place(noting: &mut Noting<'_>, place: &Place) {
    let mut facts = Facts::default();
    mounts::note_all(&mut facts, &place.path);
    let role = place.role;
    for (key, from) in [("type", FILE_SYSTEM_TYPE), ("mount", MOUNT_TYPE)] {
        noting.add_fact(&format!("place.{role}.{key}"), facts.get(from).unwrap_or_default());
    }
    noting.add_fact(
        &format!("place.{role}.device"),
        mounts::format_device_number(&place.path).unwrap_or_default(),
    );
    let options = facts.get("mount.options").unwrap_or_default();
    let known: Vec<&str> = options.split(',').filter(|option| OPTIONS.contains(option)).collect();
    noting.add_fact(&format!("place.{role}.options"), known.join(","));
    let is_drive =
        options.contains("drvfs") || facts.get("mount.device").is_some_and(|from| from.starts_with("drvfs"));
    noting.add_fact(&format!("place.{role}.drive"), if is_drive { "windows" } else { "" });
}
