//! Making a file system for a session: on an image in its scratch folder, in memory, or as an overlay.

use std::fs::{self, File};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::io::Errno;
use rustix::mount::{MountFlags, mount};
use tare_data::failure::{Failure, FailureKind};
use tare_probes::harness::kernel_files::available_bytes;

use crate::host::loop_device::LoopDevice;
use crate::host::programs;
use crate::owned::MARK;
use crate::platform;
use crate::storage::file_systems::{Backing, FileSystem};
use crate::storage::site::Site;

/// Time that making a file system may take: 0.1 s for the slowest, longer on a disk that is busy.
const MAKE_WAIT: Duration = Duration::from_secs(60);
/// Space of an image beyond its cases' files: room for the file system's own records and for files that are
/// deleted but not yet forgotten (btrfs forgets at its next commit). mkfs.xfs refuses less than 300 MB.
const IMAGE_SPARE_BYTES: u64 = 1 << 30;
/// Largest image: more than the largest case of the shipped studies (30 GiB) needs.
const LARGEST_IMAGE_BYTES: u64 = 128 << 30;
/// Space of a file system in memory beyond its cases' files.
const MEMORY_SPARE_BYTES: u64 = 64 << 20;

impl FileSystem {
    /// Makes the file system and mounts it on an empty folder. The failure says why the place has a gap.
    pub fn make_and_mount(&self, site: Site<'_>, point: &Path) -> Result<(), Failure> {
        if !rustix::process::geteuid().is_root() {
            return Err(self.only_root());
        }
        match &self.backing {
            Backing::Image { maker, arguments, package, options } => {
                let Some(program) = site.programs.find(maker) else {
                    let reason = format!("{maker} is not installed (apt-get install {package})");
                    return Err(Failure::new(FailureKind::NotSupported, reason));
                };
                let image = self.image(site)?;
                let mut command = programs::command(&program);
                command.args(*arguments).arg(&image).env(MARK, site.mark);
                let made = programs::run_program(&mut command, MAKE_WAIT);
                let made = made.map_err(|e| broken(format!("{maker}: {e}")))?;
                if !made.status.success() {
                    return Err(broken(format!("{maker}: {}", made.first_line())));
                }
                let device = LoopDevice::attach(&image).map_err(|e| self.refused("a loop device", e))?;
                // From here on the mount holds the device.
                self.mount(device.path.as_os_str().as_bytes(), point, options.as_bytes())
            }
            Backing::Memory => self.mount(b"tmpfs", point, memory_options(site.room_bytes)?.as_bytes()),
            Backing::Overlay => self.mount(b"overlay", point, &overlay_options(site.folder)?),
        }
    }

    /// Makes a sparse file that its disk has room for.
    fn image(&self, site: Site<'_>) -> Result<PathBuf, Failure> {
        let bytes = image_bytes(site.room_bytes);
        let free_bytes = platform::free_bytes(site.folder);
        let free_bytes = free_bytes.ok_or_else(|| broken("reading the free space".to_owned()))?;
        // All environments use the same image; the place `own` needs room beside it.
        let needed_bytes = bytes.saturating_add(site.room_bytes);
        if free_bytes < needed_bytes {
            return Err(broken(format!(
                "an image needs {} on the scratch disk, where {} are free (--scratch names another)",
                megabytes(needed_bytes),
                megabytes(free_bytes)
            )));
        }
        let path = site.folder.join(format!("{}.image", self.name));
        File::create_new(&path)
            .and_then(|file| file.set_len(bytes))
            .map_err(|e| broken(format!("making an image: {e}")))?;
        Ok(path)
    }

    fn mount(&self, source: &[u8], point: &Path, options: &[u8]) -> Result<(), Failure> {
        let options = std::ffi::CString::new(options).map_err(|e| broken(format!("a path: {e}")))?;
        let flags = MountFlags::NOSUID | MountFlags::NODEV;
        mount(source, point, self.name, flags, Some(options.as_c_str()))
            .map_err(|e| self.refused("mounting", e.into()))
    }

    /// Says what a refusal means.
    fn refused(&self, what: &str, e: io::Error) -> Failure {
        match e.raw_os_error().map(Errno::from_raw_os_error) {
            Some(Errno::PERM | Errno::ACCESS) => self.only_root(),
            Some(Errno::NODEV) => {
                Failure::new(FailureKind::NotSupported, format!("this kernel has no {}", self.name))
            }
            Some(Errno::NOENT | Errno::NXIO | Errno::NOTTY) => {
                Failure::new(FailureKind::NotSupported, format!("{what} is not available here: {e}"))
            }
            _ => broken(format!("{what}: {e}")),
        }
    }

    fn only_root(&self) -> Failure {
        let reason = format!("only root may mount {} (run tare as root)", self.name);
        Failure::new(FailureKind::NotPermitted, reason)
    }
}

/// Computes the size of an image for cases with this many bytes in their files.
fn image_bytes(room_bytes: u64) -> u64 {
    room_bytes.saturating_add(room_bytes / 2).saturating_add(IMAGE_SPARE_BYTES).min(LARGEST_IMAGE_BYTES)
}

