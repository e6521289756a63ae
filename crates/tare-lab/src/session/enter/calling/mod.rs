//! Calls: enters an environment for one command at a time, and measures each as its caller has it.

use std::io;
use std::os::fd::AsFd;
use std::process::{Child, ChildStderr, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags};
use rustix::process::{Pid, PidfdFlags, pidfd_open};
use tare_data::batch::Batch;
use tare_data::failure::{Failure, FailureKind};
use tare_data::names::Case;
use tare_data::request::TrialRequest;
use tare_data::session::specification::Specification;
use tare_probes::agent::called::read_taken;
use tare_probes::harness::interference::Watch;

use crate::host::heard::Heard;
use crate::host::processes;
use crate::owned::MARK;
use crate::ownership::workspace::{SessionWorkspace, StartWorkspace};
use crate::platform::until_ready;
use crate::provider::{Entrance, Ready, Workspace};
use crate::session::arena::Outcome;
use crate::session::enter::sides::Resolved;
use crate::study::calls::{self, DIVIDED_CALLS, Parts, WARM_CALLS};

/// Longest time of a call.
const CALL_WAIT: Duration = Duration::from_secs(60);
const LOOK_AGAIN: Duration = Duration::from_millis(20);

/// Calls a command in an environment, a side of the session by its number, as often as a trial has calls, and measures each.
/// The environment that is entered stays as it is.
pub fn run_calls(
    session: (&SessionWorkspace, usize),
    resolved: &Resolved,
    request: &TrialRequest,
    interrupted: &AtomicBool,
    sink: &mut dyn FnMut(&Batch),
) -> Outcome {
    let watch = Watch::of_machine();
    let began = Instant::now();
    let called = call_all(session, resolved, &request.case, interrupted);
    let mut outcome = Outcome { outside: watch.stop(), ..Outcome::default() };
    outcome.host_elapsed_ns = began.elapsed().as_nanos() as u64;
    outcome.interrupted = interrupted.load(Ordering::Relaxed);
    match called {
        Ok(batches) => batches.iter().for_each(sink),
        Err(failure) => outcome.failure = Some(failure),
    }
    outcome
}

fn call_all(
    session: (&SessionWorkspace, usize),
    resolved: &Resolved,
    case: &Case,
    interrupted: &AtomicBool,
) -> Result<Vec<Batch>, Failure> {
    let not_supported = |reason: String| Failure::new(FailureKind::NotSupported, reason);
    let count = calls::at_once(case).map_err(|bad| not_supported(bad.to_string()))?;
    let command =
        calls::parse_command(case).ok_or_else(|| not_supported("the command has no words".into()))?;
    let Resolved { target, ready } = resolved;
    let call = |is_divided| {
        if interrupted.load(Ordering::Relaxed) {
            return Err(Failure::new(FailureKind::Died, "interrupted"));
        }
        Call::start(&target.specification, ready, session, &command, is_divided)
    };
    if count > 1 {
        let began = Instant::now();
        let started: Vec<Call> = (0..count).map(|_| call(false)).collect::<Result<_, _>>()?;
        let mut last = began;
        for one in started {
            last = last.max(one.finish()?.over);
        }
        return Ok(calls::make_batches(None, &[last - began], &[]));
    }
    let first = call(false)?.finish()?.elapsed;
    let mut warm = Vec::with_capacity(WARM_CALLS);
    let mut parts = Vec::with_capacity(DIVIDED_CALLS);
    for number in 0..WARM_CALLS {
        warm.push(call(false)?.finish()?.elapsed);
        if number < DIVIDED_CALLS {
            // An environment in which the agent is not visible has calls, and no parts.
            parts.extend(call(true).and_then(Call::finish).ok().and_then(|called| called.parts));
        }
    }
    Ok(calls::make_batches(Some(first), &warm, &parts))
}

/// A call that is under way.
struct Call {
    began: Instant,
    child: Child,
    workspace: StartWorkspace,
    output: Heard<ChildStdout>,
    errors: Heard<ChildStderr>,
    /// Arrival of the line after the command, and the time that the command took inside.
    ended: Option<(Instant, Duration)>,
}

/// A call that is over.
struct Called {
    elapsed: Duration,
    over: Instant,
    /// Parts of a call that was divided.
    parts: Option<Parts>,
}

