//! The agent: answers the host's requests inside an environment, each trial in a fresh process.
//!
//! The resident process only waits and starts trials, so that nothing of an earlier trial (heap, page
//! tables, file descriptors, warmed branch predictors) is left in a later one.

use std::io::{self, Read, Write};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use tare_data::facts::Facts;
use tare_data::failure::{Failure, FailureKind};
use tare_data::frame::{Frame, Line, PROTOCOL, Splitter, encode};
use tare_data::noise::Noise;
use tare_data::request::{Request, TrialRequest};

use crate::stopwatch::now_ns;
use crate::trial::Trial;

/// First argument under which the program is the resident agent.
pub const AGENT: &str = "agent";
/// First argument under which the program runs one trial; the request follows.
pub const TRIAL: &str = "agent-trial";

/// Serves requests from standard input until told to leave or the stream ends.
///
/// `program` is the path under which this binary can be started again: /proc may be missing.
pub fn serve(program: &str) -> io::Result<()> {
    send(&Frame::Hello {
        protocol: PROTOCOL,
        version: env!("CARGO_PKG_VERSION").to_owned(),
        clock_ns: now_ns(),
    })?;
    let mut splitter = Splitter::default();
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
                Line::Frame(Request::Describe { places }) => {
                    let places = places.into_keys().map(|name| (name, Facts::default())).collect();
                    send(&Frame::Description { facts: Facts::default(), places })?;
                }
                Line::Frame(Request::Trial(request)) => start_trial(program, &request)?,
                Line::Frame(Request::Leave) => return send(&Frame::Bye),
                // What is not a request is not for us.
                Line::Note(_) => {}
            }
        }
    }
}

/// Starts a trial's process, waits for it, and says so when it did not end well by itself.
fn start_trial(program: &str, request: &TrialRequest) -> io::Result<()> {
    let json = serde_json::to_string(request).expect("tare's own types always serialise");
    let child = Command::new(program)
        .args([TRIAL, &json])
        // A closed pipe, not /dev/null: an environment may have no /dev.
        .stdin(Stdio::piped())
        .process_group(0)
        .spawn();
    let reason = match child {
        Err(e) => format!("could not start the trial's process: {e}"),
        Ok(mut child) => {
            let group = child.id() as i32;
            drop(child.stdin.take());
            let status = child.wait()?;
            // Whatever the trial forked and left ends with it.
            // SAFETY: kill has no memory effects; the group is the child's own.
            unsafe { libc::kill(-group, libc::SIGKILL) };
            match (status.code(), status.signal()) {
                (Some(0), _) => return Ok(()),
                (_, Some(libc::SIGALRM)) => {
                    return failed(
                        request.trial,
                        FailureKind::Deadline,
                        format!("{} ms", request.deadline_ms),
                    );
                }
                (Some(code), _) => format!("the trial's process ended with exit code {code}"),
                (_, Some(signal)) => format!("the trial's process was killed by signal {signal}"),
                _ => "the trial's process ended in an unknown way".to_owned(),
            }
        }
    };
    failed(request.trial, FailureKind::Died, reason)
}

fn failed(trial: u64, kind: FailureKind, reason: String) -> io::Result<()> {
    send(&Frame::Failed { trial, failure: Failure::new(kind, reason), clock_ns: now_ns() })
}

/// Runs one trial in this process and sends its frames.
pub fn run_trial(json: &str) -> io::Result<()> {
    let request: TrialRequest = serde_json::from_str(json)?;
    limit_time(request.deadline_ms);
    let directory = match fresh_directory(&request) {
        Ok(directory) => directory,
        Err(failure) => {
            return send(&Frame::Failed { trial: request.trial, failure, clock_ns: now_ns() });
        }
    };
    let mut sent = Ok(());
    let mut sink = |batch| {
        if sent.is_ok() {
            sent = send(&Frame::Batch { trial: request.trial, batch });
        }
    };
    let outcome = match crate::find(&request.case.probe) {
        Some(probe) => (probe.run)(&mut Trial::new(&request, directory.clone(), &mut sink)),
        None => Err(Failure::new(FailureKind::NotSupported, "this agent has no such probe")),
    };
    sent?;
    if let Some(directory) = directory {
        let _ = std::fs::remove_dir_all(directory);
    }
    send(&match outcome {
        Ok(()) => Frame::Done { trial: request.trial, noise: Noise::default(), clock_ns: now_ns() },
        Err(failure) => Frame::Failed { trial: request.trial, failure, clock_ns: now_ns() },
    })
}

/// Makes the folder in which the trial works; the last trial's, if it was killed, is taken away first.
fn fresh_directory(request: &TrialRequest) -> Result<Option<PathBuf>, Failure> {
    let Some(place) = &request.directory else { return Ok(None) };
    let directory = Path::new(place).join("trial");
    let _ = std::fs::remove_dir_all(&directory);
    match std::fs::create_dir(&directory) {
        Ok(()) => Ok(Some(directory)),
        Err(e) => Err(crate::trial::broken(&format!("making a folder in {place}"), e)),
    }
}

/// Ends this process by SIGALRM after so long, whatever it waits for.
fn limit_time(deadline_ms: u64) {
    let value = libc::timeval {
        tv_sec: (deadline_ms / 1000) as libc::time_t,
        tv_usec: (deadline_ms % 1000 * 1000) as libc::suseconds_t,
    };
    let once = libc::itimerval { it_interval: libc::timeval { tv_sec: 0, tv_usec: 0 }, it_value: value };
    // SAFETY: the struct is whole and lives through the call.
    unsafe { libc::setitimer(libc::ITIMER_REAL, &once, std::ptr::null_mut()) };
}

/// Writes a frame at once: the host stamps its arrival.
fn send(frame: &Frame) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(encode(frame).as_bytes())?;
    out.flush()
}
