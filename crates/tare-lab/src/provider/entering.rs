//! Entering an environment: its answer when asked whether it is ready, and the resources to enter it.

use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use tare_data::facts::keys::RUNTIME_VERSION;

use tare_data::build::Build;
use tare_data::facts::Facts;
use tare_data::request::{Amount, TrialRequest};
use tare_data::session::specification::Specification;

use crate::error::LabError;
use crate::host::control_groups::OwnGroups;
use crate::host::programs::{self, Found, Programs};
use crate::owned::Owned;
use crate::provider::host_path::HostPath;
use crate::provider::kernel_kind::KernelFacts;
use crate::provider::options::Turns;
use crate::provider::proof::Proof;
use crate::provider::root::{Inside, RootFolder, Roots};

/// Function that prepares an environment once, and reports each step in words.
pub type Prepare = fn(&Specification, &Programs, &mut dyn FnMut(&str)) -> Result<(), LabError>;

/// Setup that is done once for an environment and its variants, such as downloading a kernel. Its files are
/// in [`Programs::prepared`].
#[derive(Debug)]
pub struct Preparation {
    /// Passes each step to the last argument as it begins.
    pub prepare: Prepare,
    pub remove: fn(&Specification, &Programs) -> Result<(), LabError>,
}

/// An environment whose options were parsed.
pub trait Environment {
    /// Tells whether the specification names an image, whose programs it then uses. Such an environment takes
    /// no `root=`.
    fn has_image(&self) -> bool {
        false
    }

    /// Tells whether it is this machine itself, which commands can work in where no layers over its files can be made.
    fn is_machine(&self) -> bool {
        false
    }

    /// Restricts the provider's roots, if the options of this environment do.
    fn restricted_roots(&self) -> Option<Roots> {
        None
    }

    /// Checks whether this machine's programs can be inside now, where that takes more than layers over files.
    fn check_view(&self, _programs: &Programs) -> Result<(), NotReady> {
        Ok(())
    }

    /// Returns the description by which it is recognised once it is entered.
    fn proof(&self) -> Proof;

    /// Returns the slow setup that has to be done once, if there is any.
    fn preparation(&self) -> Option<Preparation> {
        None
    }

    /// Checks whether the environment can be entered now. This is cheap and changes nothing.
    fn check_ready(&self, programs: &Programs) -> Result<Ready, NotReady>;
}

/// Function that prepares the command which enters an environment, without starting anything.
type Enter = dyn Fn(&mut dyn Workspace) -> Result<Entrance, LabError>;

/// An environment that is ready, with everything found out about it.
pub struct Ready {
    /// Facts from outside: version, path, options.
    pub facts: Facts,
    /// Fraction by which its trials are slowed down on purpose: see
    /// [`SLOWER`](crate::provider::options::SLOWER).
    pub(crate) slower: f64,
    /// Permission to take turns with another environment's trials.
    pub(crate) turns: Turns,
    /// Source of its programs: see [`ROOT`](crate::provider::root::ROOT).
    pub(crate) root: RootFolder,
    /// Reason why no layers lie over this machine's files, so that changes of commands stay.
    pub(crate) keeps_changes: Option<String>,
    /// Kernel that its processes run on.
    pub(crate) kernel: KernelFacts,
    /// Description by which it is recognised.
    pub(crate) proof: Proof,
    /// Its agent, if that is not the session's.
    pub(crate) agent: Option<Build>,
    enter: Box<Enter>,
}

impl Ready {
    /// Creates a ready environment from a function that prepares an entrance whenever it is called. The function must
    /// report everything to the workspace before creating it.
    pub fn new(
        facts: Facts,
        enter: impl Fn(&mut dyn Workspace) -> Result<Entrance, LabError> + 'static,
    ) -> Self {
        let (root, kernel) = (RootFolder::Empty, KernelFacts::OWN);
        Ready {
            facts,
            slower: 0.0,
            turns: Turns::Possible,
            root,
            keeps_changes: None,
            kernel,
            proof: Proof::None,
            agent: None,
            enter: Box::new(enter),
        }
    }

    /// Sets a different agent from the session's.
    pub(crate) fn with_agent(self, agent: Option<Build>) -> Self {
        Ready { agent, ..self }
    }

    /// Adds to a request what it is told of the environment. A run for its outcome is not timed, and waits for no clock.
    pub(crate) fn adapt_request(&self, request: TrialRequest) -> TrialRequest {
        let is_timed = request.amount != Amount::Outcome;
        let settling_ms = if is_timed { self.kernel.settling.longest.as_millis() as u64 } else { 0 };
        TrialRequest { slower: self.slower, settling_ms, ..request }
    }

