//! Calls: enters an environment for one command at a time, and measures each as its caller has it.

pub mod truths;

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
use tare_probes::harness::interference::Watch;
use tare_probes::tiny::{self, Listening};

use crate::host::heard::Heard;
use crate::host::processes;
use crate::owned::MARK;
use crate::ownership::workspace::{SessionWorkspace, StartWorkspace};
use crate::platform::until_ready;
use crate::provider::call::CallCommand;
use crate::provider::{Entrance, Ready, Workspace};
use crate::session::arena::Outcome;
use crate::session::enter::calling::truths::Truths;
use crate::session::enter::sides::Resolved;
use crate::session::link::listening::fresh_nonce;
use crate::study::calls::{self, Parts, WARM_CALLS};

/// Longest time of a call.
const CALL_WAIT: Duration = Duration::from_secs(60);
/// Longest time from the end of what enters until its command begins, where that is started in the background.
const BEGIN_WAIT: Duration = Duration::from_secs(10);
const LOOK_AGAIN: Duration = Duration::from_millis(20);

/// Calls a command in an environment, a side of the session by its number, as often as a trial has calls, and measures each.
/// The environment that is entered stays as it is.
pub fn run_calls(
    session: (&SessionWorkspace, usize),
    resolved: &Resolved,
    truths: &mut Truths,
    request: &TrialRequest,
    interrupted: &AtomicBool,
    sink: &mut dyn FnMut(&Batch),
) -> Outcome {
    let watch = Watch::of_machine();
    let began = Instant::now();
    let called = call_all(session, resolved, truths, &request.case, interrupted);
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
    truths: &mut Truths,
    case: &Case,
    interrupted: &AtomicBool,
) -> Result<Vec<Batch>, Failure> {
    let not_supported = |reason: String| Failure::new(FailureKind::NotSupported, reason);
    let count = calls::at_once(case).map_err(|bad| not_supported(bad.to_string()))?;
    let command =
        calls::parse_command(case).ok_or_else(|| not_supported("the command has no words".into()))?;
    let Resolved { target, ready } = resolved;
    let call = || {
        if interrupted.load(Ordering::Relaxed) {
            return Err(Failure::new(FailureKind::Died, "interrupted"));
        }
        Call::start(&target.specification, ready, session, &command)
    };
    let mut check = |calls: &[Called]| {
        let heard: Vec<_> = calls.iter().map(|call| call.heard).collect();
        truths.check_calls(session.1, case, &heard)
    };
    if count > 1 {
        let began = Instant::now();
        let started: Vec<Call> = (0..count).map(|_| call()).collect::<Result<_, _>>()?;
        let all: Vec<Called> = started.into_iter().map(Call::finish).collect::<Result<_, _>>()?;
        check(&all)?;
        let last = all.iter().map(|called| called.over).max().unwrap_or(began);
        return Ok(calls::make_batches(None, &[last - began], &[]));
    }
    let all: Vec<Called> = (0..=WARM_CALLS).map(|_| call()?.finish()).collect::<Result<_, _>>()?;
    check(&all)?;
    let elapsed: Vec<Duration> = all.iter().map(|called| called.heard.elapsed).collect();
    let parts: Vec<Parts> = all[1..].iter().filter_map(|called| called.parts).collect();
    Ok(calls::make_batches(Some(elapsed[0]), &elapsed[1..], &parts))
}

/// A call that is under way.
struct Call {
    began: Instant,
    child: Child,
    workspace: StartWorkspace,
    output: Heard<ChildStdout>,
    errors: Heard<ChildStderr>,
    /// The command, as far as it was heard of.
    command: Listening,
}

/// A call that is over.
struct Called {
    heard: truths::Heard,
    over: Instant,
    /// None where the command told no time.
    parts: Option<Parts>,
}

