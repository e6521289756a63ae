//! Ownership: everything that a session makes outside its own process is written down before it is made.
//!
//! A session that is killed cannot clean up; `tare clean` and the next run can, because the journal lists
//! what was made. A journal belongs to a living session as long as its lock is held.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::error::{ErrorKind, LabError};
use crate::host::processes;
use crate::host::waiting::until_found;
use crate::ownership::owned::Owned;

/// Ending of a journal's file name; before it stands the session's id.
const ENDING: &str = "journal";
/// Most that is read of a journal: an entry is some 200 bytes, and a session makes a few thousand.
const LONGEST_JOURNAL: u64 = 64 * 1024 * 1024;
/// Tries at making a journal that another session's cleaning may take for an abandoned one.
const TRIES: u32 = 16;

/// Most that is read of a journal to know whose it is: a path and two numbers.
const LONGEST_FIRST_LINE: u64 = 16 * 1024;
/// Time in which the lock of a dead session comes free: its last children die of the same signal.
const LOCK_PASSES: Duration = Duration::from_secs(2);
/// Pause between two tries at it.
const LOOK_AGAIN: Duration = Duration::from_millis(2);

/// One line of a journal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Entry {
    /// The first: where the session works, and which process it is.
    Session { scratch: PathBuf, pid: u32, started_ticks: u64 },
    /// About to be made.
    Owned { number: u64, thing: Owned },
    /// Removed.
    Released { numbers: Vec<u64> },
}

/// The journal of a living session; its lock is held until it is dropped.
#[derive(Debug)]
pub struct Journal {
    file: File,
    path: PathBuf,
    next: u64,
}

impl Journal {
    /// Begins the journal of session `id`, which will work in `scratch`, in the state folder.
    pub fn begin(state: &Path, id: &str, scratch: &Path) -> Result<Self, LabError> {
        fs::create_dir_all(state).map_err(|e| storage(state, "cannot make the state folder", e))?;
        let path = state.join(format!("{id}.{ENDING}"));
        let file = locked_new(&path).map_err(|e| storage(&path, "cannot begin the journal", e))?;
        let mut journal = Journal { file, path, next: 0 };
        let pid = std::process::id();
        let started_ticks = processes::started_ticks(pid).unwrap_or(0);
        journal.append(&Entry::Session { scratch: scratch.to_owned(), pid, started_ticks })?;
        // The folder's own entry must be on the disk too, or a power cut forgets the file.
        File::open(state)
            .and_then(|folder| folder.sync_all())
            .map_err(|e| storage(state, "cannot sync the state folder", e))?;
        Ok(journal)
    }

    /// Writes down what is about to be made; on return it is on the disk. The number is for releasing it.
    pub fn own(&mut self, thing: Owned) -> Result<u64, LabError> {
        let number = self.next;
        self.next += 1;
        self.append(&Entry::Owned { number, thing })?;
        Ok(number)
    }

    /// Writes down what was removed.
    pub fn release(&mut self, numbers: Vec<u64>) -> Result<(), LabError> {
        if numbers.is_empty() { Ok(()) } else { self.append(&Entry::Released { numbers }) }
    }

    /// Removes the journal: nothing is owned any more.
    pub fn end(self) -> Result<(), LabError> {
        fs::remove_file(&self.path).map_err(|e| storage(&self.path, "cannot remove the journal", e))
    }

    fn append(&mut self, entry: &Entry) -> Result<(), LabError> {
        let written = serde_json::to_string(entry).map_err(io::Error::from).and_then(|mut line| {
            line.push('\n');
            self.file.write_all(line.as_bytes())?;
            self.file.sync_data()
        });
        written.map_err(|e| storage(&self.path, "cannot write to the journal", e))
    }
}

/// A journal whose session is dead, held by its lock so that only one cleans up after it.
#[derive(Debug)]
pub struct Abandoned {
    /// Held for its lock.
    _file: File,
    pub path: PathBuf,
    pub id: String,
    /// None when the session died before it wrote where it would work: then it made nothing.
    pub scratch: Option<PathBuf>,
    /// What was made and not released, the oldest first.
    pub things: Vec<Owned>,
    /// Whole lines that this version cannot read: perhaps a later version's.
    pub unread: usize,
}

/// The journals of dead sessions in a state folder. Those of living ones are left alone.
pub fn abandoned(state: &Path) -> io::Result<Vec<Abandoned>> {
    let entries = match fs::read_dir(state) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries?,
    };
    let mut paths: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    paths.retain(|path| path.extension().is_some_and(|ending| ending == ENDING));
    paths.sort();
    paths.into_iter().filter_map(|path| take_over(path).transpose()).collect()
}

