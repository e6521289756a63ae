//! Ownership: everything that a session makes outside its own process is written down before it is made.
//!
//! A session that is killed cannot clean up; `tare clean` and the next run can, because the journal lists
//! what was made. A journal belongs to a living session as long as its lock is held.
//!
//! A journal is believed only where nobody else can have written it, and on the machine whose session it is of: homes are shared
//! between machines, and locks often are not. A journal's name has its machine, so that another one does not even open it.

use std::collections::BTreeMap;
use std::fs::{self, File, TryLockError};
use std::io::{self, Read, Seek, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tare_paths::ours::check_opened;
use tare_record::locks::{lock, try_lock, try_lock_shared, unlock};

use crate::error::{ErrorKind, LabError};
use crate::host::processes;
use crate::host::running::Running;
use crate::host::waiting::until_found;
use crate::owned::Owned;
use crate::ownership::state::StateFolder;
use crate::platform;

/// Ending of a journal's file name; before it stands the session's id.
const ENDING: &str = "journal";
/// Limit on the bytes read of a journal: an entry is some 200 bytes, and a session makes a few thousand.
const LONGEST_JOURNAL: u64 = 64 * 1024 * 1024;
/// Tries at making a journal that another session's cleaning may take for an abandoned one.
const TRIES: u32 = 16;

/// Limit on the bytes read to find the owner of a journal: a path and two numbers.
const LONGEST_FIRST_LINE: u64 = 16 * 1024;
/// Time in which the lock of a dead session comes free: its last children die of the same signal.
const LOCK_PASSES: Duration = Duration::from_secs(10);
/// Pause between two tries at it.
const LOOK_AGAIN: Duration = Duration::from_millis(2);

/// Folders of networks often refuse locks.
const JOURNAL_HINT: &str = "set XDG_STATE_HOME to a folder on a local disk, where files can be locked";

/// Line of a journal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Entry {
    /// The first: where the session works, and which process it is.
    Session {
        scratch: PathBuf,
        pid: u32,
        started_ticks: u64,
        /// On which machine, and since which boot of it: process numbers mean nothing in another.
        #[serde(default)]
        running: Option<Running>,
        /// Name of that machine then, for people.
        #[serde(default)]
        host: String,
    },
    /// About to be made.
    Owned { number: u64, thing: Owned },
    /// Removed.
    Released { numbers: Vec<u64> },
    /// Written by another session that began meanwhile.
    Joined {},
}

/// The journal of a living session; its lock is held until it is dropped.
#[derive(Debug)]
pub struct Journal {
    file: File,
    path: PathBuf,
    scratch: PathBuf,
    next: u64,
    /// Sessions that ran when this one began.
    before: u64,
}

impl Journal {
    /// Begins the journal of session `id`, which will work in `scratch`, in the state folder.
    pub fn begin(state: &Path, id: &str, scratch: &Path, running: &Running) -> Result<Self, LabError> {
        let folder = StateFolder::open_or_make(state)?;
        let path = state.join(format!("{id}.{}.{ENDING}", running.machine));
        let failed = |e| storage(&path, "cannot begin the journal", e).with_hint(JOURNAL_HINT);
        let file = locked_new(&folder, &path).map_err(failed)?;
        let mut journal = Journal { file, path, scratch: scratch.to_owned(), next: 0, before: 0 };
        let pid = std::process::id();
        let started_ticks = processes::started_ticks(pid).unwrap_or(0);
        let (scratch, own) = (scratch.to_owned(), Some(running.clone()));
        let host = platform::node_name();
        journal.append(&Entry::Session { scratch, pid, started_ticks, running: own, host }, true)?;
        // The folder's own entry must be on the disk too, or a power cut forgets the file.
        folder.sync()?;
        journal.before = join(&folder, state, &journal.path, running);
        Ok(journal)
    }

    /// Counts the other sessions that ran at any time since this one began.
    ///
    /// Of two sessions, the one that searches after the other's journal was locked sees it, and writes into
    /// it.
    pub fn count_other_sessions(&self) -> u64 {
        let mut bytes = Vec::new();
        let read = File::open(&self.path).and_then(|file| file.take(LONGEST_JOURNAL).read_to_end(&mut bytes));
        let joined = |line: &&[u8]| matches!(serde_json::from_slice(line), Ok(Entry::Joined {}));
        let lines = bytes.split_inclusive(|&b| b == b'\n');
        self.before + read.map_or(0, |_| lines.filter(joined).count() as u64)
    }

