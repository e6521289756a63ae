//! The live arena: trials in environments that are really entered.

use std::collections::{BTreeMap, VecDeque};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use tare_data::facts::keys::PROOF_AT_NS as PROOF_TIME_FACT;

use tare_data::batch::Batch;
use tare_data::facts::Facts;
use tare_data::failure::{Failure, FailureKind};
use tare_data::request::TrialRequest;
#[cfg(unix)]
use tare_data::session::limits::{GroupCounts, Idle};
use tare_probes::harness::affinity::list_allowed_processors;
use tare_probes::harness::interference::Watch;
use tare_probes::signs::collect_signs;

#[cfg(target_os = "linux")]
use crate::containers::tracing::describe_tracer;
use crate::error::LabError;
#[cfg(unix)]
use crate::host::control_groups::{Hierarchies, Refusals, Usage};
#[cfg(unix)]
use crate::host::descriptors::describe_small_limit;
use crate::host::programs::pick_reason;
use crate::ownership::clean;
use crate::ownership::workspace::SessionWorkspace;
use crate::provider::Ready;
#[cfg(unix)]
use crate::session::arena::Turning;
use crate::session::arena::{Arena, Outcome, Started};
use crate::session::enter::at_once::{self, Launched};
use crate::session::enter::calling::{run_calls, truths::Truths};
use crate::session::enter::carrying::carry_files;
use crate::session::enter::describing::describe_environment;
use crate::session::enter::placing::{as_own, divide};
use crate::session::enter::sides::Resolved;
use crate::session::enter::{Entered, PATIENCE, enter_environment};
use crate::session::link::allowance::{Allowance, Left};
use crate::session::link::listening::{Expected, Greeting, Listening, await_first_frame, fresh_nonce};
use crate::session::link::{Link, LinkError};
use crate::session::peers::{HostPeers, Peers, find_peer_ways};
use crate::storage::places::{OWN, TURNS, WORK};
use crate::study::user_command::CarriedFile;
use crate::study::{calls, startup};

/// Time until the first frame: QEMU boots in 3 s on an emulated processor, and a loaded machine is several times slower.
const START_DEADLINE: Duration = Duration::from_secs(60);
/// ... and this much longer for each further one that is entered at once.
const START_FURTHER: Duration = Duration::from_secs(2);
/// However little of a budget is left, an environment may take this long: most need less than a second.
const START_LEAST: Duration = Duration::from_secs(10);
/// Fact of an environment: what it was recognised by, or why it was not.
pub const PROOF_FACT: &str = "proof";
/// Environments that are really entered.
pub struct LiveArena<'a> {
    pub(super) workspace: &'a SessionWorkspace,
    pub(super) interrupted: &'a AtomicBool,
    began: Instant,
    /// Signs of this process, with which those of environments are compared.
    own_signs: Facts,
    pub(super) targets: Vec<LiveTarget<'a>>,
    peers: Peers,
    host_peers: HostPeers<'a>,
    /// Files of commands in a study, which every start is given.
    carried: Vec<CarriedFile>,
    /// Everything by which calls are told from semblances.
    truths: Truths,
    /// Things that could not be removed.
    left: Vec<clean::Outcome>,
    /// When the session's budget is spent; none where it has no budget.
    until: Option<Instant>,
    /// Error of the host itself.
    host_failure: Option<LabError>,
    /// Refusals of limits that were named already.
    #[cfg(unix)]
    refusals: Refusals,
    #[cfg(unix)]
    hierarchies: Hierarchies,
    /// Processors that this session may use.
    pub(super) allowed_processors: Vec<usize>,
    /// The turns of two environments as starts of theirs proved them, until a pair fails.
    #[cfg(unix)]
    pub(super) turnings: BTreeMap<[usize; 2], Turning>,
}

pub(super) struct LiveTarget<'a> {
    pub(super) resolved: Resolved,
    pub(super) inside: Option<Inside<'a>>,
    /// The starts after this one, which were entered while this one is measured.
    next: VecDeque<(Started, Inside<'a>)>,
    /// Data that it may still send in this session.
    pub(super) left: Left,
    /// Facts are taken once a session: they do not change from start to start.
    described: Option<(Facts, BTreeMap<String, Facts>)>,
    /// The limits of its processes as this machine sees them, and their packet filters: taken once as well.
    #[cfg(unix)]
    limits: Option<Facts>,
    /// Its processor time while others were measured.
    #[cfg(unix)]
    idle: Idle,
}

