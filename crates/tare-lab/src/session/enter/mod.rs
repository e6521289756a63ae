//! Entering: starts what a provider prepared, and ends it again with all that belongs to it.

mod at_once;
pub(crate) mod bring_up;
#[cfg_attr(not(unix), path = "calling/not_here.rs")]
mod calling;
pub mod carrying;
mod describing;
pub(crate) mod live;
mod placing;
pub(crate) mod sides;
#[cfg(unix)]
mod turns;

use std::collections::BTreeMap;
use std::fs;
use std::io::Read;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};
use tare_data::facts::keys::RUNTIME_COMMAND;

use tare_data::facts::Facts;
use tare_data::session::Side;
use tare_paths::door::Door;

use crate::error::{ErrorKind, LabError};
#[cfg(unix)]
use crate::host::control_groups::{Hierarchies, Usage, find_descent, is_agent};
use crate::host::processes::{self, Kept, Signs};
use crate::owned::{MARK, Owned};
use crate::ownership::clean::Outcome;
use crate::ownership::workspace::{SessionWorkspace, StartWorkspace};
use crate::platform::taken;
use crate::provider::{Entrance, FAILED_STEP, HostPath, LAST_WORDS, Ready, Workspace};
use crate::study::startup::Taken;

/// Time that an environment usually needs to end by itself after the agent's last frame: podman takes
/// 60 ms, runsc 30 ms, a full kernel some 200 ms.
pub const PATIENCE: Duration = Duration::from_secs(2);
/// Shortest and longest pause between two looks at whether it has ended.
const LOOKS: (Duration, Duration) = (Duration::from_micros(200), Duration::from_millis(10));

/// Bytes of a runtime's notes that are read, and the sign of the line that says why it ended.
const MOST_WORDS: u64 = 64 << 10;
const FATAL: &str = "FATAL ERROR: ";

/// An environment that was entered. Dropped, it is left at once.
#[derive(Debug)]
pub struct Entered {
    /// Its standard streams are pipes: requests go in, frames come out, errors are notes.
    pub child: Child,
    /// Address at which the environment reaches this machine.
    pub host: Option<HostPath>,
    /// Places by name with their paths inside.
    pub places: BTreeMap<String, String>,
    /// Facts taken from outside.
    pub outside: Facts,
    kept: Kept,
    workspace: StartWorkspace,
    left: bool,
}

/// Enters an environment that is ready, as this side of the session, by its number. Waits for nothing: the agent's first
/// frame is the caller's to await.
pub fn enter_environment(
    target: &Side,
    ready: &Ready,
    (session, side): (&SessionWorkspace, usize),
) -> Result<Entered, LabError> {
    let mut workspace = session.make_start_workspace(side, &ready.root, ready.kernel.kind)?;
    if let Some(folder) = target.find_work_folder() {
        workspace.work_in(folder);
    }
    let Entrance { mut command, host, places, mut outside } = ready.prepare_entrance(&mut workspace)?;
    command.env(MARK, workspace.mark()).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    outside.add_fact(RUNTIME_COMMAND, words(&command));
    workspace.tie_command(&mut command)?;
    let started = workspace.hold_program(&mut command).and_then(|()| processes::start_command(&mut command));
    let (child, kept) = started.map_err(|e| {
        let what = format!("cannot enter {}", target.specification);
        let step = fs::read_to_string(workspace.folder().join(FAILED_STEP));
        let doing = step.unwrap_or_else(|_| command.get_program().display().to_string());
        LabError::new(ErrorKind::Environment, what).while_doing(doing, e)
    })?;
    let mut entered = Entered { child, host, places, outside, kept, workspace, left: false };
    let pid = entered.child.id();
    // A program that clears its environment is still known as a descendant.
    if let Some(started_ticks) = processes::started_ticks(pid) {
        entered.workspace.record_owned(Owned::Process { pid, started_ticks })?;
    }
    Ok(entered)
}

impl Entered {
    /// Lists its living processes, by number and start time, as far as this machine sees them.
    pub fn list_processes(&self) -> BTreeMap<u32, u64> {
        let pid = self.child.id();
        let roots = processes::started_ticks(pid).map(|started_ticks| (pid, started_ticks));
        let folder = self.workspace.folder().to_owned();
        let (mark, name) = (self.workspace.mark().to_owned(), self.workspace.name().to_owned());
        let signs = Signs { mark, folder, name, spared: Vec::new(), roots: roots.into_iter().collect() };
        let mut processes = signs.find_processes();
        processes.retain(|found, _| *found != pid || !self.workspace.has_keeper());
        processes
    }

