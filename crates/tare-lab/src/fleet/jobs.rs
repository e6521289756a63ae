//! The jobs of a fleet as its driver knows them: which cell each is of, and how it is ended.

use std::io::{Read, Seek, SeekFrom};
use std::process::Child;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group};
use tare_data::foreign::Foreign;
use tare_paths::door::Door;

use crate::fleet::engines::Engine;
use crate::fleet::engines::job_id::JobId;
use crate::fleet::files::Files;
use crate::host::programs::Programs;
use crate::host::waiting::until_found;

/// Time in which jobs that are attached end when they are stopped, and the pause between two looks.
pub(super) const STOP_WAIT: Duration = Duration::from_secs(20);
const LOOK: Duration = Duration::from_millis(200);
/// Time that an attached job has beyond its limit before the driver ends it.
const GRACE: Duration = Duration::from_secs(10);
/// A job that has written nothing for this long since it was submitted is asked after, once: some can never start.
const SOON: Duration = Duration::from_secs(60);
/// Bytes at the end of a job's output among which its last line is looked for, and characters of it that are kept.
const END_OF_LOG: u64 = 4096;
const LONGEST_LINE: usize = 300;

/// A cell of the fleet.
#[derive(Clone, Debug)]
pub(super) struct Task {
    pub(super) files: Files,
    pub(super) node: String,
    pub(super) session: u32,
}

impl Task {
    pub(super) fn name(&self) -> String {
        format!("{}/{}", self.node, self.session)
    }
}

/// A job that was submitted.
pub(super) struct Running {
    pub(super) task: Task,
    pub(super) job: Held,
    /// Since when the engine has not known it.
    pub(super) gone_since: Option<Instant>,
    /// When to ask why it has not begun.
    pub(super) ask_at: Option<Instant>,
    /// When its limit has passed. A job that was submitted may wait for long: its time begins with its record.
    pub(super) end: Option<Instant>,
    pub(super) stopped: Stopped,
}

/// Step that was taken against a job that took too long.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Stopped {
    No,
    Asked,
    Killed,
    /// Not even killing ended it.
    GivenUp,
}

impl Running {
    pub(super) fn new(task: Task, job: Held, limit: Duration) -> Running {
        let end = match job {
            Held::Id(_) => None,
            Held::Child(_) => Some(Instant::now() + limit + GRACE),
        };
        let ask_at = Some(Instant::now() + SOON);
        Running { task, job, gone_since: None, ask_at, end, stopped: Stopped::No }
    }
}

/// Handle of a job: its engine's id, or its process.
pub(super) enum Held {
    Id(JobId),
    Child(Child),
}

impl Held {
    pub(super) fn id(&self) -> Option<&JobId> {
        match self {
            Held::Id(id) => Some(id),
            Held::Child(_) => None,
        }
    }

    /// Asks a job to end, or kills it.
    pub(super) fn stop(&self, signal: Signal, engine: &Engine, programs: &Programs) {
        match self {
            // A scheduler that refuses has a limit of its own.
            Held::Id(id) => drop(engine.cancel_job(id, programs)),
            Held::Child(child) => signal_group(child, signal),
        }
    }
}

/// Tells whether a job has nothing left to do: there is its record, or a reason why there is none.
pub(super) fn is_done(task: &Task, fleet: &Door) -> bool {
    fleet.has_file(&task.files.whole_path()) || task.files.read_why(fleet).is_some()
}

/// Reads the last line of a job's output.
pub(super) fn last_line(fleet: &Door, task: &Task) -> Option<Foreign<String>> {
    let mut log = fleet.open_file(&task.files.log_path()).ok()?;
    let length = log.metadata().ok()?.len();
    log.seek(SeekFrom::Start(length.saturating_sub(END_OF_LOG))).ok()?;
    let mut bytes = Vec::new();
    log.take(END_OF_LOG).read_to_end(&mut bytes).ok()?;
    let text = String::from_utf8_lossy(&bytes);
    let line = text.lines().map(str::trim).rfind(|line| !line.is_empty())?;
    Some(Foreign::new(line.chars().take(LONGEST_LINE).collect()))
}

fn signal_group(child: &Child, signal: Signal) {
    if let Some(group) = Pid::from_raw(child.id() as i32) {
        let _ = kill_process_group(group, signal);
    }
}

/// Ends an attached job with all that it started.
pub(super) fn stop(mut child: Child) {
    for signal in [Signal::TERM, Signal::KILL] {
        signal_group(&child, signal);
        if until_found(STOP_WAIT, LOOK, || child.try_wait().ok().flatten()).is_some() {
            return;
        }
    }
}
