//! The live arena: trials in environments that are really entered.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rustix::rand::{GetRandomFlags, getrandom};
use tare_data::batch::{Batch, OUTSIDE};
use tare_data::facts::Facts;
use tare_data::failure::{Failure, FailureKind};
use tare_data::frame::{Frame, PROTOCOL};
use tare_data::request::{Request, TrialRequest};
use tare_data::session::Target;
use tare_probes::harness::interference::Watch;
use tare_probes::harness::kernel_files::available_bytes;

use crate::error::LabError;
use crate::host::mounts;
use crate::ownership::clean;
use crate::ownership::workspace::SessionWorkspace;
use crate::session::arena::{Arena, Outcome, Started};
use crate::session::arriving::allowance::{Allowance, Left};
use crate::session::arriving::claims::Claims;
use crate::session::arriving::held_memory::HeldMemory;
use crate::session::entered::{self, Entered, PATIENCE};
use crate::session::link::{Arrived, Link, LinkError};
use crate::session::peers::{HostPeers, Peers, ways};
use crate::session::startup;
use crate::session::targets::Resolved;
use crate::storage::places::OWN;
use crate::study::user_command::{CarriedFile, carry};

/// An environment may take this long to its first frame: QEMU boots in 3 s on an emulated processor,
/// and a loaded machine is several times slower.
const START_DEADLINE: Duration = Duration::from_secs(60);
/// However little of a budget is left, an environment may take this long: most need less than a second.
const START_LEAST: Duration = Duration::from_secs(10);
/// Describing takes measurements of the clock and of every place.
const DESCRIBE_DEADLINE: Duration = Duration::from_secs(30);
/// The trial ends itself at its own deadline; the host gives the news this long to arrive.
const NEWS_GRACE: Duration = Duration::from_secs(3);

/// Environments that are really entered.
pub struct LiveArena<'a> {
    workspace: &'a SessionWorkspace,
    interrupted: &'a AtomicBool,
    began: Instant,
    targets: Vec<LiveTarget<'a>>,
    peers: Peers,
    host_peers: HostPeers<'a>,
    /// Files of commands in a study, which every start is given.
    carried: Vec<CarriedFile>,
    /// What could not be removed.
    left: Vec<clean::Outcome>,
    /// When the session's budget is spent; none where it has no budget.
    until: Option<Instant>,
    /// What the host itself could not do.
    host_failure: Option<LabError>,
}

struct LiveTarget<'a> {
    resolved: Resolved,
    inside: Option<Inside<'a>>,
    /// What it may still send in this session.
    left: Left,
    /// Facts are taken once a session: they do not change from start to start.
    described: Option<(Facts, BTreeMap<String, Facts>)>,
}

struct Inside<'a> {
    entered: Entered,
    link: Link<'a>,
}

impl<'a> LiveArena<'a> {
    /// An arena for these environments. `began` is the beginning of the session's clock.
    pub fn new(
        targets: Vec<Resolved>,
        workspace: &'a SessionWorkspace,
        interrupted: &'a AtomicBool,
        began: Instant,
    ) -> Self {
        let target = |resolved| LiveTarget { resolved, inside: None, left: Left::all(), described: None };
        LiveArena {
            workspace,
            interrupted,
            began,
            targets: targets.into_iter().map(target).collect(),
            peers: Peers::default(),
            host_peers: HostPeers::new(workspace),
            carried: Vec::new(),
            left: Vec::new(),
            until: None,
            host_failure: None,
        }
    }

    /// The same in a session that is to end then: a start that hangs does not outlast its budget by much.
    pub fn until(mut self, until: Option<Instant>) -> Self {
        self.until = until;
        self
    }

    /// Until when a start may take.
    fn start_deadline(&self) -> Instant {
        let now = Instant::now();
        let budgeted = self.until.map_or(START_DEADLINE, |until| until.saturating_duration_since(now));
        now + budgeted.clamp(START_LEAST, START_DEADLINE)
    }

    /// The failure that an error is to the session; where it is the host's own, the session ends with it.
    fn died(&mut self, error: LabError) -> Failure {
        let failure = Failure::new(FailureKind::Died, error.to_string());
        if let Some(error) = error.of_host() {
            self.host_failure.get_or_insert(error);
        }
        failure
    }

