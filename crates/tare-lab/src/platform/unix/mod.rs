//! Linux, and what resembles it.

use std::ffi::CString;
use std::fs::{self, DirBuilder, File, Metadata};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags, copy_file_range, open, sendfile, statvfs};
use rustix::rand::{GetRandomFlags, getrandom};
use tare_probes::tiny;

mod attempt;
mod gathering;
mod held;
mod keeping;
pub mod mounts;
pub mod processes;
mod streams;
pub(crate) mod taken;
mod views;

pub(crate) use self::attempt::try_in_child;
pub(crate) use self::gathering::{Gathered, gather_output, set_process_group};
pub(crate) use self::held::{AGAIN, Held};
pub use self::streams::Stream;
pub(crate) use self::streams::{Streams, until_ready};
pub(crate) use tare_probes::harness::kernel_files::available_bytes;

/// Bytes of a file that are copied at once.
const MOST_SENT: usize = 1 << 20;

/// Agent for distributions of WSL, where it is another program than this one.
pub(crate) const LINUX_AGENT: Option<&str> = None;

/// Separators of paths, which are in no name.
pub(crate) const IN_PATHS: &[char] = &['/'];

/// Finds the limit by which a program lacks descriptors, memory or processes, where an error says so.
pub(crate) fn name_exhausted(code: i32) -> Option<&'static str> {
    match code {
        libc::EMFILE => Some("ulimit -n"),
        libc::ENFILE => Some("fs.file-max"),
        libc::ENOMEM => Some("the limit of memory"),
        libc::EAGAIN => Some("ulimit -u, or pids.max"),
        _ => None,
    }
}

pub(crate) fn is_executable(about: &Metadata) -> bool {
    about.permissions().mode() & 0o100 != 0
}

/// Recognises a program that somebody may run.
pub(crate) fn is_program(about: &Metadata) -> bool {
    about.is_file() && about.permissions().mode() & 0o111 != 0
}

/// Has folders be their owner's alone, whatever the umask.
pub(crate) fn make_private(builder: &mut DirBuilder) -> &mut DirBuilder {
    builder.mode(0o700)
}

/// Writes a copy of a program, which all may read and run, in a child: a file that another child inherits open for writing, from
/// another thread, cannot be run for as long.
pub(crate) fn write_program(from: &Path, to: &Path) -> io::Result<()> {
    let (source, to) = (File::open(from)?, CString::new(to.as_os_str().as_bytes())?);
    try_in_child(move || {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        let copy = open(to.as_c_str(), flags, Mode::from_raw_mode(0o755))?;
        // This one shares the blocks where a file system can, and does nothing where it cannot.
        while copy_file_range(&source, None, &copy, None, MOST_SENT).unwrap_or(0) > 0 {}
        while sendfile(&copy, &source, None, MOST_SENT)? > 0 {}
        Ok(())
    })
}

/// Writes the tiny program beside an agent; returns its path.
pub(crate) fn write_tiny_program(agent: &Path) -> io::Result<PathBuf> {
    let path = agent.with_file_name(tiny::FILE);
    tiny::write_program(&path).map(|()| path)
}

/// Resolves the whole path of an existing file, without links.
pub(crate) fn resolve_path(path: &Path) -> io::Result<PathBuf> {
    path.canonicalize()
}

pub(crate) fn is_removed(file: &File, _: &Path) -> io::Result<bool> {
    Ok(file.metadata()?.nlink() == 0)
}

pub(crate) fn randomise_bytes(bytes: &mut [u8]) -> io::Result<()> {
    Ok(getrandom(bytes, GetRandomFlags::empty()).map(drop)?)
}

/// Returns this machine's name in its network.
pub(crate) fn node_name() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}

/// Reads an id that no other machine has, unless it was cloned.
pub(crate) fn machine_id() -> String {
    read("/etc/machine-id")
}

/// Reads an id that no other boot has. A kernel gives its random name to every container.
pub(crate) fn boot_id() -> String {
    read("/proc/sys/kernel/random/boot_id")
}

/// Reads how much room is left for this user's files on the disk of a folder.
pub(crate) fn free_bytes(folder: &Path) -> Option<u64> {
    let about = statvfs(folder).ok()?;
    Some(about.f_bavail.saturating_mul(about.f_frsize))
}

/// Identifies the namespace in which numbers of processes are given.
pub(crate) fn identify_pid_namespace() -> PathBuf {
    fs::read_link("/proc/self/ns/pid").unwrap_or_default()
}

fn read(path: &str) -> String {
    fs::read_to_string(path).unwrap_or_default().trim().to_owned()
}
