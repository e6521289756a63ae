//! Processes: each that is started is in a job, which ends with this process; none has to be looked for afterwards.

#![allow(unsafe_code, reason = "the system is called by its C interface")]

use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::os::windows::io::{AsRawHandle, FromRawHandle, OwnedHandle};
use std::os::windows::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command};

use tare_probes::Job;
use windows_sys::Win32::Foundation::FILETIME;
use windows_sys::Win32::System::Threading::{
    CREATE_NEW_PROCESS_GROUP, GetProcessTimes, OpenProcess, PROCESS_QUERY_LIMITED_INFORMATION,
};

/// By what the processes of a session, or of one start in it, are known elsewhere.
#[derive(Clone, Debug)]
pub struct Signs {
    pub mark: String,
    pub folder: PathBuf,
    pub name: String,
    pub spared: Vec<PathBuf>,
    pub roots: Vec<(u32, u64)>,
}

impl Signs {
    /// Finds none but the processes whose job lives, which is known without searching.
    pub(crate) fn find_processes(&self) -> BTreeMap<u32, u64> {
        BTreeMap::new()
    }

    pub(crate) fn find_mentions(&self) -> Vec<Mention> {
        Vec::new()
    }

    pub(crate) fn find_spared(&self) -> Vec<Mention> {
        Vec::new()
    }

    /// Does nothing, since nothing is left: returns numbers of those killed, and of those left.
    pub(crate) fn kill_processes(&self) -> (Vec<u32>, Vec<u32>) {
        (Vec::new(), Vec::new())
    }
}

/// A process that mentions a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Mention {}

impl Mention {
    pub(crate) fn is_alive(&self) -> bool {
        match *self {}
    }
}

impl fmt::Display for Mention {
    fn fmt(&self, _: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {}
    }
}

/// Gives a command no Ctrl-C. What has it die with this process is its job: see [`start`].
pub(crate) fn die_with_parent(command: &mut Command) {
    command.creation_flags(CREATE_NEW_PROCESS_GROUP);
}

/// Does nothing: a job has all descendants.
pub(crate) fn keep_descendants(_: &mut Command) {}

/// A job with a process and all that it starts. Dropped, it ends them; and so does the end of this process, however it came.
#[derive(Debug)]
pub(crate) struct Kept(Job);

impl Kept {
    /// Ends whatever is left in it.
    pub(crate) fn end_remaining(&self) {
        self.0.end_processes();
    }
}

/// Starts a command that ends with this process. Until it is in its job, it only waits for streams, which end
/// then too.
pub(crate) fn start_command(command: &mut Command) -> io::Result<(Child, Kept)> {
    let mut child = spawn_program(command)?;
    match Job::for_child(&child) {
        Ok(job) => Ok((child, Kept(job))),
        Err(error) => {
            child.kill()?;
            Err(error)
        }
    }
}

/// Spawns a program.
pub(crate) fn spawn_program(command: &mut Command) -> io::Result<Child> {
    command.spawn()
}

/// Reads when a process was started, in units of 100 ns; distinguishes it from a later one with the same
/// number.
pub(crate) fn started_ticks(pid: u32) -> Option<u64> {
    // SAFETY: touches no memory.
    let process = unsafe { OpenProcess(PROCESS_QUERY_LIMITED_INFORMATION, 0, pid) };
    if process.is_null() {
        return None;
    }
    // SAFETY: it is open, and nobody else's.
    let process = unsafe { OwnedHandle::from_raw_handle(process) };
    let mut times = [FILETIME { dwLowDateTime: 0, dwHighDateTime: 0 }; 4];
    let [started, ended, kernel, user] = &mut times;
    // SAFETY: the handle is open, and all four live through the call.
    let known = unsafe { GetProcessTimes(process.as_raw_handle(), started, ended, kernel, user) };
    let started = u64::from(started.dwHighDateTime) << 32 | u64::from(started.dwLowDateTime);
    // A process that has ended keeps its number as long as somebody holds it.
    (known != 0 && ended.dwHighDateTime == 0).then_some(started)
}
