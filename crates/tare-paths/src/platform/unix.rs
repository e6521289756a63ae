//! A folder that is held open, on Linux: openat2(2) below it without links, or part by part where a kernel or a filter of system
//! calls does not have that.

use std::ffi::OsStr;
use std::fs::{File, Metadata};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;
use std::time::{Duration, SystemTime};

use rustix::fs::{
    AtFlags, Dir, FileType, Mode, OFlags, ResolveFlags, mkdirat, open, openat, openat2, renameat, statat,
    unlinkat,
};
use rustix::io::Errno;

pub use super::owners::{check_opened, check_ours};
use super::removal::empty_folder;
pub use super::removal::remove_tree;
use super::{About, Creation, Kind};

const FOLDER: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);

/// An open folder.
#[derive(Debug)]
pub(crate) struct FolderHandle {
    folder: File,
    /// True where openat2 is not tried.
    by_parts: bool,
}

impl FolderHandle {
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        Ok(FolderHandle { folder: open(path, FOLDER, Mode::empty())?.into(), by_parts: false })
    }

    /// Opens a folder by a path whose last name is none of a link.
    pub(crate) fn open_itself(path: &Path) -> io::Result<Self> {
        let folder = open(path, FOLDER | OFlags::NOFOLLOW, Mode::empty())?;
        Ok(FolderHandle { folder: folder.into(), by_parts: false })
    }

    pub(crate) fn open_folder(&self, inside: &Path) -> io::Result<Self> {
        let folder = self.open_below(inside, FOLDER, Mode::empty())?;
        Ok(FolderHandle { folder: folder.into(), by_parts: self.by_parts })
    }

    pub(crate) fn open_with(&self, inside: &Path, flags: OFlags) -> io::Result<OwnedFd> {
        self.open_below(inside, flags | OFlags::NOCTTY, Mode::RUSR | Mode::WUSR)
    }

    /// Opens a file to read and append.
    pub(crate) fn open_to_append(&self, inside: &Path, creation: Creation) -> io::Result<File> {
        let flags = match creation {
            Creation::Never => OFlags::NONBLOCK,
            Creation::IfMissing => OFlags::NONBLOCK | OFlags::CREATE,
            Creation::Always => OFlags::CREATE | OFlags::EXCL,
        };
        Ok(self.open_with(inside, flags | OFlags::RDWR | OFlags::APPEND)?.into())
    }

    /// Waits until its entries are on the disk.
    pub(crate) fn sync(&self) -> io::Result<()> {
        self.folder.sync_all()
    }

    /// Removes all that is in the folder but the entry of a name.
    pub(crate) fn empty(&self, but: &OsStr) -> io::Result<()> {
        empty_folder(self.open_below(Path::new(""), FOLDER, Mode::empty())?, but)
    }

    pub(crate) fn descriptor(&self) -> BorrowedFd<'_> {
        self.folder.as_fd()
    }

    /// Makes the folder behave as if openat2 were refused.
    #[cfg(test)]
    pub(crate) fn by_parts(self) -> Self {
        FolderHandle { by_parts: true, ..self }
    }

    pub(crate) fn open_file(&self, inside: &Path) -> io::Result<File> {
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY;
        Ok(self.open_below(inside, flags, Mode::empty())?.into())
    }

    /// Makes a new file with these permissions, before the umask.
    pub(crate) fn create_new(&self, inside: &Path, mode: u32) -> io::Result<File> {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOCTTY;
        Ok(self.open_below(inside, flags, Mode::from_raw_mode(mode))?.into())
    }

    pub(crate) fn metadata(&self) -> io::Result<Metadata> {
        self.folder.metadata()
    }

    pub(crate) fn look_at(&self, inside: &Path) -> io::Result<About> {
        self.in_parent(inside, |parent, name| {
            let stat = statat(parent, name, AtFlags::SYMLINK_NOFOLLOW)?;
            let seconds = u64::try_from(stat.st_mtime).unwrap_or(0);
            let since = Duration::new(seconds, u32::try_from(stat.st_mtime_nsec).unwrap_or(0));
            let kind = kind(FileType::from_raw_mode(stat.st_mode));
            Ok(About { kind, changed: SystemTime::UNIX_EPOCH + since })
        })
    }

    pub(crate) fn list_entries(&self, inside: &Path, most: usize) -> io::Result<Vec<(String, Kind)>> {
        let folder = self.open_below(inside, FOLDER, Mode::empty())?;
        let mut entries = Vec::new();
        for entry in Dir::read_from(&folder)? {
            let entry = entry?;
            let name = entry.file_name();
            if [c".", c".."].contains(&name) {
                continue;
            }
            let kind = match entry.file_type() {
                FileType::Unknown => {
                    kind(FileType::from_raw_mode(statat(&folder, name, AtFlags::SYMLINK_NOFOLLOW)?.st_mode))
                }
                known => kind(known),
            };
            entries.push((name.to_string_lossy().into_owned(), kind));
            if entries.len() > most {
                return Err(io::Error::other(format!("it has more than {most} entries")));
            }
        }
        Ok(entries)
    }

    /// Makes a folder with these permissions, before the umask.
    pub(crate) fn make_folder(&self, inside: &Path, mode: u32) -> io::Result<()> {
        self.in_parent(inside, |parent, name| mkdirat(parent, name, Mode::from_raw_mode(mode)))
    }

    pub(crate) fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.in_parent(from, |of_from, from| {
            let moved = self.in_parent(to, |of_to, to| renameat(of_from, from, of_to, to));
            moved.map_err(|e| Errno::from_io_error(&e).unwrap_or(Errno::IO))
        })
    }

    pub(crate) fn remove_file(&self, inside: &Path) -> io::Result<()> {
        self.in_parent(inside, |parent, name| unlinkat(parent, name, AtFlags::empty()))
    }

    pub(crate) fn remove_folder(&self, inside: &Path) -> io::Result<()> {
        self.in_parent(inside, |parent, name| unlinkat(parent, name, AtFlags::REMOVEDIR))
    }

    /// Calls something with the open folder that holds an entry, and the entry's name in it.
    fn in_parent<T>(
        &self,
        inside: &Path,
        call: impl FnOnce(BorrowedFd<'_>, &OsStr) -> Result<T, Errno>,
    ) -> io::Result<T> {
        let name = inside.file_name().ok_or(io::ErrorKind::InvalidInput)?;
        Ok(match inside.parent().filter(|parent| !parent.as_os_str().is_empty()) {
            None => call(self.folder.as_fd(), name),
            Some(parent) => call(self.open_below(parent, FOLDER, Mode::empty())?.as_fd(), name),
        }?)
    }

    fn open_below(&self, inside: &Path, flags: OFlags, mode: Mode) -> io::Result<OwnedFd> {
        let inside = if inside.as_os_str().is_empty() { Path::new(".") } else { inside };
        let flags = flags | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        // A name by itself leads nowhere else, and layers that do not know openat2 are spared it.
        if !self.by_parts && inside.iter().count() > 1 {
            let stays = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
            match openat2(&self.folder, inside, flags, mode, stays) {
                // Older kernels do not have it, and filters of system calls answer in either way.
                Err(Errno::NOSYS | Errno::PERM) => {}
                opened => return Ok(opened?),
            }
        }
        Ok(open_by_parts(self.folder.as_fd(), inside, flags, mode)?)
    }
}

/// Opens a path one part after the other, none of which may be a link.
fn open_by_parts(folder: BorrowedFd<'_>, inside: &Path, flags: OFlags, mode: Mode) -> Result<OwnedFd, Errno> {
    let mut parts: Vec<&OsStr> = inside.iter().collect();
    let Some(last) = parts.pop() else { return Err(Errno::INVAL) };
    let mut above: Option<OwnedFd> = None;
    for part in parts {
        let folder = above.as_ref().map_or(folder, OwnedFd::as_fd);
        above = Some(openat(folder, part, FOLDER | OFlags::NOFOLLOW, Mode::empty())?);
    }
    openat(above.as_ref().map_or(folder, OwnedFd::as_fd), last, flags, mode)
}

fn kind(kind: FileType) -> Kind {
    match kind {
        FileType::RegularFile => Kind::File,
        FileType::Directory => Kind::Folder,
        FileType::Symlink => Kind::Link,
        _ => Kind::Other,
    }
}
