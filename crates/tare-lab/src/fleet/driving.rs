//! Driving a fleet: what is missing is submitted, as much as may run at a time, and watched until it has ended. What jobs did is
//! read from the folder.

use std::collections::BTreeSet;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::Signal;
use tare_data::foreign::Foreign;
use tare_paths::door::{Door, is_planted};

use crate::error::LabError;
use crate::fleet::engines::job_id::JobId;
use crate::fleet::engines::{Engine, Job, Printed, Started};
use crate::fleet::exclusive::Exclusive;
use crate::fleet::files::{What, of_cell};
use crate::fleet::folder::{CellState, Folder};
use crate::fleet::jobs::{Held, Running, STOP_WAIT, Stopped, Task, is_done, last_line, stop};
use crate::fleet::plan::PlannedCell;
use crate::host::programs::Programs;

/// Pause between two looks at the folder, and between two questions to an engine: schedulers are shared.
const LOOK: Duration = Duration::from_millis(200);
const ASK: Duration = Duration::from_secs(2);
/// Questions in a row without an answer before the fleet is given up: a scheduler may start anew meanwhile.
const MOST_SILENT: u32 = 30;
/// Time that a job has beyond its limit before the driver ends it, where its scheduler should have.
const SCHEDULERS_GRACE: Duration = Duration::from_secs(600);
/// Jobs that are asked after: what keeps thousands waiting is the same for all.
const MOST_ASKED: u32 = 5;
/// Longest id that is read of a job.
const LONGEST_ID: u64 = 4096;

/// Progress of a fleet.
#[derive(Clone, Debug)]
pub struct Progress {
    pub whole: usize,
    pub of: usize,
    pub running: usize,
    /// Latest event.
    pub note: Option<String>,
}

/// Remains when driving ends.
#[derive(Clone, Debug, Default)]
pub struct Left {
    pub interrupted: bool,
    /// Jobs that could not be cancelled, by the engine's ids, with the reasons.
    pub jobs: Vec<(String, String)>,
}

/// Lists jobs of what is missing, as they would be submitted.
pub fn list_missing_jobs(folder: &Folder, engine: &Foreign<Engine>) -> Foreign<Vec<Printed>> {
    engine.map(|engine| {
        waiting(folder).iter().map(|task| with_job(folder, task, |job| engine.render_job(job))).collect()
    })
}

/// Lists the tasks that are to be submitted, in their order.
fn waiting(folder: &Folder) -> Vec<Task> {
    let open = folder.open_cells().into_iter();
    open.map(|PlannedCell { node, session }| Task { files: of_cell(&node, session), node, session }).collect()
}

/// Does something with the job of a task.
fn with_job<T>(folder: &Folder, task: &Task, work: impl FnOnce(&Job<'_>) -> T) -> T {
    let (name, log) = (folder.plan.job_prefix(), folder.path.join(task.files.log_path()));
    work(&Job {
        folder: &folder.path,
        name: &name,
        binary_sha256: &folder.plan.binary,
        scratch: folder.plan.measure.scratch.as_deref(),
        node: &task.node,
        session: task.session,
        plan_sha256: &folder.plan_sha256,
        limit: Duration::from_secs(folder.plan.limit_s),
        log: &log,
    })
}

/// Submits everything that is missing, and waits for it.
pub fn drive_fleet(
    folder: &Folder,
    fleet: &Door,
    engine: &Engine,
    programs: &Programs,
    interrupted: &AtomicBool,
    report: &mut dyn FnMut(Progress),
) -> Result<Left, LabError> {
    let _exclusive = Exclusive::lock_folder(fleet)?;
    let mut driver = Driver::new(folder, fleet, engine, programs, report);
    driver.look_around()?;
    let done = driver.until_nothing_is_left(interrupted);
    // However it ends, nothing is left without its name.
    let jobs = driver.stop_all();
    done?;
    Ok(Left { interrupted: interrupted.load(Ordering::Relaxed), jobs })
}

struct Driver<'a> {
    folder: &'a Folder,
    fleet: &'a Door,
    engine: &'a Engine,
    programs: &'a Programs,
    report: &'a mut dyn FnMut(Progress),
    running: Vec<Running>,
    /// In the order in which they are submitted.
    waiting: Vec<Task>,
    /// Number of whole sessions, and of all.
    whole: usize,
    of: usize,
    /// Number of jobs whose state was asked for.
    asked: u32,
}

impl<'a> Driver<'a> {
    fn new(
        folder: &'a Folder,
        fleet: &'a Door,
        engine: &'a Engine,
        programs: &'a Programs,
        report: &'a mut dyn FnMut(Progress),
    ) -> Self {
        let (whole, of) = folder.count_sessions();
        let (running, waiting) = Default::default();
        Driver { folder, fleet, engine, programs, report, running, waiting, whole, of, asked: 0 }
    }

