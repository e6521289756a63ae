//! Windows: files whose folder says who may open them, threads that wait for streams, jobs that end with this process.

use std::fs::{self, DirBuilder, File, Metadata, OpenOptions};
use std::io;
use std::path::{Path, PathBuf, absolute};

pub mod console;
mod gathering;
mod machine;
pub mod mounts;
pub mod processes;
mod state_files;
mod streams;
pub(crate) mod taken;

pub(crate) use self::gathering::{Gathered, apart, gather};
pub(crate) use self::machine::{available_bytes, boot_id, machine_id, node_name};
pub(crate) use self::state_files::{StateFiles, doubt};
pub use self::streams::Stream;
pub(crate) use self::streams::Streams;

/// What an agent for distributions of WSL is: the tare for Linux on this processor.
pub(crate) const LINUX_AGENT: Option<&str> = Some(std::env::consts::ARCH);

/// What stands between the parts of a path, and in no name.
pub(crate) const IN_PATHS: &[char] = &['/', '\\'];

/// ERROR_TOO_MANY_OPEN_FILES, ERROR_NOT_ENOUGH_MEMORY, ERROR_OUTOFMEMORY, ERROR_NO_SYSTEM_RESOURCES.
const EXHAUSTED: [i32; 4] = [4, 8, 14, 1450];

/// Whether an error says that this machine has too little of what every program needs.
pub(crate) fn is_exhausted(code: i32) -> bool {
    EXHAUSTED.contains(&code)
}

/// Whether a file's owner may run it: files have no such mark here, and what they hold may begin with `#!`.
pub(crate) fn is_executable(_: &Metadata) -> bool {
    true
}

/// Whether a file is a program that somebody may run: its name tells, and not what is known about it.
pub(crate) fn is_program(about: &Metadata) -> bool {
    about.is_file()
}

/// Folders inherit their rights.
pub(crate) fn private(builder: &mut DirBuilder) -> &mut DirBuilder {
    builder
}

/// Files inherit theirs.
pub(crate) fn runnable(options: &mut OpenOptions) -> &mut OpenOptions {
    options
}

/// Nothing closes a folder to its owner.
pub(crate) fn open_to_owner(_: &Path) {}

/// The whole path of what is there. Not as the system itself has it (`\\?\C:\`), which not every program can work in.
pub(crate) fn whole(path: &Path) -> io::Result<PathBuf> {
    fs::metadata(path).and_then(|_| absolute(path))
}

/// Whether an open file has no name any more.
pub(crate) fn is_removed(_: &File, path: &Path) -> io::Result<bool> {
    Ok(!path.try_exists()?)
}

/// Random bytes.
pub(crate) fn randomise(bytes: &mut [u8]) -> io::Result<()> {
    getrandom::fill(bytes).map_err(io::Error::other)
}

/// Numbers of processes mean the same everywhere on a machine.
pub(crate) fn numbering() -> PathBuf {
    PathBuf::new()
}
