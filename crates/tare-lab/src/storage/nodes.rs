//! Files behind a passthrough file system: a descriptor for each that the kernel has looked up, and one
//! for each that is open.

use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use fuser::{FileAttr, FileHandle, FileType, INodeNo};
use rustix::fs::{AtFlags, FileType as Kind, Mode, OFlags, Stat};

/// Flags that name a file without opening it; a link is itself.
const NAMED: OFlags = OFlags::PATH.union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// A file that the kernel knows by its number.
struct Node {
    named: Arc<OwnedFd>,
    /// References that the kernel holds: how often it was given, less how often it was forgotten.
    given: u64,
}

pub struct Nodes {
    root: Arc<OwnedFd>,
    nodes: Mutex<HashMap<u64, Node>>,
    open: Mutex<(u64, HashMap<u64, Arc<File>>)>,
    lists: Mutex<HashMap<u64, Arc<[Listed]>>>,
}

/// An entry of a folder.
pub struct Listed {
    pub name: OsString,
    pub number: INodeNo,
    pub kind: FileType,
}

impl Nodes {
    pub fn from_folder(folder: &std::path::Path) -> io::Result<Nodes> {
        let root = rustix::fs::open(folder, NAMED | OFlags::DIRECTORY, Mode::empty())?;
        Ok(Nodes {
            root: Arc::new(root),
            nodes: Mutex::default(),
            open: Mutex::default(),
            lists: Mutex::default(),
        })
    }

    pub fn find_descriptor(&self, number: INodeNo) -> io::Result<Arc<OwnedFd>> {
        if number == INodeNo::ROOT {
            return Ok(Arc::clone(&self.root));
        }
        let nodes = held(&self.nodes);
        let node = nodes.get(&number.0).ok_or_else(|| io::Error::from(rustix::io::Errno::STALE))?;
        Ok(Arc::clone(&node.named))
    }

    /// Looks a name up in a folder, and gives the kernel what it finds.
    pub fn look_up(&self, folder: INodeNo, name: &OsStr) -> io::Result<FileAttr> {
        let named = rustix::fs::openat(&*self.find_descriptor(folder)?, name, NAMED, Mode::empty())?;
        let about = rustix::fs::fstat(&named)?;
        // While the descriptor is here the disk gives its number to no other file.
        let number = outer_number(about.st_ino);
        let mut nodes = held(&self.nodes);
        nodes.entry(number.0).or_insert_with(|| Node { named: Arc::new(named), given: 0 }).given += 1;
        Ok(attributes(&about, number))
    }

    pub fn forget(&self, number: INodeNo, times: u64) {
        let mut nodes = held(&self.nodes);
        if let Some(node) = nodes.get_mut(&number.0) {
            node.given = node.given.saturating_sub(times);
            if node.given == 0 {
                nodes.remove(&number.0);
            }
        }
    }

    pub fn read_attributes(&self, number: INodeNo) -> io::Result<FileAttr> {
        Ok(attributes(&rustix::fs::fstat(&*self.find_descriptor(number)?)?, number))
    }

    /// Returns a path by which a named file can be opened and changed.
    pub fn path(&self, number: INodeNo) -> io::Result<PathBuf> {
        Ok(format!("/proc/self/fd/{}", self.find_descriptor(number)?.as_raw_fd()).into())
    }

    /// Opens a named file.
    pub fn open(&self, number: INodeNo, flags: i32) -> io::Result<FileHandle> {
        let flags = OFlags::from_bits_retain(flags as u32) & !(OFlags::NOFOLLOW | NOT_PASSED);
        let file = rustix::fs::open(self.path(number)?, flags | OFlags::CLOEXEC, Mode::empty())?;
        Ok(self.keep(file))
    }

    /// Makes a file and opens it.
    pub fn create(&self, folder: INodeNo, name: &OsStr, flags: i32, mode: Mode) -> io::Result<FileHandle> {
        let flags = OFlags::from_bits_retain(flags as u32) & !NOT_PASSED;
        let flags = flags | OFlags::CREATE | OFlags::CLOEXEC | OFlags::NOFOLLOW;
        Ok(self.keep(rustix::fs::openat(&*self.find_descriptor(folder)?, name, flags, mode)?))
    }