pub(super) struct Inside<'a> {
    entered: Entered,
    pub(super) link: Link<'a>,
    /// Folder of the files of turns, as seen from inside.
    pub(super) turns: Option<String>,
    #[cfg(unix)]
    usage: Usage,
    /// Proof of this start's turns, where the next one is tried again.
    #[cfg(unix)]
    pub(super) proven: Option<Result<Turning, Failure>>,
}

impl<'a> LiveArena<'a> {
    /// Creates an arena for these environments. `began` is the beginning of the session's clock.
    pub fn new(
        targets: Vec<Resolved>,
        workspace: &'a SessionWorkspace,
        interrupted: &'a AtomicBool,
        began: Instant,
    ) -> Self {
        let target = |resolved| LiveTarget {
            resolved,
            inside: None,
            next: VecDeque::new(),
            left: Left::new(),
            described: None,
            #[cfg(unix)]
            limits: None,
            #[cfg(unix)]
            idle: Idle::default(),
        };
        LiveArena {
            workspace,
            interrupted,
            began,
            own_signs: collect_signs(),
            targets: targets.into_iter().map(target).collect(),
            peers: Peers::default(),
            host_peers: HostPeers::new(workspace),
            carried: Vec::new(),
            truths: Truths::default(),
            left: Vec::new(),
            until: None,
            host_failure: None,
            #[cfg(unix)]
            refusals: Refusals::count_now(),
            #[cfg(unix)]
            hierarchies: Hierarchies::find(),
            allowed_processors: list_allowed_processors(),
            #[cfg(unix)]
            turnings: BTreeMap::new(),
        }
    }

    /// Limits the session: a start that hangs does not outlast its budget by much.
    pub fn with_deadline(mut self, until: Option<Instant>) -> Self {
        self.until = until;
        self
    }

    fn start_deadline(&self) -> Instant {
        let now = Instant::now();
        let budgeted = self.until.map_or(START_DEADLINE, |until| until.saturating_duration_since(now));
        now + budgeted.clamp(START_LEAST, START_DEADLINE)
    }

    /// Adds the cause that lies with this process to the failure of an environment: a limit, or a tracer.
    pub(super) fn name_cause(&mut self, failure: Failure) -> Failure {
        #[cfg(unix)]
        if matches!(failure.kind, FailureKind::Died | FailureKind::Deadline) {
            let now = Refusals::count_now();
            let limit = now.describe_since(std::mem::replace(&mut self.refusals, now)).map(str::to_owned);
            let cause = limit.or_else(|| describe_small_limit(&failure.reason)).or_else(describe_tracer);
            if let Some(cause) = cause {
                return Failure::new(failure.kind, format!("{}: {cause}", failure.reason));
            }
        }
        failure
    }

    /// Converts an error to the failure of a trial; an error of the host itself ends the session.
    fn died(&mut self, error: LabError) -> Failure {
        let mut reason = error.to_string();
        if let Some(limit) = error.find_exhausted() {
            reason.push_str(&format!(" (raise {limit})"));
        }
        let failure = Failure::new(FailureKind::Died, reason);
        if let Some(error) = error.of_host() {
            self.host_failure.get_or_insert(error);
        }
        failure
    }

    /// Watches, from now on, the processor time of all environments but those that are measured.
    #[cfg(unix)]
    pub(super) fn watch_others(&mut self, measured: &[usize]) {
        for (index, LiveTarget { inside, idle, .. }) in self.targets.iter_mut().enumerate() {
            match inside {
                Some(inside) if measured.contains(&index) => {
                    *idle = idle.join(inside.usage.end_idle(Instant::now()))
                }
                Some(inside) => inside.usage.begin_idle(Instant::now()),
                None => {}
            }
        }
    }

    /// Adds routes to the peers that the user named.
    pub fn with_peers(mut self, peers: Peers) -> Self {
        self.peers = peers;
        self
    }

    /// Gives every start from now on these files of a study's commands.
    pub fn set_carried_files(&mut self, files: Vec<CarriedFile>) {
        self.carried = files;
    }

