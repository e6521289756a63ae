//! A file system in a program: every request for a file goes from the kernel to a tare process, which asks the folder behind
//! it, and back. fuse(4).
//!
//! It is the shape of a shared folder, with nothing that caches or saves it: names and attributes are asked for each time.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use fuser::{
    BsdFileFlags, Config, Errno, FileHandle, Filesystem, FopenFlags, Generation, INodeNo, LockOwner,
    OpenFlags, RenameFlags, ReplyAttr, ReplyCreate, ReplyData, ReplyDirectory, ReplyEmpty, ReplyEntry,
    ReplyOpen, ReplyStatfs, ReplyWrite, Request, Session, SessionACL, TimeOrNow, WriteFlags,
};
use rustix::fs::{AtFlags, FallocateFlags, Mode, Timespec, Timestamps, UTIME_NOW, UTIME_OMIT};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use super::nodes::Nodes;

/// First argument under which this program serves a folder; its path follows, and standard input is the device.
pub const SERVE: &str = "place-fuse";
const EXIT_BAD: i32 = 120;
/// Lifetime of names and attributes: they are never believed later.
const NEVER: Duration = Duration::ZERO;
/// Threads that answer, so that two processes do not wait for each other.
const THREADS: usize = 2;

/// Serves until the file system is unmounted, and returns an exit code.
pub fn serve_main(folder: &OsStr) -> i32 {
    // A descriptor for each file that the kernel remembers; and what a file may be is the asker's to say.
    let most = getrlimit(Resource::Nofile).maximum;
    let _ = setrlimit(Resource::Nofile, Rlimit { current: most, maximum: most });
    rustix::process::umask(Mode::empty());
    let served = io::stdin().as_fd().try_clone_to_owned().and_then(|device| serve(Path::new(folder), device));
    match served {
        Ok(()) => 0,
        Err(e) => {
            eprintln!("{SERVE} {}: {e}", folder.display());
            EXIT_BAD
        }
    }
}

fn serve(folder: &Path, device: OwnedFd) -> io::Result<()> {
    let mut config = Config::default();
    config.acl = SessionACL::All;
    config.n_threads = Some(THREADS);
    let session = Session::from_fd(
        Passthrough { nodes: Nodes::from_folder(folder)? },
        device,
        SessionACL::All,
        config,
    )?;
    session.run()
}

struct Passthrough {
    nodes: Nodes,
}

/// Answers a request: with what was found, or with the error's number.
macro_rules! answer {
    ($reply:ident, $done:expr, $value:pat => $say:expr) => {
        match $done {
            Ok($value) => $say,
            Err::<_, io::Error>(e) => $reply.error(Errno::from(e)),
        }
    };
}

impl Passthrough {
    /// Gives a newly made file to the user who asked for it.
    fn made(&self, asker: &Request, folder: INodeNo, name: &OsStr) -> io::Result<fuser::FileAttr> {
        self.nodes.set_owner(folder, name, (asker.uid(), asker.gid()))?;
        self.nodes.look_up(folder, name)
    }

    fn change(
        &self,
        number: INodeNo,
        handle: Option<FileHandle>,
        change: &Change,
    ) -> io::Result<fuser::FileAttr> {
        let path = self.nodes.path(number)?;
        if let Some(mode) = change.mode {
            rustix::fs::chmod(&path, Mode::from_raw_mode(mode))?;
        }
        if change.user.is_some() || change.group.is_some() {
            let user = change.user.map(rustix::fs::Uid::from_raw);
            let group = change.group.map(rustix::fs::Gid::from_raw);
            rustix::fs::chownat(&*self.nodes.find_descriptor(number)?, "", user, group, AtFlags::EMPTY_PATH)?;
        }
        match (change.size, handle) {
            (None, _) => {}
            (Some(size), Some(handle)) => self.nodes.find_open_file(handle)?.set_len(size)?,
            (Some(size), None) => File::options().write(true).open(&path)?.set_len(size)?,
        }
        if change.accessed.is_some() || change.modified.is_some() {
            let times = Timestamps {
                last_access: timespec(change.accessed),
                last_modification: timespec(change.modified),
            };
            rustix::fs::utimensat(rustix::fs::CWD, &path, &times, AtFlags::empty())?;
        }
        self.nodes.read_attributes(number)
    }
}

/// Attributes that setattr changes.
struct Change {
    mode: Option<u32>,
    user: Option<u32>,
    group: Option<u32>,
    size: Option<u64>,
    accessed: Option<TimeOrNow>,
    modified: Option<TimeOrNow>,
}