    pub fn prepare_entrance(&self, workspace: &mut dyn Workspace) -> Result<Entrance, LabError> {
        (self.enter)(workspace)
    }
}

impl fmt::Debug for Ready {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ready").field("facts", &self.facts).finish_non_exhaustive()
    }
}

/// The reason why an environment cannot be entered, and the command that fixes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotReady {
    pub reason: String,
    pub command: Option<String>,
}

impl NotReady {
    /// Reports a missing program, and the command that installs it.
    pub fn missing_program(program: &str, command: impl Into<String>) -> Self {
        NotReady { reason: format!("{program} is not installed"), command: Some(command.into()) }
    }

    /// Reports a program that does not answer.
    pub fn from_program_error(program: &Path) -> impl FnOnce(io::Error) -> NotReady {
        move |cause| NotReady::from_reason(format!("{}: {cause}", program.display()))
    }

    /// Reports a reason that no single command would change.
    pub fn from_reason(reason: impl Into<String>) -> Self {
        NotReady { reason: reason.into(), command: None }
    }
}

/// Finds a program that an environment needs, or reports the command that installs it.
pub(crate) fn require_program(programs: &Programs, name: &str, install: &str) -> Result<Found, NotReady> {
    programs.find(name).ok_or_else(|| match programs.find_refused(name) {
        Some(refused) => {
            NotReady { reason: format!("{name} is not used: {refused}"), command: refused.find_help() }
        }
        None => NotReady::missing_program(name, install),
    })
}

/// Finds the runtime of an environment, and notes its path and version as facts.
pub(crate) fn require_runtime(
    programs: &Programs,
    name: &str,
    install: &str,
) -> Result<(Found, Facts), NotReady> {
    let program = require_program(programs, name, install)?;
    let version = programs::read_program_version(&program, &["--version"])
        .map_err(NotReady::from_program_error(&program))?;
    let facts = note_runtime(&program, &version);
    Ok((program, facts))
}

/// Notes the path of a runtime, and its version, as facts.
pub(crate) fn note_runtime(program: &Found, version: &str) -> Facts {
    let mut facts = Facts::default();
    facts.add_fact("runtime.path", program.to_string_lossy());
    facts.add_fact(RUNTIME_VERSION, version);
    facts
}

/// Finds the build of tare for another processor, named as by `uname -m`, in the folder of this one.
pub(crate) fn agent_for(programs: &Programs, architecture: &str) -> Result<(PathBuf, Build), NotReady> {
    agent_beside(programs, &format!("tare-{architecture}"), &format!("{architecture}-linux"))
}

/// Finds the build of tare for Windows.
pub(crate) fn agent_for_windows(programs: &Programs) -> Result<(PathBuf, Build), NotReady> {
    agent_beside(programs, "tare.exe", "x86_64-windows")
}

/// Finds the build of tare for another target, in the folder of this one.
fn agent_beside(programs: &Programs, name: &str, target: &str) -> Result<(PathBuf, Build), NotReady> {
    let path = programs.tare.with_file_name(name);
    let named = path.to_string_lossy();
    // As people call it: whatever is not named is Linux.
    let wanted = target.trim_end_matches("-linux");
    let found = programs.find(&named).ok_or_else(|| {
        NotReady::from_reason(format!("tare for {wanted} was not found: put it next to this one, as {named}"))
    })?;
    let identity = programs::identify_program(&found).map_err(NotReady::from_program_error(&found))?;
    match identity.target == target {
        true => Ok((found.to_path_buf(), identity)),
        false => Err(NotReady::from_reason(format!("{named} is a program {identity}, and not for {wanted}"))),
    }
}

/// Fact of an environment that sees files of this machine and of this user: what it changes there stays changed.
pub const SHARES_FILES: &str = "files.shared";

/// File in the folder of a start that names the step that failed.
pub(crate) const FAILED_STEP: &str = "failed-step";

/// Beginning of the name of a file in the folder of a start in which a runtime's own process notes why it ended; the process's name in
/// the runtime follows.
pub(crate) const LAST_WORDS: &str = "last-words-";

/// Resources for building an environment: a scratch folder, the agent's binary, and the journal of created
/// things.
pub trait Workspace {
    /// Returns the start's folder, which is on a disk, empty at first, and removed after leaving. An environment is shown a folder
    /// in it, and never itself: the host's own files for the start lie there.
    fn folder(&self) -> &Path;

    /// Locates the static binary that this machine runs, in the session's private folder. No environment with files of its own sees it.
    fn agent(&self) -> &Path;