    /// Writes down what is about to be made. On return every process sees the line, and it is on the disk where the thing would outlive
    /// a power cut: a sync takes longer than the start of a container, and delays whatever else waits for the disk. The number is for
    /// releasing it.
    pub fn record_owned(&mut self, thing: Owned) -> Result<u64, LabError> {
        let number = self.next;
        self.next += 1;
        let is_lasting = thing.outlives_restart(&self.scratch);
        self.append(&Entry::Owned { number, thing }, is_lasting)?;
        Ok(number)
    }

    /// Writes down what was removed. Where a power cut forgets that, there is nothing to remove.
    pub fn record_released(&mut self, numbers: Vec<u64>) -> Result<(), LabError> {
        if numbers.is_empty() { Ok(()) } else { self.append(&Entry::Released { numbers }, false) }
    }

    /// Removes the journal: nothing is owned any more.
    pub fn end(self) -> Result<(), LabError> {
        fs::remove_file(&self.path).map_err(|e| storage(&self.path, "cannot remove the journal", e))
    }

    fn append(&mut self, entry: &Entry, is_synced: bool) -> Result<(), LabError> {
        let written = serde_json::to_string(entry).map_err(io::Error::from).and_then(|mut line| {
            line.push('\n');
            self.file.write_all(line.as_bytes())?;
            if is_synced { self.file.sync_data() } else { Ok(()) }
        });
        written.map_err(|e| storage(&self.path, "cannot write to the journal", e))
    }
}

impl Drop for Journal {
    fn drop(&mut self) {
        unlock(&self.file);
    }
}

/// Writes into the journals of all other living sessions that this one began; returns how many they are.
fn join(folder: &StateFolder, state: &Path, own: &Path, running: &Running) -> u64 {
    let line = serde_json::to_string(&Entry::Joined {}).map(|line| line + "\n").unwrap_or_default();
    let entries = fs::read_dir(state).into_iter().flatten().flatten().map(|entry| entry.path());
    let others = entries.filter(|path| path != own && is_of(path, &running.machine));
    let lives = |path: &PathBuf| {
        let Ok(mut file) = folder.open_file(path) else { return false };
        let believed = file.metadata().is_ok_and(|about| check_opened(path, &about).is_ok());
        let lives = believed && matches!(try_lock_shared(&file), Err(TryLockError::WouldBlock));
        lives && file.write_all(line.as_bytes()).is_ok()
    };
    others.filter(lives).count() as u64
}

/// A journal whose session is dead, held by its lock so that only one cleans up after it.
#[derive(Debug)]
pub struct Abandoned {
    /// Held for its lock.
    file: File,
    pub path: PathBuf,
    pub id: String,
    /// None when the session died before it wrote where it would work: then it made nothing.
    pub scratch: Option<PathBuf>,
    /// Things that were made and not released, the oldest first.
    pub things: Vec<Owned>,
    /// Whole lines that this version cannot read: perhaps a later version's.
    pub unread: usize,
}

impl Drop for Abandoned {
    fn drop(&mut self) {
        unlock(&self.file);
    }
}

/// A journal without a living session.
#[derive(Debug)]
pub enum Found {
    Dead(Abandoned),
    /// Somebody else may have written it: nothing in it is believed.
    Doubtful {
        path: PathBuf,
        because: String,
    },
    /// Journal of another machine, or of another container of this one: its processes cannot be known here.
    Elsewhere(Elsewhere),
}

/// A journal of another machine.
#[derive(Debug, PartialEq, Eq)]
pub struct Elsewhere {
    pub path: PathBuf,
    /// Name of the machine; empty where the journal does not tell.
    pub host: String,
}

/// Checks that a file is a journal of this machine, or one whose name does not tell its machine.
fn is_of(path: &Path, machine: &str) -> bool {
    let Some(name) = path.file_name().and_then(|name| name.to_str()) else { return false };
    match name.split('.').collect::<Vec<_>>().as_slice() {
        [_, of, ENDING] => *of == machine,
        [_, ENDING] => true,
        _ => false,
    }
}