    /// Takes up jobs of an earlier call that still run, and finds what is missing.
    fn look_around(&mut self) -> Result<(), LabError> {
        let Folder { plan, cells, .. } = self.folder;
        let alive = self.engine.list_live_jobs(&plan.job_prefix(), self.programs)?.unwrap_or_default();
        for CellState { node, session, .. } in cells.iter().filter(|cell| cell.what == What::Running) {
            let task = Task { files: of_cell(node, *session), node: node.clone(), session: *session };
            let bytes = self.fleet.read_bytes(&task.files.job_path(), LONGEST_ID).unwrap_or_default();
            let id = str::from_utf8(&bytes).ok().and_then(JobId::parse);
            match id.clone().filter(|id| alive.contains(id)) {
                Some(id) => self.running.push(Running::new(task, Held::Id(id), self.limit())),
                None => self.gone(&task, id.as_ref())?,
            }
        }
        self.waiting = waiting(&self.folder.read_again(self.fleet));
        Ok(())
    }

    fn until_nothing_is_left(&mut self, interrupted: &AtomicBool) -> Result<(), LabError> {
        let (mut asked, mut silent) = (None::<Instant>, 0);
        self.note(None);
        while !(self.running.is_empty() && self.waiting.is_empty()) {
            if interrupted.load(Ordering::Relaxed) {
                return Ok(());
            }
            self.submit_what_may_run()?;
            let mut alive = None;
            if asked.is_none_or(|asked| asked.elapsed() >= ASK) {
                asked = Some(Instant::now());
                match self.engine.list_live_jobs(&self.folder.plan.job_prefix(), self.programs) {
                    Ok(ids) => (alive, silent) = (ids, 0),
                    Err(error) if silent >= MOST_SILENT => return Err(error),
                    Err(_) => silent += 1,
                }
            }
            self.keep_limits()?;
            self.look_at_jobs(alive.as_ref())?;
            self.ask_what_waits();
            thread::sleep(LOOK);
        }
        Ok(())
    }

    /// Submits tasks, one at a time on each node.
    fn submit_what_may_run(&mut self) -> Result<(), LabError> {
        while self.running.len() < self.folder.plan.at_once.max(1) as usize {
            let busy: BTreeSet<&String> = self.running.iter().map(|running| &running.task.node).collect();
            let is_free = |task: &Task| !busy.contains(&task.node);
            let Some(at) = self.waiting.iter().position(is_free) else { return Ok(()) };
            let task = self.waiting.remove(at);
            self.submit(task)?;
        }
        Ok(())
    }

    fn submit(&mut self, task: Task) -> Result<(), LabError> {
        if let Err(error) = task.files.clear_for_retry(self.fleet) {
            return self.planted(&task, error);
        }
        let log = || self.fleet.replace_file(&task.files.log_path());
        let started = with_job(self.folder, &task, |job| self.engine.start_job(job, &log, self.programs));
        let (job, id) = match started {
            // A gap with its reason: other nodes may be free.
            Err(error) => return self.refused(&task, &error),
            Ok(Started::Submitted(id)) => (Held::Id(id.clone()), id.to_string()),
            Ok(Started::Attached(child)) => {
                let id = format!("process {}", child.id());
                (Held::Child(child), id)
            }
        };
        let (file, name) = (task.files.job_path(), task.name());
        self.note(Some(format!("{name} submitted: {id}")));
        self.running.push(Running::new(task, job, self.limit()));
        let kept = self.fleet.write_file(&file, format!("{id}\n").as_bytes());
        kept.map_err(LabError::storage_error("write", &self.fleet.join(&file)))
    }

    fn refused(&mut self, task: &Task, error: &LabError) -> Result<(), LabError> {
        self.note(Some(format!("{} refused: {error}", task.name())));
        self.write_why(task, &error.to_string())
    }

    /// Passes over a task whose files somebody else put something in place of: it is named, and nothing is done there.
    fn planted(&mut self, task: &Task, error: io::Error) -> Result<(), LabError> {
        if !is_planted(&error) {
            return Err(LabError::storage_error("write in", &self.folder.path)(error));
        }
        self.note(Some(format!("{} refused: {error}", task.name())));
        Ok(())
    }

    fn write_why(&mut self, task: &Task, why: &str) -> Result<(), LabError> {
        match task.files.write_why(self.fleet, why) {
            Ok(()) => Ok(()),
            Err(error) => self.planted(task, error),
        }
    }

    fn limit(&self) -> Duration {
        Duration::from_secs(self.folder.plan.limit_s)
    }

    /// Ends jobs that took longer than their limit, whatever their engine does: it asks them, kills them, and at last goes on.
    fn keep_limits(&mut self) -> Result<(), LabError> {
        let (now, limit) = (Instant::now(), self.limit());
        let mut late = Vec::new();
        for running in &mut self.running {
            if running.end.is_none() && self.fleet.has_file(&running.task.files.part_path()) {
                running.end = Some(now + limit + SCHEDULERS_GRACE);
            }
            if running.end.is_none_or(|end| now < end) {
                continue;
            }
            running.end = Some(now + STOP_WAIT);
            let (stopped, signal) = match running.stopped {
                Stopped::No => (Stopped::Asked, Some(Signal::TERM)),
                Stopped::Asked => (Stopped::Killed, Some(Signal::KILL)),
                Stopped::Killed | Stopped::GivenUp => (Stopped::GivenUp, None),
            };
            if running.stopped == Stopped::No {
                late.push(running.task.clone());
            }
            running.stopped = stopped;
            if let Some(signal) = signal {
                running.job.stop(signal, self.engine, self.programs);
            }
        }
        let why = format!("it took longer than its limit of {} s", limit.as_secs());
        late.iter().try_for_each(|task| self.write_why(task, &why))
    }

