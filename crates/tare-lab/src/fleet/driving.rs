//! Driving a fleet: what is missing is submitted, as much as may run at a time, and watched until it has ended. What jobs did is
//! read from the folder.

use std::collections::BTreeSet;
use std::fs;
use std::process::Child;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group};
use tare_record::input;

use crate::error::LabError;
use crate::fleet::engines::{Engine, Job, Printed, Started};
use crate::fleet::exclusive::Exclusive;
use crate::fleet::files::{Files, What, of_cell, of_pair};
use crate::fleet::folder::{Folder, PairState};
use crate::host::programs::Programs;
use crate::host::waiting::until_found;

/// Pause between two looks at the folder, and between two questions to an engine: schedulers are shared.
const LOOK: Duration = Duration::from_millis(200);
const ASK: Duration = Duration::from_secs(2);
/// Questions in a row without an answer before the fleet is given up: a scheduler may start anew meanwhile.
const MOST_SILENT: u32 = 30;
/// Time in which jobs that are attached end when they are stopped.
const STOP_WAIT: Duration = Duration::from_secs(20);
/// A job that has written nothing for this long since it was submitted is asked after, once: some can never start.
const SOON: Duration = Duration::from_secs(60);
/// Jobs that are asked after: what keeps thousands waiting is the same for all.
const MOST_ASKED: u32 = 5;
/// Longest id that is read of a job.
const LONGEST_ID: u64 = 4096;

/// Progress of a fleet.
#[derive(Clone, Debug)]
pub struct Progress {
    /// Cells and pairs.
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

/// A cell or a pair of the fleet.
#[derive(Clone, Debug)]
struct Task {
    files: Files,
    nodes: Vec<String>,
    number: u32,
}

impl Task {
    fn name(&self) -> String {
        format!("{}/{}", self.nodes.join("--"), self.number)
    }
}

struct Running {
    task: Task,
    job: Held,
    /// Since when the engine has not known it.
    gone_since: Option<Instant>,
    /// When to ask why it has not begun.
    ask_at: Option<Instant>,
}

impl Running {
    fn new(task: Task, job: Held) -> Running {
        Running { task, job, gone_since: None, ask_at: Some(Instant::now() + SOON) }
    }
}

enum Held {
    Id(String),
    Child(Child),
}

impl Held {
    fn id(&self) -> Option<&str> {
        match self {
            Held::Id(id) => Some(id),
            Held::Child(_) => None,
        }
    }
}

/// Lists jobs of what is missing, as they would be submitted.
pub fn list_missing_jobs(folder: &Folder, engine: &Engine) -> Result<Vec<Printed>, LabError> {
    waiting(folder).iter().map(|task| with_job(folder, task, |job| engine.render_job(job))).collect()
}

/// Lists the tasks that are to be submitted, in their order.
fn waiting(folder: &Folder) -> Vec<Task> {
    let cells = folder.open_cells().into_iter().map(|cell| {
        let files = of_cell(&folder.path, &cell.node, cell.session);
        Task { files, nodes: vec![cell.node], number: cell.session }
    });
    let open = folder.pairs.iter().filter(|pair| !pair.what.is_whole() && pair.what != What::Running);
    cells.chain(open.map(|pair| task_of_pair(folder, pair))).collect()
}

fn task_of_pair(folder: &Folder, pair: &PairState) -> Task {
    Task {
        files: of_pair(&folder.path, pair.round, &pair.a, &pair.b),
        nodes: vec![pair.a.clone(), pair.b.clone()],
        number: pair.round as u32,
    }
}

/// Does something with the job of a task.
fn with_job<T>(folder: &Folder, task: &Task, work: impl FnOnce(&Job<'_>) -> T) -> T {
    let (name, log) = (folder.plan.job_prefix(), task.files.log_path());
    work(&Job {
        folder: &folder.path,
        name: &name,
        nodes: task.nodes.iter().map(String::as_str).collect(),
        number: task.number,
        plan_sha256: &folder.plan_sha256,
        limit: Duration::from_secs(folder.plan.limit_s),
        log: &log,
    })
}

/// Submits everything that is missing, and waits for it.
pub fn drive_fleet(
    folder: &Folder,
    engine: &Engine,
    programs: &Programs,
    interrupted: &AtomicBool,
    report: &mut dyn FnMut(Progress),
) -> Result<Left, LabError> {
    let _exclusive = Exclusive::lock_folder(&folder.path)?;
    let mut driver = Driver::new(folder, engine, programs, report);
    driver.look_around()?;
    let done = driver.until_nothing_is_left(interrupted);
    // However it ends, nothing is left without its name.
    let jobs = driver.stop_all();
    driver.forget_secrets();
    done?;
    Ok(Left { interrupted: interrupted.load(Ordering::Relaxed), jobs })
}

struct Driver<'a> {
    folder: &'a Folder,
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
        engine: &'a Engine,
        programs: &'a Programs,
        report: &'a mut dyn FnMut(Progress),
    ) -> Self {
        let ((cells, of_cells), pairs) = (folder.count_sessions(), folder.pairs.len());
        let whole = cells + folder.pairs.iter().filter(|pair| pair.what.is_whole()).count();
        let (running, waiting) = Default::default();
        Driver { folder, engine, programs, report, running, waiting, whole, of: of_cells + pairs, asked: 0 }
    }

