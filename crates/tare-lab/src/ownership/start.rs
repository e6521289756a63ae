//! The workspace of one start of an environment: its folder, the folders that it shares, and what was made for it.

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::rc::Rc;

use tare_probes::harness::folder::keep_empty;

use crate::error::{ErrorKind, LabError};
use crate::host::control_groups::{OwnGroups, PlacedGroup, Purpose};
use crate::host::processes::{self, Kept};
use crate::owned::{MARK, Owned, PREFIX};
use crate::ownership::clean::{Outcome, take_away};
use crate::ownership::shared::{Shared, make_folder, storage};
use crate::provider::call::CallCommand;
use crate::provider::root::{Inside, RootFolder};
use crate::provider::{KernelKind, Workspace};
use crate::storage::places::TURNS;

/// The workspace of one start of an environment. Dropped, it removes what was made in it.
#[derive(Debug)]
pub(crate) struct StartWorkspace {
    shared: Rc<Shared>,
    inside: Inside,
    /// Folders that it shares with this machine.
    shares: BTreeMap<String, PathBuf>,
    side: usize,
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
    pub(super) call: Option<CallCommand>,
    /// Descriptors of the files by which it takes turns.
    turns: Vec<i32>,
}

/// Candidates for the place `own` in a start's folder: by itself, in a root folder, or next to a view.
const OWN_PLACES: [&str; 3] = ["own", "root/own", "base/own"];

impl StartWorkspace {
    pub(super) fn make(
        shared: &Rc<Shared>,
        side: usize,
        root: &RootFolder,
        kernel: KernelKind,
    ) -> Result<StartWorkspace, LabError> {
        let number = shared.starts.get();
        shared.starts.set(number + 1);
        let of_side = shared.side_folder(side);
        if !of_side.exists() {
            make_folder(&of_side)?;
        }
        let group = shared.groups.below_own(&format!("{number:05}"), Purpose::Apart).ok();
        let mut workspace = StartWorkspace {
            shared: Rc::clone(shared),
            inside: Inside { root: root.clone(), ..shared.inside.clone() },
            shares: shared.share_with(side)?,
            side,
            folder: of_side.join(format!("{number:05}")),
            mark: format!("{}/{number:05}", shared.id),
            name: format!("{PREFIX}{}-{number:05}", shared.id),
            number,
            group,
            keeps: false,
            companions: Vec::new(),
            owned: Vec::new(),
            left: false,
            call: None,
            turns: Vec::new(),
        };
        workspace.record_owned(Owned::Folder(workspace.folder.clone()))?;
        make_folder(&workspace.folder)?;
        if kernel != KernelKind::Own {
            workspace.share_turns()?;
        }
        Ok(workspace)
    }

    /// Has its commands work in another folder than the session's.
    pub(crate) fn work_in(&mut self, folder: &Path) {
        if let Some(work) = &mut self.inside.work {
            folder.clone_into(&mut work.folder);
        }
    }

    /// Shares the files by which this side takes turns, and no other, in a folder of this start's.
    fn share_turns(&mut self) -> Result<(), LabError> {
        let folder = self.folder.join(TURNS);
        make_folder(&folder)?;
        #[cfg(unix)]
        for file in self.shared.turn_files.borrow().iter().filter(|file| file.is_of(self.side)) {
            // On a file system without links the file is not found inside, and the pair is measured alone for that reason.
            let _ = file.link_into(&folder);
            self.turns.push(file.descriptor());
        }
        self.shares.insert(TURNS.to_owned(), folder);
        Ok(())
    }

    /// Does something in the start's group, where one may be made.
    #[cfg(unix)]
    pub(crate) fn stay_in_group_for<T>(&self, act: impl FnOnce() -> T) -> T {
        let Some(group) = &self.group else { return act() };
        group.stay_for(act)
    }