    /// Enters an environment afresh, has it do nothing once, and measures what it takes.
    fn first_sample(
        &mut self,
        index: usize,
        request: &TrialRequest,
        sink: &mut dyn FnMut(&Batch),
    ) -> Outcome {
        self.leave_environment(index);
        let began = Instant::now();
        let started = match self.enter_environment(index) {
            Ok(started) => started,
            Err(failure) => {
                let interrupted = self.is_interrupted();
                return Outcome { failure: Some(failure), lost: true, interrupted, ..Default::default() };
            }
        };
        let mut sample = None;
        let mut outcome = self.run_trial(index, &startup::first_trial(request), &mut |_| {
            sample.get_or_insert_with(Instant::now);
        });
        if let (Some(sample), None, Some(inside)) = (sample, &outcome.failure, &self.targets[index].inside) {
            let hello = began + Duration::from_nanos(started.elapsed_ns);
            let taken = inside.entered.measure_resources();
            startup::make_batches(startup::Moments { began, hello, sample }, taken).iter().for_each(sink);
            outcome.host_elapsed_ns = (sample - began).as_nanos() as u64;
            // No clock inside saw the whole stretch.
            outcome.agent_elapsed_ns = None;
        }
        outcome
    }

    /// Enters an environment several times at once, has each start do nothing once, and measures what they take.
    fn first_samples(
        &mut self,
        index: usize,
        request: &TrialRequest,
        count: usize,
        sink: &mut dyn FnMut(&Batch),
    ) -> Outcome {
        self.leave_environment(index);
        let watch = Watch::of_machine();
        let deadline = self.start_deadline() + START_FURTHER * count as u32;
        let began = Instant::now();
        let mut launched = Vec::with_capacity(count);
        let mut outcome = Outcome::default();
        while launched.len() < count && outcome.failure.is_none() && !self.is_interrupted() {
            match self.launch(index) {
                Ok(one) => launched.push(one),
                Err(failure) => outcome.failure = Some(failure),
            }
        }
        if outcome.failure.is_none() {
            let ready = &self.targets[index].resolved.ready;
            let first = ready.adapt_request(startup::first_trial(request));
            match at_once::first_samples(
                &mut launched,
                expected(ready, self.workspace, &self.own_signs),
                &first,
                deadline,
            ) {
                Ok(moments) => {
                    let taken: Vec<_> = launched.iter().map(|one| one.entered.measure_resources()).collect();
                    startup::batches_at_once(began, &moments, &taken).iter().for_each(sink);
                    let last = moments.iter().map(|moments| moments.sample).max().unwrap_or(began);
                    outcome.host_elapsed_ns = (last - began).as_nanos() as u64;
                }
                Err(failure) => outcome.failure = Some(failure),
            }
        }
        outcome.outside = watch.stop();
        outcome.interrupted = self.is_interrupted();
        self.left.extend(stuck(at_once::leave_all(launched)));
        outcome
    }

    /// Leaves starts of an environment.
    fn leave_starts(&mut self, starts: impl IntoIterator<Item = Inside<'a>>) {
        for Inside { entered, link, .. } in starts {
            let patience = link.ask_to_leave(PATIENCE);
            self.left.extend(stuck(entered.leave_environment(patience)));
        }
    }