    /// Takes up jobs of an earlier call that still run, and finds what is missing.
    fn look_around(&mut self) -> Result<(), LabError> {
        let Folder { path, plan, cells, pairs, .. } = self.folder;
        let alive = self.engine.list_live_jobs(&plan.job_prefix(), self.programs)?.unwrap_or_default();
        let cells = cells.iter().map(|cell| {
            let (files, nodes) = (of_cell(path, &cell.node, cell.session), vec![cell.node.clone()]);
            (Task { files, nodes, number: cell.session }, &cell.what)
        });
        let with_state = pairs.iter().map(|pair| (task_of_pair(self.folder, pair), &pair.what));
        for (task, what) in cells.chain(with_state) {
            if *what != What::Running {
                continue;
            }
            let id = input::read_text(&task.files.job_path(), LONGEST_ID).ok().map(|id| id.trim().to_owned());
            match id.clone().filter(|id| alive.contains(id)) {
                Some(id) => self.running.push(Running::new(task, Held::Id(id))),
                None => self.gone(&task, id.as_deref())?,
            }
        }
        self.waiting = waiting(&self.folder.read_again()?);
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
            self.look_at_jobs(alive.as_ref())?;
            self.ask_what_waits();
            thread::sleep(LOOK);
        }
        Ok(())
    }

    /// Submits tasks, one at a time on each node.
    fn submit_what_may_run(&mut self) -> Result<(), LabError> {
        while self.running.len() < self.folder.plan.at_once.max(1) as usize {
            let busy: BTreeSet<&String> =
                self.running.iter().flat_map(|running| &running.task.nodes).collect();
            // Traffic between nodes would disturb those that measure alone.
            let alone = |task: &Task| task.nodes.len() == 1;
            let cells_first =
                self.waiting.iter().any(alone) || self.running.iter().any(|held| alone(&held.task));
            let is_free = |task: &Task| {
                (alone(task) || !cells_first) && task.nodes.iter().all(|node| !busy.contains(node))
            };
            let Some(at) = self.waiting.iter().position(is_free) else { return Ok(()) };
            let task = self.waiting.remove(at);
            self.submit(task)?;
        }
        Ok(())
    }

    fn submit(&mut self, task: Task) -> Result<(), LabError> {
        let made = task.files.make_folder().and_then(|()| task.files.clear_for_retry());
        made.map_err(LabError::storage_error("write in", &self.folder.path))?;
        let started = with_job(self.folder, &task, |job| self.engine.start_job(job, self.programs));
        let (job, id) = match started {
            // A gap with its reason: other nodes may be free.
            Err(error) => return self.refused(&task, &error),
            Ok(Started::Submitted(id)) => (Held::Id(id.clone()), id),
            Ok(Started::Attached(child)) => {
                let id = format!("process {}", child.id());
                (Held::Child(child), id)
            }
        };
        let kept = fs::write(task.files.job_path(), format!("{id}\n"));
        self.note(Some(format!("{} submitted: {id}", task.name())));
        let file = task.files.job_path();
        self.running.push(Running::new(task, job));
        kept.map_err(LabError::storage_error("write", &file))
    }

    fn refused(&mut self, task: &Task, error: &LabError) -> Result<(), LabError> {
        let why: Vec<String> = std::iter::once(error.what.clone()).chain(error.causes()).collect();
        let why = why.join(": ");
        task.files.write_why(&why).map_err(LabError::storage_error("write", &task.files.why_path()))?;
        self.note(Some(format!("{} refused: {why}", task.name())));
        Ok(())
    }

    /// Finds jobs that have ended, by the folder first and then by the engine.
    fn look_at_jobs(&mut self, alive: Option<&BTreeSet<String>>) -> Result<(), LabError> {
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
            let is_held = matches!(running.job, Held::Child(_)) && is_alive == Some(true);
            let is_done = running.task.files.whole_path().exists() || running.task.files.why_path().exists();
            if is_done && !is_held || running.gone_since.is_some_and(|since| since.elapsed() >= settle) {
                ended.push(at);
            }
        }
        for at in ended.into_iter().rev() {
            let Running { task, job, .. } = self.running.remove(at);
            self.gone(&task, job.id())?;
            let note = match fs::read_to_string(task.files.why_path()) {
                Ok(why) => format!("{} failed: {}", task.name(), why.trim()),
                Err(_) => {
                    self.whole += 1;
                    format!("{} measured", task.name())
                }
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
            if running.ask_at.take_if(|ask_at| *ask_at <= now).is_none()
                || running.task.files.part_path().exists()
            {
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
    fn gone(&self, task: &Task, id: Option<&str>) -> Result<(), LabError> {
        let _ = fs::remove_file(task.files.job_path());
        if task.files.whole_path().exists() || task.files.why_path().exists() {
            return Ok(());
        }
        let why = match task.files.part_path().exists() {
            true => "its job ended before its session did",
            false => "its job ended and wrote nothing",
        };
        let engines = id.and_then(|id| self.engine.find_end_reason(id, self.programs));
        let why = engines.map_or_else(|| why.to_owned(), |engines| format!("{why}: {engines}"));
        task.files.write_why(&why).map_err(LabError::storage_error("write", &task.files.why_path()))
    }

    /// Cancels what was submitted; returns what could not be, with the reasons.
    fn stop_all(&mut self) -> Vec<(String, String)> {
        let mut left = Vec::new();
        for Running { task, job, .. } in std::mem::take(&mut self.running) {
            let stopped = match job {
                Held::Id(id) => self.engine.cancel_job(&id, self.programs).map_err(|error| {
                    let why: Vec<String> =
                        std::iter::once(error.what.clone()).chain(error.causes()).collect();
                    (id, why.join(": "))
                }),
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

    /// Removes secrets from where jobs run: each goes with its own job, and these may stay for days.
    fn forget_secrets(&mut self) {
        if self.folder.plan.pairs.is_empty() {
            return;
        }
        if let Err(error) = self.engine.remove_secrets(&self.folder.plan.job_prefix(), self.programs) {
            let why: Vec<String> = std::iter::once(error.what.clone()).chain(error.causes()).collect();
            self.note(Some(format!("the secrets of pairs were not taken away: {}", why.join(": "))));
        }
    }

    /// Handles a job that was cancelled before its session could write down why it ended.
    fn gone_by_request(&self, task: &Task) -> Result<(), LabError> {
        if !task.files.why_path().exists() && !task.files.whole_path().exists() {
            let written = task.files.write_why("its job was cancelled");
            written.map_err(LabError::storage_error("write", &task.files.why_path()))?;
        }
        self.gone(task, None)
    }

    fn note(&mut self, note: Option<String>) {
        let (whole, of, running) = (self.whole, self.of, self.running.len());
        (self.report)(Progress { whole, of, running, note });
    }
}

/// Ends an attached job with all that it started.
fn stop(mut child: Child) {
    let group = Pid::from_raw(child.id() as i32);
    let signal = |signal| group.map(|group| kill_process_group(group, signal));
    let _ = signal(Signal::TERM);
    if until_found(STOP_WAIT, LOOK, || child.try_wait().ok().flatten()).is_none() {
        let _ = signal(Signal::KILL);
        let _ = child.wait();
    }
}
