//! The state that a session and all its starts share: its folders, its program, and what was made for the whole session.

use std::cell::{Cell, OnceCell, RefCell};
use std::collections::BTreeMap;
use std::env::consts::EXE_SUFFIX;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread::{self, JoinHandle};

use sha2::{Digest, Sha256};
use tare_data::build::Build;
use tare_data::encoding::encode_hex;
use tare_data::failure::Failure;
use tare_paths::door::Door;
use tare_probes::harness::folder::spread_folders;

use crate::error::{ErrorKind, LabError};
use crate::host::control_groups::OwnGroups;
use crate::host::private_folder;
use crate::host::programs::Programs;
use crate::owned::Owned;
use crate::ownership::clean::{Outcome, take_away};
use crate::ownership::journal::Journal;
use crate::platform::{self, Held};
use crate::provider::root::Inside;
use crate::storage::Site;
use crate::storage::places::{SHARE, Wanted};
#[cfg(unix)]
use crate::storage::turn_file::TurnFile;

/// The error of a folder that was named as a place and cannot be one.
pub(super) const PLACE: &str = "cannot write in the place";
pub(super) const PLACE_HINT: &str = "name a folder that you may write, on a disk with room";

/// Everything that a session has once.
///
/// Its folder is private: nothing of it is shown to an environment but a folder in the folder of a start, which lies in the folder of
/// its side. So no environment can change what the host runs or believes, nor what another one works with.
#[derive(Debug)]
pub(super) struct Shared {
    pub(super) id: String,
    /// Digits in the names of its sides' folders in places.
    pub(super) secret: String,
    pub(super) folder: PathBuf,
    pub(super) agent: PathBuf,
    /// The agent and the tiny program, held open from before anything is shared; set once they are there.
    pub(super) held: OnceCell<Vec<Held>>,
    /// Its hash, which a thread computes while the session prepares.
    pub(super) hashing: RefCell<Option<JoinHandle<io::Result<String>>>>,
    pub(super) sha256: OnceCell<String>,
    pub(super) identity: Build,
    pub(super) shares: BTreeMap<String, PathBuf>,
    pub(super) inside: Inside,
    /// True when a case uses the place where commands find their files.
    pub(super) wants_work: bool,
    /// Places that could not be made.
    pub(super) missing: BTreeMap<String, Failure>,
    pub(super) programs: Programs,
    /// None after the end.
    pub(super) journal: RefCell<Option<Journal>>,
    /// Entries of the journal that belong to no start.
    pub(super) entries: RefCell<Vec<Owned>>,
    pub(super) starts: Cell<u32>,
    /// Control groups below that of this process.
    pub(super) groups: OwnGroups,
    /// Answers that are asked for once, by their questions.
    pub(super) answers: RefCell<BTreeMap<String, String>>,
    /// Files by which two sides take turns.
    #[cfg(unix)]
    pub(super) turn_files: RefCell<Vec<TurnFile>>,
}

impl Shared {
    /// Writes down what is about to be made; returns the number of the entry.
    pub(super) fn write_down(&self, thing: &Owned) -> Result<u64, LabError> {
        let mut journal = self.journal.borrow_mut();
        let ended = || LabError::new(ErrorKind::Environment, "the session has ended already");
        journal.as_mut().ok_or_else(ended)?.record_owned(thing.clone())
    }

    pub(super) fn agent_sha256(&self) -> Result<&str, LabError> {
        if let Some(hashing) = self.hashing.take() {
            let hashed = hashing.join().unwrap_or_else(|_| Err(io::Error::other("its thread ended")));
            let _ = self.sha256.set(hashed.map_err(|e| storage("cannot read", &self.agent, e))?);
        }
        Ok(self.sha256.get().map_or("", String::as_str))
    }

    /// Has a command that names the agent or the tiny program start the file that is held open.
    pub(super) fn hold_program(&self, command: &mut Command) -> io::Result<()> {
        self.held.get().into_iter().flatten().try_for_each(|held| held.start_open_file(command))
    }

    /// Copies a program to the agent's path, with the tiny one beside it, and holds both open.
    pub(super) fn take_program(&self, binary: &Path) -> Result<(), LabError> {
        let copied = platform::write_program(binary, &self.agent)
            .and_then(|()| platform::write_tiny_program(&self.agent))
            .and_then(|tiny| [&self.agent, &tiny].map(|path| Held::open(path)).into_iter().collect());
        let held = copied.map_err(|e| storage("cannot copy the agent to", &self.agent, e))?;
        self.held.get_or_init(|| held);
        let agent = self.agent.clone();
        let hash = move || Ok(encode_hex(&Sha256::digest(fs::read(agent)?)));
        let hashing = thread::Builder::new().spawn(hash);
        self.hashing.replace(Some(hashing.map_err(|e| storage("cannot start to read", &self.agent, e))?));
        Ok(())
    }