    /// The same, with ways to the peers that the user named.
    pub fn reaching(mut self, peers: Peers) -> Self {
        self.peers = peers;
        self
    }

    /// Gives every start from now on these files of a study's commands.
    pub fn carry(&mut self, files: Vec<CarriedFile>) {
        self.carried = files;
    }

    /// Enters an environment afresh, has it do nothing once, and measures what it takes.
    fn first_sample(
        &mut self,
        index: usize,
        request: &TrialRequest,
        sink: &mut dyn FnMut(&Batch),
    ) -> Outcome {
        self.leave(index);
        let began = Instant::now();
        let started = match self.start(index) {
            Ok(started) => started,
            Err(failure) => {
                let interrupted = self.interrupted();
                return Outcome { failure: Some(failure), lost: true, interrupted, ..Default::default() };
            }
        };
        let mut sample = None;
        let mut outcome = self.trial(index, &startup::first_trial(request), &mut |_| {
            sample.get_or_insert_with(Instant::now);
        });
        if let (Some(sample), None, Some(inside)) = (sample, &outcome.failure, &self.targets[index].inside) {
            let hello = began + Duration::from_nanos(started.elapsed_ns);
            let memory = startup::memory_bytes(&inside.entered.processes());
            let disk = startup::disk_bytes(inside.entered.folder());
            startup::batches(startup::Moments { began, hello, sample }, memory, disk).iter().for_each(sink);
            outcome.host_elapsed_ns = (sample - began).as_nanos() as u64;
            // No clock inside saw the whole stretch.
            outcome.agent_elapsed_ns = None;
        }
        outcome
    }

    /// Leaves every environment; returns what could not be removed.
    pub fn leave_all(&mut self) -> Vec<clean::Outcome> {
        (0..self.targets.len()).for_each(|target| self.leave(target));
        std::mem::take(&mut self.left)
    }
}

impl Arena for LiveArena<'_> {
    fn now_ns(&self) -> u64 {
        self.began.elapsed().as_nanos() as u64
    }

    fn interrupted(&self) -> bool {
        self.interrupted.load(Ordering::Relaxed)
    }

    fn start(&mut self, index: usize) -> Result<Started, Failure> {
        self.leave(index);
        let Resolved { target: Target { specification, .. }, ready } = &self.targets[index].resolved;
        let (began, deadline) = (Instant::now(), self.start_deadline());
        let mut entered =
            entered::enter(specification, ready, self.workspace).map_err(|error| self.died(error))?;
        let (Some(input), Some(output), Some(errors)) =
            (entered.child.stdin.take(), entered.child.stdout.take(), entered.child.stderr.take())
        else {
            return Err(Failure::new(FailureKind::Died, "the environment has no streams"));
        };
        let mut link = Link::new(input.into(), output.into(), Some(errors.into()), self.interrupted);
        let target = &mut self.targets[index];
        let Resolved { ready, .. } = &target.resolved;
        let own = entered.places.get(OWN);
        let greeted =
            greet(&mut link, deadline).and_then(|at| carry(&mut link, own, &self.carried).map(|()| at));
        let hello = greeted.and_then(|at| match &target.described {
            Some(described) => Ok((at, described.clone())),
            None => describe(&mut link, &entered.places).map(|described| (at, described)),
        });
        match hello {
            Ok((at, described)) => {
                let mut places = described.1.clone();
                let mut outside = divide(&entered.outside, &mut places);
                for (key, value) in &ready.facts.0 {
                    outside.0.entry(key.clone()).or_insert_with(|| value.clone());
                }
                let peers = ways(&self.peers, &mut self.host_peers, entered.host, &mut outside);
                let started = Started {
                    inside: described.0.clone(),
                    outside,
                    places,
                    paths: entered.places.clone(),
                    peers,
                    missing: self.workspace.missing().clone(),
                    elapsed_ns: (at - began).as_nanos() as u64,
                };
                target.described = Some(described);
                target.inside = Some(Inside { entered, link });
                Ok(started)
            }
            Err(mut failure) => {
                if let Some(note) = link.take_notes().pop() {
                    failure = Failure::new(failure.kind, format!("{} ({note})", failure.reason));
                }
                self.left.extend(stuck(entered.leave(Duration::ZERO)));
                Err(failure)
            }
        }
    }

    fn trial(&mut self, index: usize, request: &TrialRequest, sink: &mut dyn FnMut(&Batch)) -> Outcome {
        if startup::is_start(&request.case) {
            return self.first_sample(index, request, sink);
        }
        let LiveTarget { resolved, inside, left, .. } = &mut self.targets[index];
        let Some(inside) = inside else {
            let failure = Failure::new(FailureKind::Died, "the environment is not entered");
            return Outcome { failure: Some(failure), lost: true, ..Default::default() };
        };
        inside.link.take_notes();
        let nonce = match fresh_nonce() {
            Ok(nonce) => nonce,
            Err(failure) => return Outcome { failure: Some(failure), ..Default::default() },
        };
        let slower = resolved.ready.slower;
        let request = &TrialRequest { nonce, slower, ..request.clone() };
        let watch = Watch::start();
        let mut trial = Listening {
            request,
            claims: Claims::new(request, Instant::now()),
            sink,
            allowance: Allowance::of(request, left),
            bytes: 0,
            memory: HeldMemory::default(),
            begun: None,
            outcome: Outcome::default(),
        };
        let result = trial.listen(&mut inside.link);
        left.sent(trial.bytes);
        let mut outcome = trial.outcome;
        outcome.outside = watch.stop();
        outcome.notes = left.kept(inside.link.take_notes());
        if let Err(error) = result {
            outcome.interrupted = error == LinkError::Interrupted;
            outcome.failure = outcome.failure.or_else(|| Some(error.failure("last frame of the trial")));
            outcome.lost = true;
        }
        outcome
    }

    fn host_failure(&mut self) -> Option<LabError> {
        self.host_failure.take()
    }

    fn leave(&mut self, index: usize) {
        let Some(Inside { entered, mut link }) = self.targets[index].inside.take() else { return };
        // An environment that does not take the request is not waited for.
        let sent = link.send(&Request::Leave, Instant::now() + Duration::from_millis(100));
        drop(link);
        let patience = if sent.is_ok() { PATIENCE } else { Duration::ZERO };
        self.left.extend(stuck(entered.leave(patience)));
    }
}