fn timespec(time: Option<TimeOrNow>) -> Timespec {
    let only = |tv_nsec| Timespec { tv_sec: 0, tv_nsec };
    match time {
        None => only(UTIME_OMIT),
        Some(TimeOrNow::Now) => only(UTIME_NOW),
        Some(TimeOrNow::SpecificTime(time)) => since_1970(time),
    }
}

fn since_1970(time: SystemTime) -> Timespec {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    Timespec { tv_sec: since.as_secs() as i64, tv_nsec: since.subsec_nanos().into() }
}

impl Filesystem for Passthrough {
    fn lookup(&self, _: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEntry) {
        answer!(reply, self.nodes.look_up(parent, name), found => reply.entry(&NEVER, &found, Generation(0)));
    }

    fn forget(&self, _: &Request, number: INodeNo, times: u64) {
        self.nodes.forget(number, times);
    }

    fn getattr(&self, _: &Request, number: INodeNo, _: Option<FileHandle>, reply: ReplyAttr) {
        answer!(reply, self.nodes.read_attributes(number), found => reply.attr(&NEVER, &found));
    }

    fn setattr(
        &self,
        _: &Request,
        number: INodeNo,
        mode: Option<u32>,
        user: Option<u32>,
        group: Option<u32>,
        size: Option<u64>,
        accessed: Option<TimeOrNow>,
        modified: Option<TimeOrNow>,
        _: Option<SystemTime>,
        handle: Option<FileHandle>,
        _: Option<SystemTime>,
        _: Option<SystemTime>,
        _: Option<SystemTime>,
        _: Option<BsdFileFlags>,
        reply: ReplyAttr,
    ) {
        let change = Change { mode, user, group, size, accessed, modified };
        answer!(reply, self.change(number, handle, &change), now => reply.attr(&NEVER, &now));
    }

    fn readlink(&self, _: &Request, number: INodeNo, reply: ReplyData) {
        let read = || Ok(rustix::fs::readlinkat(&*self.nodes.find_descriptor(number)?, "", Vec::new())?);
        answer!(reply, read(), target => reply.data(target.as_bytes()));
    }

    fn mkdir(
        &self,
        asker: &Request,
        parent: INodeNo,
        name: &OsStr,
        mode: u32,
        umask: u32,
        reply: ReplyEntry,
    ) {
        let make = || {
            rustix::fs::mkdirat(
                &*self.nodes.find_descriptor(parent)?,
                name,
                Mode::from_raw_mode(mode & !umask),
            )?;
            self.made(asker, parent, name)
        };
        answer!(reply, make(), made => reply.entry(&NEVER, &made, Generation(0)));
    }

    fn symlink(&self, asker: &Request, parent: INodeNo, name: &OsStr, target: &Path, reply: ReplyEntry) {
        let make = || {
            rustix::fs::symlinkat(target, &*self.nodes.find_descriptor(parent)?, name)?;
            self.made(asker, parent, name)
        };
        answer!(reply, make(), made => reply.entry(&NEVER, &made, Generation(0)));
    }

    fn link(&self, _: &Request, number: INodeNo, parent: INodeNo, name: &OsStr, reply: ReplyEntry) {
        let make = || {
            let (file, folder) = (self.nodes.find_descriptor(number)?, self.nodes.find_descriptor(parent)?);
            rustix::fs::linkat(&*file, "", &*folder, name, AtFlags::EMPTY_PATH)?;
            self.nodes.look_up(parent, name)
        };
        answer!(reply, make(), made => reply.entry(&NEVER, &made, Generation(0)));
    }

    fn unlink(&self, _: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEmpty) {
        let remove =
            || Ok(rustix::fs::unlinkat(&*self.nodes.find_descriptor(parent)?, name, AtFlags::empty())?);
        answer!(reply, remove(), () => reply.ok());
    }

    fn rmdir(&self, _: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEmpty) {
        let remove =
            || Ok(rustix::fs::unlinkat(&*self.nodes.find_descriptor(parent)?, name, AtFlags::REMOVEDIR)?);
        answer!(reply, remove(), () => reply.ok());
    }

    fn rename(
        &self,
        _: &Request,
        parent: INodeNo,
        name: &OsStr,
        new_parent: INodeNo,
        new_name: &OsStr,
        flags: RenameFlags,
        reply: ReplyEmpty,
    ) {
        let rename = || {
            let (from, to) = (self.nodes.find_descriptor(parent)?, self.nodes.find_descriptor(new_parent)?);
            let flags = rustix::fs::RenameFlags::from_bits_retain(flags.bits());
            Ok(rustix::fs::renameat_with(&*from, name, &*to, new_name, flags)?)
        };
        answer!(reply, rename(), () => reply.ok());
    }

