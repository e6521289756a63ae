//! The workspace of a session: its scratch folder, the agent's binary in it, and what each start made.

mod starting;

use std::cell::{Cell, OnceCell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::env::consts::EXE_SUFFIX;
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::process::Child;
use std::rc::Rc;

use sha2::{Digest, Sha256};
use tare_data::build::Build;
use tare_data::encoding::encode_hex;
use tare_data::failure::Failure;
use tare_probes::harness::folder::{keep_empty, spread_folders};

use crate::error::{ErrorKind, LabError};
use crate::host::control_groups::{OwnGroups, PlacedGroup, Purpose};
use crate::host::mounts;
use crate::host::private_folder;
use crate::host::processes::Kept;
use crate::host::programs::{self, Programs};
use crate::host::running::Running;
use crate::owned::Owned;
use crate::owned::PREFIX;
use crate::ownership::clean::{Outcome, take_away};
use crate::ownership::journal::Journal;
use crate::platform;
use crate::provider::call::CallCommand;
use crate::provider::root::{Inside, RootFolder};
use crate::provider::{KernelKind, Workspace};
use crate::storage::Site;
use crate::storage::places::{SHARE, TURNS, Wanted};

/// File systems that keep files in memory: a place on one would not be on a disk.
const IN_MEMORY: [&str; 3] = ["tmpfs", "ramfs", "hugetlbfs"];

/// The error of a folder that was named as a place and cannot be one.
const PLACE: &str = "cannot write in the place";
const PLACE_HINT: &str = "name a folder that you may write, on a disk with room";

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
}

/// The workspace of one session. Dropped, it removes what it made.
#[derive(Debug)]
pub struct SessionWorkspace {
    shared: Rc<Shared>,
}

