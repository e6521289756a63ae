//! Entering: what an environment says of itself when it is asked, and what it is given to be entered.

use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::process::Command;

use tare_data::build::Build;
use tare_data::facts::Facts;

use crate::error::LabError;
use crate::host::programs::{self, Programs};
use crate::owned::Owned;
use crate::provider::root::{Inside, RootFolder, Roots};
use crate::provider::specification::Specification;

/// Makes what an environment needs once; each step is reported in words.
pub type Prepare = fn(&Specification, &Programs, &mut dyn FnMut(&str)) -> Result<(), LabError>;

/// What is done once for an environment and all that differ from it in details, like downloading a kernel;
/// [`Programs::prepared`] is where.
#[derive(Debug)]
pub struct Preparation {
    /// Hands each step to the last argument as it begins.
    pub prepare: Prepare,
    pub remove: fn(&Specification, &Programs) -> Result<(), LabError>,
}

/// An environment whose options were parsed.
pub trait Environment {
    /// Whether its programs are those of an image that its specification names: it then takes no `root=`.
    fn has_image(&self) -> bool {
        false
    }

    /// Which roots it can have, where its options leave others than its provider's.
    fn roots(&self) -> Option<Roots> {
        None
    }

    /// Whether it can be entered here and now: cheap, changes nothing.
    fn ready(&self, programs: &Programs) -> Result<Ready, NotReady>;
}

/// How an environment is entered: a command is prepared, nothing is started.
type Enter = dyn Fn(&mut dyn Workspace) -> Result<Entrance, LabError>;

/// An environment that can be entered, with all that was found on the way to knowing it.
pub struct Ready {
    /// Facts from outside: version, path, options.
    pub facts: Facts,
    /// Share by which its trials work longer, on purpose: see [`SLOWER`](crate::provider::options::SLOWER).
    pub(crate) slower: f64,
    /// Whose programs it has: see [`ROOT`](crate::provider::root::ROOT).
    pub(crate) root: RootFolder,
    /// The agent that it is given, where that is not the session's own.
    pub(crate) agent: Option<Build>,
    enter: Box<Enter>,
}

impl Ready {
    /// `enter` prepares an entrance, as often as it is called. Everything it makes is given to the workspace before
    /// it is made.
    pub fn new(
        facts: Facts,
        enter: impl Fn(&mut dyn Workspace) -> Result<Entrance, LabError> + 'static,
    ) -> Self {
        Ready { facts, slower: 0.0, root: RootFolder::Empty, agent: None, enter: Box::new(enter) }
    }

    /// The same with an agent of its own.
    pub(crate) fn bringing(self, agent: Option<Build>) -> Self {
        Ready { agent, ..self }
    }

    pub fn enter(&self, workspace: &mut dyn Workspace) -> Result<Entrance, LabError> {
        (self.enter)(workspace)
    }
}

impl fmt::Debug for Ready {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ready").field("facts", &self.facts).finish_non_exhaustive()
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

    /// A program is there and does not answer.
    pub fn of(program: &Path) -> impl FnOnce(io::Error) -> NotReady {
        move |cause| NotReady::because(format!("{}: {cause}", program.display()))
    }

    /// Something that no one command would change.
    pub fn because(reason: impl Into<String>) -> Self {
        NotReady { reason: reason.into(), command: None }
    }
}

/// The path of a program that an environment needs, or what installs it.
pub(crate) fn program(programs: &Programs, name: &str, install: &str) -> Result<PathBuf, NotReady> {
    programs.find(name).ok_or_else(|| NotReady::missing(name, install))
}

/// The same of what runs an environment, with its path and its version as facts.
pub(crate) fn runtime(programs: &Programs, name: &str, install: &str) -> Result<(PathBuf, Facts), NotReady> {
    let program = program(programs, name, install)?;
    let version = programs::version(&program, &["--version"]).map_err(NotReady::of(&program))?;
    let mut facts = Facts::default();
    facts.note("runtime.path", program.to_string_lossy());
    facts.note("runtime.version", version);
    Ok((program, facts))
}

/// The tare for machines of another processor, as `uname -m` names it: it lies beside this one.
pub(crate) fn agent_for(programs: &Programs, architecture: &str) -> Result<(PathBuf, Build), NotReady> {
    agent_beside(programs, &format!("tare-{architecture}"), &format!("{architecture}-linux"))
}

/// The tare for Windows.
pub(crate) fn agent_for_windows(programs: &Programs) -> Result<(PathBuf, Build), NotReady> {
    agent_beside(programs, "tare.exe", "x86_64-windows")
}

/// The tare for another target, which lies beside this one under this name.
fn agent_beside(programs: &Programs, name: &str, target: &str) -> Result<(PathBuf, Build), NotReady> {
    let path = programs.tare.with_file_name(name);
    let named = path.to_string_lossy();
    // As people call it: whatever is not named is Linux.
    let wanted = target.trim_end_matches("-linux");
    let found = programs.find(&named).ok_or_else(|| {
        NotReady::because(format!("tare for {wanted} was not found: put it beside this one, as {named}"))
    })?;
    let identity = programs::identity(&found).map_err(NotReady::of(&found))?;
    match identity.target == target {
        true => Ok((found, identity)),
        false => Err(NotReady::because(format!("{named} is a program {identity}, and not for {wanted}"))),
    }
}

/// File in the folder of a start that names the step that could not be made.
pub(crate) const FAILED_STEP: &str = "failed-step";

/// Where a session builds: a scratch folder, the agent's binary, and the journal of what was made.
pub trait Workspace {
    /// This start's folder, empty, on a disk; removed after leaving.
    fn folder(&self) -> &Path;

    /// The static binary to copy in.
    fn agent(&self) -> &Path;

    /// SHA-256 of that binary, in hex.
    fn agent_sha256(&self) -> &str;

    /// The session's scratch folder, for what all starts share.
    fn session_folder(&self) -> &Path;

    /// What processes carry in `MARK` that outlive this start, and end with the session.
    fn session_mark(&self) -> &str;

    /// Host folders to share in: name of the place to path on the host. They appear as places of that name.
    fn shares(&self) -> &BTreeMap<String, PathBuf>;

    /// What this environment has inside: whose programs, and the folder that commands work in.
    fn inside(&self) -> &Inside;

    /// What processes of this start carry in `MARK`, so that they can be found again.
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

    /// The same as `own` for what outlives this start, and is removed when the session ends.
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
