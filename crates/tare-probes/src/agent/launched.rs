//! The agent behind a launcher: whatever words a user chose start it, in a place that nobody described beforehand.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::{self, DirBuilder, File};
use std::io::{self, BufRead, IsTerminal, Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::time::Instant;

use rustix::fs::Access;
use rustix::termios::{OptionalActions, tcgetattr, tcsetattr};
use serde::{Deserialize, Serialize};
use tare_data::build::Build;
use tare_data::frame::encode_frame;

use super::identity::identify_program;
use super::resident::serve_requests;
use crate::harness::kernel_files::read_text;
use crate::variables::inherited_variables;

/// First argument under which the program is the agent of a launcher. The session's mark follows, and the folder that it
/// makes for the environment's place, if any.
pub const LAUNCHED: &str = "agent-launched";
/// First argument under which it looks around once, and ends. The mark follows, and folders that the host may see, too.
pub const LOOK: &str = "agent-look";
/// File that a look makes in each of those folders.
pub const LOOKED: &str = ".tare-look";
/// Beginning of the name of a folder that a session makes.
const PREFIX: &str = "tare-";
/// Variable by which a session finds its processes again.
const MARK: &str = "TARE_SESSION";
/// Folders in which an environment can have its place if the host shares none, the likeliest to be on a disk first.
const BASES: [&str; 3] = ["/var/tmp", "/tmp", "/dev/shm"];
/// Namespaces in which a process can differ from the host's.
const NAMESPACES: [&str; 7] = ["mnt", "pid", "net", "ipc", "uts", "user", "cgroup"];

/// Findings of a look from inside.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Look {
    pub agent: Build,
    /// A folder that can be written, if there is one.
    pub base: Option<String>,
    /// Namespaces by kind, as the kernel names them.
    pub namespaces: BTreeMap<String, String>,
    /// Device and number of the root folder.
    pub root: (u64, u64),
    /// Number of system call filters, and whether privileges cannot grow.
    pub filters: String,
    pub no_new_privileges: bool,
    pub kernel: String,
}

/// Answer of a look to a word on its standard input.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Answer {
    /// The word; empty where the input has ended.
    pub word: String,
    /// Time until it came, or the input ended.
    pub waited_ms: u64,
}

/// Longest word that a look answers.
const LONGEST_WORD: u64 = 64;

/// Looks around from where this process is.
pub fn look_around() -> Look {
    let status = read_text("/proc/self/status").unwrap_or_default();
    let line = |key: &str| status.lines().find_map(|line| line.strip_prefix(key)).unwrap_or_default().trim();
    let namespace = |kind: &&str| {
        let link = fs::read_link(format!("/proc/self/ns/{kind}")).ok()?;
        Some(((*kind).to_owned(), link.to_string_lossy().into_owned()))
    };
    Look {
        agent: identify_program(),
        base: None,
        namespaces: NAMESPACES.iter().filter_map(namespace).collect(),
        root: fs::metadata("/").map(|root| (root.dev(), root.ino())).unwrap_or_default(),
        filters: line("Seccomp_filters:").to_owned(),
        no_new_privileges: line("NoNewPrivs:") == "1",
        kernel: rustix::system::uname().release().to_string_lossy().into_owned(),
    }
}

/// Finds a folder in which the session of a mark can have its own: one of its name may be there already, and another user's.
fn find_base(mark: &str) -> Option<String> {
    let current = std::env::current_dir().ok();
    let all = BASES.iter().map(PathBuf::from).chain(current);
    let session = mark.split('/').next().unwrap_or_default();
    let can_be_made =
        |base: &PathBuf| Made::create(&base.join(format!("{PREFIX}{session}")).join("look")).is_ok();
    all.filter(can_be_made).find_map(|base| base.to_str().map(str::to_owned))
}

/// Finds the folder in which a session's folder holds the program: `BASE/tare-SESSION/tare-START/agent`.
fn find_base_of(program: &Path) -> Option<String> {
    let (start, session) = (program.parent()?, program.ancestors().nth(2)?);
    let is_named =
        |folder: &Path| folder.file_name().is_some_and(|name| name.to_string_lossy().starts_with(PREFIX));
    let base = session.parent().filter(|_| is_named(session) && is_named(start))?;
    base.canonicalize().ok()?.to_str().map(str::to_owned)
}

