//! Which work a system call is, by its number, its arguments and its answer.

#![allow(unsafe_code, reason = "paths are read out of another process's memory")]

use std::collections::{BTreeSet, HashSet};
use std::fs::FileType;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use tare_data::session::demand::{Demand, Work};

/// Longest path that is looked at.
const LONGEST_PATH: usize = 4096;
/// Different paths that every layer's cache holds, gVisor's thousand among them; only where a command names more are they met
/// for the first time again.
const CACHED_PATHS: usize = 1_000;
/// Limit on the different paths that are remembered.
const MOST_PATHS: usize = 1_000_000;
/// Files of which a run's counts name the paths, and the longest that is named, in bytes.
const MOST_NAMED: usize = 64;
const LONGEST_NAMED: usize = 255;
/// Files and folders in one folder that are named because nobody met them, and entries among which they are looked for.
const MOST_FILES: usize = 2;
const MOST_FOLDERS: usize = 16;
const MOST_LISTED: usize = 1_000;
/// Folders whose entries are the kernel's, and not files to be opened for a look.
const KERNELS: [&str; 3] = ["/proc", "/sys", "/dev"];
/// Entries of folders are about this long in the kernel's answer.
const ENTRY_BYTES: f64 = 32.0;

/// A call of a traced task, as it was when it began.
#[derive(Clone, Debug)]
pub struct Call {
    pub pid: libc::pid_t,
    pub number: libc::c_long,
    pub arguments: [u64; 6],
    /// The path that it names, where it names one.
    pub path: Option<PathBuf>,
}

/// Class of a call, as far as its price depends on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// Looks a path up, and no more.
    Lookup,
    Open {
        flags: usize,
    },
    Close,
    Read,
    Write,
    Create,
    Rename,
    Remove,
    List,
    Sync,
    Map,
    Unmap,
    Protect,
    Break,
    #[cfg(target_arch = "x86_64")]
    Fork,
    Clone,
    Clone3,
    #[cfg(target_arch = "x86_64")]
    Spawn,
    Exec,
    Message,
    Futex,
    Other,
}

impl Kind {
    fn of(number: libc::c_long) -> Kind {
        match number {
            libc::SYS_newfstatat | libc::SYS_statx | libc::SYS_faccessat | libc::SYS_faccessat2 => {
                Kind::Lookup
            }
            libc::SYS_readlinkat | libc::SYS_statfs | libc::SYS_utimensat | libc::SYS_chdir => Kind::Lookup,
            libc::SYS_fchmodat | libc::SYS_fchownat | libc::SYS_truncate => Kind::Lookup,
            libc::SYS_getxattr | libc::SYS_lgetxattr | libc::SYS_listxattr | libc::SYS_llistxattr => {
                Kind::Lookup
            }
            libc::SYS_openat => Kind::Open { flags: 2 },
            libc::SYS_close => Kind::Close,
            libc::SYS_read | libc::SYS_pread64 | libc::SYS_readv | libc::SYS_preadv => Kind::Read,
            libc::SYS_write | libc::SYS_pwrite64 | libc::SYS_writev | libc::SYS_pwritev => Kind::Write,
            libc::SYS_copy_file_range | libc::SYS_sendfile => Kind::Write,
            libc::SYS_mkdirat | libc::SYS_linkat | libc::SYS_symlinkat | libc::SYS_mknodat => Kind::Create,
            libc::SYS_renameat2 => Kind::Rename,
            #[cfg(not(target_arch = "riscv64"))]
            libc::SYS_renameat => Kind::Rename,
            libc::SYS_unlinkat => Kind::Remove,
            libc::SYS_getdents64 => Kind::List,
            libc::SYS_fsync | libc::SYS_fdatasync | libc::SYS_sync_file_range | libc::SYS_msync => Kind::Sync,
            libc::SYS_mmap | libc::SYS_mremap => Kind::Map,
            libc::SYS_munmap => Kind::Unmap,
            libc::SYS_mprotect => Kind::Protect,
            libc::SYS_brk => Kind::Break,
            libc::SYS_clone => Kind::Clone,
            libc::SYS_clone3 => Kind::Clone3,
            libc::SYS_execve | libc::SYS_execveat => Kind::Exec,
            libc::SYS_sendto | libc::SYS_recvfrom | libc::SYS_sendmsg | libc::SYS_recvmsg => Kind::Message,
            libc::SYS_accept | libc::SYS_accept4 | libc::SYS_connect | libc::SYS_sendmmsg => Kind::Message,
            libc::SYS_recvmmsg => Kind::Message,
            libc::SYS_futex => Kind::Futex,
            _ => Kind::of_older(number),
        }
    }