    fn open(&self, _: &Request, number: INodeNo, flags: OpenFlags, reply: ReplyOpen) {
        answer!(reply, self.nodes.open(number, flags.0), handle => reply.opened(handle, FopenFlags::empty()));
    }

    fn create(
        &self,
        asker: &Request,
        parent: INodeNo,
        name: &OsStr,
        mode: u32,
        umask: u32,
        flags: i32,
        reply: ReplyCreate,
    ) {
        let make = || {
            let handle = self.nodes.create(parent, name, flags, Mode::from_raw_mode(mode & !umask))?;
            Ok((self.made(asker, parent, name)?, handle))
        };
        answer!(reply, make(), (made, handle) => {
            reply.created(&NEVER, &made, Generation(0), handle, FopenFlags::empty());
        });
    }

    fn read(
        &self,
        _: &Request,
        _: INodeNo,
        handle: FileHandle,
        offset: u64,
        size: u32,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyData,
    ) {
        let read = || {
            let (file, mut bytes) = (self.nodes.find_open_file(handle)?, vec![0; size as usize]);
            let read = file.read_at(&mut bytes, offset)?;
            bytes.truncate(read);
            Ok(bytes)
        };
        answer!(reply, read(), bytes => reply.data(&bytes));
    }

    fn write(
        &self,
        _: &Request,
        _: INodeNo,
        handle: FileHandle,
        offset: u64,
        data: &[u8],
        _: WriteFlags,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyWrite,
    ) {
        let write = || self.nodes.find_open_file(handle)?.write_at(data, offset);
        answer!(reply, write(), written => reply.written(written as u32));
    }

    fn fsync(&self, _: &Request, _: INodeNo, handle: FileHandle, data_only: bool, reply: ReplyEmpty) {
        let sync = || {
            let file = self.nodes.find_open_file(handle)?;
            if data_only { file.sync_data() } else { file.sync_all() }
        };
        answer!(reply, sync(), () => reply.ok());
    }

    fn flush(&self, _: &Request, _: INodeNo, _: FileHandle, _: LockOwner, reply: ReplyEmpty) {
        reply.ok();
    }

    fn release(
        &self,
        _: &Request,
        _: INodeNo,
        handle: FileHandle,
        _: OpenFlags,
        _: Option<LockOwner>,
        _: bool,
        reply: ReplyEmpty,
    ) {
        self.nodes.close(handle);
        reply.ok();
    }

    fn opendir(&self, _: &Request, number: INodeNo, flags: OpenFlags, reply: ReplyOpen) {
        answer!(reply, self.nodes.open(number, flags.0), handle => reply.opened(handle, FopenFlags::empty()));
    }

    fn readdir(&self, _: &Request, _: INodeNo, handle: FileHandle, offset: u64, mut reply: ReplyDirectory) {
        answer!(reply, self.nodes.list_entries(handle, offset), list => {
            let rest = list.iter().enumerate().skip(offset as usize);
            for (at, entry) in rest {
                if reply.add(entry.number, at as u64 + 1, entry.kind, &entry.name) {
                    break;
                }
            }
            reply.ok();
        });
    }

    fn releasedir(&self, _: &Request, _: INodeNo, handle: FileHandle, _: OpenFlags, reply: ReplyEmpty) {
        self.nodes.close(handle);
        reply.ok();
    }

    fn fsyncdir(&self, _: &Request, _: INodeNo, handle: FileHandle, _: bool, reply: ReplyEmpty) {
        let sync = || self.nodes.find_open_file(handle)?.sync_all();
        answer!(reply, sync(), () => reply.ok());
    }

    fn statfs(&self, _: &Request, number: INodeNo, reply: ReplyStatfs) {
        let about = || Ok(rustix::fs::fstatvfs(&*self.nodes.find_descriptor(number)?)?);
        answer!(reply, about(), a => reply.statfs(
            a.f_blocks, a.f_bfree, a.f_bavail, a.f_files, a.f_ffree, a.f_bsize as u32, a.f_namemax as u32, a.f_frsize as u32,
        ));
    }

    fn fallocate(
        &self,
        _: &Request,
        _: INodeNo,
        handle: FileHandle,
        offset: u64,
        length: u64,
        mode: i32,
        reply: ReplyEmpty,
    ) {
        let reserve = || {
            let flags = FallocateFlags::from_bits_retain(mode as u32);
            Ok(rustix::fs::fallocate(&*self.nodes.find_open_file(handle)?, flags, offset, length)?)
        };
        answer!(reply, reserve(), () => reply.ok());
    }
}