/// Answers a look: leaves a file in each folder that it can write, prints its findings as one line, and then what came on its input.
pub(super) fn answer_look(program: &Path, words: &[OsString]) -> io::Result<()> {
    // A launcher may still have rights with which it starts this program, and that the program itself has no more.
    let said = |e: &rustix::io::Errno| {
        eprintln!("{} cannot be started by whoever is inside: {e}", program.display())
    };
    rustix::fs::access(program, Access::EXEC_OK).inspect_err(said)?;
    remove_copy(program, words.first());
    for folder in words.iter().skip(1) {
        // A folder that is not visible here, or cannot be written, is found by the absence of the file.
        let _ = File::create(Path::new(folder).join(LOOKED));
    }
    let mut look = look_around();
    // A folder that holds this very program can hold it again; another one may refuse to run programs.
    let mark = words.first().map(|mark| mark.to_string_lossy()).unwrap_or_default();
    look.base = find_base_of(program).or_else(|| find_base(&mark));
    make_raw();
    let mut out = io::stdout().lock();
    out.write_all(encode_frame(&look).as_bytes())?;
    out.flush()?;
    let (began, mut word) = (Instant::now(), String::new());
    // An input that cannot be read is one that has ended.
    let _ = io::stdin().lock().take(LONGEST_WORD).read_line(&mut word);
    let answer = Answer { word: word.trim().to_owned(), waited_ms: began.elapsed().as_millis() as u64 };
    out.write_all(encode_frame(&answer).as_bytes())
}

/// Serves requests as the agent of a launcher, and removes what it made.
pub(super) fn serve_launched(program: &Path, words: &[OsString]) -> io::Result<()> {
    let mark = words.first().map(OsString::as_os_str).unwrap_or_default();
    if !inherited_variables().any(|(name, value)| name == MARK && value == mark) {
        // A launcher that clears the environment takes away the sign by which a cleaning finds this process.
        return Err(crate::starting::command(program).arg(LAUNCHED).args(words).env(MARK, mark).exec());
    }
    make_raw();
    let folder = words.get(1).map(Path::new);
    let said = |e: &io::Error| eprintln!("cannot make {}: {e}", folder.unwrap_or(program).display());
    let made = folder.map(Made::create).transpose().inspect_err(said)?;
    let served = serve_requests(program, &[]);
    drop(made);
    remove_copy(program, words.first());
    served
}

/// Removes the program itself where it was copied for one start, under that start's name.
fn remove_copy(program: &Path, mark: Option<&OsString>) {
    let of_start = mark.map(|mark| format!("{PREFIX}{}", mark.to_string_lossy().replace('/', "-")));
    if program.file_name().map(|name| name.to_string_lossy().into_owned()) == of_start {
        let _ = fs::remove_file(program);
    }
}

/// Has a terminal pass bytes on as they are: frames end with one character, and no key means anything.
fn make_raw() {
    let input = io::stdin();
    if !input.is_terminal() {
        return;
    }
    if let Ok(mut modes) = tcgetattr(&input) {
        modes.make_raw();
        let _ = tcsetattr(&input, OptionalActions::Now, &modes);
    }
}

/// A folder of the session's, with the place `own` in it; removed when the agent ends.
struct Made<'a>(&'a Path);

impl<'a> Made<'a> {
    fn create(folder: &'a Path) -> io::Result<Made<'a>> {
        let is_named = |path: Option<&Path>| {
            path.and_then(Path::file_name).is_some_and(|name| name.to_string_lossy().starts_with(PREFIX))
        };
        if !is_named(folder.parent()) {
            return Err(io::Error::other("the folder has no name of a session"));
        }
        DirBuilder::new().mode(0o700).recursive(true).create(folder.join("own"))?;
        Ok(Made(folder))
    }
}

impl Drop for Made<'_> {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(self.0);
        // Others of the session may still be in it.
        let _ = self.0.parent().map(fs::remove_dir);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_look_finds_a_folder_and_the_namespaces() {
        let look = look_around();
        assert!(find_base("a1/00000").is_some_and(|base| !Path::new(&base).join("tare-a1").exists()));
        assert!(look.namespaces.contains_key("mnt"), "{look:?}");
    }

    #[test]
    fn a_program_in_a_sessions_folder_tells_where_that_is() {
        assert_eq!(find_base_of(Path::new("/tmp/tare-a1/tare-a1-00001/agent")).as_deref(), Some("/tmp"));
        assert_eq!(find_base_of(Path::new("/var/tmp/box/agent")), None);
    }

    #[test]
    fn a_folder_is_made_under_a_sessions_name_alone_and_removed_with_all_in_it() {
        let folder = tempfile::tempdir().unwrap();
        let ours = folder.path().join("tare-a1/00000");
        let made = Made::create(&ours).unwrap();
        fs::write(ours.join("own/file"), "x").unwrap();
        drop(made);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
        assert!(Made::create(&folder.path().join("home/00000")).is_err());
    }
}
