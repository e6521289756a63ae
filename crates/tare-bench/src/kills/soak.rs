//! Soak: one session that goes on for long while its processes are killed and stopped at random. Its share of the
//! machine does not grow.

use std::fs;
use std::io;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use tare_data::generator::Generator;

use crate::kills::{faults, remains, site};

/// Time between two looks at a session.
const LOOKS: Duration = Duration::from_secs(1);
/// A fault comes with every third look, as long as there is something to meet it.
const FAULT_EVERY: u64 = 3;
/// A process that is stopped goes on after this.
const STOPPED: Duration = Duration::from_millis(300);
/// Rows of the table.
const ROWS: u64 = 10;
/// A session that is interrupted has ended by then.
const ENDS: Duration = Duration::from_secs(60);
/// Memory of a session, however long it lasts: 48 MiB of batches, 128 MiB of other things, itself.
const MOST_MEMORY_KB: u64 = 192 << 10;

/// A session that goes on for long.
pub struct Soak<'a> {
    pub tare: &'a Path,
    /// An empty folder on a disk; the session builds and keeps its journal in it.
    pub folder: &'a Path,
    pub targets: &'a [&'a str],
    pub lasts: Duration,
    pub seed: u64,
}

/// Peak resources of a session in a stretch of time, and its progress by the end.
#[derive(Clone, Copy, Debug, Default)]
pub struct Stretch {
    pub until_s: u64,
    pub memory_kb: u64,
    pub descriptors: u64,
    pub processes: u64,
    pub mounts: u64,
    pub record_bytes: u64,
    pub faults: u64,
}

/// Outcome of a soak.
#[derive(Debug)]
pub struct Soaked {
    pub stretches: Vec<Stretch>,
    pub trials: u64,
    pub failed: u64,
    /// In words.
    pub wrong: Vec<String>,
}

impl Soak<'_> {
    /// Runs the session, which meets faults, and ends it with Ctrl-C. `report` is given a line for every stretch.
    pub fn run_session(&self, report: &mut dyn FnMut(&str) -> io::Result<()>) -> io::Result<Soaked> {
        for name in ["state", "scratch"] {
            fs::create_dir_all(self.folder.join(name))?;
        }
        let record = self.folder.join("soak.tare");
        let mut session = self.start(&record)?;
        let (stretches, mut wrong) = self.follow(&mut session, &record, report)?;
        kill_process(Pid::from_child(&session), Signal::INT)?;
        let status = site::wait_for_end(&mut session, ENDS)?;
        let is_ordered = status.is_some_and(|status| status.signal().is_none());
        wrong.extend((!is_ordered).then(|| format!("it did not end in order: {status:?}")));
        let sessions = remains::list_uncleaned_sessions(self.folder);
        wrong.extend(remains::list_remains(self.folder, &sessions));
        wrong.extend(site::explain_unreadable(&record));
        let trials = site::read_trials(&record);
        let failed = trials.iter().filter(|trial| trial.failure.is_some()).count() as u64;
        wrong.extend(grown(&stretches));
        Ok(Soaked { stretches, trials: trials.len() as u64, failed, wrong })
    }

    fn start(&self, record: &Path) -> io::Result<Child> {
        let mut command = Command::new(self.tare);
        command.args(["run", "--in", &self.targets.join(","), "--only", "sys.getppid,file.sync,proc.spawn"]);
        command.args(["--place", "own", "--rounds", "100000", "--scratch"]).arg(self.folder.join("scratch"));
        command.arg("--record").arg(record).current_dir(self.folder).stdin(Stdio::null());
        command.env("XDG_STATE_HOME", self.folder.join("state"));
        command.stdout(Stdio::null()).stderr(fs::File::create(self.folder.join("errors"))?).spawn()
    }

    fn follow(
        &self,
        session: &mut Child,
        record: &Path,
        report: &mut dyn FnMut(&str) -> io::Result<()>,
    ) -> io::Result<(Vec<Stretch>, Vec<String>)> {
        let mut generator = Generator::for_part(self.seed, "soak");
        let (began, mut stretches, mut now) = (Instant::now(), Vec::new(), Stretch::default());
        let row = (self.lasts.as_secs() / ROWS).max(1);
        for look in 1.. {
            thread::sleep(LOOKS);
            if let Some(status) = session.try_wait()? {
                let said = fs::read_to_string(self.folder.join("errors"))?;
                return Ok((stretches, vec![format!("the session ended by itself ({status}): {said}")]));
            }
            now = now.with(&self.look(session, record));
            if look % FAULT_EVERY == 0 {
                now.faults += u64::from(strike(session.id(), &mut generator)?);
            }
            let elapsed_s = began.elapsed().as_secs();
            if elapsed_s >= row * (stretches.len() as u64 + 1) {
                now.until_s = elapsed_s;
                report(&line(&now))?;
                stretches.push(now);
                now = Stretch { faults: now.faults, ..Stretch::default() };
            }
            if began.elapsed() >= self.lasts {
                break;
            }
        }
        Ok((stretches, Vec::new()))
    }

    /// Measures the current resources of the session.
    fn look(&self, session: &Child, record: &Path) -> Stretch {
        let process = Path::new("/proc").join(session.id().to_string());
        let status = fs::read_to_string(process.join("status")).unwrap_or_default();
        let memory = status.lines().find_map(|line| line.strip_prefix("VmRSS:")?.split_whitespace().next());
        let (processes, mounts) =
            remains::count_remains(self.folder, &remains::list_uncleaned_sessions(self.folder));
        Stretch {
            memory_kb: memory.and_then(|kb| kb.parse().ok()).unwrap_or_default(),
            descriptors: remains::list_paths(&process.join("fd")).len() as u64,
            processes,
            mounts,
            record_bytes: fs::metadata(record).map_or(0, |about| about.len()),
            ..Stretch::default()
        }
    }
}

