//! Files of Linux, and of systems that resemble it.

use std::fs::{File, Metadata, OpenOptions, TryLockError};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, MemfdFlags, Mode, OFlags, linkat, memfd_create, openat, statat};
use rustix::io::Errno;
use tare_paths::door::Door;

/// Limit on the names that are tried for a file that takes the place of another.
const MOST_NAMES: u32 = 100;

/// Opens a file without waiting for the writer of a pipe.
pub(crate) fn open_at_once(options: &mut OpenOptions, path: &Path) -> io::Result<File> {
    let flags = OFlags::NONBLOCK | OFlags::NOCTTY;
    options.custom_flags(flags.bits() as i32).open(path)
}

/// Reads from a byte of a file on.
pub(crate) fn read_at(file: &File, buffer: &mut [u8], from: u64) -> io::Result<usize> {
    file.read_at(buffer, from)
}

pub(crate) fn is_removed(about: &Metadata) -> bool {
    about.nlink() == 0
}

/// Recognises a file system without any locks, as some that are shared over a network: then nothing can be
/// known.
pub(crate) fn has_no_locks(error: &io::Error) -> bool {
    matches!(Errno::from_io_error(error), Some(Errno::NOLCK | Errno::NOTSUP | Errno::NOSYS))
}

/// Cuts an open file.
pub(crate) fn cut_file(file: &File, _: &Path, bytes: u64) -> io::Result<()> {
    file.set_len(bytes)
}

/// Makes a file in memory.
pub(crate) fn open_nameless() -> io::Result<File> {
    Ok(memfd_create("tare-record", MemfdFlags::CLOEXEC)?.into())
}

/// Replaces a file by a new one of its owner and mode: at once, and not before that is whole. An error where the path is another file's.
pub(crate) fn replace_file(
    old: &File,
    path: &Path,
    write: impl FnOnce(&mut File) -> io::Result<()>,
) -> io::Result<File> {
    let path = path.canonicalize()?;
    let (Some(folder), Some(name)) = (path.parent(), path.file_name().map(Path::new)) else {
        return Err(io::ErrorKind::InvalidInput.into());
    };
    let folder = Door::open(folder)?;
    let about = old.metadata()?;
    // It has no name as long as it is written, so that nothing is left of it when this ends.
    let flags = OFlags::TMPFILE | OFlags::RDWR | OFlags::APPEND | OFlags::CLOEXEC;
    let mut new = File::from(openat(&folder, ".", flags, Mode::RUSR | Mode::WUSR)?);
    write(&mut new)?;
    std::os::unix::fs::fchown(&new, Some(about.uid()), Some(about.gid()))?;
    new.set_permissions(about.permissions())?;
    new.sync_all()?;
    let now = statat(&folder, name, AtFlags::SYMLINK_NOFOLLOW)?;
    if (now.st_dev, now.st_ino) != (about.dev(), about.ino()) {
        return Err(io::Error::other("another program changed its name"));
    }
    let unnamed = format!("/proc/self/fd/{}", new.as_raw_fd());
    let names = (0..MOST_NAMES).map(|number| format!(".tare-{}-{number}", std::process::id()));
    for named in names.map(PathBuf::from) {
        match linkat(CWD, unnamed.as_str(), &folder, &named, AtFlags::SYMLINK_FOLLOW) {
            Err(Errno::EXIST) => continue,
            linked => linked?,
        }
        folder.rename(&named, name).inspect_err(|_| drop(folder.remove_file(&named)))?;
        return Ok(new);
    }
    Err(io::ErrorKind::AlreadyExists.into())
}

/// Locks a file for this process alone, without waiting.
pub fn try_lock(file: &File) -> Result<(), TryLockError> {
    file.try_lock()
}

/// Shares a lock on a file with others that do the same, without waiting.
pub fn try_lock_shared(file: &File) -> Result<(), TryLockError> {
    file.try_lock_shared()
}

/// Waits until it is this process' alone.
pub fn lock(file: &File) -> io::Result<()> {
    file.lock()
}

/// Ends a lock at once: a child that another thread has just forked has the same open file, and would keep it until its `exec`.
pub fn unlock(file: &File) {
    let _ = file.unlock();
}
