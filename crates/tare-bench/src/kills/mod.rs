//! Kills: sessions that are killed at random moments. After `tare clean` nothing of them may be left, and their
//! records must be readable.

pub mod count;
pub mod faults;
pub mod homes;
pub mod injected;
pub mod liar;
pub mod machine;
mod remains;
pub mod site;
pub mod soak;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::fs;
use std::io;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use tare_data::generator::Generator;
use tare_data::session::specification::Specification;

use remains::Machine;

/// Environments that are killed, and the time in ms in which a session of each has gone through its first
/// starts, some trials and some leavings; moments are drawn from it.
pub const TARGETS: [(&str, u64); 14] = [
    ("native", 1_500),
    ("container", 2_000),
    ("traced", 2_000),
    ("bwrap", 2_000),
    ("proot", 2_000),
    ("nspawn", 3_000),
    ("oci:runc", 3_000),
    ("oci:crun", 3_000),
    ("podman", 4_000),
    ("podman?own=root", 5_000),
    ("gvisor", 3_000),
    ("gvisor?platform=ptrace", 3_000),
    ("uml", 8_000),
    ("qemu", 12_000),
];

/// Environments whose calls are killed.
const CALL_TARGETS: [(&str, u64); 7] = [
    ("native", 1_500),
    ("container", 2_000),
    ("bwrap", 2_000),
    ("unshare", 2_000),
    ("firejail", 3_000),
    ("codex", 5_000),
    ("srt", 8_000),
];

/// Work of a session that is killed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Work {
    /// Enters, and measures trials in there.
    Trials,
    /// Enters, runs a command and leaves, again and again.
    Calls,
}

impl Work {
    /// Lists the environments in which such sessions are killed.
    pub fn targets(self) -> &'static [(&'static str, u64)] {
        match self {
            Work::Trials => &TARGETS,
            Work::Calls => &CALL_TARGETS,
        }
    }

    fn arguments(self) -> &'static [&'static str] {
        match self {
            Work::Trials => &["--only", "sys.getppid,file.sync", "--place", "own,share", "--rounds", "400"],
            Work::Calls => &["calls", "--rounds", "400"],
        }
    }
}

/// Sessions to be killed.
pub struct Kills<'a> {
    pub tare: &'a Path,
    /// An empty folder on a disk; sessions build and keep their journals in it.
    pub folder: &'a Path,
    pub targets: &'a [(&'a str, u64)],
    pub work: Work,
    pub rounds: u32,
    pub seed: u64,
    /// True when nothing else enters environments meanwhile: then whatever is new on the machine counts as
    /// left.
    pub alone: bool,
}

/// A round in which something was wrong.
#[derive(Debug)]
pub struct Found {
    pub round: u32,
    pub target: String,
    pub after_ms: u64,
    pub what: Vec<String>,
}

/// Outcome of the sessions of one environment.
#[derive(Clone, Copy, Debug, Default)]
pub struct Tally {
    pub killed: u32,
    /// Trials that the records held shortly before.
    pub trials: u64,
    /// Trials that records do not hold afterwards.
    pub lost: u64,
    /// Sessions that left something behind, or whose record cannot be read.
    pub wrong: u32,
}

impl fmt::Display for Found {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "round {}, {} after {} ms: {}",
            self.round + 1,
            self.target,
            self.after_ms,
            self.what.join("; ")
        )
    }
}