/// Gives every place the facts that the host has of it, as `outside.*`; returns what is left.
fn divide(outside: &Facts, places: &mut BTreeMap<String, Facts>) -> Facts {
    let mut rest = Facts::default();
    for (key, value) in &outside.0 {
        let of_place = key.strip_prefix(mounts::PLACE).and_then(|key| key.rsplit_once('.'));
        match of_place.and_then(|(place, fact)| Some((places.get_mut(place)?, fact))) {
            Some((facts, fact)) => facts.note(format!("outside.{fact}"), value),
            None => rest.note(key, value),
        }
    }
    rest
}

/// Waits for the agent's first frame, and checks that it is the same agent.
fn greet(link: &mut Link<'_>, deadline: Instant) -> Result<Instant, Failure> {
    let arrived = link.receive(deadline).map_err(|e| e.failure("first frame"))?;
    match arrived.frame {
        Frame::Hello { protocol, version, .. } => {
            let ours = env!("CARGO_PKG_VERSION");
            if protocol == PROTOCOL && version == ours {
                return Ok(arrived.at);
            }
            let reason =
                format!("the agent inside is tare {version}, protocol {protocol}; this is tare {ours}");
            Err(Failure::new(FailureKind::NotSupported, reason))
        }
        _ => Err(Failure::new(FailureKind::Broken, "the first frame was not a greeting")),
    }
}

/// Asks for the facts of the environment and of its places.
fn describe(
    link: &mut Link<'_>,
    places: &BTreeMap<String, String>,
) -> Result<(Facts, BTreeMap<String, Facts>), Failure> {
    let deadline = Instant::now() + DESCRIBE_DEADLINE;
    let described = link
        .send(&Request::Describe { places: places.clone() }, deadline)
        .and_then(|()| link.receive(deadline))
        .map_err(|e| e.failure("description"))?;
    match described.frame {
        Frame::Description { facts, places } => Ok((facts, places)),
        _ => Err(Failure::new(FailureKind::Broken, "the answer was not a description")),
    }
}

