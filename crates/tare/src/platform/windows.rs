//! Windows. A folder's rights are inherited there by what is made in it, so that files need none of their own.

use std::fs::{File, Metadata, OpenOptions};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

pub use tare_lab::host::console::on_request;

/// What a path has beside letters, digits and slashes, anywhere.
pub const IN_PATHS: &str = "\\:?";

/// Whether commands of a person's own can be measured.
pub const RUNS_COMMANDS: bool = false;

/// The variable that names the home folder, and where programs keep their state and what they can make again below it.
pub const HOME: &str = "USERPROFILE";
pub const STATE: &str = r"AppData\Local";
pub const CACHE: &str = r"AppData\Local\cache";
/// Where nothing is, and nothing can be made.
pub const NOWHERE: &str = r"\\.\nul\no-home";
/// All are on the PATH.
pub const SYSTEM_FOLDERS: &[&str] = &[];

/// A file's size has no limit of a process'.
pub fn survive_size_limit() -> io::Result<()> {
    Ok(())
}

/// Whether there was no standard output: what is printed is then refused.
pub fn had_no_output() -> bool {
    false
}

/// Handles are inherited by name alone.
pub fn keep_from_children() {}

/// Folder on a disk for what is built and removed.
pub fn scratch() -> PathBuf {
    std::env::temp_dir()
}

/// Every user has a folder of their own for it.
pub fn user() -> u32 {
    0
}

/// Whether there is such a folder: who may write in it shows when that is tried.
pub fn may_write(folder: &Path) -> bool {
    folder.is_dir()
}

/// This machine's name.
pub fn host_name() -> String {
    std::env::var("COMPUTERNAME").unwrap_or_default()
}

/// Columns of the terminal on standard output.
pub fn terminal_width() -> Option<usize> {
    let (width, _) = terminal_size::terminal_size_of(io::stdout())?;
    Some(usize::from(width.0))
}

/// The error of writing where nothing is.
pub fn no_output() -> io::Error {
    ErrorKind::BrokenPipe.into()
}

/// Random bytes.
pub fn randomise(bytes: &mut [u8]) -> io::Result<()> {
    getrandom::fill(bytes).map_err(io::Error::other)
}

/// Whether two files that are there are one. Two names of one file are not seen.
pub fn is_one_file(a: &Path, b: &Path) -> io::Result<bool> {
    Ok(a.canonicalize()? == b.canonicalize()?)
}

/// Folders in which all may write have no mark here.
pub fn not_planted(_: &Path, _: &Metadata) -> io::Result<()> {
    Ok(())
}

/// Only administrators make links unless developer mode is on.
pub fn is_believed(_: &Metadata) -> bool {
    true
}

/// Files inherit their rights.
pub fn with_usual_rights(_: &mut tempfile::Builder<'_, '_>) {}

/// Files inherit their rights.
pub fn hand_on_rights(_: &File, _: &Metadata) -> io::Result<()> {
    Ok(())
}

/// Opens what is there, or a new file, to write at its end.
pub fn open_to_append(file: &Path, _: bool) -> io::Result<File> {
    OpenOptions::new().append(true).create(true).open(file)
}

/// Writes always wait.
pub fn wait_for_room(_: &File) -> io::Result<()> {
    Ok(())
}
