//! What a provider of environments is, and what it is given: the interface, apart from the list of those there are.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::path::PathBuf;
use std::process::Command;

use tare_data::facts::Facts;

use crate::error::LabError;
use crate::host::programs::Programs;
use crate::ownership::owned::Owned;
use crate::provider::specification::Specification;

pub mod specification;

/// A kind of environment: knows whether it can be entered here, and how.
pub trait Provider: Sync {
    /// What it is called on the command line, e.g. `gvisor`.
    fn name(&self) -> &'static str;

    /// One sentence: what it is.
    fn summary(&self) -> &'static str;

    /// What people know that it stands for, and what it has in common with that and what not.
    fn stands_for(&self) -> &'static str;

    /// Options that a specification may give. Any other is refused, with the nearest named.
    fn options(&self) -> &'static [OptionDescription];

    /// Specifications that `tare run` takes by itself where they are ready, e.g. `gvisor`, `gvisor?platform=ptrace`.
    fn by_default(&self) -> &'static [&'static str];

    /// Whether it can be entered here and now: cheap, changes nothing. Ready: facts from outside (version, path).
    fn ready(&self, specification: &Specification, programs: &Programs) -> Result<Facts, NotReady>;

    /// Does what is slow and has to be done once, like downloading a kernel; [`Programs::prepared`] is where.
    /// `tell` hears what happens.
    fn prepare(
        &self,
        _specification: &Specification,
        _programs: &Programs,
        _tell: &mut dyn FnMut(&str),
    ) -> Result<(), LabError> {
        Ok(())
    }

    /// Takes away what `prepare` made.
    fn remove(&self, _specification: &Specification, _programs: &Programs) -> Result<(), LabError> {
        Ok(())
    }

    /// Prepares an entrance. Everything made on the way is given to `workspace` before it is made.
    fn enter(
        &self,
        specification: &Specification,
        workspace: &mut dyn Workspace,
    ) -> Result<Entrance, LabError>;
}

/// An option of a provider.
#[derive(Clone, Copy, Debug)]
pub struct OptionDescription {
    pub key: &'static str,
    /// What holds when it is not given.
    pub default: &'static str,
    /// The values it can take; empty for free text.
    pub values: &'static [&'static str],
    pub about: &'static str,
}

impl OptionDescription {
    /// What a specification says, or the default.
    pub fn value<'a>(&self, specification: &'a Specification) -> &'a str
    where
        'static: 'a,
    {
        specification.option(self.key).unwrap_or(self.default)
    }
}

/// Why an environment cannot be entered, and the one command that would make it so.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotReady {
    pub reason: String,
    pub command: Option<String>,
}

impl NotReady {
    /// A program is missing; the command installs it.
    pub fn missing(program: &str, command: impl Into<String>) -> Self {
        NotReady { reason: format!("{program} is not installed"), command: Some(command.into()) }
    }

    /// Something that no command of the user's changes.
    pub fn because(reason: impl Into<String>) -> Self {
        NotReady { reason: reason.into(), command: None }
    }
}

/// Where a session builds: a scratch folder, the agent's binary, and the journal of what was made.
pub trait Workspace {
    /// A folder of this start's own, empty, on a disk; removed after leaving.
    fn folder(&self) -> &std::path::Path;

    /// The static binary to copy in.
    fn agent(&self) -> &std::path::Path;

    /// SHA-256 of that binary, in hex.
    fn agent_sha256(&self) -> &str;

    /// The session's scratch folder, for what all starts share.
    fn session_folder(&self) -> &std::path::Path;

    /// What processes carry in [`crate::ownership::owned::MARK`] that outlive this start, and end with the session.
    fn session_mark(&self) -> &str;

    /// Host folders to share in: name of the place to path on the host. They appear as places of that name.
    fn shares(&self) -> &BTreeMap<String, PathBuf>;

    /// Where foreign programs are looked for.
    fn programs(&self) -> &Programs;

    /// What processes of this start carry in [`crate::ownership::owned::MARK`], so that they can be found again.
    fn mark(&self) -> &str;

    /// A name that nothing else on this machine has, for containers, control groups, network namespaces.
    fn name(&self) -> &str;

    /// The number of this start: no other of the session has it.
    fn number(&self) -> u32;

    /// Writes down what is about to be made.
    fn own(&mut self, thing: Owned) -> Result<(), LabError>;

    /// Starts a program that serves the environment, and ends with this start. Its output is a file in the
    /// start's folder: the path is returned.
    fn accompany(&mut self, name: &str, command: Command) -> Result<PathBuf, LabError>;

    /// The same as `own` for what outlives this start, and is taken away when the session ends.
    fn own_for_session(&mut self, thing: Owned) -> Result<(), LabError>;
}

/// How to get in: a command whose standard input and output are the agent's.
#[derive(Debug)]
pub struct Entrance {
    /// Started by the lab with pipes on all three standard streams; lines on standard error become notes.
    /// Must die when its parent dies, or be found through what `workspace` owns.
    pub command: Command,
    /// Address at which the environment reaches this machine; none where it has no network to it.
    pub host: Option<IpAddr>,
    /// Places by name (`own`, `share` ...) with their paths inside.
    pub places: BTreeMap<String, String>,
    /// Facts taken from outside: versions, flags, file systems under the places.
    pub outside: Facts,
}