    fn keep(&self, file: OwnedFd) -> FileHandle {
        let mut open = held(&self.open);
        open.0 += 1;
        let handle = open.0;
        open.1.insert(handle, Arc::new(File::from(file)));
        FileHandle(handle)
    }

    pub fn find_open_file(&self, handle: FileHandle) -> io::Result<Arc<File>> {
        let open = held(&self.open);
        open.1.get(&handle.0).cloned().ok_or_else(|| io::Error::from(rustix::io::Errno::BADF))
    }

    pub fn close(&self, handle: FileHandle) {
        held(&self.open).1.remove(&handle.0);
        held(&self.lists).remove(&handle.0);
    }

    /// Lists the entries of an open folder, as they were when it was last read from its beginning: a position
    /// in a list would mean another entry as soon as one before it is removed.
    pub fn list_entries(&self, handle: FileHandle, offset: u64) -> io::Result<Arc<[Listed]>> {
        if let Some(list) = held(&self.lists).get(&handle.0).filter(|_| offset > 0) {
            return Ok(Arc::clone(list));
        }
        let entries = rustix::fs::Dir::read_from(&*self.find_open_file(handle)?)?.map(|entry| {
            let entry = entry?;
            let name = OsStr::from_bytes(entry.file_name().to_bytes()).to_owned();
            Ok(Listed { name, number: outer_number(entry.ino()), kind: kind(entry.file_type()) })
        });
        let list: Arc<[Listed]> = entries.collect::<io::Result<Vec<_>>>()?.into();
        held(&self.lists).insert(handle.0, Arc::clone(&list));
        Ok(list)
    }

    /// Gives what was made to who asked for it: the server itself is root.
    pub fn set_owner(&self, folder: INodeNo, name: &OsStr, owner: (u32, u32)) -> io::Result<()> {
        let (user, group) = (rustix::fs::Uid::from_raw(owner.0), rustix::fs::Gid::from_raw(owner.1));
        let flags = AtFlags::SYMLINK_NOFOLLOW;
        Ok(rustix::fs::chownat(&*self.find_descriptor(folder)?, name, Some(user), Some(group), flags)?)
    }
}

/// Flags that the outer kernel has handled already, or the server cannot: its buffers are not aligned for a
/// direct transfer, and the kernel itself says where an appended write goes.
const NOT_PASSED: OFlags = OFlags::DIRECT.union(OFlags::APPEND);

fn held<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // No holder leaves a table half changed.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Maps a file's number outside: one more than on its disk, since the first is the root's.
fn outer_number(number: u64) -> INodeNo {
    INodeNo(number.wrapping_add(1))
}

fn kind(kind: Kind) -> FileType {
    match kind {
        Kind::Directory => FileType::Directory,
        Kind::Symlink => FileType::Symlink,
        Kind::Fifo => FileType::NamedPipe,
        Kind::Socket => FileType::Socket,
        Kind::BlockDevice => FileType::BlockDevice,
        Kind::CharacterDevice => FileType::CharDevice,
        Kind::RegularFile | Kind::Unknown => FileType::RegularFile,
    }
}

fn attributes(about: &Stat, number: INodeNo) -> FileAttr {
    FileAttr {
        ino: number,
        size: about.st_size as u64,
        blocks: about.st_blocks as u64,
        atime: time(about.st_atime, about.st_atime_nsec),
        mtime: time(about.st_mtime, about.st_mtime_nsec),
        ctime: time(about.st_ctime, about.st_ctime_nsec),
        crtime: UNIX_EPOCH,
        kind: kind(Kind::from_raw_mode(about.st_mode)),
        perm: (about.st_mode & 0o7777) as u16,
        nlink: about.st_nlink as u32,
        uid: about.st_uid,
        gid: about.st_gid,
        rdev: about.st_rdev as u32,
        blksize: about.st_blksize as u32,
        flags: 0,
    }
}

/// Converts the kernel's times, whose numbers have another type on each processor.
fn time(seconds: i64, nanoseconds: impl TryInto<u32>) -> SystemTime {
    let nanoseconds = nanoseconds.try_into().unwrap_or_default();
    u64::try_from(seconds).map_or(UNIX_EPOCH, |seconds| UNIX_EPOCH + Duration::new(seconds, nanoseconds))
}
