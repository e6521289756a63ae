//! Windows, where new files inherit their permissions from the folder.

use std::fs::{File, Metadata, OpenOptions};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

pub use tare_lab::host::console::on_request;

/// Punctuation, other than slashes, that every path has on this system.
pub const IN_PATHS: &str = "\\:?";

/// Support for measuring user commands.
pub const RUNS_COMMANDS: bool = false;

/// The variable for the home folder, and the subfolders where programs keep their state and their caches.
pub const HOME: &str = "USERPROFILE";
pub const STATE: &str = r"AppData\Local";
pub const CACHE: &str = r"AppData\Local\cache";
pub const CONFIGURATION: &str = r"AppData\Roaming";
/// A path that does not exist and where nothing can be created.
pub const NOWHERE: &str = r"\\.\nul\no-home";
/// All are on the PATH.
pub const SYSTEM_FOLDERS: &[&str] = &[];

/// Does nothing: a Windows process has no limit on file sizes.
pub fn survive_size_limit() -> io::Result<()> {
    Ok(())
}

/// Returns none: the name of the file is not known here.
pub fn name_of_output() -> Option<String> {
    None
}

/// Does nothing: new files have the permissions of their folder.
pub fn keep_own_rights() {}

/// Tells whether the process started without standard output. Printing then fails.
pub fn had_no_output() -> bool {
    false
}

/// Does nothing: a child inherits only the handles that it is given.
pub fn keep_from_children() {}

/// Finds a folder on a disk for temporary builds.
pub fn find_scratch_folder() -> PathBuf {
    std::env::temp_dir()
}

/// Tells nothing: no file system that Windows offers refuses locks.
pub fn may_lock(_: &Path) -> bool {
    true
}

/// Returns a constant: each user has a separate temporary folder.
pub fn get_user_id() -> u32 {
    0
}

/// Tells whether the folder exists. Its permissions show only when a file is created.
pub fn may_write(folder: &Path) -> bool {
    folder.is_dir()
}

pub fn host_name() -> String {
    std::env::var("COMPUTERNAME").unwrap_or_default()
}

/// Measures the terminal on standard output, in columns.
pub fn terminal_width() -> Option<usize> {
    let (width, _) = terminal_size::terminal_size_of(io::stdout())?;
    Some(usize::from(width.0))
}

/// Builds the error for a missing standard output.
pub fn no_output() -> io::Error {
    ErrorKind::BrokenPipe.into()
}

pub fn fill_random(bytes: &mut [u8]) -> io::Result<()> {
    getrandom::fill(bytes).map_err(io::Error::other)
}

/// Tells whether two existing files are the same one. Hard links to one file count as different.
pub fn is_one_file(a: &Path, b: &Path) -> io::Result<bool> {
    Ok(a.canonicalize()? == b.canonicalize()?)
}

/// Accepts every file: Windows does not mark shared folders.
pub fn not_planted(_: &Path, _: &Metadata) -> io::Result<()> {
    Ok(())
}

/// Accepts every link: only administrators can create one unless developer mode is on.
pub fn is_believed(_: &Metadata) -> bool {
    true
}

/// Does nothing: files inherit their permissions.
pub fn with_usual_rights(_: &mut tempfile::Builder<'_, '_>) {}

/// Does nothing: files inherit their permissions.
pub fn hand_on_rights(_: &File, _: &Metadata) -> io::Result<()> {
    Ok(())
}

/// Opens or creates a file to append to.
pub fn open_to_append(file: &Path, _: bool) -> io::Result<File> {
    OpenOptions::new().append(true).create(true).open(file)
}

/// Writes always wait.
pub fn wait_for_room(_: &File) -> io::Result<()> {
    Ok(())
}

/// Finds nothing: layers are looked for on Linux.
pub fn note_layers() -> tare_data::facts::Facts {
    tare_data::facts::Facts::default()
}
