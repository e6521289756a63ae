//! The workspace of a start, as providers and launchers have it.

use std::collections::BTreeMap;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::{StartWorkspace, storage};
use crate::error::{ErrorKind, LabError};
use crate::host::control_groups::OwnGroups;
use crate::host::processes;
use crate::owned::{MARK, Owned};
use crate::provider::Workspace;
use crate::provider::root::Inside;

impl Workspace for StartWorkspace {
    fn folder(&self) -> &Path {
        &self.folder
    }

    fn agent(&self) -> &Path {
        &self.shared.agent
    }

    fn agent_sha256(&self) -> &str {
        self.shared.agent_sha256()
    }

    fn session_folder(&self) -> &Path {
        &self.shared.folder
    }

    fn session_mark(&self) -> &str {
        &self.shared.id
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