/// Finds the journals of dead sessions in a state folder: of this machine, and of the named host. Those of living ones are left
/// alone.
pub fn find_journals(
    state: &Path,
    running: &Running,
    from_host: Option<&str>,
) -> Result<Vec<Found>, LabError> {
    let Some(folder) = StateFolder::open(state)? else { return Ok(Vec::new()) };
    let failed = |e| storage(state, "cannot read the state folder", e);
    let entries = fs::read_dir(state).map_err(failed)?;
    let mut paths: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    paths.retain(|path| path.extension().is_some_and(|ending| ending == ENDING));
    paths.sort_unstable();
    paths
        .into_iter()
        .filter_map(|path| take_over(&folder, path, running, from_host).transpose())
        .collect::<io::Result<_>>()
        .map_err(failed)
}

fn take_over(
    folder: &StateFolder,
    path: PathBuf,
    running: &Running,
    from_host: Option<&str>,
) -> io::Result<Option<Found>> {
    let mut file = match folder.open_file(&path) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(None),
        // A link (ELOOP), or nothing that is read.
        Err(_) => {
            return Ok(Some(Found::Doubtful { path, because: "it is not a regular file".to_owned() }));
        }
        Ok(file) => file,
    };
    if let Err(distrust) = check_opened(&path, &file.metadata()?) {
        return Ok(Some(Found::Doubtful { path, because: distrust.to_string() }));
    }
    let line = first_line(&mut file)?;
    let is_elsewhere = match &line {
        Some(line) => line.is_elsewhere(running),
        None => !is_of(&path, &running.machine),
    };
    if is_elsewhere {
        let host = line.map(|line| line.host).unwrap_or_default();
        if host.is_empty() || from_host != Some(&host) {
            return Ok(Some(Found::Elsewhere(Elsewhere { path, host })));
        }
    }
    let locked = until_found(LOCK_PASSES, LOOK_AGAIN, || match try_lock(&file) {
        Ok(()) => Some(platform::is_removed(&file, &path).map(|is_removed| !is_removed)),
        Err(TryLockError::Error(e)) => Some(Err(e)),
        // A child that the session was starting when it was killed holds the lock until it dies too.
        Err(TryLockError::WouldBlock) => match owner_is_dead(&mut file, running) {
            Ok(true) => None,
            alive_or_unknown => Some(alive_or_unknown),
        },
    });
    if !locked.unwrap_or(Ok(false))? {
        return Ok(None);
    }
    let mut bytes = Vec::new();
    file.rewind()?;
    Read::by_ref(&mut file).take(LONGEST_JOURNAL).read_to_end(&mut bytes)?;
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let id = name.split('.').next().unwrap_or_default().to_owned();
    let (scratch, mut things, unread) = parse_journal(&bytes);
    if !first_line(&mut file)?.is_some_and(|line| line.is_of_this_boot(running)) {
        things.retain(|thing| !matches!(thing, Owned::Process { .. }));
    }
    Ok(Some(Found::Dead(Abandoned { file, path, id, scratch, things, unread })))
}

/// Which process began a journal, and where it runs.
struct FirstLine {
    pid: u32,
    started_ticks: u64,
    running: Option<Running>,
    host: String,
}

impl FirstLine {
    /// Tells whether it belongs to another machine: a home may be shared, while locks are not. One that was renamed since is known by
    /// its boot, and one that was restarted by its name.
    fn is_elsewhere(&self, here: &Running) -> bool {
        let is_here = |running: &Running| running.machine == here.machine || running.is_same_boot(here);
        !self.running.as_ref().is_none_or(is_here)
    }

    /// Tells whether numbers of processes still mean the same ones.
    fn is_of_this_boot(&self, here: &Running) -> bool {
        self.running.as_ref().is_some_and(|running| running.is_same_boot(here))
    }
}

/// Reads the first line of a journal; None while it is not written yet.
fn first_line(file: &mut File) -> io::Result<Option<FirstLine>> {
    let mut bytes = Vec::new();
    file.rewind()?;
    Read::by_ref(file).take(LONGEST_FIRST_LINE).read_to_end(&mut bytes)?;
    let line = bytes.split_inclusive(|&b| b == b'\n').next().unwrap_or_default();
    Ok(match serde_json::from_slice(line) {
        Ok(Entry::Session { pid, started_ticks, running, host, .. }) => {
            Some(FirstLine { pid, started_ticks, running, host })
        }
        _ => None,
    })
}

/// Checks that the process that began a journal has ended. One whose first line is not written yet lives.
fn owner_is_dead(file: &mut File, here: &Running) -> io::Result<bool> {
    Ok(first_line(file)?.is_some_and(|line| {
        // A line without its boot is from an earlier version: its process is looked at, and never signalled.
        let another_boot = line.running.is_some() && !line.is_of_this_boot(here);
        another_boot || processes::started_ticks(line.pid) != Some(line.started_ticks)
    }))
}

