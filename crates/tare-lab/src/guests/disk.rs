//! A guest's disk: a sparse file with an ext4 file system in it, as virtual machines have them.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::time::Duration;

use rustix::fs::OFlags;

use crate::owned::MARK;
use crate::provider::prelude::*;
use crate::storage::file_systems::{EXT4_ARGUMENTS, EXT4_MAKER};

/// Capacity of a guest's disk, with room for the files of any study in full size; the file takes only what is written.
const SIZE_BYTES: u64 = 64 << 30;
/// Time that making the file system may take: 30 ms, longer on a disk that is busy.
const MAKE_WAIT: Duration = Duration::from_secs(30);

choice! {
    pub enum DiskMode: "disk",
        "how the guest's disk is opened on this machine: auto: past the page cache where the file system allows that; \
         direct: so, or not at all; cached: through the page cache, as QEMU does unless asked. Then direct and cold \
         rows are of this machine's memory, and not compared"
    {
        Auto = "auto",
        Direct = "direct",
        Cached = "cached",
    }
}

impl DiskMode {
    /// Decides to open a disk past the page cache, or through it.
    pub fn is_direct(self, disk: &Path) -> Result<bool, LabError> {
        match (self, can_bypass_cache(disk)) {
            (DiskMode::Cached, _) => Ok(false),
            (DiskMode::Auto | DiskMode::Direct, true) => Ok(true),
            (DiskMode::Auto, false) => Ok(false),
            (DiskMode::Direct, false) => {
                let what = format!("the file system of {} opens no disk past the page cache", disk.display());
                Err(LabError::new(ErrorKind::Environment, what)
                    .with_hint("name another folder with --scratch, or give disk=cached"))
            }
        }
    }
}

/// Finds the program that makes the file systems of disks.
pub fn find_disk_maker(programs: &Programs) -> Result<Found, NotReady> {
    require_program(programs, EXT4_MAKER, "apt-get install e2fsprogs")
}

/// Makes a fresh disk in the folder of a start; returns its file.
pub fn make_disk(maker: &Found, workspace: &dyn Workspace) -> Result<PathBuf, LabError> {
    let path = workspace.folder().join("disk.ext4");
    fill(maker, &path, workspace.mark()).map_err(LabError::storage_error("make the disk", &path))?;
    Ok(path)
}

/// Tries whether a disk can be read past this machine's page cache.
fn can_bypass_cache(disk: &Path) -> bool {
    OpenOptions::new().read(true).write(true).custom_flags(OFlags::DIRECT.bits() as i32).open(disk).is_ok()
}

/// Describes a guest's disk to QEMU. Past the host's cache: else a guest's direct and cold reads are of this machine's memory.
pub fn describe_drive(disk: &str, is_direct: bool) -> String {
    let cache = if is_direct { ",cache=none" } else { "" };
    format!("file={disk},if=none,id=own,format=raw{cache}")
}

fn fill(maker: &Found, path: &Path, mark: &str) -> io::Result<()> {
    File::create_new(path).and_then(|file| file.set_len(SIZE_BYTES))?;
    // The mark identifies a process that outlives a killed session.
    programs::run_for_output(
        programs::command(maker).args(EXT4_ARGUMENTS).arg(path).env(MARK, mark),
        MAKE_WAIT,
    )
    .map(drop)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn a_disk_is_opened_past_the_host_s_cache_where_that_works() {
        assert_eq!(describe_drive("/d", true), "file=/d,if=none,id=own,format=raw,cache=none");
        assert_eq!(describe_drive("/d", false), "file=/d,if=none,id=own,format=raw");
    }

    #[test]
    fn a_disk_is_opened_as_its_option_says_or_not_at_all() {
        let folder = tempfile::tempdir().unwrap();
        let nowhere = folder.path().join("no disk");
        assert!(!DiskMode::Auto.is_direct(&nowhere).unwrap());
        let refused = DiskMode::Direct.is_direct(&nowhere).unwrap_err();
        assert!(refused.hint.is_some_and(|hint| hint.contains("disk=cached")));
        let disk = folder.path().join("disk");
        std::fs::write(&disk, "").unwrap();
        assert!(!DiskMode::Cached.is_direct(&disk).unwrap(), "whatever the file system allows");
        assert_eq!(DiskMode::Direct.is_direct(&disk).is_ok(), DiskMode::Auto.is_direct(&disk).unwrap());
    }

    #[test]
    fn what_makes_the_file_system_is_known_by_its_session() {
        let folder = tempfile::tempdir().unwrap();
        let (maker, disk) = (folder.path().join("maker"), folder.path().join("disk"));
        std::fs::write(&maker, "#!/bin/sh\nfor last; do :; done\necho \"$TARE_SESSION\" >\"$last\"\n")
            .unwrap();
        std::fs::set_permissions(&maker, std::fs::Permissions::from_mode(0o755)).unwrap();
        fill(&Found::own(&maker), &disk, "a-session").unwrap();
        assert_eq!(std::fs::read_to_string(disk).unwrap(), "a-session\n");
    }
}