    /// Returns the folder of a side, in which its starts are.
    pub(super) fn side_folder(&self, side: usize) -> PathBuf {
        self.folder.join(side_name(side))
    }

    /// Copies the agent for the starts of a side, once: it may change its copy, and nothing else runs it. Written as the host's own, so
    /// that its pages are in memory alike.
    pub(super) fn copy_for_side(&self, side: usize) -> Result<PathBuf, LabError> {
        let copy = self.side_folder(side).join(format!("agent{EXE_SUFFIX}"));
        if !copy.exists() {
            let copied = platform::write_program(&self.agent, &copy);
            copied
                .and_then(|()| platform::write_tiny_program(&copy).map(drop))
                .inspect_err(|_| drop(fs::remove_file(&copy)))
                .map_err(|e| storage("cannot copy the agent to", &copy, e))?;
        }
        Ok(copy)
    }

    /// Makes the folder of a side in each place, and returns them by the places' names.
    pub(super) fn share_with(&self, side: usize) -> Result<BTreeMap<String, PathBuf>, LabError> {
        let folders = self.shares.iter().map(|(name, share)| {
            // Others may put a link in place of the session's folder: no other folder has one of this name.
            let of_side = format!("{}-{}", side_name(side), self.secret);
            let path = share.join(&of_side);
            match Door::open_itself(share).and_then(|share| share.make_new_folder(Path::new(&of_side))) {
                Ok(_) => spread_folders(&path),
                Err(e) if e.kind() == io::ErrorKind::AlreadyExists => {}
                Err(e) => return Err(storage(PLACE, &path, e).with_hint(PLACE_HINT)),
            }
            Ok((name.clone(), path))
        });
        folders.collect()
    }

    /// Makes what the session is to have in its scratch folder. What cannot be made is missing, with the reason.
    pub(super) fn make_places(&mut self, wanted: &Wanted) -> Result<(), LabError> {
        if !wanted.share && wanted.file_systems.is_empty() {
            return Ok(());
        }
        let (points, images) = (self.folder.join("places"), self.folder.join("images"));
        make_folder(&points)?;
        make_folder(&images)?;
        if wanted.share {
            let path = points.join(SHARE);
            make_folder(&path)?;
            self.shares.insert(SHARE.to_owned(), path);
        }
        for file_system in &wanted.file_systems {
            let (name, point) = (file_system.name.to_owned(), points.join(file_system.name));
            self.own(Owned::Mount(point.clone()))?;
            make_folder(&point)?;
            let (room_bytes, programs) = (wanted.room_bytes, &self.programs);
            let site = Site { folder: &images, room_bytes, programs, mark: &self.id };
            match file_system.make_and_mount(site, &point) {
                Ok(()) => drop(self.shares.insert(name, point)),
                Err(failure) => drop(self.missing.insert(name, failure)),
            }
        }
        Ok(())
    }

    /// Writes down what is about to be made for the whole session.
    pub(super) fn own(&self, thing: Owned) -> Result<(), LabError> {
        self.write_down(&thing)?;
        self.entries.borrow_mut().push(thing);
        Ok(())
    }

    pub(super) fn close(&self) -> Vec<Outcome> {
        let Some(journal) = self.journal.take() else { return Vec::new() };
        self.groups.leave();
        let outcomes = take_away(&self.id, &self.folder, &self.entries.borrow(), &self.programs);
        // Entries of things that are left stay in the journal, for `tare clean`.
        if outcomes.iter().all(|outcome| outcome.left_because.is_none()) {
            let _ = journal.end();
        }
        outcomes
    }
}

pub(super) fn make_folder(path: &Path) -> Result<(), LabError> {
    private_folder::make_private_folder(path).map_err(|e| storage("cannot make the folder", path, e))
}

pub(super) fn storage(what: &str, path: &Path, cause: io::Error) -> LabError {
    LabError::new(ErrorKind::Storage, format!("{what} {}", path.display())).with_cause(cause)
}

/// Formats the name of the folder of a side in the session's folder and in places: names of one length, for paths that cost alike.
fn side_name(side: usize) -> String {
    format!("{side:02}")
}