impl Call {
    /// Starts a call. Folders and settings are made before its clock begins.
    fn start(
        specification: &Specification,
        ready: &Ready,
        (session, side): (&SessionWorkspace, usize),
        command: &[String],
        is_divided: bool,
    ) -> Result<Call, Failure> {
        let died = |cause: String| Failure::new(FailureKind::Died, cause);
        let workspace =
            session.make_call_workspace(side, &ready.root, ready.kernel.kind, command, is_divided);
        let mut workspace = workspace.map_err(|e| died(e.to_string()))?;
        let Entrance { mut command, .. } =
            ready.prepare_entrance(&mut workspace).map_err(|e| died(e.to_string()))?;
        if !workspace.has_called() {
            let reason = format!("{specification} is not entered by a command for each call");
            return Err(Failure::new(FailureKind::NotSupported, reason));
        }
        prepare_streams(&mut command, &workspace);
        workspace.hold_program(&mut command).map_err(|e| died(e.to_string()))?;
        let (began, child) =
            workspace.stay_in_group_for(|| (Instant::now(), processes::spawn_program(&mut command)));
        let mut child = child.map_err(|e| died(format!("{}: {e}", command.get_program().display())))?;
        let (output, errors) =
            (Heard::from_stream(child.stdout.take()), Heard::from_stream(child.stderr.take()));
        Ok(Call { began, child, workspace, output, errors, ended: None })
    }

    /// Waits until it is over, and removes everything that it made.
    fn finish(mut self) -> Result<Called, Failure> {
        let awaited = self.await_end();
        let status = self.child.try_wait();
        let outcomes = self.workspace.clean_up();
        let left = outcomes.iter().filter(|outcome| !outcome.is_declared()).find_map(|outcome| {
            let because = outcome.left_because.as_ref()?;
            Some(format!("{} is left: {because}", outcome.what))
        });
        // A call that did not end was killed with everything that carries its mark.
        let _ = self.child.try_wait();
        let over = awaited.map_err(|e| Failure::new(FailureKind::Died, e.to_string()))?;
        let Some(over) = over else {
            let reason = format!("the call did not return within {} s", CALL_WAIT.as_secs());
            return Err(Failure::new(FailureKind::Deadline, reason));
        };
        let status = status.map_err(|e| Failure::new(FailureKind::Died, e.to_string()))?;
        if !status.is_some_and(|status| status.success()) {
            return Err(Failure::new(FailureKind::Died, self.describe_failure(status)));
        }
        if let Some(left) = left {
            return Err(Failure::new(FailureKind::Broken, left));
        }
        let elapsed = over - self.began;
        // The clock inside times the command: the host may see its end and that of the call at once.
        let parts = self.ended.map(|(ended, taken)| {
            let until_ended = ended - self.began;
            let command = taken.min(until_ended);
            Parts { enter: until_ended - command, command, leave: elapsed.saturating_sub(until_ended) }
        });
        Ok(Called { elapsed, over, parts })
    }

    /// Reads its output until it has ended; returns the moment of its end, or None where it took too long.
    fn await_end(&mut self) -> io::Result<Option<Instant>> {
        let pid = Pid::from_raw(self.child.id() as i32).ok_or(io::ErrorKind::InvalidInput)?;
        // Kernels before 5.3 have none: the end is then seen at a look.
        let process = pidfd_open(pid, PidfdFlags::empty()).ok();
        let end = self.began + CALL_WAIT;
        loop {
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(None);
            }
            let of_process = process.iter().map(|fd| PollFd::from_borrowed_fd(fd.as_fd(), PollFlags::IN));
            let mut streams: Vec<PollFd<'_>> =
                of_process.chain(self.output.as_polled()).chain(self.errors.as_polled()).collect();
            let wait = if process.is_some() { left } else { left.min(LOOK_AGAIN) };
            until_ready(&mut streams, wait)?;
            let at = Instant::now();
            let has_ended = self.child.try_wait()?.is_some();
            self.output.read_ready();
            self.errors.read_ready();
            if self.ended.is_none() {
                self.ended = read_taken(&self.output.bytes).map(|taken| (at, taken));
            }
            if has_ended {
                return Ok(Some(at));
            }
        }
    }

    fn describe_failure(&self, status: Option<ExitStatus>) -> String {
        let said = self.errors.last_line().or_else(|| self.output.last_line());
        let said = said.map(|line| format!(": {line}")).unwrap_or_default();
        let ended = status.map(|status| format!(" ({status})")).unwrap_or_default();
        format!("a call failed{ended}, and only those that succeed are measured{said}")
    }
}

fn prepare_streams(command: &mut Command, workspace: &StartWorkspace) {
    command.env(MARK, workspace.mark());
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    processes::die_with_parent(command);
}