    /// Enters an environment, and waits for nothing.
    fn launch(&mut self, index: usize) -> Result<Launched<'a>, Failure> {
        let Resolved { target, ready } = &self.targets[index].resolved;
        let began = Instant::now();
        let entered = enter_environment(target, ready, (self.workspace, index));
        let mut entered = entered.map_err(|error| self.died(error))?;
        let link = linked(&mut entered, self.interrupted)?;
        Ok(Launched { began, entered, link })
    }

    /// Enters an environment, and waits until its agent has spoken.
    fn make_start(&mut self, index: usize) -> Result<(Started, Inside<'a>), Failure> {
        let deadline = self.start_deadline();
        let Launched { began, mut entered, mut link } = self.launch(index)?;
        if !self.workspace.wants_work() {
            entered.places.remove(WORK);
        }
        let turns = entered.places.remove(TURNS);
        let target = &mut self.targets[index];
        let Resolved { ready, .. } = &target.resolved;
        let expected = expected(ready, self.workspace, &self.own_signs);
        let own = entered.places.get(OWN);
        let greeted = await_first_frame(&mut link, expected, deadline)
            .and_then(|greeting| carry_files(&mut link, own, &self.carried).map(|()| greeting));
        let hello = greeted.and_then(|greeting| match &target.described {
            Some(described) => Ok((greeting, described.clone())),
            None => describe_environment(&mut link, &entered.places).map(|described| (greeting, described)),
        });
        match hello {
            Ok((Greeting { at, proven }, described)) => {
                let (mut places, mut paths) = (described.1.clone(), entered.places.clone());
                let mut outside = divide(&entered.outside, &mut places);
                for (key, value) in &ready.facts.0 {
                    outside.0.entry(key.clone()).or_insert_with(|| value.clone());
                }
                outside.add_fact(PROOF_FACT, proven.describe());
                outside.add_fact(PROOF_TIME_FACT, (at - self.began).as_nanos().to_string());
                if self.workspace.wants_work() {
                    as_own(&mut places);
                    as_own(&mut paths);
                }
                #[cfg(unix)]
                let usage = entered.watch_usage(ready.kernel.is_process, &self.hierarchies);
                #[cfg(unix)]
                note_limits(&mut target.limits, &usage, &self.hierarchies, &mut outside);
                let peers = find_peer_ways(&self.peers, &mut self.host_peers, entered.host, &mut outside);
                let started = Started {
                    inside: described.0.clone(),
                    outside,
                    places,
                    paths,
                    peers,
                    missing: self.workspace.missing_places().clone(),
                    takes_turns: false,
                    elapsed_ns: (at - began).as_nanos() as u64,
                    settling_ns: ready.kernel.settling.usual.as_nanos() as u64,
                };
                target.described = Some(described);
                let inside = Inside {
                    entered,
                    link,
                    turns,
                    #[cfg(unix)]
                    usage,
                    #[cfg(unix)]
                    proven: None,
                };
                Ok((started, inside))
            }
            Err(mut failure) => {
                let notes = link.take_notes();
                let note = pick_reason(notes.iter().map(String::as_str)).map(str::to_owned);
                if let Some(note) = entered.read_last_words().or(note) {
                    failure = Failure::new(failure.kind, format!("{} ({note})", failure.reason));
                }
                self.left.extend(stuck(entered.leave_environment(Duration::ZERO)));
                Err(self.name_cause(failure))
            }
        }
    }

    /// Leaves every environment; returns what could not be removed.
    pub fn leave_all(&mut self) -> Vec<clean::Outcome> {
        (0..self.targets.len()).for_each(|target| self.leave_environment(target));
        std::mem::take(&mut self.left)
    }
}