    /// Finds jobs that have ended, by the folder first and then by the engine.
    fn look_at_jobs(&mut self, alive: Option<&BTreeSet<JobId>>) -> Result<(), LabError> {
        let mut ended = Vec::new();
        for (at, running) in self.running.iter_mut().enumerate() {
            let is_alive = match &mut running.job {
                Held::Child(child) => Some(matches!(child.try_wait(), Ok(None))),
                Held::Id(id) => alive.map(|alive| alive.contains(id)),
            };
            match is_alive {
                Some(true) => running.gone_since = None,
                Some(false) => drop(running.gone_since.get_or_insert_with(Instant::now)),
                None => {}
            }
            let settle = match running.job {
                Held::Child(_) => Duration::ZERO,
                Held::Id(_) => self.engine.settle,
            };
            // A job that has named its record, or written its reason, has nothing left to do: its node is the engine's to give on.
            let is_held = matches!(running.job, Held::Child(_))
                && is_alive == Some(true)
                && running.stopped != Stopped::GivenUp;
            let is_done = is_done(&running.task, self.fleet);
            if is_done && !is_held || running.gone_since.is_some_and(|since| since.elapsed() >= settle) {
                ended.push(at);
            }
        }
        for at in ended.into_iter().rev() {
            let Running { task, job, .. } = self.running.remove(at);
            self.gone(&task, job.id())?;
            let name = task.name();
            let note = match task.files.read_state(self.fleet) {
                What::Whole => {
                    self.whole += 1;
                    format!("{name} measured")
                }
                state => match state.reason() {
                    Some(why) => format!("{name} failed: {why}"),
                    None => format!("{name} failed"),
                },
            };
            self.note(Some(note));
        }
        Ok(())
    }

    /// Says what the engine says of a job that has not begun.
    fn ask_what_waits(&mut self) {
        let now = Instant::now();
        for at in 0..self.running.len() {
            let running = &mut self.running[at];
            let has_begun = || self.fleet.has_file(&running.task.files.part_path());
            if running.ask_at.take_if(|ask_at| *ask_at <= now).is_none() || has_begun() {
                continue;
            }
            if self.asked == MOST_ASKED {
                return;
            }
            self.asked += 1;
            let why = running.job.id().and_then(|id| self.engine.find_end_reason(id, self.programs));
            if let Some(why) = why {
                let name = running.task.name();
                self.note(Some(format!("{name} has not begun: {why}")));
            }
        }
    }

    /// Handles the end of a job. Without a whole record there is a reason afterwards.
    fn gone(&mut self, task: &Task, id: Option<&JobId>) -> Result<(), LabError> {
        let _ = self.fleet.remove_file(&task.files.job_path());
        if is_done(task, self.fleet) {
            return Ok(());
        }
        let why = match self.fleet.has_file(&task.files.part_path()) {
            true => "its job ended before its session did",
            false => "its job ended and wrote nothing",
        };
        let engines = id.and_then(|id| self.engine.find_end_reason(id, self.programs));
        let more = engines.or_else(|| last_line(self.fleet, task).map(|line| line.to_string()));
        let why = more.map_or_else(|| why.to_owned(), |more| format!("{why}: {more}"));
        self.write_why(task, &why)
    }

    /// Cancels what was submitted; returns what could not be, with the reasons.
    fn stop_all(&mut self) -> Vec<(String, String)> {
        let mut left = Vec::new();
        for Running { task, job, .. } in std::mem::take(&mut self.running) {
            let stopped = match job {
                Held::Id(id) => {
                    let cancelled = self.engine.cancel_job(&id, self.programs);
                    cancelled.map_err(|error| (id.to_string(), error.to_string()))
                }
                Held::Child(child) => {
                    stop(child);
                    Ok(())
                }
            };
            match stopped {
                Ok(()) => {
                    let _ = self.gone_by_request(&task);
                }
                Err(unstopped) => left.push(unstopped),
            }
        }
        left
    }

    /// Handles a job that was cancelled before its session could write down why it ended.
    fn gone_by_request(&mut self, task: &Task) -> Result<(), LabError> {
        if !is_done(task, self.fleet) {
            self.write_why(task, "its job was cancelled")?;
        }
        self.gone(task, None)
    }

    fn note(&mut self, note: Option<String>) {
        let (whole, of, running) = (self.whole, self.of, self.running.len());
        (self.report)(Progress { whole, of, running, note });
    }
}