    /// Has a command that names that binary start the file which the session holds open, whatever is at its path. To be called last,
    /// before the command is started.
    fn hold_program(&self, command: &mut Command) -> io::Result<()>;

    /// Makes a copy of it for this environment alone, where there is none yet, and returns its path. It lies outside the start's folder,
    /// on the same file system.
    fn copy_agent(&self) -> Result<PathBuf, LabError>;

    /// Lists descriptors of the files by which this start takes turns. An agent that shares this machine's files inherits them.
    fn turn_descriptors(&self) -> &[i32];

    /// Gives the SHA-256 of that binary, in hex.
    fn agent_sha256(&self) -> Result<&str, LabError>;

    /// Locates the session's private folder. The folders of all starts lie in it.
    fn session_folder(&self) -> &Path;

    /// Identifies processes that outlive this start and end with the session, by their variable `MARK`.
    fn session_mark(&self) -> &str;

    /// Returns what was remembered of a question in this session.
    fn recall(&self, question: &str) -> Option<String>;

    /// Remembers an answer for the later starts of this session. It is in no file, where an environment might change it.
    fn remember(&self, question: &str, answer: &str);

    /// Lists the host folders to share, by the name of the place where each appears inside.
    fn shares(&self) -> &BTreeMap<String, PathBuf>;

    /// Describes the contents of this environment: its programs, and the work folder of commands.
    fn inside(&self) -> &Inside;

    /// Identifies processes of this start, by their variable `MARK`.
    fn mark(&self) -> &str;

    /// Returns the words that run inside, where the agent has this path: the agent's, unless this start is a call of a command.
    fn words_inside(&self, agent: &str) -> Vec<String>;

    /// Returns the words of a call that run inside where no file of this machine is seen.
    fn words_by_shell(&self) -> Vec<String>;

    /// Tells whether this start is a call of a command, as its caller would type it.
    fn is_call(&self) -> bool;

    /// Returns the folder in which a call is made, if its command is of a user who is in one.
    fn call_folder(&self) -> Option<&Path> {
        self.inside().work.as_ref().filter(|_| self.is_call()).map(|work| work.folder.as_path())
    }

    /// Gives a name that is unique on this machine, for containers, control groups and network namespaces.
    fn name(&self) -> &str;

    /// Gives the number of this start, which is unique in the session.
    fn number(&self) -> u32;

    /// Gives control groups below that of this process. Those of the name of this start's number are removed with it.
    fn own_groups(&self) -> &OwnGroups;

    /// Lets a command of this start end with this process, and with the start whatever the command leaves running.
    fn tie_command(&self, command: &mut Command) -> Result<(), LabError>;

    /// Has every command of this start be tied with all that descends from it, but for processes of these programs.
    fn spare_programs(&mut self, programs: &[PathBuf]) -> Result<(), LabError>;

    /// Records something in the journal before it is created.
    fn record_owned(&mut self, thing: Owned) -> Result<(), LabError>;

    /// Starts a program that serves the environment and ends with this start. Returns the file with its
    /// output, in the start's folder.
    fn start_companion(&mut self, name: &str, command: Command) -> Result<PathBuf, LabError>;

    /// Records something in the journal that outlives this start and is removed when the session ends.
    fn own_for_session(&mut self, thing: Owned) -> Result<(), LabError>;
}

/// Way into an environment: a command whose standard input and output lead to the agent.
#[derive(Debug)]
pub struct Entrance {
    /// Started by the lab with pipes on all three standard streams. Lines on standard error become notes. The
    /// process must die with its parent, or be recorded in `workspace`.
    pub command: Command,
    /// Path of the environment to this machine; none where it has no network to it.
    pub host: Option<HostPath>,
    /// Places by name (`own`, `share` ...) with their paths inside.
    pub places: BTreeMap<String, String>,
    /// Facts taken from outside: versions, flags, file systems under the places.
    pub outside: Facts,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_for_its_outcome_waits_for_no_clock() {
        let mut ready = Ready::new(Facts::default(), |_| unreachable!());
        ready.kernel = KernelFacts::OF_RUNTIME;
        let settling_ms = |amount: &str| {
            let case = r#"{"probe": "null", "parameters": {}, "place": null, "peer": null}"#;
            let json = format!(
                r#"{{"trial": 0, "case": {case}, "amount": "{amount}", "directory": null, "seed": 0, "deadline_ms": 1, "nonce": 0}}"#
            );
            ready.adapt_request(serde_json::from_str(&json).unwrap()).settling_ms
        };
        assert_eq!((settling_ms("outcome"), settling_ms("calibrate")), (0, 2_000));
    }
}
