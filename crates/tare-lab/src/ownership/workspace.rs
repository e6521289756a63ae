//! The workspace of a session: its scratch folder, the agent's binary in it, and what each start made.

#[cfg(unix)]
use std::cell::Ref;
use std::cell::{Cell, OnceCell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::env::consts::EXE_SUFFIX;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::rc::Rc;

use tare_data::build::Build;
use tare_data::failure::Failure;

use crate::error::{ErrorKind, LabError};
use crate::host::control_groups::OwnGroups;
use crate::host::mounts;
use crate::host::private_folder;
use crate::host::programs::{self, Programs};
use crate::host::running::Running;
use crate::owned::{Owned, PREFIX};
use crate::ownership::clean::Outcome;
use crate::ownership::journal::Journal;
use crate::ownership::shared::{PLACE, PLACE_HINT, Shared, make_folder, storage};
pub(crate) use crate::ownership::start::StartWorkspace;
use crate::ownership::state::require_ours;
use crate::platform;
use crate::provider::KernelKind;
#[cfg(unix)]
use crate::provider::call::CallCommand;
use crate::provider::root::RootFolder;
#[cfg(unix)]
use crate::storage::places::TURNS;
use crate::storage::places::Wanted;
#[cfg(unix)]
use crate::storage::turn_file::TurnFile;

/// File systems that keep files in memory: a place on one would not be on a disk.
const IN_MEMORY: [&str; 3] = ["tmpfs", "ramfs", "hugetlbfs"];

/// Resources that a session is given.
#[derive(Clone, Debug)]
pub struct Setting {
    /// Folder of the journals; the same for all sessions of a user.
    pub state: PathBuf,
    /// Folder on a disk in which the scratch folder is made.
    pub scratch: PathBuf,
    /// The running binary, which is copied in.
    pub binary: PathBuf,
    /// Places that are shared in, and those that are made.
    pub wanted: Wanted,
    /// Search path for foreign programs.
    pub programs: Programs,
    /// Sentence on folders that are not the usual ones.
    pub moved: Option<String>,
}

/// The workspace of one session. Dropped, it removes what it made.
#[derive(Debug)]
pub struct SessionWorkspace {
    shared: Rc<Shared>,
}

/// Checks that programs can be started from the scratch folder, and that it is on a disk where that is measured.
fn check_mount(root: &Path, needs_disk: bool) -> Result<(), LabError> {
    let Some(mount) = mounts::find_mount(root) else { return Ok(()) };
    let refused =
        |why: &str| LabError::new(ErrorKind::Storage, format!("the scratch folder {} {why}", root.display()));
    if mount.options.split(',').any(|option| option == "noexec") {
        return Err(refused("is mounted noexec")
            .with_cause("environments start tare from there")
            .with_hint("choose another folder with --scratch"));
    }
    if needs_disk && IN_MEMORY.contains(&mount.filesystem.as_str()) {
        let cause = format!("{} at {} keeps its files in memory", mount.filesystem, mount.point.display());
        return Err(refused("is not on a disk")
            .with_cause(cause)
            .with_hint("choose a folder on a disk with --scratch"));
    }
    Ok(())
}

/// Tells whether programs can be started from a folder, and files there are on a disk if they have to be.
pub fn serves_as_scratch(folder: &Path, needs_disk: bool) -> bool {
    platform::resolve_path(folder).is_ok_and(|folder| check_mount(&folder, needs_disk).is_ok())
}

impl SessionWorkspace {
    /// Begins the journal, makes the scratch folder and copies the binary into it.
    pub fn make_workspace(setting: &Setting) -> Result<Self, LabError> {
        let root = platform::resolve_path(&setting.scratch)
            .map_err(|e| storage("cannot use the scratch folder", &setting.scratch, e))?;
        require_ours(&setting.scratch, "scratch", "--scratch")?;
        check_mount(&root, setting.wanted.disk)?;
        let identity = programs::identify_program(&setting.binary)
            .map_err(|e| storage("cannot read the agent", &setting.binary, e))?;
        let id = fresh_id().map_err(|e| storage("cannot name a scratch folder in", &root, e))?;
        let secret = fresh_id().map_err(|e| storage("cannot name folders in", &root, e))?;
        let folder = root.join(format!("{PREFIX}{id}"));
        // In each folder that was named the session works in one of its own.
        let shares = setting.wanted.folders.iter().map(|(name, path)| match platform::resolve_path(path) {
            Ok(path) if path == root => Ok((name.clone(), folder.join("named"))),
            Ok(path) => Ok((name.clone(), path.join(format!("{PREFIX}{id}")))),
            Err(e) => Err(storage(PLACE, path, e).with_hint(PLACE_HINT)),
        });
        let shares: BTreeMap<String, PathBuf> = shares.collect::<Result<_, _>>()?;
        let mut journal = Journal::begin(&setting.state, &id, &folder, &Running::from_this_host())?;
        let folders: BTreeSet<PathBuf> = shares.values().chain([&folder]).cloned().collect();
        let groups = OwnGroups::find(&format!("{PREFIX}{id}"));
        let mut entries: Vec<Owned> = folders.iter().cloned().map(Owned::Folder).collect();
        entries.push(Owned::PlacedGroups(groups.list_folders()));
        for entry in &entries {
            journal.record_owned(entry.clone())?;
        }
        let entries = RefCell::new(entries);
        let agent = folder.join(format!("agent{EXE_SUFFIX}"));
        let (programs, journal) = (setting.programs.clone(), RefCell::new(Some(journal)));
        let (starts, missing) = (Cell::new(0), BTreeMap::new());
        let (inside, wants_work) = (setting.wanted.inside.clone(), setting.wanted.work);
        let shared = Shared {
            id,
            secret,
            folder,
            agent,
            held: OnceCell::new(),
            hashing: RefCell::default(),
            sha256: OnceCell::new(),
            identity,
            shares,
            inside,
            wants_work,
            missing,
            programs,
            journal,
            entries,
            starts,
            groups,
            answers: RefCell::default(),
            #[cfg(unix)]
            turn_files: RefCell::default(),
        };
        let mut workspace = SessionWorkspace { shared: Rc::new(shared) };
        make_folder(&workspace.shared.folder)?;
        for share in workspace.shared.shares.values() {
            let parent = share.parent().unwrap_or(share);
            private_folder::make_private_folder(share)
                .map_err(|e| storage(PLACE, parent, e).with_hint(PLACE_HINT))?;
        }
        Rc::get_mut(&mut workspace.shared).expect("no start holds it yet").make_places(&setting.wanted)?;
        workspace.shared.take_program(&setting.binary)?;
        Ok(workspace)
    }

    /// Distinguishes this session from every other: 16 hex digits.
    pub fn id(&self) -> &str {
        &self.shared.id
    }

    pub fn folder(&self) -> &Path {
        &self.shared.folder
    }

    pub fn agent(&self) -> &Path {
        &self.shared.agent
    }

    pub fn agent_sha256(&self) -> Result<&str, LabError> {
        self.shared.agent_sha256()
    }

    pub(crate) fn agent_identity(&self) -> &Build {
        &self.shared.identity
    }

    /// Counts the other sessions of this user on this machine since this one began.
    pub(crate) fn count_other_sessions(&self) -> u64 {
        self.shared.journal.borrow().as_ref().map_or(0, Journal::count_other_sessions)
    }

    pub fn programs(&self) -> &Programs {
        &self.shared.programs
    }

    pub(crate) fn wants_work(&self) -> bool {
        self.shared.wants_work
    }

    /// Has a command that names the agent start the file that is held open. To be called last: see [`Workspace::hold_program`].
    pub(crate) fn hold_program(&self, command: &mut Command) -> io::Result<()> {
        self.shared.hold_program(command)
    }

    /// Makes the files by which these pairs of sides take turns.
    #[cfg(unix)]
    pub(crate) fn make_turn_files(&self, pairs: impl Iterator<Item = [usize; 2]>) -> Result<(), LabError> {
        let folder = self.shared.folder.join(TURNS);
        make_folder(&folder)?;
        let made = pairs.map(|pair| TurnFile::create(&folder, pair)).collect::<io::Result<_>>();
        self.shared.turn_files.replace(made.map_err(|e| storage("cannot write in", &folder, e))?);
        Ok(())
    }

    /// Finds the file by which a pair takes turns, in whatever order it is named.
    #[cfg(unix)]
    pub(crate) fn find_turn_file(&self, pair: [usize; 2]) -> Option<Ref<'_, TurnFile>> {
        let find =
            |files: &Vec<TurnFile>| files.iter().position(|file| pair.iter().all(|side| file.is_of(*side)));
        let at = find(&self.shared.turn_files.borrow())?;
        Some(Ref::map(self.shared.turn_files.borrow(), |files| &files[at]))
    }

    pub(crate) fn missing_places(&self) -> &BTreeMap<String, Failure> {
        &self.shared.missing
    }

    /// Creates the workspace for one start of an environment with this root, which is that side of the session.
    pub(crate) fn make_start_workspace(
        &self,
        side: usize,
        root: &RootFolder,
        kernel: KernelKind,
    ) -> Result<StartWorkspace, LabError> {
        StartWorkspace::make(&self.shared, side, root, kernel)
    }

    /// Creates the workspace for one call of a command in an environment with this root.
    #[cfg(unix)]
    pub(crate) fn make_call_workspace(
        &self,
        side: usize,
        root: &RootFolder,
        kernel: KernelKind,
        call: CallCommand,
    ) -> Result<StartWorkspace, LabError> {
        let mut workspace = self.make_start_workspace(side, root, kernel)?;
        workspace.call = Some(call);
        Ok(workspace)
    }

    /// Removes everything and ends the journal. All starts must have been left.
    pub fn close(self) -> Vec<Outcome> {
        self.shared.close()
    }
}

impl Drop for SessionWorkspace {
    fn drop(&mut self) {
        self.shared.close();
    }
}

fn fresh_id() -> io::Result<String> {
    let mut bytes = [0u8; 8];
    platform::randomise_bytes(&mut bytes)?;
    Ok(format!("{:016x}", u64::from_le_bytes(bytes)))
}