#[derive(Debug)]
struct Shared {
    id: String,
    folder: PathBuf,
    agent: PathBuf,
    /// Hash of the agent; set once it is copied.
    sha256: OnceCell<String>,
    identity: Build,
    shares: BTreeMap<String, PathBuf>,
    inside: Inside,
    /// True when a case uses the place where commands find their files.
    wants_work: bool,
    /// Places that could not be made.
    missing: BTreeMap<String, Failure>,
    programs: Programs,
    /// None after the end.
    journal: RefCell<Option<Journal>>,
    /// Entries of the journal that belong to no start.
    entries: RefCell<Vec<Owned>>,
    starts: Cell<u32>,
    /// Control groups below that of this process.
    groups: OwnGroups,
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

impl SessionWorkspace {
    /// Begins the journal, makes the scratch folder and copies the binary into it.
    pub fn make_workspace(setting: &Setting) -> Result<Self, LabError> {
        let root = platform::resolve_path(&setting.scratch)
            .map_err(|e| storage("cannot use the scratch folder", &setting.scratch, e))?;
        check_mount(&root, setting.wanted.disk)?;
        let identity = programs::identify_program(&setting.binary)
            .map_err(|e| storage("cannot read the agent", &setting.binary, e))?;
        let id = fresh_id().map_err(|e| storage("cannot name a scratch folder in", &root, e))?;
        let folder = root.join(format!("{PREFIX}{id}"));
        // In each folder that was named the session works in one of its own.
        let shares = setting.wanted.folders.iter().map(|(name, path)| match platform::resolve_path(path) {
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
        let (sha256, starts, missing) = (OnceCell::new(), Cell::new(0), BTreeMap::new());
        let (inside, wants_work) = (setting.wanted.inside.clone(), setting.wanted.work);
        let shared = Shared {
            id,
            folder,
            agent,
            sha256,
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
        };
        let mut workspace = SessionWorkspace { shared: Rc::new(shared) };
        make_folder(&workspace.shared.folder)?;
        make_folder(&workspace.turns_folder())?;
        for share in workspace.shared.shares.values() {
            let parent = share.parent().unwrap_or(share);
            private_folder::make_private_folder(share)
                .map_err(|e| storage(PLACE, parent, e).with_hint(PLACE_HINT))?;
        }
        Rc::get_mut(&mut workspace.shared)
            .expect("no start holds it yet")
            .make_places(&setting.wanted, &setting.binary)?;
        workspace.shared.shares.values().for_each(|share| spread_folders(share));
        let sha256 = copy_program(&setting.binary, workspace.agent())
            .map_err(|e| storage("cannot copy the agent to", workspace.agent(), e))?;
        workspace.shared.sha256.get_or_init(|| sha256);
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

    pub fn agent_sha256(&self) -> &str {
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

    /// Locates the folder with the files of turns: see [`TURNS`].
    pub(crate) fn turns_folder(&self) -> PathBuf {
        self.shared.folder.join(TURNS)
    }

    pub(crate) fn missing_places(&self) -> &BTreeMap<String, Failure> {
        &self.shared.missing
    }

    /// Creates the workspace for one start of an environment with this root.
    pub(crate) fn make_start_workspace(
        &self,
        root: &RootFolder,
        kernel: KernelKind,
    ) -> Result<StartWorkspace, LabError> {
        let number = self.shared.starts.get();
        self.shared.starts.set(number + 1);
        let mut shares = self.shared.shares.clone();
        if kernel != KernelKind::Own {
            shares.insert(TURNS.to_owned(), self.turns_folder());
        }
        let folder = self.shared.folder.join(format!("{number:05}"));
        let mark = format!("{}/{number:05}", self.shared.id);
        let name = format!("{PREFIX}{}-{number:05}", self.shared.id);
        let group = self.shared.groups.below_own(&format!("{number:05}"), Purpose::Apart).ok();
        let mut workspace = StartWorkspace {
            shared: Rc::clone(&self.shared),
            inside: Inside { root: root.clone(), ..self.shared.inside.clone() },
            shares,
            folder,
            mark,
            name,
            number,
            group,
            keeps: false,
            companions: Vec::new(),
            owned: Vec::new(),
            left: false,
            call: None,
        };
        workspace.record_owned(Owned::Folder(workspace.folder.clone()))?;
        make_folder(&workspace.folder)?;
        Ok(workspace)
    }

    /// Creates the workspace for one call of a command in an environment with this root.
    #[cfg(unix)]
    pub(crate) fn make_call_workspace(
        &self,
        root: &RootFolder,
        kernel: KernelKind,
        command: &[String],
        is_divided: bool,
    ) -> Result<StartWorkspace, LabError> {
        let mut workspace = self.make_start_workspace(root, kernel)?;
        workspace.call = Some(CallCommand::new(command, is_divided));
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

impl Shared {
    /// Writes down what is about to be made; returns the number of the entry.
    fn write_down(&self, thing: &Owned) -> Result<u64, LabError> {
        let mut journal = self.journal.borrow_mut();
        let ended = || LabError::new(ErrorKind::Environment, "the session has ended already");
        journal.as_mut().ok_or_else(ended)?.record_owned(thing.clone())
    }

    fn agent_sha256(&self) -> &str {
        self.sha256.get().map_or("", String::as_str)
    }

    /// Makes what the session is to have in its scratch folder. What cannot be made is missing, with the reason.
    fn make_places(&mut self, wanted: &Wanted, binary: &Path) -> Result<(), LabError> {
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
            let site = Site { folder: &images, binary, room_bytes, programs, mark: &self.id };
            match file_system.make_and_mount(site, &point) {
                Ok(()) => drop(self.shares.insert(name, point)),
                Err(failure) => drop(self.missing.insert(name, failure)),
            }
        }
        Ok(())
    }

    /// Writes down what is about to be made for the whole session.
    fn own(&self, thing: Owned) -> Result<(), LabError> {
        self.write_down(&thing)?;
        self.entries.borrow_mut().push(thing);
        Ok(())
    }

    fn close(&self) -> Vec<Outcome> {
        let Some(journal) = self.journal.take() else { return Vec::new() };
        self.groups.leave();
        let outcomes = take_away(&self.id, &self.folder, &self.entries.borrow(), &self.programs);
        // What is left stays in the journal, for `tare clean`.
        if outcomes.iter().all(|outcome| outcome.left_because.is_none()) {
            let _ = journal.end();
        }
        outcomes
    }
}

/// The workspace of one start of an environment. Dropped, it removes what was made in it.
#[derive(Debug)]
pub(crate) struct StartWorkspace {
    shared: Rc<Shared>,
    inside: Inside,
    /// Folders that it shares with this machine.
    shares: BTreeMap<String, PathBuf>,
    folder: PathBuf,
    mark: String,
    name: String,
    number: u32,
    /// None where no control group may be made.
    group: Option<PlacedGroup>,
    /// True where a process keeps all descendants of a command in place of a group.
    keeps: bool,
    /// Programs that serve the environment.
    companions: Vec<(Child, Kept)>,
    owned: Vec<(u64, Owned)>,
    left: bool,
    /// The command of a call, in place of the agent.
    call: Option<CallCommand>,
}

/// Candidates for the place `own` in a start's folder: by itself, in a root folder, or next to a view.
const OWN_PLACES: [&str; 3] = ["own", "root/own", "base/own"];

impl StartWorkspace {
    /// Tells whether a provider has taken the words of the call.
    #[cfg(unix)]
    pub(crate) fn has_called(&self) -> bool {
        self.call.as_ref().is_some_and(CallCommand::is_taken)
    }

    /// Tells whether the process that was started is a keeper, and no part of the environment.
    pub(crate) fn has_keeper(&self) -> bool {
        self.keeps && self.group.is_none()
    }

    /// Ends every process of this start and removes everything that it made. In bounded time.
    pub(crate) fn clean_up(&mut self) -> Vec<Outcome> {
        self.left = true;
        let (numbers, mut things): (Vec<u64>, Vec<Owned>) = self.owned.drain(..).unzip();
        let group = |session: PathBuf| session.join(format!("{:05}", self.number));
        let groups = self.shared.groups.list_folders().into_iter().map(group);
        things.push(Owned::PlacedGroups(groups.collect()));
        self.companions.iter().for_each(|(_, kept)| kept.end_remaining());
        // Else the trials of the next start would lie where those of this one did.
        let kept = self.shared.folder.join("apart");
        OWN_PLACES.iter().for_each(|own| keep_empty(&self.folder.join(own), &kept));
        let outcomes = take_away(&self.mark, &self.folder, &things, &self.shared.programs);
        // Dead by now; this removes their last trace, the entry in the process table.
        for (mut companion, _) in self.companions.drain(..) {
            let _ = companion.try_wait();
        }
        // One thing that stays keeps all entries: removing what is gone costs nothing.
        if outcomes.iter().all(|outcome| outcome.left_because.is_none())
            && let Some(journal) = self.shared.journal.borrow_mut().as_mut()
        {
            // A release that cannot be written makes the next cleaning look once more.
            let _ = journal.record_released(numbers);
        } else {
            self.shared.entries.borrow_mut().extend(things);
        }
        outcomes
    }
}

impl Drop for StartWorkspace {
    fn drop(&mut self) {
        if !self.left {
            self.clean_up();
        }
    }
}

/// Copies a program, readable and runnable by all who get there; returns its SHA-256 in hex.
fn copy_program(from: &Path, to: &Path) -> io::Result<String> {
    let mut source = File::open(from)?;
    let mut copy = platform::make_runnable(&mut OpenOptions::new()).write(true).create_new(true).open(to)?;
    let (mut hash, mut buffer) = (Sha256::new(), vec![0u8; 256 * 1024]);
    loop {
        let read = source.read(&mut buffer)?;
        if read == 0 {
            break;
        }
        hash.update(&buffer[..read]);
        copy.write_all(&buffer[..read])?;
    }
    Ok(encode_hex(&hash.finalize()))
}

fn make_folder(path: &Path) -> Result<(), LabError> {
    private_folder::make_private_folder(path).map_err(|e| storage("cannot make the folder", path, e))
}

fn fresh_id() -> io::Result<String> {
    let mut bytes = [0u8; 8];
    platform::randomise_bytes(&mut bytes)?;
    Ok(format!("{:016x}", u64::from_le_bytes(bytes)))
}

fn storage(what: &str, path: &Path, cause: io::Error) -> LabError {
    LabError::new(ErrorKind::Storage, format!("{what} {}", path.display())).with_cause(cause)
}