    /// Recognises calls that only x86-64 has, being older: by a path alone, where later processors have those that name a folder too.
    #[cfg(target_arch = "x86_64")]
    fn of_older(number: libc::c_long) -> Kind {
        match number {
            libc::SYS_stat | libc::SYS_lstat | libc::SYS_access | libc::SYS_readlink => Kind::Lookup,
            libc::SYS_chmod | libc::SYS_chown | libc::SYS_lchown => Kind::Lookup,
            libc::SYS_open => Kind::Open { flags: 1 },
            libc::SYS_creat | libc::SYS_mkdir | libc::SYS_link => Kind::Create,
            libc::SYS_symlink | libc::SYS_mknod => Kind::Create,
            libc::SYS_rename => Kind::Rename,
            libc::SYS_unlink | libc::SYS_rmdir => Kind::Remove,
            libc::SYS_getdents => Kind::List,
            libc::SYS_fork => Kind::Fork,
            libc::SYS_vfork => Kind::Spawn,
            _ => Kind::Other,
        }
    }

    #[cfg(not(target_arch = "x86_64"))]
    fn of_older(_: libc::c_long) -> Kind {
        Kind::Other
    }
}

/// Finds the argument that is a path: the first where the call takes a path alone, the second after a folder.
fn path_argument(number: libc::c_long) -> Option<usize> {
    match number {
        libc::SYS_newfstatat | libc::SYS_statx | libc::SYS_faccessat | libc::SYS_faccessat2 => Some(1),
        libc::SYS_readlinkat | libc::SYS_utimensat | libc::SYS_fchmodat | libc::SYS_fchownat => Some(1),
        libc::SYS_openat | libc::SYS_mkdirat | libc::SYS_mknodat | libc::SYS_unlinkat => Some(1),
        libc::SYS_renameat2 | libc::SYS_linkat | libc::SYS_execveat => Some(1),
        #[cfg(not(target_arch = "riscv64"))]
        libc::SYS_renameat => Some(1),
        libc::SYS_symlinkat => Some(2),
        _ => match Kind::of(number) {
            Kind::Lookup | Kind::Open { .. } | Kind::Create | Kind::Rename | Kind::Remove => Some(0),
            Kind::Exec => Some(0),
            _ => None,
        },
    }
}

impl Call {
    /// Reads the path that the call names out of the task's memory.
    pub fn read_path(&mut self) {
        let Some(argument) = path_argument(self.number) else { return };
        let address = self.arguments[argument];
        if address != 0 {
            self.path =
                text_of(self.pid, address).map(|text| PathBuf::from(std::ffi::OsStr::from_bytes(&text)));
        }
    }
}

impl Call {
    pub fn is_exec(&self) -> bool {
        Kind::of(self.number) == Kind::Exec
    }

    /// Resolves the folder to which the call's path is relative; empty where it is unknown.
    fn folder(&self) -> PathBuf {
        // It stands before the path in calls that take one.
        let before = path_argument(self.number).and_then(|at| at.checked_sub(1));
        let link = match before.map(|at| self.arguments[at] as i32) {
            None | Some(libc::AT_FDCWD) => format!("/proc/{}/cwd", self.pid),
            Some(descriptor) => format!("/proc/{}/fd/{descriptor}", self.pid),
        };
        std::fs::read_link(link).unwrap_or_default()
    }
}

/// Counts calls by the work that they are.
#[derive(Default)]
pub struct Counter {
    pub demand: Demand,
    /// Hashes of the different paths, and of those that were opened to be read.
    paths: HashSet<u64>,
    pub read: HashSet<u64>,
    /// Hashes of the folders of these.
    pub folders: HashSet<u64>,
    /// Paths of some files that were opened to be read.
    pub named: Vec<String>,
    opened: f64,
    closed: f64,
}

