//! Linux and similar systems.

use std::ffi::c_int;
use std::fs::{self, File, Metadata, OpenOptions, Permissions};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt, fchown};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, PoisonError};
use tare_data::facts::keys::{VARIABLES_CONTAINER, VARIABLES_SET};

use rustix::fs::{Access, Mode, OFlags, access, fcntl_getfl, fcntl_setfl};
use rustix::io::Errno;
use rustix::process::umask;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGXFSZ};
use signal_hook::low_level::unregister;
use signal_hook::{SigId, flag};
use tare_analysis::here::layers::{Class, Confidence};
use tare_analysis::here::recognise_layers;
use tare_data::facts::Facts;
pub use tare_lab::host::descriptors::{had_no_output, keep_from_children};
use tare_probes::here::{VARIABLES, collect_layers};

/// Permissions of a new file, before the umask.
const NEW_FILE: u32 = 0o666;
/// Permission bits that a replaced file passes on to its replacement.
const RIGHTS: u32 = 0o777;
const OF_GROUP: u32 = 0o070;
/// Permission bit of a folder that everyone can write to.
const OF_ALL: u32 = 0o002;

/// Punctuation, other than slashes, that every path has on this system.
pub const IN_PATHS: &str = "";

/// Support for measuring user commands.
pub const RUNS_COMMANDS: bool = true;

/// The variable for the home folder, and the subfolders where programs keep their state and their caches.
pub const HOME: &str = "HOME";
pub const STATE: &str = ".local/state";
pub const CACHE: &str = ".cache";
pub const CONFIGURATION: &str = ".config";
/// A path that does not exist and where nothing can be created.
pub const NOWHERE: &str = "/proc/self/no-home";
/// Administrators' folders, which are missing from an ordinary user's PATH.
pub const SYSTEM_FOLDERS: &[&str] = &["/usr/local/sbin", "/usr/sbin", "/sbin"];

/// Signals that ask a program to end: Ctrl-C, TERM, and a closed terminal.
const ENDING: [c_int; 3] = [SIGINT, SIGTERM, SIGHUP];
/// Handlers of the latest call that watches for them.
static WATCHING: Mutex<Vec<SigId>> = Mutex::new(Vec::new());

/// Has a write beyond the limit on a file's size fail, as on a full disk, instead of ending the program.
///
/// The signal is caught, not ignored: programs that are started would inherit that.
pub fn survive_size_limit() -> io::Result<()> {
    flag::register(SIGXFSZ, Arc::new(AtomicBool::new(false))).map(drop)
}

/// Finds the name of the file that standard output goes to; none where it is not a regular file.
pub fn name_of_output() -> Option<String> {
    let link = Path::new("/proc/self/fd/1");
    let file = fs::read_link(link).ok().filter(|_| fs::metadata(link).is_ok_and(|about| about.is_file()))?;
    Some(file.file_name()?.to_str()?.to_owned())
}

/// Has the umask leave this user the rights to new files: a program without them cannot start what it has just written.
pub fn keep_own_rights() {
    let given = umask(Mode::empty());
    umask(given & (Mode::RWXG | Mode::RWXO));
}

/// Has the first request to end set `asked`; a later Ctrl-C then ends the program with an exit code. Other signals often come
/// twice, as when a terminal is closed, and are the same request, until there is nothing to clean up (`ends`).
///
/// Handlers of an earlier call go: the session that it was for has ended, and its flags are set, by which a signal would end the
/// program at once.
pub fn on_request(asked: &Arc<AtomicBool>, ends: &Arc<AtomicBool>, exit_code: i32) -> io::Result<()> {
    let mut own = Vec::new();
    for signal in ENDING {
        let at_once = if signal == SIGINT { asked } else { ends };
        own.push(flag::register_conditional_shutdown(signal, exit_code, Arc::clone(at_once))?);
        own.push(flag::register(signal, Arc::clone(asked))?);
    }
    let mut watching = WATCHING.lock().unwrap_or_else(PoisonError::into_inner);
    let earlier = std::mem::replace(&mut *watching, own);
    for handler in earlier {
        unregister(handler);
    }
    Ok(())
}

/// Finds a folder on a disk for temporary builds: /var/tmp, because /tmp is often in memory.
pub fn find_scratch_folder() -> PathBuf {
    PathBuf::from("/var/tmp")
}

/// Returns the user ID.
pub fn get_user_id() -> u32 {
    rustix::process::geteuid().as_raw()
}

/// Tells whether this user can create files in a folder.
pub fn may_write(folder: &Path) -> bool {
    access(folder, Access::WRITE_OK | Access::EXEC_OK).is_ok()
}

/// Tells whether files in a folder can be locked, which file systems of networks may refuse.
pub fn may_lock(folder: &Path) -> bool {
    let tried = fs::File::open(folder).map(|folder| folder.try_lock_shared());
    !matches!(tried, Ok(Err(fs::TryLockError::Error(_))))
}

