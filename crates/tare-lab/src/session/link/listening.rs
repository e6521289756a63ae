//! A trial as the host hears it: the greeting before, the request, and frames until the last one.

use std::time::{Duration, Instant};

use tare_data::batch::{Batch, OUTSIDE};
use tare_data::build::Build;
use tare_data::facts::Facts;
use tare_data::failure::{Failure, FailureKind};
use tare_data::frame::{Frame, PROTOCOL};
use tare_data::request::{Amount, Request, TrialRequest};

use crate::platform::{available_bytes, randomise_bytes};
use crate::provider::proof::{Proof, Proven};
use crate::session::arena::Outcome;
use crate::session::link::allowance::Allowance;
use crate::session::link::claims::Claims;
use crate::session::link::held_memory::HeldMemory;
use crate::session::link::{Arrived, Link, LinkError};

/// The trial ends itself at its own deadline; the host gives the news this long to arrive.
const NEWS_GRACE: Duration = Duration::from_secs(3);

/// The agent that was brought into an environment, and the description by which that is recognised.
#[derive(Clone, Copy)]
pub(crate) struct Expected<'e> {
    pub brought: &'e Build,
    pub proof: Proof,
    /// Signs of this process.
    pub own: &'e Facts,
}

/// The agent's first frame.
pub(crate) struct Greeting {
    pub at: Instant,
    pub proven: Proven,
}

/// Waits for the agent's first frame, and checks that it is the one that was brought, in the environment that was meant.
pub(crate) fn await_first_frame(
    link: &mut Link<'_>,
    expected: Expected<'_>,
    deadline: Instant,
) -> Result<Greeting, Failure> {
    let arrived = link.receive(deadline).map_err(|e| e.to_failure("first frame"))?;
    match arrived.frame {
        Frame::Hello { protocol, version, agent, signs, .. } => {
            let brought = expected.brought;
            let ours = env!("CARGO_PKG_VERSION");
            if protocol == PROTOCOL && version == ours && agent == *brought {
                let proven = expected.proof.compare_signs(&signs, expected.own)?;
                return Ok(Greeting { at: arrived.at, proven });
            }
            let reason = format!(
                "the agent inside is tare {version} {agent}, protocol {protocol}; \
                 tare {ours} {brought}, protocol {PROTOCOL}, was brought"
            );
            Err(Failure::new(FailureKind::NotSupported, reason))
        }
        _ => Err(Failure::new(FailureKind::Broken, "the first frame was not a greeting")),
    }
}

/// Draws a number that nobody can have answered yet.
pub(crate) fn fresh_nonce() -> Result<u64, Failure> {
    let mut bytes = [0; 8];
    match randomise_bytes(&mut bytes) {
        Ok(_) => Ok(u64::from_le_bytes(bytes)),
        Err(e) => Err(Failure::new(FailureKind::Broken, format!("the host has no random bytes: {e}"))),
    }
}

/// A trial as the host sees it.
pub(crate) struct Listening<'t> {
    request: &'t TrialRequest,
    claims: Claims<'t>,
    sink: &'t mut dyn FnMut(&Batch),
    allowance: Allowance,
    /// Bytes of the batches that came.
    pub bytes: u64,
    memory: HeldMemory,
    /// The first frame, with the request's nonce: the agent's clock, and when it arrived. What came before is not an
    /// answer to this request.
    begun: Option<(u64, Instant)>,
    pub outcome: Outcome,
}

impl<'t> Listening<'t> {
    pub fn new(request: &'t TrialRequest, allowance: Allowance, sink: &'t mut dyn FnMut(&Batch)) -> Self {
        Listening {
            request,
            claims: Claims::new(request, Instant::now()),
            sink,
            allowance,
            bytes: 0,
            memory: HeldMemory::default(),
            begun: None,
            outcome: Outcome::default(),
        }
    }

    /// Sends the request and takes frames until the last one of this trial.
    pub fn send_and_listen(&mut self, link: &mut Link<'_>) -> Result<(), LinkError> {
        let deadline = self.deadline();
        self.send(link)?;
        while !self.take_frame(link.receive(deadline)?)? {}
        Ok(())
    }

    /// Returns the time that a step of a pair may take.
    #[cfg(unix)]
    pub fn patience(&self) -> Duration {
        Duration::from_millis(self.request.turn.as_ref().map_or(0, |turn| turn.patience_ms))
    }

    /// Returns when the last frame must be there.
    pub fn deadline(&self) -> Instant {
        Instant::now() + Duration::from_millis(self.request.deadline_ms) + NEWS_GRACE
    }

    pub fn send(&self, link: &mut Link<'_>) -> Result<(), LinkError> {
        link.send(&Request::Trial(Box::new(self.request.clone())), self.deadline())
    }

    /// Takes a frame, and returns true if it is the last one of this trial.
    pub fn take_frame(&mut self, Arrived { frame, at }: Arrived) -> Result<bool, LinkError> {
        let ours = |trial: u64| trial == self.request.trial;
        match frame {
            Frame::Begun { trial, nonce, clock_ns } if ours(trial) && nonce == self.request.nonce => {
                self.begun = Some((clock_ns, at));
            }
            Frame::Batch { trial, batch } if ours(trial) && self.begun.is_some() => {
                self.take_batch(&batch, at)?
            }
            Frame::Said { trial, mut said }
                if ours(trial) && self.begun.is_some() && self.request.amount == Amount::Outcome =>
            {
                said.keep_limits();
                self.outcome.said.get_or_insert(said);
            }
            Frame::Done { trial, interference, clock_ns } if ours(trial) && self.begun.is_some() => {
                self.outcome.inside = interference;
                self.end(clock_ns, at);
                return Ok(true);
            }
            Frame::Failed { trial, failure, clock_ns } if ours(trial) => {
                self.outcome.failure = Some(failure);
                self.end(clock_ns, at);
                return Ok(true);
            }
            Frame::Bye => return Err(LinkError::Ended),
            // A late frame of an earlier trial, or one that no request asked for.
            _ => {}
        }
        Ok(false)
    }

    fn take_batch(&mut self, batch: &Batch, at: Instant) -> Result<(), LinkError> {
        if batch.series == OUTSIDE {
            return Err(LinkError::Unruly("a value that only the host measures".into()));
        }
        match self.allowance.take_batch(batch) {
            Ok(bytes) => self.bytes += bytes,
            Err(why) => {
                // Later frames are not listened to: the environment is entered afresh.
                self.outcome.failure = Some(Failure::new(FailureKind::WrongWork, why.as_str()));
                return Err(LinkError::Unruly(why));
            }
        }
        (self.sink)(batch);
        if let Err(failure) = self.claims.check_batch(batch, at) {
            self.outcome.failure.get_or_insert(failure);
        }
        if let Some(taken) = self.memory.observe_batch(batch, available_bytes) {
            (self.sink)(&taken);
        }
        Ok(())
    }

    fn end(&mut self, clock_ns: u64, at: Instant) {
        if let Some((begun_ns, begun)) = self.begun {
            self.outcome.host_elapsed_ns = (at - begun).as_nanos() as u64;
            self.outcome.agent_elapsed_ns = Some(clock_ns.saturating_sub(begun_ns));
        }
    }
}