impl Kills<'_> {
    /// Kills one session a round; returns their outcomes by environments, and the rounds in which something was lost or
    /// left. `report` is given a line for every round, and ends it all with an error.
    pub fn run_rounds(
        &self,
        report: &mut dyn FnMut(&str) -> io::Result<()>,
    ) -> io::Result<(BTreeMap<String, Tally>, Vec<Found>)> {
        for name in ["state", "scratch"] {
            fs::create_dir_all(self.folder.join(name))?;
        }
        let mut generator = Generator::for_part(self.seed, "kills");
        let (mut tallies, mut all) = (BTreeMap::<String, Tally>::new(), Vec::new());
        for round in 0..self.rounds {
            let (target, span_ms) = self.targets[generator.draw_below(self.targets.len() as u64) as usize];
            // Every other moment is an early one: most things are made then.
            let span_ms = if generator.draw_below(2) == 0 { span_ms / 8 } else { span_ms };
            let after_ms = generator.draw_below(span_ms.max(1));
            let tally = tallies.entry(target.to_owned()).or_default();
            let what = self.kill(target, after_ms, tally)?;
            tally.killed += 1;
            tally.wrong += u32::from(!what.is_empty());
            report(&format!(
                "{:3} of {}  {target} after {after_ms} ms: {}",
                round + 1,
                self.rounds,
                words(&what)
            ))?;
            if !what.is_empty() {
                all.push(Found { round, target: target.to_owned(), after_ms, what });
            }
        }
        Ok((tallies, all))
    }

    /// Kills one session; lists its remains, and whatever else is wrong.
    fn kill(&self, target: &str, after_ms: u64, tally: &mut Tally) -> io::Result<Vec<String>> {
        let before = self.alone.then(Machine::now);
        let record = self.folder.join("killed.tare");
        let _ = fs::remove_file(&record);
        let mut session = self.tare(&["run", "--in", target]);
        session.args(self.work.arguments()).arg("--scratch").arg(self.folder.join("scratch"));
        session.arg("--record").arg(&record);
        let mut session = session.stdout(Stdio::null()).stderr(Stdio::piped()).spawn()?;
        thread::sleep(Duration::from_millis(after_ms));
        let held = site::read_trials(&record);
        let mut what = Vec::new();
        if let Some(status) = session.try_wait()? {
            let said = session.wait_with_output()?.stderr;
            what.push(format!(
                "the session ended by itself ({status}): {}",
                String::from_utf8_lossy(&said).trim()
            ));
        } else {
            // As a power cut or the kernel's memory killer would.
            session.kill()?;
            session.wait()?;
        }
        let sessions = remains::list_uncleaned_sessions(self.folder);
        let cleaned = self.tare(&["clean"]).output()?;
        if !cleaned.status.success() {
            what.push(format!("tare clean: {}", String::from_utf8_lossy(&cleaned.stdout).trim()));
        }
        what.extend(remains::list_remains(self.folder, &sessions));
        what.extend(before.iter().flat_map(|before| before.new_since(&sessions)));
        what.extend(site::explain_unreadable(&record));
        let kept = site::read_trials(&record);
        let lost = held.iter().filter(|trial| !kept.contains(trial)).count() as u64;
        what.extend((lost > 0).then(|| format!("{lost} trials are lost")));
        (tally.trials, tally.lost) = (tally.trials + held.len() as u64, tally.lost + lost);
        Ok(what)
    }

    fn tare(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(self.tare);
        command.args(arguments).current_dir(self.folder).stdin(Stdio::null());
        command.env("XDG_STATE_HOME", self.folder.join("state"));
        command
    }
}

/// Formats a row for each environment.
pub fn render_tallies(tallies: &BTreeMap<String, Tally>) -> String {
    let row = |(target, tally): (&String, &Tally)| {
        let Tally { killed, trials, lost, wrong } = tally;
        format!("{target:24}  {killed:6}  {trials:7}  {lost:4}  {wrong:4}\n")
    };
    let head =
        format!("{:24}  {:>6}  {:>7}  {:>4}  {:>4}\n", "environment", "killed", "trials", "lost", "left");
    head + &tallies.iter().map(row).collect::<String>()
}

fn words(what: &[String]) -> String {
    if what.is_empty() { "nothing is left".to_owned() } else { what.join("; ") }
}

/// A target of [`TARGETS`].
type Target<'a> = (&'a str, u64);

/// Separates the targets that are ready here, as `tare check` says, from the others.
pub fn split_ready_targets<'a>(
    tare: &Path,
    targets: &[Target<'a>],
) -> io::Result<(Vec<Target<'a>>, Vec<&'a str>)> {
    let said = Command::new(tare).args(["check", "--json"]).stdin(Stdio::null()).output()?;
    let document: serde_json::Value = serde_json::from_slice(&said.stdout)?;
    let rows = document["environments"].as_array().cloned().unwrap_or_default();
    let ready: BTreeSet<&str> = rows
        .iter()
        .filter(|row| row["ready"] == true)
        .filter_map(|row| row["environment"].as_str())
        .collect();
    // `tare check` lists environments without options.
    let is_ready = |target: &str| {
        target.parse().is_ok_and(|target: Specification| {
            let plain = Specification { options: BTreeMap::new(), ..target };
            ready.contains(plain.to_string().as_str())
        })
    };
    let (ready, absent): (Vec<_>, Vec<_>) = targets.iter().copied().partition(|(target, _)| is_ready(target));
    Ok((ready, absent.into_iter().map(|(target, _)| target).collect()))
}
