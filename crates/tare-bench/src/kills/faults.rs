//! Faults: sessions that are killed, interrupted, starved or robbed at random moments. Nothing is lost from their records, nothing
//! of them is left after `tare clean`, and none ends by an abort.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::thread;
use std::time::Duration;

use rustix::process::{Pid, Resource, Signal, kill_process};
use tare_data::generator::Generator;

use crate::kills::count::{Count, Counts};
use crate::kills::site::{Site, read_trials};

/// A session is over by then, or hangs: it has a dozen rounds of two short cases.
const ENDS: Duration = Duration::from_secs(90);
/// Moments are drawn from this: the first starts, calibration, some rounds.
const SPAN_MS: u64 = 3_000;
/// Environments, some of which are ready anywhere.
pub const TARGETS: [&str; 3] = ["native", "container", "gvisor"];

/// Fault that a session meets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fault {
    Kill,
    Terminate,
    Interrupt,
    HangUp,
    /// Kill of one of the processes that it started.
    ChildKilled,
    /// Its record is removed.
    RecordRemoved,
    /// Files may not be longer than some bytes.
    FileSize,
    /// There are few descriptors.
    Descriptors,
    /// There is little memory.
    Memory,
}

const FAULTS: [Fault; 9] = [
    Fault::Kill,
    Fault::Terminate,
    Fault::Interrupt,
    Fault::HangUp,
    Fault::ChildKilled,
    Fault::RecordRemoved,
    Fault::FileSize,
    Fault::Descriptors,
    Fault::Memory,
];

/// Sessions that meet faults.
pub struct Faults<'a> {
    pub site: Site<'a>,
    pub targets: &'a [&'a str],
    pub rounds: u32,
    pub seed: u64,
}

impl Faults<'_> {
    /// Runs one fault a round, in turn, and counts the outcomes. `report` is given a line for every round,
    /// and ends it all with an error.
    pub fn run_rounds(&self, report: &mut dyn FnMut(&str) -> io::Result<()>) -> io::Result<Counts> {
        self.site.make_folders()?;
        let mut generator = Generator::for_part(self.seed, "faults");
        let mut counts = Counts::new();
        for round in 0..self.rounds {
            let fault = FAULTS[round as usize % FAULTS.len()];
            let target = self.targets[generator.draw_below(self.targets.len() as u64) as usize];
            let drawn = (generator.draw_below(SPAN_MS), generator.next_u64());
            let count = counts.entry(format!("{fault:?}")).or_default();
            let before = count.wrong.len();
            self.meet(fault, target, drawn, count)?;
            let wrong = count.wrong[before..].join("; ");
            let words = if wrong.is_empty() { "nothing is lost or left" } else { &wrong };
            report(&format!(
                "{:3} of {}  {target}, {fault:?} at {} ms: {words}",
                round + 1,
                self.rounds,
                drawn.0
            ))?;
        }
        Ok(counts)
    }

    /// Runs one session and its fault; `drawn` is the moment, and a number to choose by.
    fn meet(&self, fault: Fault, target: &str, drawn: (u64, u64), count: &mut Count) -> io::Result<()> {
        let site = self.site;
        let record = site.folder.join("faulty.tare");
        let _ = fs::remove_file(&record);
        count.tried += 1;
        let mut session = self.start(fault, target, &record, drawn.1)?;
        thread::sleep(Duration::from_millis(drawn.0));
        let held = read_trials(&record);
        let sent = strike(fault, &session, &record, drawn.1);
        site.finish_session(&mut session, sent, ENDS, count)?;
        if fault != Fault::RecordRemoved {
            site.count_lost_trials(&record, &held, count);
        }
        Ok(())
    }

    fn start(&self, fault: Fault, target: &str, record: &Path, number: u64) -> io::Result<Child> {
        let mut session = self.site.tare_command(&[
            "run",
            "--in",
            target,
            "--only",
            "sys.getppid,file.sync",
            "--place",
            "own",
        ]);
        session.args(["--rounds", "12", "--json", "--scratch"]).arg(self.site.folder.join("scratch"));
        session.arg("--record").arg(record).stdout(Stdio::null()).stderr(Stdio::null());
        match fault {
            Fault::FileSize => {
                self.site.limit_resource(&mut session, Resource::Fsize, (20 << 10) + number % (4 << 20));
            }
            Fault::Descriptors => self.site.limit_resource(&mut session, Resource::Nofile, 6 + number % 26),
            Fault::Memory => {
                self.site.limit_resource(&mut session, Resource::As, (40 << 20) + number % (120 << 20));
            }
            _ => {}
        }
        session.spawn()
    }
}

/// Has the fault happen, where it is not there from the beginning; the signal that the session itself was sent.
fn strike(fault: Fault, session: &Child, record: &Path, number: u64) -> Option<i32> {
    let signal = match fault {
        Fault::Kill => Signal::KILL,
        Fault::Terminate => Signal::TERM,
        Fault::Interrupt => Signal::INT,
        Fault::HangUp => Signal::HUP,
        Fault::RecordRemoved => {
            let _ = fs::remove_file(record);
            return None;
        }
        Fault::ChildKilled => {
            let children = find_descendants(session.id());
            let chosen = children.get(number as usize % children.len().max(1));
            if let Some(child) = chosen.and_then(|child| Pid::from_raw(*child as i32)) {
                let _ = kill_process(child, Signal::KILL);
            }
            return None;
        }
        Fault::FileSize | Fault::Descriptors | Fault::Memory => return None,
    };
    let _ = kill_process(Pid::from_child(session), signal);
    Some(signal.as_raw())
}

/// Finds the descendants of a process.
pub(super) fn find_descendants(of: u32) -> Vec<u32> {
    let tasks: Vec<PathBuf> = fs::read_dir(format!("/proc/{of}/task"))
        .map(|tasks| tasks.flatten().map(|task| task.path()).collect())
        .unwrap_or_default();
    let text = tasks.iter().map(|task| fs::read_to_string(task.join("children")).unwrap_or_default());
    let own: Vec<u32> =
        text.collect::<String>().split_whitespace().filter_map(|child| child.parse().ok()).collect();
    let below: Vec<u32> = own.iter().flat_map(|&child| find_descendants(child)).collect();
    [own, below].concat()
}