    /// Finds the list of the processes in the start's group, where one may be made.
    #[cfg(unix)]
    pub(crate) fn find_list(&self) -> Option<PathBuf> {
        self.group.as_ref()?.find_list()
    }

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
        let kept = self.shared.side_folder(self.side).join("apart");
        OWN_PLACES.iter().for_each(|own| keep_empty(&self.folder.join(own), &kept));
        let outcomes = take_away(&self.mark, &self.folder, &things, &self.shared.programs);
        // Dead by now; this removes their last trace, the entry in the process table.
        for (mut companion, _) in self.companions.drain(..) {
            let _ = companion.try_wait();
        }
        // A single thing that stays keeps all entries: removing those that are gone costs nothing.
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

impl Workspace for StartWorkspace {
    fn folder(&self) -> &Path {
        &self.folder
    }

    fn agent(&self) -> &Path {
        &self.shared.agent
    }

    fn hold_program(&self, command: &mut Command) -> io::Result<()> {
        self.shared.hold_program(command)
    }

    fn copy_agent(&self) -> Result<PathBuf, LabError> {
        self.shared.copy_for_side(self.side)
    }

    fn turn_descriptors(&self) -> &[i32] {
        &self.turns
    }

    fn agent_sha256(&self) -> Result<&str, LabError> {
        self.shared.agent_sha256()
    }

    fn session_folder(&self) -> &Path {
        &self.shared.folder
    }

    fn session_mark(&self) -> &str {
        &self.shared.id
    }

    fn recall(&self, question: &str) -> Option<String> {
        self.shared.answers.borrow().get(question).cloned()
    }

    fn remember(&self, question: &str, answer: &str) {
        self.shared.answers.borrow_mut().insert(question.to_owned(), answer.to_owned());
    }

    fn shares(&self) -> &BTreeMap<String, PathBuf> {
        &self.shares
    }

    fn inside(&self) -> &Inside {
        &self.inside
    }

    fn mark(&self) -> &str {
        &self.mark
    }

    fn words_inside(&self, agent: &str) -> Vec<String> {
        match &self.call {
            None => vec![agent.to_owned(), tare_probes::agent::AGENT.to_owned()],
            Some(call) => call.take_words(agent),
        }
    }

    fn words_by_shell(&self) -> Vec<String> {
        self.call.as_ref().map(CallCommand::take_words_by_shell).unwrap_or_default()
    }

    fn is_call(&self) -> bool {
        self.call.is_some()
    }

    fn name(&self) -> &str {
        &self.name
    }

    fn number(&self) -> u32 {
        self.number
    }

    fn start_companion(&mut self, name: &str, mut command: Command) -> Result<PathBuf, LabError> {
        let path = self.folder.join(format!("{name}.log"));
        let log = File::create(&path).map_err(|e| storage("cannot write", &path, e))?;
        let both = log.try_clone().map_err(|e| storage("cannot write", &path, e))?;
        command.env(MARK, &self.mark).stdin(Stdio::null()).stdout(log).stderr(both);
        self.tie_command(&mut command)?;
        let (child, kept) = processes::start_command(&mut command).map_err(|e| {
            let what = format!("cannot start {}", command.get_program().display());
            LabError::new(ErrorKind::Environment, what).with_cause(e)
        })?;
        let pid = child.id();
        self.companions.push((child, kept));
        // A program that clears its environment is still known by its number.
        match processes::started_ticks(pid) {
            Some(started_ticks) => self.record_owned(Owned::Process { pid, started_ticks }).map(|()| path),
            None => Ok(path),
        }
    }

    fn own_groups(&self) -> &OwnGroups {
        &self.shared.groups
    }

    fn tie_command(&self, command: &mut Command) -> Result<(), LabError> {
        processes::die_with_parent(command);
        match &self.group {
            Some(group) => group.join(command)?,
            None if self.keeps => processes::keep_descendants(command),
            None => {}
        }
        Ok(())
    }

    fn spare_programs(&mut self, programs: &[PathBuf]) -> Result<(), LabError> {
        self.keeps = true;
        programs.iter().try_for_each(|program| self.record_owned(Owned::Spared(program.clone())))
    }

    fn record_owned(&mut self, thing: Owned) -> Result<(), LabError> {
        let number = self.shared.write_down(&thing)?;
        self.owned.push((number, thing));
        Ok(())
    }

    fn own_for_session(&mut self, thing: Owned) -> Result<(), LabError> {
        self.shared.own(thing)
    }
}