impl Counter {
    /// Counts a call that answered: a negative answer is an error's number.
    pub fn count_call(&mut self, call: &Call, answer: i64) {
        self.demand.calls += 1.0;
        let kind = Kind::of(call.number);
        let missing = answer == -i64::from(libc::ENOENT) || answer == -i64::from(libc::ENOTDIR);
        match kind {
            Kind::Lookup => self.lookup(call, missing),
            Kind::Open { flags } => self.open(call, call.arguments[flags] as i32, answer, missing),
            Kind::Close => self.closed += 1.0,
            Kind::Read => self.moved(call, answer, Work::Reads, Work::ReadKib),
            Kind::Write => self.moved(call, answer, Work::Writes, Work::WrittenKib),
            Kind::Create | Kind::Rename | Kind::Remove if answer < 0 => self.lookup(call, missing),
            Kind::Create => self.demand.add(Work::Creates, 1.0),
            Kind::Rename => self.demand.add(Work::Renames, 1.0),
            Kind::Remove => self.demand.add(Work::Removes, 1.0),
            Kind::List if answer > 0 => self.demand.add(Work::Entries, answer as f64 / ENTRY_BYTES),
            Kind::Sync => self.demand.add(Work::Syncs, 1.0),
            Kind::Map if is_file_map(call) => self.demand.add(Work::FileMaps, 1.0),
            // A price covers both calls: to map memory, and to give it back.
            Kind::Map | Kind::Unmap => self.demand.add(Work::Maps, 0.5),
            Kind::Protect => self.demand.add(Work::Protects, 1.0),
            // A price covers both directions: a heap that grows, and one that shrinks.
            Kind::Break => self.demand.add(Work::Breaks, 0.5),
            #[cfg(target_arch = "x86_64")]
            Kind::Fork => self.made(0, answer),
            Kind::Clone => self.made(call.arguments[0], answer),
            Kind::Clone3 => self.made(number_at(call.pid, call.arguments[0]).unwrap_or(0), answer),
            #[cfg(target_arch = "x86_64")]
            Kind::Spawn => self.made((libc::CLONE_VFORK | libc::CLONE_VM) as u64, answer),
            Kind::Exec if answer == 0 => self.demand.add(Work::Execs, 1.0),
            Kind::Exec => self.lookup(call, missing),
            Kind::Message => self.demand.add(Work::Messages, 1.0),
            Kind::Futex => self.demand.add(Work::Futexes, 1.0),
            Kind::List | Kind::Other => self.demand.add(Work::OtherCalls, 1.0),
        }
    }

    /// Returns the demand after the program has ended.
    pub fn into_demand(mut self) -> Demand {
        // An open file's price holds its closing; what else was closed is a call like others.
        let creates = self.demand.amount(Work::Creates);
        let others = (self.closed - self.opened - creates).max(0.0);
        self.demand.add(Work::OtherCalls, others);
        if self.paths.len() > CACHED_PATHS {
            self.demand.add(Work::DistinctPaths, self.paths.len() as f64);
            self.demand.add(Work::NewFiles, self.read.len() as f64);
        }
        self.demand
    }

    /// Lists files beside those that were read that nobody has met yet, and folders beside theirs.
    pub fn list_unmet(&self) -> [Vec<String>; 2] {
        let list = |levels: usize, is_kind: fn(&FileType) -> bool, met: &HashSet<u64>, most: usize| {
            let folders = self.named.iter().filter_map(|path| Path::new(path).ancestors().nth(levels));
            // Other file systems are mounted in the root, and homes of others one level below it.
            let is_wanted = |folder: &&Path| {
                folder.components().count() > levels && !KERNELS.iter().any(|of| folder.starts_with(of))
            };
            let folders: BTreeSet<&Path> = folders.filter(is_wanted).collect();
            let unmet = folders.into_iter().flat_map(|folder| {
                let entries = std::fs::read_dir(folder).into_iter().flatten().take(MOST_LISTED).flatten();
                // Asking for more than its kind would be to meet it.
                let of_kind = entries.filter(|entry| entry.file_type().is_ok_and(|kind| is_kind(&kind)));
                let paths = of_kind.map(|entry| entry.path()).filter(|path| !met.contains(&hash_path(path)));
                paths.filter_map(name_path).take(most).collect::<Vec<_>>()
            });
            unmet.take(MOST_NAMED).collect()
        };
        let files = list(1, FileType::is_file, &self.read, MOST_FILES);
        [files, list(2, FileType::is_dir, &self.folders, MOST_FOLDERS)]
    }

    fn lookup(&mut self, call: &Call, missing: bool) {
        match &call.path {
            // fstatat of a descriptor names no path.
            Some(path) if !path.as_os_str().is_empty() => {
                self.demand.add(if missing { Work::Missing } else { Work::Lookups }, 1.0);
                self.folders(call, path);
            }
            _ => self.demand.add(Work::OtherCalls, 1.0),
        }
    }

    /// Counts the names of a path, notes the path among those that were met, and returns the hash that it is known by.
    fn folders(&mut self, call: &Call, path: &Path) -> u64 {
        let names = path.components().filter(|part| matches!(part, std::path::Component::Normal(_))).count();
        self.demand.add(Work::FurtherFolders, names.saturating_sub(1) as f64);
        // Equal names in two folders are two files.
        let known_by = hash_path(&call.folder().join(path));
        if self.paths.len() < MOST_PATHS {
            self.paths.insert(known_by);
        }
        known_by
    }

