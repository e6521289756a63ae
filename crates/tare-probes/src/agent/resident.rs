//! The resident agent: reads requests, and starts a process for each trial.

#![allow(unsafe_code, reason = "waiting for and ending processes by number")]

use std::ffi::OsStr;
use std::io::{self, Read, Write};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

use tare_data::failure::{Failure, FailureKind};
use tare_data::frame::{Frame, PROTOCOL, Received, Splitter};
use tare_data::request::{LONGEST_DEADLINE_MS, Request, TrialRequest};

use super::identity::own;
use super::trial_process::{TRIAL, send};
use crate::carried::user_files::Carried;
use crate::carried::variables::inherited_variables;
use crate::harness::alarm::{set_alarm, wake_on_alarm};
use crate::harness::stopwatch::now_ns;

/// First argument under which the program is the resident agent.
pub const AGENT: &str = "agent";
/// From the agent's start until its clock must be settled. gVisor took 0.9 to 1.2 s.
const SETTLING_NS: u64 = 2_000_000_000;
/// Clock reads over which the cost of one is averaged.
const CLOCK_READS: u64 = 20;
/// A clock read that takes longer than this makes a system call.
const EXPENSIVE_READ_NS: u64 = 500;
/// How long after its deadline a trial's process may live, in ms: its own alarm comes first.
const GRACE_MS: u64 = 2_000;

/// Serves requests from standard input until one asks it to leave, or the stream ends.
///
/// `program` is the path under which this binary can be started again: /proc may be missing.
pub fn serve(program: &Path) -> io::Result<()> {
    wake_on_alarm();
    let settled_ns = now_ns() + SETTLING_NS;
    send(&Frame::Hello {
        protocol: PROTOCOL,
        version: env!("CARGO_PKG_VERSION").to_owned(),
        agent: own(),
        clock_ns: now_ns(),
    })?;
    let mut splitter = Splitter::default();
    let mut carried = Carried::default();
    let mut bytes = [0u8; 4096];
    loop {
        let read = match io::stdin().lock().read(&mut bytes) {
            Ok(0) => return Ok(()),
            Ok(read) => read,
            Err(e) if e.kind() == io::ErrorKind::Interrupted => continue,
            Err(e) => return Err(e),
        };
        for line in splitter.push::<Request>(&bytes[..read]) {
            match line {
                Received::Frame(Request::Describe { places }) => {
                    let facts = crate::facts::environment();
                    let about = |(name, path): (String, String)| (name, crate::facts::place(path.as_ref()));
                    let places = places.into_iter().map(about).collect();
                    send(&Frame::Description { facts, places })?;
                }
                Received::Frame(Request::Trial(request)) => {
                    settle_clock(settled_ns);
                    start_trial(program.as_os_str(), &request, carried.folder())?;
                }
                Received::Frame(Request::Carry(piece)) => {
                    let failure = carried.keep(&piece).err();
                    send(&Frame::Carried { failure })?;
                }
                Received::Frame(Request::Leave) => return send(&Frame::Bye),
                // What is not a request is not for us.
                Received::Note(_) => {}
            }
        }
    }
}

/// Waits until the clock is read without a system call, or until it is clear that this will not come.
///
/// gVisor measures its clock in the first second of a sandbox; until then each read is a system call of some
/// 20 us where later ones take 40 ns, which would stand in every latency of an early trial.
fn settle_clock(until_ns: u64) {
    let is_slow = || {
        let started_ns = now_ns();
        (0..CLOCK_READS).for_each(|_| {
            std::hint::black_box(now_ns());
        });
        now_ns().saturating_sub(started_ns) > CLOCK_READS * EXPENSIVE_READ_NS
    };
    while is_slow() && now_ns() < until_ns {
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// Starts a trial's process, waits for it, and reports a failure that the process could not report itself.
fn start_trial(program: &OsStr, request: &TrialRequest, carried: Option<&Path>) -> io::Result<()> {
    let json = serde_json::to_string(request).expect("tare's own types always serialise");
    let child = Command::new(program)
        .arg(TRIAL)
        .args(carried)
        .env_clear()
        .envs(inherited_variables())
        // A pipe that is closed after the request, not /dev/null: an environment may have no /dev.
        .stdin(Stdio::piped())
        .process_group(0)
        .spawn();
    let (kind, reason) = match child.map(|child| wait(child, &json, request.deadline_ms)) {
        Err(e) => (FailureKind::Died, format!("could not start the trial's process: {e}")),
        Ok(None) => (FailureKind::Deadline, format!("{} ms, and it had to be killed", request.deadline_ms)),
        Ok(Some(status)) => match (status.code(), status.signal()) {
            (Some(0), _) => return Ok(()),
            (_, Some(libc::SIGALRM)) => (FailureKind::Deadline, format!("{} ms", request.deadline_ms)),
            (Some(code), _) => {
                (FailureKind::Died, format!("the trial's process ended with exit code {code}"))
            }
            (_, signal) => (
                FailureKind::Died,
                format!("the trial's process was killed by signal {}", signal.unwrap_or_default()),
            ),
        },
    };
    send(&Frame::Failed { trial: request.trial, failure: Failure::new(kind, reason), clock_ns: now_ns() })
}

/// Writes the request, all of which a pipe holds at once, and closes the pipe.
fn send_request(child: &mut Child, json: &str) {
    if let Some(mut input) = child.stdin.take() {
        // A process that has ended already reports why by its exit code.
        let _ = input.write_all(json.as_bytes());
    }
}

/// Sends a trial's process its request, waits for it and ends its process group; None when it outlived its deadline.
fn wait(mut child: Child, request: &str, deadline_ms: u64) -> Option<ExitStatus> {
    send_request(&mut child, request);
    let pid = child.id() as libc::pid_t;
    set_alarm(deadline_ms.min(LONGEST_DEADLINE_MS) + GRACE_MS);
    let mut raw = 0;
    // Not `Child::wait`, which waits on after a signal.
    // SAFETY: `raw` lives through the call; the child is ours and nobody else waits for it.
    let in_time = unsafe { libc::waitpid(pid, &mut raw, 0) } == pid;
    set_alarm(0);
    // Whatever the trial forked and left ends with it.
    // SAFETY: kill has no memory effects; the group is the child's own.
    unsafe { libc::kill(-pid, libc::SIGKILL) };
    if in_time {
        return Some(ExitStatus::from_raw(raw));
    }
    let _ = child.wait();
    None
}
