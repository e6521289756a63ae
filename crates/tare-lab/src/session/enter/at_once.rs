//! Several starts of one environment at once: launched one after the other without waiting, and each heard by a thread of
//! its own until its first sample.

use std::io;
use std::thread;
use std::time::{Duration, Instant};

use tare_data::failure::{Failure, FailureKind};
use tare_data::request::{Request, TrialRequest};

use crate::ownership::clean::Outcome;
use crate::session::enter::{Entered, PATIENCE};
use crate::session::link::Link;
use crate::session::link::allowance::{Allowance, Left};
use crate::session::link::listening::{Expected, Listening, await_first_frame, fresh_nonce};
use crate::study::startup::Moments;

/// Time in which all that are left take the request to leave.
const LEAVING: Duration = Duration::from_millis(100);

/// An environment that was entered, and has not been heard yet.
pub(crate) struct Launched<'a> {
    pub began: Instant,
    pub entered: Entered,
    pub link: Link<'a>,
}

/// Hears one until its first sample.
fn first_sample(
    link: &mut Link<'_>,
    expected: Expected<'_>,
    began: Instant,
    request: &TrialRequest,
    deadline: Instant,
) -> Result<Moments, Failure> {
    let hello = await_first_frame(link, expected, deadline)?.at;
    let request = TrialRequest { nonce: fresh_nonce()?, ..request.clone() };
    let mut sample = None;
    let mut sink = |_: &_| {
        sample.get_or_insert_with(Instant::now);
    };
    let mut trial = Listening::new(&request, Allowance::from_request(&request, &Left::new()), &mut sink);
    let heard = trial.send_and_listen(link);
    let failure = trial.outcome.failure.take();
    heard.map_err(|error| error.to_failure("last frame of the trial"))?;
    match (sample, failure) {
        (_, Some(failure)) => Err(failure),
        (Some(sample), None) => Ok(Moments { began, hello, sample }),
        (None, None) => Err(Failure::new(FailureKind::Broken, "its trial ended without a sample")),
    }
}

/// Hears all of them at once. Where one fails all do: what the others take without it is not what was to be measured.
pub(crate) fn first_samples(
    launched: &mut [Launched<'_>],
    expected: Expected<'_>,
    request: &TrialRequest,
    deadline: Instant,
) -> Result<Vec<Moments>, Failure> {
    let count = launched.len();
    let heard: Vec<Result<Moments, Failure>> = thread::scope(|scope| {
        let links = launched.iter_mut().map(|one| (&mut one.link, one.began));
        let threads: Vec<_> = links
            .map(|(link, began)| {
                let hear = move || first_sample(link, expected, began, request, deadline);
                thread::Builder::new().spawn_scoped(scope, hear)
            })
            .collect();
        let broken = |reason: String| Err(Failure::new(FailureKind::Broken, reason));
        let ended = |thread: io::Result<thread::ScopedJoinHandle<'_, _>>| match thread {
            Ok(thread) => thread.join().unwrap_or_else(|_| broken("its listener panicked".into())),
            Err(e) => broken(format!("cannot listen to it: {e}")),
        };
        threads.into_iter().map(ended).collect()
    });
    let failed = heard.iter().filter(|moments| moments.is_err()).count();
    heard.into_iter().collect::<Result<_, _>>().map_err(|failure| {
        Failure::new(failure.kind, format!("{failed} of {count} starts at once failed: {}", failure.reason))
    })
}

/// Asks all of them to leave before it waits for any; returns what became of what they had made.
pub(crate) fn leave_all(mut launched: Vec<Launched<'_>>) -> Vec<Outcome> {
    let deadline = Instant::now() + LEAVING;
    for one in &mut launched {
        // A start that does not take the request is ended below.
        let _ = one.link.send(&Request::Leave, deadline);
    }
    let until = Instant::now() + PATIENCE;
    launched
        .into_iter()
        .flat_map(|one| {
            drop(one.link);
            one.entered.leave_environment(until.saturating_duration_since(Instant::now()))
        })
        .collect()
}