pub fn host_name() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}

/// Measures the terminal on standard output, in columns.
pub fn terminal_width() -> Option<usize> {
    let size = rustix::termios::tcgetwinsize(io::stdout()).ok()?;
    (size.ws_col > 0).then_some(usize::from(size.ws_col))
}

/// Builds the error for a missing standard output.
pub fn no_output() -> io::Error {
    Errno::BADF.into()
}

pub fn fill_random(bytes: &mut [u8]) -> io::Result<()> {
    Ok(rustix::rand::getrandom(bytes, rustix::rand::GetRandomFlags::empty()).map(drop)?)
}

/// Tells whether two existing files are the same one.
pub fn is_one_file(a: &Path, b: &Path) -> io::Result<bool> {
    let (a, b) = (fs::metadata(a)?, fs::metadata(b)?);
    Ok((a.dev(), a.ino()) == (b.dev(), b.ino()))
}

/// Rejects a file that another user may have planted in a shared folder.
pub fn not_planted(folder: &Path, about: &Metadata) -> io::Result<()> {
    let is_shared = fs::metadata(folder).is_ok_and(|folder| folder.mode() & OF_ALL != 0);
    if is_shared && !is_believed(about) {
        let why = "another user made it, in a folder where all may write";
        return Err(io::Error::new(ErrorKind::PermissionDenied, why));
    }
    Ok(())
}

/// Tells whether a file belongs to this user or to root.
pub fn is_believed(about: &Metadata) -> bool {
    [0, rustix::process::geteuid().as_raw()].contains(&about.uid())
}

/// Gives a new file the usual permissions instead of a temporary file's.
pub fn with_usual_rights(builder: &mut tempfile::Builder<'_, '_>) {
    builder.permissions(Permissions::from_mode(NEW_FILE));
}

/// Gives a file the owner and permissions of the one that it replaces.
pub fn hand_on_rights(new: &File, old: &Metadata) -> io::Result<()> {
    let (owner, group) = (Some(old.uid()), Some(old.gid()));
    let is_groups = fchown(new, owner, group).or_else(|_| fchown(new, None, group)).is_ok();
    // Another group must not get what the old one had.
    let lost = if is_groups { 0 } else { OF_GROUP };
    new.set_permissions(Permissions::from_mode(old.mode() & RIGHTS & !lost))
}

/// Opens or creates a file to append to, following a link only if allowed. Opening a pipe that nobody reads
/// fails instead of waiting.
pub fn open_to_append(file: &Path, follow: bool) -> io::Result<File> {
    let no_link = if follow { OFlags::empty() } else { OFlags::NOFOLLOW };
    let flags = OFlags::NONBLOCK | OFlags::NOCTTY | no_link;
    OpenOptions::new().append(true).create(true).custom_flags(flags.bits() as i32).open(file)
}

/// Makes writes to a file block, although it was opened without blocking.
pub fn wait_for_room(file: &File) -> io::Result<()> {
    Ok(fcntl_setfl(file, fcntl_getfl(file)? - OFlags::NONBLOCK)?)
}

/// Time after which the layers around this process are not looked for any longer, in ms.
const LAYERS_MS: u64 = 1_000;
/// Values of the variable `container` that are kept.
const CONTAINERS: [&str; 8] =
    ["docker", "podman", "oci", "lxc", "lxc-libvirt", "systemd-nspawn", "firejail", "flatpak"];

/// Finds the layers around this machine's own environment, the innermost first, as a fact of a session; nothing where none is told.
pub fn note_layers() -> Facts {
    let found = recognise_layers(&collect_layers(&list_variables(), LAYERS_MS));
    let told = found.layers.iter().filter(|layer| layer.confidence > Confidence::Possible);
    let names = told.filter(|layer| layer.class != Class::Filter).map(|layer| layer.name);
    let mut facts = Facts::default();
    facts.add_fact("layers", names.collect::<Vec<_>>().join(" "));
    facts
}

/// Collects the variables that are set and say something of an environment.
pub fn list_variables() -> Facts {
    let mut facts = Facts::default();
    let names: Vec<String> = std::env::vars_os().filter_map(|(name, _)| name.into_string().ok()).collect();
    let is_set = |known: &&str| match known.ends_with('_') {
        true => names.iter().any(|name| name.starts_with(*known)),
        false => names.iter().any(|name| name == known),
    };
    facts.add_fact(VARIABLES_SET, VARIABLES.into_iter().filter(is_set).collect::<Vec<_>>().join(" "));
    let container = std::env::var("container").unwrap_or_default();
    facts.add_fact(
        VARIABLES_CONTAINER,
        if CONTAINERS.contains(&container.as_str()) { &container } else { "" },
    );
    facts
}