fn memory_options(room_bytes: u64) -> Result<String, Failure> {
    let bytes = room_bytes.saturating_add(room_bytes / 4).saturating_add(MEMORY_SPARE_BYTES);
    // Half of it is for everything else: a machine that swaps measures its disk.
    if let Some(free_bytes) = available_bytes().map(|free| free / 2).filter(|free| *free < bytes) {
        let (needed, free) = (megabytes(bytes), megabytes(free_bytes));
        return Err(broken(format!(
            "files in memory need {needed}, and half of the available memory is {free}"
        )));
    }
    Ok(format!("size={bytes},mode=0755"))
}

fn overlay_options(folder: &Path) -> Result<Vec<u8>, Failure> {
    let mut options = Vec::new();
    for (key, name) in [("lowerdir", "lower"), ("upperdir", "upper"), ("workdir", "work")] {
        let path = folder.join(format!("overlay.{name}"));
        fs::create_dir(&path).map_err(|e| broken(format!("making a folder: {e}")))?;
        options.extend(if options.is_empty() { "" } else { "," }.bytes());
        options.extend(format!("{key}=").bytes());
        for byte in path.as_os_str().as_bytes() {
            // A comma ends an option, a colon a folder.
            options.extend(b",:\\".contains(byte).then_some(b'\\'));
            options.push(*byte);
        }
    }
    Ok(options)
}

fn broken(reason: String) -> Failure {
    Failure::new(FailureKind::Broken, reason)
}

fn megabytes(bytes: u64) -> String {
    format!("{} MiB", bytes >> 20)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::programs::Programs;
    use crate::storage::file_systems::FILE_SYSTEMS;

    #[test]
    fn images_grow_with_their_cases_up_to_a_bound() {
        assert_eq!(image_bytes(0), 1 << 30);
        assert_eq!(image_bytes(2 << 30), 4 << 30);
        assert_eq!(image_bytes(u64::MAX), LARGEST_IMAGE_BYTES);
    }

    #[test]
    fn what_does_not_fit_says_how_much_is_missing() {
        let folder = tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).unwrap();
        let site =
            Site { folder: folder.path(), room_bytes: u64::MAX, programs: &Programs::default(), mark: "x" };
        let failure = FILE_SYSTEMS[0].image(site).unwrap_err();
        assert_eq!(failure.kind, FailureKind::Broken);
        assert!(failure.reason.contains("are free (--scratch"), "{}", failure.reason);
        assert!(memory_options(1 << 60).unwrap_err().reason.contains("half of the available memory"));
        assert_eq!(memory_options(0).unwrap(), "size=67108864,mode=0755");
    }

    #[test]
    fn refusals_are_told_apart() {
        let kind = |errno: Errno| FILE_SYSTEMS[1].refused("mounting", errno.into()).kind;
        assert_eq!(kind(Errno::PERM), FailureKind::NotPermitted);
        assert_eq!(kind(Errno::NODEV), FailureKind::NotSupported);
        assert_eq!(kind(Errno::IO), FailureKind::Broken);
    }

    #[test]
    fn a_maker_that_is_missing_is_a_missing_with_its_package() {
        if !rustix::process::geteuid().is_root() {
            return println!("SKIPPED a_maker_that_is_missing: only root gets so far");
        }
        let site = Site { folder: Path::new("/"), room_bytes: 0, programs: &Programs::default(), mark: "x" };
        let failure = FILE_SYSTEMS
            .iter()
            .find(|made| made.name == "btrfs")
            .unwrap()
            .make_and_mount(site, Path::new("/"))
            .unwrap_err();
        assert_eq!(failure.kind, FailureKind::NotSupported);
        assert_eq!(failure.reason, "mkfs.btrfs is not installed (apt-get install btrfs-progs)");
    }

    #[test]
    fn a_folder_on_ext4_is_marked_to_spread_those_in_it() {
        if !rustix::process::geteuid().is_root() {
            return println!("SKIPPED a_folder_on_ext4_is_marked: only root may mount");
        }
        let folder = tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).unwrap();
        let folders = ["/usr/sbin", "/sbin"].map(PathBuf::from).into();
        let programs = Programs { folders, ..Programs::default() };
        let site = Site { folder: folder.path(), room_bytes: 0, programs: &programs, mark: "x" };
        let point = folder.path().join("point");
        fs::create_dir(&point).unwrap();
        if let Err(failure) = FILE_SYSTEMS[0].make_and_mount(site, &point) {
            return println!("SKIPPED a_folder_on_ext4_is_marked: {}", failure.reason);
        }
        let place = point.join("place");
        fs::create_dir(&place).unwrap();
        let is_spread = || {
            let place = File::open(&place).unwrap();
            rustix::fs::ioctl_getflags(&place).unwrap().contains(rustix::fs::IFlags::TOPDIR)
        };
        let before = is_spread();
        tare_probes::harness::folder::spread_folders(&place);
        let after = is_spread();
        rustix::mount::unmount(&point, rustix::mount::UnmountFlags::DETACH).unwrap();
        assert_eq!((before, after), (false, true));
    }

    #[test]
    fn paths_of_an_overlay_are_quoted() {
        let parent = tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).unwrap();
        let folder = parent.path().join("a,b:c");
        fs::create_dir(&folder).unwrap();
        let options = String::from_utf8(overlay_options(&folder).unwrap()).unwrap();
        assert!(options.contains(r"a\,b\:c/overlay.lower,upperdir="), "{options}");
    }
}