impl Arena for LiveArena<'_> {
    fn now_ns(&self) -> u64 {
        self.began.elapsed().as_nanos() as u64
    }

    fn is_interrupted(&self) -> bool {
        self.interrupted.load(Ordering::Relaxed)
    }

    fn enter_environment(&mut self, index: usize) -> Result<Started, Failure> {
        let next = self.targets[index].next.pop_front();
        #[cfg(unix)]
        self.watch_others(&[index]);
        let left = self.targets[index].inside.take();
        self.leave_starts(left);
        let (started, mut inside) = next.map_or_else(|| self.make_start(index), Ok)?;
        #[cfg(unix)]
        for other in self.targets.iter_mut().filter_map(|target| target.inside.as_mut()) {
            inside.usage.tell_apart(&mut other.usage);
        }
        self.targets[index].inside = Some(inside);
        Ok(started)
    }

    fn enter_ahead(&mut self, index: usize) {
        if !self.targets[index].resolved.ready.kernel.settling.usual.is_zero() {
            // A start that fails is tried again when it is needed, and then its reason is reported.
            let next = self.make_start(index).ok();
            self.targets[index].next.extend(next);
        }
    }

    fn run_trial(&mut self, index: usize, request: &TrialRequest, sink: &mut dyn FnMut(&Batch)) -> Outcome {
        #[cfg(unix)]
        self.watch_others(&[index]);
        if startup::is_start(&request.case) {
            return match startup::at_once(&request.case) {
                Ok(1) => self.first_sample(index, request, sink),
                Ok(count) => self.first_samples(index, request, count, sink),
                Err(bad) => {
                    let failure = Failure::new(FailureKind::NotSupported, bad.to_string());
                    Outcome { failure: Some(failure), ..Default::default() }
                }
            };
        }
        if calls::is_call(&request.case) {
            let session = (self.workspace, index);
            let (resolved, truths) = (&self.targets[index].resolved, &mut self.truths);
            return run_calls(session, resolved, truths, request, self.interrupted, sink);
        }
        let LiveTarget { resolved, inside, left, .. } = &mut self.targets[index];
        let Some(inside) = inside else {
            let failure = Failure::new(FailureKind::Died, "the environment is not entered");
            return Outcome { failure: Some(failure), lost: true, ..Default::default() };
        };
        inside.link.take_notes();
        let nonce = fresh_nonce();
        let Ok(nonce) = nonce else { return Outcome { failure: nonce.err(), ..Default::default() } };
        let request = &resolved.ready.adapt_request(TrialRequest { nonce, ..request.clone() });
        let watch = Watch::of_machine();
        #[cfg(unix)]
        let sink = &mut |batch: &Batch| {
            self.truths.note_inside(index, &request.case, batch);
            sink(batch);
        };
        let mut trial = Listening::new(request, Allowance::from_request(request, left), sink);
        let result = trial.send_and_listen(&mut inside.link);
        left.take_bytes(trial.bytes);
        let mut outcome = trial.outcome;
        outcome.outside = watch.stop();
        outcome.notes = left.keep_notes(inside.link.take_notes());
        if let Err(error) = result {
            outcome.interrupted = error == LinkError::Interrupted;
            outcome.failure = outcome.failure.or_else(|| Some(error.to_failure("last frame of the trial")));
            outcome.lost = true;
        }
        outcome.failure = outcome.failure.map(|failure| self.name_cause(failure));
        outcome
    }

    #[cfg(unix)]
    fn prove_turns(&mut self, pair: [usize; 2]) -> Result<Turning, Failure> {
        self.prove_pair(pair)
    }

    fn list_processors(&self) -> Vec<usize> {
        self.allowed_processors.clone()
    }

    #[cfg(unix)]
    fn run_pair(&mut self, pair: [usize; 2], requests: [TrialRequest; 2]) -> [(Outcome, Vec<Batch>); 2] {
        let case = requests[0].case.clone();
        let run = self.run_proven(pair, requests);
        for (index, (_, batches)) in pair.iter().zip(&run) {
            batches.iter().for_each(|batch| self.truths.note_inside(*index, &case, batch));
        }
        run.map(|(mut outcome, batches)| {
            outcome.failure = outcome.failure.map(|failure| self.name_cause(failure));
            (outcome, batches)
        })
    }

    #[cfg(unix)]
    fn read_limits(&mut self, index: usize) -> Option<Vec<GroupCounts>> {
        self.hierarchies.read_counts(&self.targets[index].inside.as_ref()?.usage.list_counted())
    }

    #[cfg(unix)]
    fn take_idle(&mut self, index: usize) -> Option<Idle> {
        let LiveTarget { inside, idle, .. } = &mut self.targets[index];
        if let Some(Inside { usage, .. }) = inside
            && usage.is_idle()
        {
            *idle = idle.join(usage.end_idle(Instant::now()));
            usage.begin_idle(Instant::now());
        }
        Some(std::mem::take(idle)).filter(|idle| idle.watched_ns > 0)
    }

    fn host_failure(&mut self) -> Option<LabError> {
        self.host_failure.take()
    }

    fn leave_environment(&mut self, index: usize) {
        let LiveTarget { inside, next, .. } = &mut self.targets[index];
        let all: Vec<Inside<'_>> =
            inside.take().into_iter().chain(next.drain(..).map(|(_, next)| next)).collect();
        self.leave_starts(all);
    }
}

/// Describes the agent of an environment, which is the session's own unless its processor is another, and the environment.
fn expected<'a>(ready: &'a Ready, workspace: &'a SessionWorkspace, own: &'a Facts) -> Expected<'a> {
    let brought = ready.agent.as_ref().unwrap_or_else(|| workspace.agent_identity());
    Expected { brought, proof: ready.proof, own }
}

/// Links the streams of an environment that was entered.
fn linked<'a>(entered: &mut Entered, interrupted: &'a AtomicBool) -> Result<Link<'a>, Failure> {
    let child = &mut entered.child;
    match (child.stdin.take(), child.stdout.take(), child.stderr.take()) {
        (Some(input), Some(output), Some(errors)) => {
            Ok(Link::new(input.into(), output.into(), Some(errors.into()), interrupted))
        }
        _ => Err(Failure::new(FailureKind::Died, "the environment has no streams")),
    }
}

/// Adds the limits of an environment to the facts of a start, as its first one had them.
#[cfg(unix)]
fn note_limits(kept: &mut Option<Facts>, usage: &Usage, hierarchies: &Hierarchies, outside: &mut Facts) {
    let limits = kept.get_or_insert_with(|| hierarchies.note_outside(&usage.workers));
    outside.0.extend(limits.0.clone());
}

/// Keeps the things that could not be removed.
fn stuck(outcomes: Vec<clean::Outcome>) -> Vec<clean::Outcome> {
    let is_stuck = |outcome: &clean::Outcome| outcome.left_because.is_some() && !outcome.is_declared();
    outcomes.into_iter().filter(is_stuck).collect()
}
