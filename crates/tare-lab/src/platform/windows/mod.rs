//! Windows: files whose folder says who may open them, threads that wait for streams, jobs that end with this process.

use std::fs::{self, DirBuilder, File, Metadata, OpenOptions};
use std::io;
use std::path::{Path, PathBuf, absolute};

pub mod console;
mod gathering;
mod held;
mod machine;
pub mod mounts;
pub mod processes;
mod streams;
pub(crate) mod taken;

pub(crate) use self::gathering::{Gathered, gather_output, set_process_group};
pub(crate) use self::held::Held;
pub(crate) use self::machine::{available_bytes, boot_id, free_bytes, machine_id, node_name};
pub use self::streams::Stream;
pub(crate) use self::streams::Streams;

/// Agent for distributions of WSL: the tare for Linux on this processor.
pub(crate) const LINUX_AGENT: Option<&str> = Some(std::env::consts::ARCH);

/// Separators of paths, which are in no name.
pub(crate) const IN_PATHS: &[char] = &['/', '\\'];

/// Finds the limit by which a program lacks files or memory, where an error says so.
pub(crate) fn name_exhausted(code: i32) -> Option<&'static str> {
    /// ERROR_TOO_MANY_OPEN_FILES.
    const FILES: i32 = 4;
    /// ERROR_NOT_ENOUGH_MEMORY, ERROR_OUTOFMEMORY, ERROR_NO_SYSTEM_RESOURCES.
    const MEMORY: [i32; 3] = [8, 14, 1450];
    match code {
        FILES => Some("the limit of open files"),
        code if MEMORY.contains(&code) => Some("the limit of memory"),
        _ => None,
    }
}

/// Answers by the name: files have no executable mark here, and their content may begin with `#!`.
pub(crate) fn is_executable(_: &Metadata) -> bool {
    true
}

/// Recognises a program by its name, since its metadata do not tell.
pub(crate) fn is_program(about: &Metadata) -> bool {
    about.is_file()
}

/// Does nothing: folders inherit their rights.
pub(crate) fn make_private(builder: &mut DirBuilder) -> &mut DirBuilder {
    builder
}

/// Writes a copy of a program.
pub(crate) fn write_program(from: &Path, to: &Path) -> io::Result<()> {
    let mut copy = OpenOptions::new().write(true).create_new(true).open(to)?;
    io::copy(&mut File::open(from)?, &mut copy).map(drop)
}

/// Returns the agent's own path: nothing is called here, and there is no tiny program.
pub(crate) fn write_tiny_program(agent: &Path) -> io::Result<PathBuf> {
    Ok(agent.to_owned())
}

/// Resolves the whole path of an existing file. Not in the system's own form (`\\?\C:\`), in which not every
/// program can work.
pub(crate) fn resolve_path(path: &Path) -> io::Result<PathBuf> {
    fs::metadata(path).and_then(|_| absolute(path))
}

pub(crate) fn is_removed(_: &File, path: &Path) -> io::Result<bool> {
    Ok(!path.try_exists()?)
}

pub(crate) fn randomise_bytes(bytes: &mut [u8]) -> io::Result<()> {
    getrandom::fill(bytes).map_err(io::Error::other)
}

/// Returns nothing: numbers of processes mean the same everywhere on a machine.
pub(crate) fn identify_pid_namespace() -> PathBuf {
    PathBuf::new()
}