fn take_over(path: PathBuf) -> io::Result<Option<Abandoned>> {
    let mut file = match OpenOptions::new().read(true).append(true).open(&path) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(None),
        file => file?,
    };
    let locked = until_found(LOCK_PASSES, LOOK_AGAIN, || match file.try_lock() {
        Ok(()) => Some(file.metadata().map(|about| about.nlink() > 0)),
        Err(TryLockError::Error(e)) => Some(Err(e)),
        // A child that the session was starting when it was killed holds the lock until it dies too.
        Err(TryLockError::WouldBlock) => match owner_is_dead(&mut file) {
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
    let id = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let (scratch, things, unread) = read(&bytes);
    Ok(Some(Abandoned { _file: file, path, id, scratch, things, unread }))
}

/// Whether the process that began a journal has ended. One whose first line is not written yet lives.
fn owner_is_dead(file: &mut File) -> io::Result<bool> {
    let mut bytes = Vec::new();
    file.rewind()?;
    Read::by_ref(file).take(LONGEST_FIRST_LINE).read_to_end(&mut bytes)?;
    let line = bytes.split_inclusive(|&b| b == b'\n').next().unwrap_or_default();
    Ok(match serde_json::from_slice(line) {
        Ok(Entry::Session { pid, started_ticks, .. }) => processes::started_ticks(pid) != Some(started_ticks),
        _ => false,
    })
}

fn read(bytes: &[u8]) -> (Option<PathBuf>, Vec<Owned>, usize) {
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
            Err(_) => unread += 1,
        }
    }
    (scratch, things.into_values().collect(), unread)
}

/// Makes a new file and locks it. Between the two a cleaning may have taken it away as abandoned.
fn locked_new(path: &Path) -> io::Result<File> {
    for _ in 0..TRIES {
        let file = OpenOptions::new().append(true).create_new(true).mode(0o600).open(path)?;
        match file.try_lock() {
            Ok(()) if file.metadata()?.nlink() > 0 => return Ok(file),
            Err(TryLockError::Error(e)) => return Err(e),
            // Someone cleans it up this moment.
            _ => {
                let _ = file.lock();
                let _ = fs::remove_file(path);
            }
        }
    }
    Err(io::Error::other("another program removes it again and again"))
}

fn storage(path: &Path, what: &str, cause: io::Error) -> LabError {
    LabError::new(ErrorKind::Storage, format!("{what} {}", path.display())).because(cause)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder(name: &str) -> Owned {
        Owned::Folder(name.into())
    }

    #[test]
    fn what_is_released_is_owned_no_more() {
        let state = tempfile::tempdir().unwrap();
        let mut journal = Journal::begin(state.path(), "a1", Path::new("/scratch/tare-a1")).unwrap();
        let first = journal.own(folder("/scratch/tare-a1/1")).unwrap();
        journal.own(Owned::Process { pid: 7, started_ticks: 42 }).unwrap();
        journal.release(vec![first]).unwrap();
        drop(journal);
        let found = abandoned(state.path()).unwrap();
        assert_eq!(found.len(), 1);
        assert_eq!((found[0].id.as_str(), found[0].unread), ("a1", 0));
        assert_eq!(found[0].scratch.as_deref(), Some(Path::new("/scratch/tare-a1")));
        assert_eq!(found[0].things, [Owned::Process { pid: 7, started_ticks: 42 }]);
    }

    #[test]
    fn a_living_session_is_not_abandoned() {
        let state = tempfile::tempdir().unwrap();
        let journal = Journal::begin(state.path(), "a1", Path::new("/scratch")).unwrap();
        assert!(abandoned(state.path()).unwrap().is_empty());
        journal.end().unwrap();
        assert_eq!(fs::read_dir(state.path()).unwrap().count(), 0);
        assert!(abandoned(&state.path().join("no such folder")).unwrap().is_empty());
    }

    #[test]
    fn a_torn_line_counts_for_nothing_and_an_unknown_one_is_counted() {
        let entry = |number, name| {
            let mut line = serde_json::to_string(&Entry::Owned { number, thing: folder(name) }).unwrap();
            line.push('\n');
            line
        };
        let whole = format!("{}{{\"from\":\"the future\"}}\n{}", entry(0, "/a"), entry(1, "/b"));
        assert_eq!(read(whole.as_bytes()), (None, vec![folder("/a"), folder("/b")], 1));
        for torn in 1..entry(1, "/b").len() {
            let (_, things, unread) = read(&whole.as_bytes()[..whole.len() - torn]);
            assert_eq!((things, unread), (vec![folder("/a")], 1));
        }
    }
}