/// Parses a journal: its scratch folder, the things that were not released, and the number of lines that
/// cannot be read.
pub(crate) fn parse_journal(bytes: &[u8]) -> (Option<PathBuf>, Vec<Owned>, usize) {
    let (mut scratch, mut things, mut unread) = (None, BTreeMap::new(), 0);
    // A last line without its end was torn by the death of the session: its thing was never made.
    for line in bytes.split_inclusive(|&b| b == b'\n').filter(|line| line.ends_with(b"\n")) {
        match serde_json::from_slice(line) {
            Ok(Entry::Session { scratch: folder, .. }) => scratch = Some(folder),
            Ok(Entry::Owned { number, thing }) => {
                things.insert(number, thing);
            }
            Ok(Entry::Released { numbers }) => numbers.iter().for_each(|number| {
                things.remove(number);
            }),
            Ok(Entry::Joined {}) => {}
            // A power cut leaves zeros where a line was not on the disk yet.
            Err(_) if line.contains(&0) => {}
            Err(_) => unread += 1,
        }
    }
    (scratch, things.into_values().collect(), unread)
}

/// Makes a new file and locks it. Between the two a cleaning may have taken it away as abandoned.
fn locked_new(folder: &StateFolder, path: &Path) -> io::Result<File> {
    for _ in 0..TRIES {
        let file = folder.create_file(path)?;
        match try_lock(&file) {
            Ok(()) if !platform::is_removed(&file, path)? => return Ok(file),
            Err(TryLockError::Error(e)) => {
                let _ = fs::remove_file(path);
                return Err(e);
            }
            // Someone cleans it up this moment.
            _ => {
                let _ = lock(&file);
                let _ = fs::remove_file(path);
            }
        }
    }
    Err(io::Error::other("another program removes it again and again"))
}