/// Builds the arguments with which this program is started to serve a folder.
pub fn make_serve_arguments(folder: &Path) -> [OsString; 2] {
    [SERVE.into(), folder.into()]
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::io::{ErrorKind, Read, Write};
    use std::os::fd::AsRawFd;
    use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};

    use rustix::mount::{MountFlags, UnmountFlags, mount, unmount};

    use super::*;

    /// Does everything that programs do with files, and says what came of it.
    fn used(folder: &Path) -> io::Result<Vec<String>> {
        let at = |name: &str| folder.join(name);
        fs::write(at("a"), "first")?;
        File::options().append(true).open(at("a"))?.write_all(b" second")?;
        File::options().write(true).open(at("a"))?.set_len(9)?;
        fs::hard_link(at("a"), at("linked"))?;
        symlink("a", at("symbolic"))?;
        fs::create_dir_all(at("deep/er"))?;
        (0..3000).try_for_each(|i| fs::write(at(&format!("deep/er/{i:04}")), [i as u8; 5]))?;
        fs::write(at("b"), "replaced")?;
        fs::rename(at("linked"), at("b"))?;
        fs::set_permissions(at("a"), fs::Permissions::from_mode(0o640))?;
        std::os::unix::fs::chown(at("a"), Some(12), Some(34))?;
        File::open(at("a"))?.set_modified(UNIX_EPOCH + Duration::from_millis(1_500))?;
        let mut held = File::options().read(true).write(true).create_new(true).open(at("held"))?;
        held.write_all(&[7; 100_000])?;
        held.sync_all()?;
        fs::remove_file(at("held"))?;
        let mut kept = vec![0; 100_000];
        held.read_exact_at(&mut kept, 0)?;
        rustix::fs::fallocate(&held, FallocateFlags::empty(), 0, 200_000)?;
        let about = fs::metadata(at("a"))?;
        let mut names: Vec<_> =
            fs::read_dir(at("deep/er"))?.map(|entry| Ok(entry?.file_name())).collect::<io::Result<_>>()?;
        names.sort_unstable();
        let mut text = String::new();
        File::open(at("symbolic"))?.read_to_string(&mut text)?;
        fs::remove_dir_all(at("deep/er"))?;
        Ok(vec![
            text,
            format!("{:o} {} {} {}", about.mode(), about.uid(), about.gid(), about.nlink()),
            format!("{} {}", about.mtime(), about.mtime_nsec()),
            format!("{} {:?} {:?}", names.len(), names[0], names[2999]),
            format!("{} {}", kept.iter().all(|byte| *byte == 7), held.metadata()?.len()),
            fs::read_to_string(at("b"))?,
            format!("{:?}", fs::read_link(at("symbolic"))?),
            format!("{:?}", fs::read(at("gone")).map_err(|e| e.kind())),
            format!("{:?}", fs::create_dir(at("deep")).map_err(|e| e.kind())),
            format!("{:?}", fs::remove_dir(at("b")).map_err(|e| e.kind())),
        ])
    }

    #[test]
    fn files_are_as_in_the_folder_behind() {
        let parent = tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).unwrap();
        let [plain, behind, point] = ["plain", "behind", "point"].map(|name| parent.path().join(name));
        [&plain, &behind, &point].into_iter().for_each(|folder| fs::create_dir(folder).unwrap());
        let device = File::options().read(true).write(true).open("/dev/fuse");
        let mounted = device.and_then(|device| {
            let options =
                format!("fd={},rootmode=40000,user_id=0,group_id=0,allow_other\0", device.as_raw_fd());
            let options = std::ffi::CString::from_vec_with_nul(options.into_bytes()).unwrap();
            mount("test", &point, "fuse", MountFlags::empty(), Some(options.as_c_str()))?;
            Ok(device)
        });
        let device = match mounted {
            Ok(device) => device,
            Err(e) => return println!("SKIPPED files_are_as_in_the_folder_behind: /dev/fuse: {e}"),
        };
        let served = {
            let behind = behind.clone();
            std::thread::spawn(move || serve(&behind, device.into()))
        };
        let (through, directly) = (used(&point), used(&plain));
        let seen = fs::read_to_string(behind.join("a"));
        unmount(&point, UnmountFlags::DETACH).unwrap();
        served.join().unwrap().unwrap();
        let directly = directly.unwrap();
        assert_eq!(through.unwrap(), directly);
        assert_eq!((directly[0].as_str(), seen.unwrap().as_str()), ("first sec", "first sec"));
        assert_eq!(directly[7], format!("{:?}", Err::<(), _>(ErrorKind::NotFound)));
    }
}