    fn open(&mut self, call: &Call, flags: i32, answer: i64, missing: bool) {
        if answer < 0 {
            return self.lookup(call, missing);
        }
        let makes = flags & libc::O_CREAT != 0 && flags & (libc::O_EXCL | libc::O_TRUNC) != 0;
        if makes {
            self.demand.add(Work::Creates, 1.0);
        } else {
            self.opened += 1.0;
            self.demand.add(Work::Opens, 1.0);
        }
        if let Some(path) = &call.path {
            let known_by = self.folders(call, path);
            let is_read = flags & (libc::O_ACCMODE | libc::O_DIRECTORY | libc::O_PATH) == libc::O_RDONLY;
            if is_read && !makes && self.read.len() < MOST_PATHS && self.read.insert(known_by) {
                let path = call.folder().join(path);
                self.folders.extend(path.parent().map(hash_path));
                self.named.extend(name_path(path).filter(|_| self.named.len() < MOST_NAMED));
            }
        }
    }

    fn moved(&mut self, call: &Call, answer: i64, calls: Work, kib: Work) {
        if answer < 0 {
            return self.demand.add(Work::OtherCalls, 1.0);
        }
        if !is_file(call.pid, call.arguments[0]) {
            return self.demand.add(Work::Messages, 1.0);
        }
        self.demand.add(calls, 1.0);
        self.demand.add(kib, (answer as f64 / 1024.0 - 1.0).max(0.0));
    }

    /// Counts a new process or thread.
    fn made(&mut self, flags: u64, answer: i64) {
        let has = |flag: i32| flags & flag as u64 != 0;
        self.demand.add(
            match () {
                () if answer < 0 => Work::OtherCalls,
                () if has(libc::CLONE_THREAD) => Work::Threads,
                () if has(libc::CLONE_VFORK) => Work::Spawns,
                () => Work::Forks,
            },
            1.0,
        );
    }
}

fn hash_path(path: &Path) -> u64 {
    let mut hasher = DefaultHasher::new();
    path.hash(&mut hasher);
    hasher.finish()
}

/// Gives a path as a text, where it is one and not too long.
fn name_path(path: PathBuf) -> Option<String> {
    path.into_os_string().into_string().ok().filter(|path| path.len() <= LONGEST_NAMED)
}

fn is_file_map(call: &Call) -> bool {
    call.number == libc::SYS_mmap && call.arguments[4] as i32 >= 0
}

/// Checks that a task's descriptor is a file, and not a pipe or a socket.
fn is_file(pid: libc::pid_t, descriptor: u64) -> bool {
    match std::fs::read_link(format!("/proc/{pid}/fd/{}", descriptor as i32)) {
        Ok(target) => target.is_absolute(),
        // Without /proc nobody knows.
        Err(_) => true,
    }
}

/// Reads a zero-terminated text out of a task's memory.
fn text_of(pid: libc::pid_t, address: u64) -> Option<Vec<u8>> {
    let mut text = Vec::new();
    let mut piece = [0_u8; 256];
    while text.len() < LONGEST_PATH {
        let from = address + text.len() as u64;
        // Not across a page's end, behind which there may be nothing.
        let room = (4096 - from % 4096).min(piece.len() as u64) as usize;
        let got = memory(pid, from, &mut piece[..room])?;
        if let Some(end) = piece[..got].iter().position(|byte| *byte == 0) {
            text.extend_from_slice(&piece[..end]);
            return Some(text);
        }
        text.extend_from_slice(&piece[..got]);
    }
    Some(text)
}

fn number_at(pid: libc::pid_t, address: u64) -> Option<u64> {
    let mut bytes = [0; 8];
    (memory(pid, address, &mut bytes)? == bytes.len()).then(|| u64::from_le_bytes(bytes))
}

/// Reads a task's memory; how many bytes it gave.
fn memory(pid: libc::pid_t, address: u64, into: &mut [u8]) -> Option<usize> {
    let local = libc::iovec { iov_base: into.as_mut_ptr().cast(), iov_len: into.len() };
    let remote = libc::iovec { iov_base: address as *mut libc::c_void, iov_len: into.len() };
    // SAFETY: the kernel writes within `into`, and checks the other task's addresses itself.
    let got = unsafe { libc::process_vm_readv(pid, &local, 1, &remote, 1, 0) };
    usize::try_from(got).ok().filter(|got| *got > 0)
}
