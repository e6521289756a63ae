//! The site: a folder in which sessions build and keep their journals, and the inspection once one has ended.

use std::fs;
use std::io;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Resource, Rlimit, setrlimit};
use tare_data::session::Trial;
use tare_record::{RecordError, read_session};

use crate::kills::count::Count;
use crate::kills::remains;

/// Place in which sessions meet faults.
#[derive(Clone, Copy, Debug)]
pub struct Site<'a> {
    pub tare: &'a Path,
    /// An empty folder on a disk.
    pub folder: &'a Path,
}

impl Site<'_> {
    pub fn make_folders(&self) -> io::Result<()> {
        ["state", "scratch"].into_iter().try_for_each(|name| fs::create_dir_all(self.folder.join(name)))
    }

    /// Builds a command of the program with its state in this folder.
    pub fn tare_command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(self.tare);
        command.args(arguments);
        self.prepare_command(&mut command);
        command
    }

    /// Has a command work in this folder.
    pub(crate) fn prepare_command(&self, command: &mut Command) {
        command.current_dir(self.folder).stdin(Stdio::null());
        command.env("XDG_STATE_HOME", self.folder.join("state")).env("NO_COLOR", "1").env("LC_ALL", "C");
    }

    pub(crate) fn limit_resource(&self, command: &mut Command, resource: Resource, most: u64) {
        let limit = Rlimit { current: Some(most), maximum: Some(most) };
        // SAFETY: setrlimit is one system call, which allocates nothing.
        unsafe { command.pre_exec(move || Ok(setrlimit(resource, limit)?)) };
    }

    /// Waits for a session to end, which was sent this signal, cleans, and counts its faults.
    pub fn finish_session(
        &self,
        session: &mut Child,
        sent: Option<i32>,
        within: Duration,
        count: &mut Count,
    ) -> io::Result<Option<ExitStatus>> {
        let status = wait_for_end(session, within)?;
        let sessions = remains::list_uncleaned_sessions(self.folder);
        match status {
            None => {
                count.hung += 1;
                count.wrong.push("it did not end".into());
            }
            Some(status) => {
                if let Some(signal) = status.signal().filter(|signal| sent != Some(*signal)) {
                    count.aborted += 1;
                    count.wrong.push(format!("it ended by signal {signal}"));
                }
            }
        }
        let cleaned = self.tare_command(&["clean"]).output()?;
        let mut left = remains::list_remains(self.folder, &sessions);
        let said = String::from_utf8_lossy(&cleaned.stdout);
        left.extend((!cleaned.status.success()).then(|| format!("tare clean: {}", said.trim())));
        count.left += left.len() as u64;
        count.wrong.extend(left);
        Ok(status)
    }

    /// Counts the lost ones of the trials that a record held.
    pub(crate) fn count_lost_trials(&self, record: &Path, held: &[Trial], count: &mut Count) {
        let kept = read_trials(record);
        let lost = held.iter().filter(|trial| !kept.contains(trial)).count() as u64;
        count.lost += lost;
        count.wrong.extend((lost > 0).then(|| format!("{lost} trials are lost")));
        self.check_record(record, count);
    }

    /// Notes a record that cannot be read.
    pub(crate) fn check_record(&self, record: &Path, count: &mut Count) {
        count.wrong.extend(explain_unreadable(record));
    }
}

/// Waits for the end; none where it had to be killed.
pub fn wait_for_end(session: &mut Child, within: Duration) -> io::Result<Option<ExitStatus>> {
    let end = Instant::now() + within;
    while Instant::now() < end {
        if let Some(status) = session.try_wait()? {
            return Ok(Some(status));
        }
        thread::sleep(Duration::from_millis(20));
    }
    session.kill()?;
    session.wait()?;
    Ok(None)
}

/// Reads the trials of a record that have ended; none where it has none, or is not there yet.
pub(crate) fn read_trials(record: &Path) -> Vec<Trial> {
    let trials = read_session(record).map(|recording| recording.session.trials).unwrap_or_default();
    trials.into_iter().filter(|trial| trial.host_elapsed_ns > 0).collect()
}

/// Explains why a record cannot be read.
pub(crate) fn explain_unreadable(record: &Path) -> Option<String> {
    match read_session(record) {
        // It ended before there was anything to write down.
        Ok(_) | Err(RecordError::NoPlan { .. }) => None,
        Err(_) if fs::metadata(record).map_or(0, |about| about.len()) == 0 => None,
        Err(e) => Some(format!("the record: {e}")),
    }
}
