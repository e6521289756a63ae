//! Loop devices: a file as a block device, which goes away by itself when nobody uses it any more.
//!
//! loop(4) and linux/loop.h. A device that clears itself needs no entry in a journal: it lives as long as it
//! is open or mounted, however the session ends.

#![allow(unsafe_code, reason = "ioctls of loop devices")]

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};

use crate::owned::is_session_folder;

const CONTROL: &str = "/dev/loop-control";
const LOOP_CLR_FD: libc::Ioctl = 0x4C01;
const LOOP_SET_DIRECT_IO: libc::Ioctl = 0x4C08;
/// Since Linux 5.8.
const LOOP_CONFIGURE: libc::Ioctl = 0x4C0A;
const LOOP_CTL_GET_FREE: libc::Ioctl = 0x4C82;
const LO_FLAGS_AUTOCLEAR: u32 = 4;
/// Others may take the device that was free a moment ago.
const TRIES: u32 = 32;

#[repr(C)]
struct Configuration {
    fd: u32,
    /// 0: the kernel chooses.
    block_bytes: u32,
    info: Info,
    reserved: [u64; 8],
}

/// struct loop_info64.
#[repr(C)]
struct Info {
    device_inode_rdevice_offset_limit: [u64; 5],
    number_and_encryption: [u32; 3],
    flags: u32,
    names: [[u8; 64]; 2],
    key: [u8; 32],
    init: [u64; 2],
}

/// A loop device, open: until it is dropped it does not go away, mounted or not.
#[derive(Debug)]
pub struct LoopDevice {
    _device: File,
    pub path: PathBuf,
}

impl LoopDevice {
    /// Makes a device of a file. It goes past the host's page cache where the disk under the file allows that:
    /// what the file system on it drops from its cache must not come back out of another one.
    pub fn attach(image: &Path) -> io::Result<LoopDevice> {
        let image = OpenOptions::new().read(true).write(true).open(image)?;
        let control = OpenOptions::new().read(true).write(true).open(CONTROL)?;
        for _ in 0..TRIES {
            // SAFETY: the call takes no argument.
            let number = answer(unsafe { libc::ioctl(control.as_raw_fd(), LOOP_CTL_GET_FREE) })?;
            let path = PathBuf::from(format!("/dev/loop{number}"));
            let device = OpenOptions::new().read(true).write(true).open(&path)?;
            match configure(&device, &image) {
                Ok(()) => {
                    // SAFETY: the call takes a number. Refused, the device works by the page cache, which the
                    // facts of the place say.
                    unsafe { libc::ioctl(device.as_raw_fd(), LOOP_SET_DIRECT_IO, 1 as libc::c_ulong) };
                    return Ok(LoopDevice { _device: device, path });
                }
                Err(e) if e.raw_os_error() == Some(libc::EBUSY) => {}
                Err(e) => return Err(e),
            }
        }
        Err(io::Error::new(io::ErrorKind::ResourceBusy, "others take every free loop device"))
    }
}

/// Lists the devices of images that are gone with the sessions that made them: something else still uses a file system there.
pub fn list_forgotten() -> Vec<PathBuf> {
    let devices = fs::read_dir("/sys/block").into_iter().flatten().flatten();
    let forgotten = devices.filter(|device| {
        let image = fs::read_to_string(device.path().join("loop/backing_file")).unwrap_or_default();
        is_forgotten(&image)
    });
    forgotten.map(|device| Path::new("/dev").join(device.file_name())).collect()
}

/// Recognises the image of a session that has removed its folder, as the kernel names a file that was removed.
fn is_forgotten(image: &str) -> bool {
    let image = image.trim_end().strip_suffix(" (deleted)").map(Path::new);
    let session = image.filter(|image| image.extension().is_some_and(|end| end == "image"));
    session
        .and_then(|image| image.ancestors().nth(2))
        .is_some_and(|folder| folder.file_name().is_some_and(is_session_folder) && !folder.exists())
}

/// Detaches a device from its image, at once or when its last user ends.
pub fn detach(device: &Path) -> io::Result<()> {
    let device = File::open(device)?;
    // SAFETY: the call takes no argument.
    answer(unsafe { libc::ioctl(device.as_raw_fd(), LOOP_CLR_FD) }).map(drop)
}

fn configure(device: &File, image: &File) -> io::Result<()> {
    let configuration = Configuration {
        fd: image.as_raw_fd() as u32,
        block_bytes: 0,
        info: Info {
            device_inode_rdevice_offset_limit: [0; 5],
            number_and_encryption: [0; 3],
            flags: LO_FLAGS_AUTOCLEAR,
            names: [[0; 64]; 2],
            key: [0; 32],
            init: [0; 2],
        },
        reserved: [0; 8],
    };
    // SAFETY: the kernel reads a struct loop_config, whose layout a test checks.
    answer(unsafe { libc::ioctl(device.as_raw_fd(), LOOP_CONFIGURE, &raw const configuration) }).map(drop)
}

fn answer(result: i32) -> io::Result<i32> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
}

#[cfg(test)]
mod tests {
    use std::mem::{offset_of, size_of};

    use super::*;

    #[test]
    fn only_an_image_that_went_with_its_session_is_forgotten() {
        let folder = "/var/tmp/tare-0123456789abcdef";
        assert!(is_forgotten(&format!("{folder}/images/ext4.image (deleted)\n")));
        for other in ["/images/ext4.image", "/images/ext4 (deleted)", "/ext4.image (deleted)"] {
            assert!(!is_forgotten(&format!("{folder}{other}\n")), "{other}");
        }
        assert!(!is_forgotten("/var/tmp/tare-project/images/ext4.image (deleted)\n"));
        let living = tempfile::Builder::new().prefix("tare-0123456789abcde").rand_bytes(1).tempdir().unwrap();
        assert!(!is_forgotten(&format!("{}/images/ext4.image (deleted)\n", living.path().display())));
    }

    #[test]
    fn the_layout_is_the_kernels() {
        assert_eq!((size_of::<Info>(), size_of::<Configuration>()), (232, 304));
        assert_eq!((offset_of!(Info, flags), offset_of!(Configuration, info)), (52, 8));
    }
}