impl Stretch {
    fn with(self, other: &Stretch) -> Stretch {
        Stretch {
            memory_kb: self.memory_kb.max(other.memory_kb),
            descriptors: self.descriptors.max(other.descriptors),
            processes: self.processes.max(other.processes),
            mounts: self.mounts.max(other.mounts),
            record_bytes: other.record_bytes,
            ..self
        }
    }
}

/// Kills or stops one of the processes that a session started; false where there is none.
fn strike(session: u32, generator: &mut Generator) -> io::Result<bool> {
    let children = faults::find_descendants(session);
    if children.is_empty() {
        return Ok(false);
    }
    let child = children[generator.draw_below(children.len() as u64) as usize];
    let Some(child) = Pid::from_raw(child as i32) else { return Ok(false) };
    if generator.draw_below(2) == 0 {
        return Ok(kill_process(child, Signal::KILL).is_ok());
    }
    let was_stopped = kill_process(child, Signal::STOP).is_ok();
    thread::sleep(STOPPED);
    let _ = kill_process(child, Signal::CONT);
    Ok(was_stopped)
}

/// Lists resources that are greater in the last third than in the one before.
fn grown(stretches: &[Stretch]) -> Vec<String> {
    let third = stretches.len() / 3;
    let most = |from: usize, of: fn(&Stretch) -> u64| {
        stretches[from..from + third].iter().map(of).max().unwrap_or_default()
    };
    let from = stretches.len() - 2 * third;
    let both = |of: fn(&Stretch) -> u64| (most(from, of), most(from + third, of));
    let named = [
        ("descriptors", both(|stretch| stretch.descriptors)),
        ("processes", both(|stretch| stretch.processes)),
        ("mounts", both(|stretch| stretch.mounts)),
    ];
    let mut wrong = Vec::new();
    for (name, (before, after)) in named {
        // Things that an environment has while it is entered are seen at one look and not at another.
        let grew = after > before + before / 4 + 2;
        wrong.extend(grew.then(|| format!("{name} grew from {before} to {after}")));
    }
    let memory = stretches.iter().map(|stretch| stretch.memory_kb).max().unwrap_or_default();
    wrong.extend((memory > MOST_MEMORY_KB).then(|| format!("{memory} kB of memory")));
    wrong
}

pub const HEAD: &str = "minutes  memory (MB)  descriptors  processes  mounts  record (MB)  faults";

fn line(stretch: &Stretch) -> String {
    let Stretch { until_s, memory_kb, descriptors, processes, mounts, record_bytes, faults } = stretch;
    format!(
        "{:7.1}  {:11.1}  {descriptors:11}  {processes:9}  {mounts:6}  {:11.1}  {faults:6}",
        *until_s as f64 / 60.0,
        *memory_kb as f64 / 1024.0,
        *record_bytes as f64 / 1048576.0
    )
}