impl Call {
    /// Starts a call. Folders and settings are made before its clock begins.
    fn start(
        specification: &Specification,
        ready: &Ready,
        (session, side): (&SessionWorkspace, usize),
        words: &[String],
    ) -> Result<Call, Failure> {
        let died = |cause: String| Failure::new(FailureKind::Died, cause);
        let token = format!("{:016x}", fresh_nonce()?);
        let call = CallCommand::new(words, token.clone());
        let workspace = session.make_call_workspace(side, &ready.root, ready.kernel.kind, call);
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
        Ok(Call { began, child, workspace, output, errors, command: Listening::for_token(token) })
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
        let awaited = awaited.map_err(|e| Failure::new(FailureKind::Died, e.to_string()))?;
        let Some((over, ended)) = awaited else {
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
        let tiny::Heard::Ended(taken, code) = self.command.heard else {
            let how = if self.command.heard == tiny::Heard::Began {
                "did not run to its end"
            } else {
                "did not run"
            };
            let reason =
                format!("no call: the command {how}, or its output was kept back{}", self.quote_last_line());
            return Err(Failure::new(FailureKind::WrongWork, reason));
        };
        if code != 0 {
            let reason = format!(
                "no call: the command ended with {code}, and what enters with 0{}",
                self.quote_last_line()
            );
            return Err(Failure::new(FailureKind::WrongWork, reason));
        }
        let heard = truths::Heard { elapsed: over - self.began, output: self.command.output };
        // The clock inside times the command: the host may see its end and that of the call at once.
        let parts = taken.map(|taken| {
            let until_ended = ended - self.began;
            let command = taken.min(until_ended);
            Parts { enter: until_ended - command, command, leave: heard.elapsed.saturating_sub(until_ended) }
        });
        Ok(Called { heard, over, parts })
    }

    /// Reads its output until it is over, which is once what entered has ended and the end of the command was heard, or nothing more
    /// can be. Returns when that was, and when the command's end was heard; None where it took too long.
    fn await_end(&mut self) -> io::Result<Option<(Instant, Instant)>> {
        let pid = Pid::from_raw(self.child.id() as i32).ok_or(io::ErrorKind::InvalidInput)?;
        // Kernels before 5.3 have none: the end is then seen at a look.
        let process = pidfd_open(pid, PidfdFlags::empty()).ok();
        let mut end = self.began + CALL_WAIT;
        let (mut returned, mut ended) = (None, None);
        loop {
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                // Something that was left behind may keep the output open.
                return Ok(returned
                    .filter(|_| self.command.heard == tiny::Heard::Nothing)
                    .map(|at| (at, at)));
            }
            let of_process = process.iter().filter(|_| returned.is_none());
            let of_process = of_process.map(|fd| PollFd::from_borrowed_fd(fd.as_fd(), PollFlags::IN));
            let mut streams: Vec<PollFd<'_>> =
                of_process.chain(self.output.as_polled()).chain(self.errors.as_polled()).collect();
            let is_seen = process.is_some() || returned.is_some();
            until_ready(&mut streams, if is_seen { left } else { left.min(LOOK_AGAIN) })?;
            let at = Instant::now();
            if returned.is_none() && self.child.try_wait()?.is_some() {
                returned = Some(at);
                end = end.min(at + BEGIN_WAIT);
            }
            self.command.push(self.output.read_ready());
            self.errors.read_ready();
            match self.command.heard {
                tiny::Heard::Nothing => {}
                tiny::Heard::Began => end = self.began + CALL_WAIT,
                tiny::Heard::Ended(..) => drop(ended.get_or_insert(at)),
            }
            if let Some(returned) = returned.filter(|_| ended.is_some() || self.output.has_ended()) {
                let ended = ended.unwrap_or(at);
                return Ok(Some((returned.max(ended), ended)));
            }
        }
    }

    fn describe_failure(&self, status: Option<ExitStatus>) -> String {
        let ended = status.map(|status| format!(" ({status})")).unwrap_or_default();
        format!("a call failed{ended}, and only those that succeed are measured{}", self.quote_last_line())
    }

    /// Quotes the last line that it printed, if there is one.
    fn quote_last_line(&self) -> String {
        let of_output = || self.output.last_line().filter(|line| !line.contains(self.command.token()));
        self.errors.last_line().or_else(of_output).map(|line| format!(": {line}")).unwrap_or_default()
    }
}

fn prepare_streams(command: &mut Command, workspace: &StartWorkspace) {
    command.env(MARK, workspace.mark());
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    processes::die_with_parent(command);
}