fn storage(path: &Path, what: &str, cause: io::Error) -> LabError {
    LabError::new(ErrorKind::Storage, format!("{what} {}", path.display())).with_cause(cause)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder(name: &str) -> Owned {
        Owned::Folder(name.into())
    }

    fn dead(state: &Path) -> Vec<Abandoned> {
        let found = find_journals(state, &Running::from_this_host(), None).unwrap().into_iter();
        found
            .map(|found| match found {
                Found::Dead(session) => session,
                other => panic!("{other:?}"),
            })
            .collect()
    }

    /// Writes a journal with a folder and a process, of a session that ran there.
    fn journal_of(state: &Path, running: Option<Running>) {
        let pid = std::process::id();
        let started_ticks = processes::started_ticks(pid).unwrap();
        let owned = |number, thing| Entry::Owned { number, thing };
        let lines = [
            Entry::Session {
                scratch: "/scratch/tare-a1".into(),
                pid,
                started_ticks,
                running,
                host: "one".into(),
            },
            owned(0, folder("/scratch/tare-a1")),
            owned(1, Owned::Process { pid, started_ticks }),
        ];
        let text: String = lines.iter().map(|line| serde_json::to_string(line).unwrap() + "\n").collect();
        fs::write(state.join("a1.journal"), text).unwrap();
    }

    #[test]
    fn numbers_of_processes_count_in_their_own_boot_alone() {
        let state = tempfile::tempdir().unwrap();
        let here = Running::from_this_host();
        journal_of(state.path(), Some(here.clone()));
        let found = dead(state.path());
        assert_eq!(found[0].things.len(), 2);
        // A child that another thread forks has the same open file until its `exec`.
        let _forked = found[0].file.try_clone().unwrap();
        drop(found);
        for other in [None, Some(Running { boot: "another".into(), ..here })] {
            journal_of(state.path(), other);
            assert_eq!(dead(state.path())[0].things, [folder("/scratch/tare-a1")]);
        }
    }

    /// Tells whether a journal of a session that ran there is taken over here, and from which host it is otherwise.
    fn found(running: Running, from_host: Option<&str>) -> Option<String> {
        let state = tempfile::tempdir().unwrap();
        journal_of(state.path(), Some(running));
        match find_journals(state.path(), &Running::from_this_host(), from_host).unwrap().remove(0) {
            Found::Dead(_) => None,
            Found::Elsewhere(elsewhere) => Some(elsewhere.host),
            Found::Doubtful { because, .. } => panic!("{because}"),
        }
    }

    #[test]
    fn another_machines_journal_is_named_and_removed_on_demand_alone() {
        let here = Running::from_this_host();
        let (boot_id, _) = here.boot.split_once(' ').unwrap();
        let there = || Running { machine: "another".into(), boot: "another pid:[1]".into() };
        assert_eq!(found(Running { machine: "renamed".into(), ..here.clone() }, None), None);
        assert_eq!(found(Running { boot: "restarted pid:[1]".into(), ..here.clone() }, None), None);
        // A clone of this machine that shares its home, and two pods of one node.
        assert_eq!(found(there(), None).as_deref(), Some("one"));
        let pod = || Running { machine: "pod".into(), boot: format!("{boot_id} pid:[1]") };
        assert_eq!(found(pod(), None).as_deref(), Some("one"));
        assert_eq!(found(there(), Some("two")).as_deref(), Some("one"));
        assert_eq!(found(there(), Some("one")), None);
        // If no boot is known, nothing is the same.
        let nameless = Running { machine: "x".into(), boot: " pid:[1]".into() };
        assert!(!nameless.is_same_boot(&nameless));
    }

    #[test]
    fn what_is_released_is_owned_no_more() {
        let state = tempfile::tempdir().unwrap();
        let mut journal =
            Journal::begin(state.path(), "a1", Path::new("/scratch/tare-a1"), &Running::from_this_host())
                .unwrap();
        let first = journal.record_owned(folder("/scratch/tare-a1/1")).unwrap();
        journal.record_owned(Owned::Process { pid: 7, started_ticks: 42 }).unwrap();
        journal.record_released(vec![first]).unwrap();
        // A child that another thread forks has the same open file until its `exec`.
        let _forked = journal.file.try_clone().unwrap();
        drop(journal);
        let found = dead(state.path());
        assert_eq!(found.len(), 1);
        assert_eq!((found[0].id.as_str(), found[0].unread), ("a1", 0));
        assert_eq!(found[0].scratch.as_deref(), Some(Path::new("/scratch/tare-a1")));
        assert_eq!(found[0].things, [Owned::Process { pid: 7, started_ticks: 42 }]);
    }

    #[test]
    fn a_living_session_is_not_abandoned() {
        let state = tempfile::tempdir().unwrap();
        let journal =
            Journal::begin(state.path(), "a1", Path::new("/scratch"), &Running::from_this_host()).unwrap();
        assert!(find_journals(state.path(), &Running::from_this_host(), None).unwrap().is_empty());
        journal.end().unwrap();
        assert_eq!(fs::read_dir(state.path()).unwrap().count(), 0);
        assert!(
            find_journals(&state.path().join("no such folder"), &Running::from_this_host(), None)
                .unwrap()
                .is_empty()
        );
    }

    #[test]
    fn two_sessions_at_once_know_of_each_other() {
        let state = tempfile::tempdir().unwrap();
        let begin =
            |id| Journal::begin(state.path(), id, Path::new("/scratch"), &Running::from_this_host()).unwrap();
        begin("dead");
        let first = begin("a1");
        assert_eq!(first.count_other_sessions(), 0);
        let mut second = begin("b2");
        second.record_owned(folder("/scratch/b2")).unwrap();
        assert_eq!((first.count_other_sessions(), second.count_other_sessions()), (1, 1));
        second.end().unwrap();
        assert_eq!(first.count_other_sessions(), 1, "it ran meanwhile");
        first.end().unwrap();
        assert_eq!(begin("c3").count_other_sessions(), 0);
    }

    #[test]
    fn a_torn_line_counts_for_nothing_and_an_unknown_one_is_counted() {
        let entry = |number, name| {
            let mut line = serde_json::to_string(&Entry::Owned { number, thing: folder(name) }).unwrap();
            line.push('\n');
            line
        };
        let whole = format!("{}{{\"from\":\"the future\"}}\n{}", entry(0, "/a"), entry(1, "/b"));
        assert_eq!(parse_journal(whole.as_bytes()), (None, vec![folder("/a"), folder("/b")], 1));
        let zeros = [whole.as_bytes(), &[0; 90], b"\n"].concat();
        assert_eq!(parse_journal(&zeros).2, 1, "a power cut leaves zeros, which are nobody's line");
        for torn in 1..entry(1, "/b").len() {
            let (_, things, unread) = parse_journal(&whole.as_bytes()[..whole.len() - torn]);
            assert_eq!((things, unread), (vec![folder("/a")], 1));
        }
    }
}
