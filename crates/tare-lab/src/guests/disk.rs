//! A guest's own disk: a sparse file with an ext4 file system in it, as virtual machines have them.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use crate::error::{ErrorKind, LabError};
use crate::host::programs::{self, Programs};
use crate::provider::{NotReady, Workspace};

/// What a guest's disk holds at most; the file takes only what is written.
const SIZE_BYTES: u64 = 4 << 30;
/// Time that making the file system may take: 30 ms, longer on a disk that is busy.
const MAKE_WAIT: Duration = Duration::from_secs(30);
/// The program that makes the file system.
pub const MAKER: &str = "mkfs.ext4";
/// What it is told. Without lazy initialisation the kernel would write tables while the probes run; a sparse
/// file reads as zeros already, so nothing needs to be written for it.
pub const ARGUMENTS: [&str; 4] =
    ["-q", "-F", "-E", "assume_storage_prezeroed=1,lazy_itable_init=0,lazy_journal_init=0"];

/// The file systems of guests are made by e2fsprogs.
pub fn ready(programs: &Programs) -> Result<(), NotReady> {
    match programs.find(MAKER) {
        Some(_) => Ok(()),
        None => Err(NotReady::missing(MAKER, "apt-get install e2fsprogs")),
    }
}

/// Makes a fresh disk on the ground of a start; returns its file.
pub fn make(workspace: &dyn Workspace) -> Result<PathBuf, LabError> {
    let path = workspace.folder().join("disk.ext4");
    let maker = workspace
        .programs()
        .find(MAKER)
        .ok_or_else(|| LabError::new(ErrorKind::Environment, format!("{MAKER} is not installed")))?;
    fill(&maker, &path).map_err(|cause| {
        LabError::new(ErrorKind::Storage, format!("cannot make the disk {}", path.display())).because(cause)
    })?;
    Ok(path)
}

fn fill(maker: &Path, path: &Path) -> Result<(), String> {
    File::create_new(path).and_then(|file| file.set_len(SIZE_BYTES)).map_err(|e| e.to_string())?;
    let mut command = Command::new(maker);
    let made = programs::run(command.args(ARGUMENTS).arg(path), MAKE_WAIT).map_err(|e| e.to_string())?;
    if made.status.success() { Ok(()) } else { Err(made.errors.trim().to_owned()) }
}