/// What nobody can have answered yet.
fn fresh_nonce() -> Result<u64, Failure> {
    let mut bytes = [0; 8];
    match getrandom(&mut bytes, GetRandomFlags::empty()) {
        Ok(_) => Ok(u64::from_le_bytes(bytes)),
        Err(e) => Err(Failure::new(FailureKind::Broken, format!("the host has no random bytes: {e}"))),
    }
}

/// A trial as the host sees it.
struct Listening<'t> {
    request: &'t TrialRequest,
    claims: Claims<'t>,
    sink: &'t mut dyn FnMut(&Batch),
    allowance: Allowance,
    /// Of the batches that came.
    bytes: u64,
    memory: HeldMemory,
    /// The first frame, with the request's nonce: the agent's clock, and when it arrived. What came before is not an
    /// answer to this request.
    begun: Option<(u64, Instant)>,
    outcome: Outcome,
}

impl Listening<'_> {
    /// Sends the request and takes frames until the last one of this trial.
    fn listen(&mut self, link: &mut Link<'_>) -> Result<(), LinkError> {
        let deadline = Instant::now() + Duration::from_millis(self.request.deadline_ms) + NEWS_GRACE;
        link.send(&Request::Trial(self.request.clone()), deadline)?;
        loop {
            let Arrived { frame, at } = link.receive(deadline)?;
            let ours = |trial: u64| trial == self.request.trial;
            match frame {
                Frame::Begun { trial, nonce, clock_ns } if ours(trial) && nonce == self.request.nonce => {
                    self.begun = Some((clock_ns, at));
                }
                Frame::Batch { trial, batch } if ours(trial) && self.begun.is_some() => {
                    if batch.series == OUTSIDE {
                        return Err(LinkError::Unruly("a value that only the host measures".into()));
                    }
                    match self.allowance.take(&batch) {
                        Ok(bytes) => self.bytes += bytes,
                        Err(why) => {
                            // What still comes is not listened to: the environment is entered afresh.
                            self.outcome.failure = Some(Failure::new(FailureKind::WrongWork, why.as_str()));
                            return Err(LinkError::Unruly(why));
                        }
                    }
                    (self.sink)(&batch);
                    if let Err(failure) = self.claims.check(&batch, at) {
                        self.outcome.failure.get_or_insert(failure);
                    }
                    if let Some(taken) = self.memory.look(&batch, available_bytes) {
                        (self.sink)(&taken);
                    }
                }
                Frame::Done { trial, interference, clock_ns } if ours(trial) && self.begun.is_some() => {
                    self.outcome.inside = interference;
                    self.end(clock_ns, at);
                    return Ok(());
                }
                Frame::Failed { trial, failure, clock_ns } if ours(trial) => {
                    self.outcome.failure = Some(failure);
                    self.end(clock_ns, at);
                    return Ok(());
                }
                Frame::Bye => return Err(LinkError::Ended),
                // A late frame of an earlier trial, or one that no request asked for.
                _ => {}
            }
        }
    }

    fn end(&mut self, clock_ns: u64, at: Instant) {
        if let Some((begun_ns, begun)) = self.begun {
            self.outcome.host_elapsed_ns = (at - begun).as_nanos() as u64;
            self.outcome.agent_elapsed_ns = Some(clock_ns.saturating_sub(begun_ns));
        }
    }
}

/// What could not be removed.
fn stuck(outcomes: Vec<clean::Outcome>) -> Vec<clean::Outcome> {
    outcomes.into_iter().filter(|outcome| outcome.left_because.is_some()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_get_their_own_facts_from_outside() {
        let mut outside = Facts::default();
        let names = ["own", "/a", "/a.b"];
        names.iter().for_each(|name| outside.note(format!("place.{name}.filesystem"), *name));
        outside.note("place.unknown.filesystem", "ext4");
        outside.note("runtime.version", "1");
        let mut places = names.map(|name| (name.to_owned(), Facts::default())).into();
        let rest = divide(&outside, &mut places);
        for name in names {
            assert_eq!(places[name].get("outside.filesystem"), Some(name));
        }
        assert_eq!(rest.0.len(), 2);
    }
}