    /// Lists the processes that do its work on this machine: its agent, or all where the agent is one of a guest's. None show where it
    /// is on another machine.
    #[cfg(unix)]
    fn list_workers(&self, is_process: bool) -> BTreeMap<u32, u64> {
        let pid = self.child.id();
        if is_agent(pid) {
            return processes::started_ticks(pid).map(|started| (pid, started)).into_iter().collect();
        }
        // Its descendants are a few files to look at, and all processes of the machine are hundreds.
        let mut agents = find_descent(vec![pid]);
        agents.retain(|pid, _| is_agent(*pid));
        if !agents.is_empty() {
            return agents;
        }
        let mut workers = self.list_processes();
        let agents: BTreeMap<u32, u64> = workers
            .iter()
            .filter(|(pid, _)| is_agent(**pid))
            .map(|(pid, started)| (*pid, *started))
            .collect();
        workers.retain(|_, _| is_process);
        if agents.is_empty() { workers } else { agents }
    }

    /// Prepares to watch its processor time, by the processes that do its work.
    #[cfg(unix)]
    fn watch_usage(&self, is_process: bool, hierarchies: &Hierarchies) -> Usage {
        let pid = self.child.id();
        let root = processes::started_ticks(pid).map(|started| (pid, started));
        Usage::new(self.list_workers(is_process), root, self.workspace.find_list(), hierarchies)
    }

    /// Measures the memory and the files that it takes while it is idle.
    pub(crate) fn measure_resources(&self) -> Taken {
        Taken {
            memory_bytes: taken::memory_bytes(&self.list_processes()),
            disk_bytes: taken::disk_bytes(self.folder()),
        }
    }

    /// Returns the folder in which this start was made.
    pub fn folder(&self) -> &Path {
        self.workspace.folder()
    }

    /// Reads why a process of the runtime ended, if it is another one than the process that was started.
    pub(super) fn read_last_words(&self) -> Option<String> {
        // A kernel that is a process of the host's may see this folder, and its guest with it.
        let folder = Door::open(self.folder()).ok()?;
        let entries = folder.list_entries(Path::new("")).ok()?;
        let noted = entries.iter().filter(|(name, _)| name.starts_with(LAST_WORDS));
        noted.into_iter().find_map(|(name, _)| {
            let mut bytes = Vec::new();
            folder.open_file(Path::new(name)).ok()?.take(MOST_WORDS).read_to_end(&mut bytes).ok()?;
            let text = String::from_utf8_lossy(&bytes).into_owned();
            text.lines().rev().find_map(|line| Some(line.split_once(FATAL)?.1.trim().to_owned()))
        })
    }

    /// Leaves: waits this long for it to end by itself, then ends what is left and removes everything.
    pub fn leave_environment(mut self, patience: Duration) -> Vec<Outcome> {
        self.end(patience)
    }

    fn end(&mut self, patience: Duration) -> Vec<Outcome> {
        self.left = true;
        // The end of the stream lets the agent go, and nobody reads what it still writes.
        drop((self.child.stdin.take(), self.child.stdout.take(), self.child.stderr.take()));
        let end = Instant::now() + patience;
        let mut pause = LOOKS.0;
        while matches!(self.child.try_wait(), Ok(None)) && Instant::now() < end {
            thread::sleep(pause);
            pause = (pause * 2).min(LOOKS.1);
        }
        self.kept.end_remaining();
        let outcomes = self.workspace.clean_up();
        // Dead by now; this removes its last trace, the entry in the process table.
        let _ = self.child.try_wait();
        outcomes
    }
}

impl Drop for Entered {
    fn drop(&mut self) {
        if !self.left {
            self.end(Duration::ZERO);
        }
    }
}

fn words(command: &Command) -> String {
    let program = std::iter::once(command.get_program());
    let words: Vec<_> = program.chain(command.get_args()).map(|word| word.to_string_lossy()).collect();
    words.join(" ")
}
