//! The resident agent: reads requests, and starts a process for each trial.

use std::ffi::{OsStr, OsString};
use std::io::{self, Read, Write};
use std::path::Path;
use std::process::{Child, Stdio};
use std::time::Duration;

use tare_data::failure::{Failure, FailureKind};
use tare_data::frame::{Frame, PROTOCOL, Received, Splitter};
use tare_data::names::USER;
use tare_data::request::{Request, TrialRequest};

use super::identity::identify_program;
use super::trial_process::{TRIAL, send_frame};
use crate::carried::user_files::Carried;
use crate::harness::stopwatch::now_ns;
use crate::platform::{
    begin_agent, describe_ending, ended_by_alarm, set_inherited, set_process_group, wait_for_trial,
};
use crate::variables::inherited_variables;

/// First argument under which the program is the resident agent.
pub const AGENT: &str = "agent";
/// Clock reads over which the cost of one is averaged.
const CLOCK_READS: u64 = 20;
/// A clock read that takes longer than this makes a system call.
const EXPENSIVE_READ_NS: u64 = 500;
/// Likely cause of the end of a command's trial by a signal.
const CALLS_ITS_GROUP: &str = "; a command that signals its whole process group (kill 0) ends it";

/// Serves requests from standard input until one asks it to leave, or the stream ends.
///
/// `program` is the path under which this binary can be started again: /proc may be missing. `inherited` are the numbers of
/// descriptors of files for turns, which a trial gets if its request names one.
pub fn serve_requests(program: &Path, inherited: &[OsString]) -> io::Result<()> {
    begin_agent();
    inherited
        .iter()
        .filter_map(|number| number.to_str()?.parse().ok())
        .for_each(|number| set_inherited(number, false));
    let signs = crate::signs::collect_signs();
    let began_ns = now_ns();
    send_frame(&Frame::Hello {
        protocol: PROTOCOL,
        version: env!("CARGO_PKG_VERSION").to_owned(),
        agent: identify_program(),
        clock_ns: now_ns(),
        signs,
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
                    let facts = crate::facts::collect_environment_facts();
                    let about = |(name, path): (String, String)| {
                        (name, crate::facts::collect_place_facts(path.as_ref()))
                    };
                    let places = places.into_iter().map(about).collect();
                    send_frame(&Frame::Description { facts, places })?;
                }
                Received::Frame(Request::Trial(request)) => {
                    settle_clock(began_ns.saturating_add(request.settling_ms.saturating_mul(1_000_000)));
                    start_trial(program.as_os_str(), &request, carried.folder())?;
                }
                Received::Frame(Request::Carry(piece)) => {
                    let failure = carried.write_piece(&piece).err();
                    send_frame(&Frame::Carried { failure })?;
                }
                Received::Frame(Request::Leave) => return send_frame(&Frame::Bye),
                // Lines that are not requests are not for the agent.
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
    while now_ns() < until_ns && is_slow() {
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// Starts a trial's process, waits for it, and reports a failure that the process could not report itself.
fn start_trial(program: &OsStr, request: &TrialRequest, carried: Option<&Path>) -> io::Result<()> {
    let json = serde_json::to_string(request).expect("tare's own types always serialise");
    let mut command = crate::starting::command(program);
    // A pipe that is closed after the request, not /dev/null: an environment may have no /dev.
    command.arg(TRIAL).args(carried).env_clear().envs(inherited_variables()).stdin(Stdio::piped());
    set_process_group(&mut command);
    let descriptor = request.turn.as_ref().and_then(|turn| turn.descriptor);
    descriptor.iter().for_each(|number| set_inherited(*number, true));
    let ended = command
        .spawn()
        .and_then(|child| wait_for_trial(child, request.deadline_ms, |child| send_request(child, &json)));
    descriptor.iter().for_each(|number| set_inherited(*number, false));
    let (kind, reason) = match ended {
        Err(e) => (FailureKind::Died, format!("could not start the trial's process: {e}")),
        Ok(None) => (FailureKind::Deadline, format!("{} ms, and it had to be killed", request.deadline_ms)),
        Ok(Some(status)) if ended_by_alarm(status) => {
            // A step of a pair has less time than the whole trial.
            let of_step =
                request.turn.as_ref().map(|turn| format!("{} ms for a step of a pair", turn.patience_ms));
            (FailureKind::Deadline, of_step.unwrap_or_else(|| format!("{} ms", request.deadline_ms)))
        }
        Ok(Some(status)) => match status.code() {
            Some(0) => return Ok(()),
            Some(code) => (FailureKind::Died, format!("the trial's process ended with exit code {code}")),
            None => {
                // A command is in the group of the trial, which ends with all that it leaves behind.
                let by_command = request.case.probe.starts_with(USER).then_some(CALLS_ITS_GROUP);
                let reason = format!("the trial's process was {}", describe_ending(status));
                (FailureKind::Died, reason + by_command.unwrap_or_default())
            }
        },
    };
    send_frame(&Frame::Failed {
        trial: request.trial,
        failure: Failure::new(kind, reason),
        clock_ns: now_ns(),
    })
}

/// Writes the request, all of which a pipe holds at once, and closes the pipe.
fn send_request(child: &mut Child, json: &str) {
    if let Some(mut input) = child.stdin.take() {
        // A process that has ended already reports why by its exit code.
        let _ = input.write_all(json.as_bytes());
    }
}
