//! Linux, and what resembles it.

use std::ffi::c_int;
use std::fs::{self, File, Metadata, OpenOptions, Permissions};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt, fchown};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use rustix::fs::{Access, OFlags, access, fcntl_getfl, fcntl_setfl};
use rustix::io::Errno;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGXFSZ};
pub use tare_lab::host::descriptors::{had_no_output, keep_from_children};

/// What a new file may be, before the user's own mask.
const NEW_FILE: u32 = 0o666;
/// What a file that is replaced hands on of its mode, and the part of it that is its group's.
const RIGHTS: u32 = 0o777;
const OF_GROUP: u32 = 0o070;
/// What makes a folder one in which all may write.
const OF_ALL: u32 = 0o002;

/// What a path has beside letters, digits and slashes, anywhere.
pub const IN_PATHS: &str = "";

/// Whether commands of a person's own can be measured.
pub const RUNS_COMMANDS: bool = true;

/// The variable that names the home folder, and where programs keep their state and what they can make again below it.
pub const HOME: &str = "HOME";
pub const STATE: &str = ".local/state";
pub const CACHE: &str = ".cache";
/// Where nothing is, and nothing can be made.
pub const NOWHERE: &str = "/proc/self/no-home";
/// Administrators' folders, which are missing from an ordinary user's PATH.
pub const SYSTEM_FOLDERS: &[&str] = &["/usr/local/sbin", "/usr/sbin", "/sbin"];

/// What asks a program to end: Ctrl-C, TERM, a closed terminal.
const ENDING: [c_int; 3] = [SIGINT, SIGTERM, SIGHUP];

/// Has a write beyond the limit on a file's size fail, as on a full disk, instead of ending the program.
///
/// The signal is caught, not ignored: programs that are started would inherit that.
pub fn survive_size_limit() -> io::Result<()> {
    signal_hook::flag::register(SIGXFSZ, Arc::new(AtomicBool::new(false))).map(drop)
}

/// Has the first request to end set a flag, and a second one end the program with an exit code.
pub fn on_request(flag: &Arc<AtomicBool>, exit_code: i32) -> io::Result<()> {
    for signal in ENDING {
        signal_hook::flag::register_conditional_shutdown(signal, exit_code, Arc::clone(flag))?;
        signal_hook::flag::register(signal, Arc::clone(flag))?;
    }
    Ok(())
}

/// Folder on a disk for what is built and removed. /tmp is often in memory; /var/tmp is not.
pub fn scratch() -> PathBuf {
    PathBuf::from("/var/tmp")
}

/// This user's number.
pub fn user() -> u32 {
    rustix::process::geteuid().as_raw()
}

/// Whether this user may make files in a folder.
pub fn may_write(folder: &Path) -> bool {
    access(folder, Access::WRITE_OK | Access::EXEC_OK).is_ok()
}

/// This machine's name.
pub fn host_name() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}

/// Columns of the terminal on standard output.
pub fn terminal_width() -> Option<usize> {
    let size = rustix::termios::tcgetwinsize(io::stdout()).ok()?;
    (size.ws_col > 0).then_some(usize::from(size.ws_col))
}

/// The error of writing where nothing is.
pub fn no_output() -> io::Error {
    Errno::BADF.into()
}

/// Random bytes.
pub fn randomise(bytes: &mut [u8]) -> io::Result<()> {
    Ok(rustix::rand::getrandom(bytes, rustix::rand::GetRandomFlags::empty()).map(drop)?)
}

/// Whether two files that are there are one.
pub fn is_one_file(a: &Path, b: &Path) -> io::Result<bool> {
    let (a, b) = (fs::metadata(a)?, fs::metadata(b)?);
    Ok((a.dev(), a.ino()) == (b.dev(), b.ino()))
}

/// Refuses what another user may have put into a folder for this one to write in.
pub fn not_planted(folder: &Path, about: &Metadata) -> io::Result<()> {
    let is_shared = fs::metadata(folder).is_ok_and(|folder| folder.mode() & OF_ALL != 0);
    if is_shared && !is_believed(about) {
        let why = "another user made it, in a folder where all may write";
        return Err(io::Error::new(ErrorKind::PermissionDenied, why));
    }
    Ok(())
}

/// Whether it is this user's or root's.
pub fn is_believed(about: &Metadata) -> bool {
    [0, rustix::process::geteuid().as_raw()].contains(&about.uid())
}

/// Has a new file have the usual rights, and not those of a temporary one.
pub fn with_usual_rights(builder: &mut tempfile::Builder<'_, '_>) {
    builder.permissions(Permissions::from_mode(NEW_FILE));
}

/// Gives a file the owner and the rights of the one that it replaces.
pub fn hand_on_rights(new: &File, old: &Metadata) -> io::Result<()> {
    let (owner, group) = (Some(old.uid()), Some(old.gid()));
    let is_groups = fchown(new, owner, group).or_else(|_| fchown(new, None, group)).is_ok();
    // Another group must not get what the old one had.
    let lost = if is_groups { 0 } else { OF_GROUP };
    new.set_permissions(Permissions::from_mode(old.mode() & RIGHTS & !lost))
}

/// Opens what is there, or a new file, to write at its end; a link only where it may be followed. A pipe that nobody reads is
/// an error, not a wait.
pub fn open_to_append(file: &Path, follow: bool) -> io::Result<File> {
    let no_link = if follow { OFlags::empty() } else { OFlags::NOFOLLOW };
    let flags = OFlags::NONBLOCK | OFlags::NOCTTY | no_link;
    OpenOptions::new().append(true).create(true).custom_flags(flags.bits() as i32).open(file)
}

/// Has writes to a file wait that was opened without waiting.
pub fn wait_for_room(file: &File) -> io::Result<()> {
    Ok(fcntl_setfl(file, fcntl_getfl(file)? - OFlags::NONBLOCK)?)
}
