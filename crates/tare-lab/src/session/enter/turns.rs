//! Turns of the live arena: two trials, in environments on one kernel, whose processes hand over to each other.

use std::time::{Duration, Instant};

use tare_data::batch::Batch;
use tare_data::failure::{Failure, FailureKind};
use tare_data::names::{Case, Parameters};
use tare_data::request::{Amount, GIVEN_UP, TrialRequest, Turn};
use tare_probes::harness::interference::Watch;

use crate::provider::KernelKind;
use crate::provider::options::Turns;
use crate::session::arena::{Outcome, Turning};
use crate::session::enter::live::{Inside, LiveArena, LiveTarget};
use crate::session::link::allowance::Allowance;
use crate::session::link::listening::{Listening, fresh_nonce};
use crate::session::link::{Link, LinkError};
use crate::storage::places::INHERITED;
use crate::storage::turn_file::TurnFile;

/// Hand-overs that prove that two environments can take turns, and the time that each may take.
const PROOF_BATCHES: u32 = 10;
const PROOF_PATIENCE_MS: u64 = 100;
/// Time that both sides may take to start in a proof.
const PROOF_DEADLINE_MS: u64 = 2_000;
/// Once a side has ended, the other has this long besides a step of its own.
const AFTER_PARTNER: Duration = Duration::from_millis(300);

/// A trial of a pair with its batches.
type SideOutcome = (Outcome, Vec<Batch>);

impl LiveArena<'_> {
    /// Proves that trials of two environments can take turns. What a start could do the next ones can, until a pair of them fails: a
    /// proof takes as long as a short pair. Where there is no proof, each start of the first one is tried once.
    pub(super) fn prove_pair(&mut self, pair: [usize; 2]) -> Result<Turning, Failure> {
        let kernels = pair.map(|target| self.targets[target].resolved.ready.kernel.kind);
        if kernels.contains(&KernelKind::Own) {
            return Err(unproven("its kernel is not the other's"));
        }
        if pair.iter().any(|target| self.targets[*target].resolved.ready.turns == Turns::Never) {
            return Err(unproven("turns=no"));
        }
        if let Some(turning) = self.turnings.get(&sort(pair)) {
            return Ok(*turning);
        }
        if let Some(Inside { proven: Some(proven), .. }) = &self.targets[pair[0]].inside {
            return proven.clone();
        }
        let can_be_placed = !kernels.contains(&KernelKind::Supervised);
        let on_one = can_be_placed.then(|| self.allowed_processors.first().copied()).flatten();
        let mut proven = self.try_turns(pair, on_one).map(|()| match on_one {
            Some(_) => Turning::OneProcessor,
            None => Turning::Anywhere,
        });
        if proven.is_err() && on_one.is_some() {
            proven = self.try_turns(pair, None).map(|()| Turning::Anywhere);
        }
        // A proof that failed on one processor may have met a busy moment: the next start is tried there again.
        match (&proven, &mut self.targets[pair[0]].inside) {
            (Ok(turning), _) if is_best(*turning, on_one) => {
                self.turnings.insert(sort(pair), *turning);
            }
            (_, Some(inside)) => inside.proven = Some(proven.clone()),
            (_, None) => {}
        }
        proven
    }

    /// Has both environments hand over a few times, with nothing in between.
    fn try_turns(&mut self, pair: [usize; 2], processor: Option<usize>) -> Result<(), Failure> {
        let case = Case { probe: "null".into(), parameters: Parameters::default(), place: None, peer: None };
        let amount = Amount::Operations { batch: 1, batches: PROOF_BATCHES };
        let request = |is_second: bool| TrialRequest {
            trial: u64::from(is_second),
            case: case.clone(),
            amount,
            directory: None,
            peer: None,
            seed: 0,
            deadline_ms: PROOF_DEADLINE_MS,
            slower: 0.0,
            settling_ms: 0,
            turn: Some(Turn {
                path: String::new(),
                descriptor: None,
                is_second,
                patience_ms: PROOF_PATIENCE_MS,
                settle: 0,
                processor,
            }),
            nonce: 0,
        };
        let sides = self.run_turns(pair, [request(false), request(true)]);
        for (target, (outcome, _)) in pair.into_iter().zip(&sides) {
            // Lines that came with the start belong to its first trial, and a proof is none.
            if let Some(inside) = &mut self.targets[target].inside {
                inside.link.put_back_notes(&outcome.notes);
            }
        }
        // The reason is that of the side that failed by itself, if one did.
        let failures = sides.into_iter().filter_map(|(outcome, _)| outcome.failure);
        failures.min_by_key(|failure| failure.kind == FailureKind::Partner).map_or(Ok(()), Err)
    }

    /// Runs a pair of two environments that have proved their turns.
    pub(super) fn run_proven(&mut self, pair: [usize; 2], requests: [TrialRequest; 2]) -> [SideOutcome; 2] {
        let sides = self.run_turns(pair, requests);
        // A side that fails by itself says nothing about its turns.
        let of_turns = [
            FailureKind::Partner,
            FailureKind::Deadline,
            FailureKind::NotSupported,
            FailureKind::NotPermitted,
        ];
        let mut failures = sides.iter().filter_map(|(outcome, _)| outcome.failure.as_ref()).peekable();
        if failures.peek().is_some() && failures.all(|failure| of_turns.contains(&failure.kind)) {
            self.turnings.remove(&sort(pair));
        }
        sides
    }

    /// Runs both trials of a pair, whose turns this fills in.
    fn run_turns(&mut self, pair: [usize; 2], requests: [TrialRequest; 2]) -> [SideOutcome; 2] {
        let failed = |failure: Failure| {
            let outcome = Outcome { failure: Some(failure), ..Outcome::default() };
            [(outcome.clone(), Vec::new()), (outcome, Vec::new())]
        };
        // As the workspace outlives this, so does the file: what an environment does to its names changes nothing here.
        let workspace = self.workspace;
        self.watch_others(&pair);
        let Ok([first, second]) = self.targets.get_disjoint_mut(pair) else {
            return failed(unproven("it is the other environment itself"));
        };
        let sides = [(&mut *first, &requests[0]), (&mut *second, &requests[1])];
        if let [(LiveTarget { inside: None, .. }, _), _] | [_, (LiveTarget { inside: None, .. }, _)] = sides {
            return failed(Failure::new(FailureKind::Died, "the environment is not entered"));
        }
        let Some(file) = workspace.find_turn_file(pair) else {
            return failed(unproven("the session has no file for the turns of these two"));
        };
        if let Err(e) = file.begin() {
            return failed(unproven(&format!("the file of the turns: {e}")));
        }
        let [mut of_first, mut of_second] = requests;
        for (target, request) in [(&*first, &mut of_first), (&*second, &mut of_second)] {
            if let Err(failure) = fill_in(target, request, &file) {
                return failed(failure);
            }
        }
        run_both([first, second], [&of_first, &of_second], &file)
    }
}

/// Completes a request by what its environment knows of the pair.
fn fill_in(target: &LiveTarget<'_>, request: &mut TrialRequest, file: &TurnFile) -> Result<(), Failure> {
    let folder = target.inside.as_ref().and_then(|inside| inside.turns.as_deref());
    let folder = folder.ok_or_else(|| unproven("it shares no folder with this machine"))?;
    if let Some(turn) = &mut request.turn {
        match folder == INHERITED {
            true => turn.descriptor = Some(file.descriptor()),
            false => turn.path = format!("{folder}/{}", file.name().display()),
        }
    }
    request.nonce = fresh_nonce()?;
    *request = target.resolved.ready.adapt_request(request.clone());
    Ok(())
}

/// Tells whether two environments take turns as well as they could with these processors.
fn is_best(turning: Turning, on_one: Option<usize>) -> bool {
    on_one.is_none() || turning == Turning::OneProcessor
}

/// Puts a pair in the order by which its turns are known: which side comes first is drawn.
fn sort(mut pair: [usize; 2]) -> [usize; 2] {
    pair.sort_unstable();
    pair
}

fn unproven(reason: &str) -> Failure {
    Failure::new(FailureKind::NotSupported, reason)
}

/// Sends both requests, and takes the frames of both until each has ended.
fn run_both(
    targets: [&mut LiveTarget<'_>; 2],
    requests: [&TrialRequest; 2],
    file: &TurnFile,
) -> [SideOutcome; 2] {
    let watch = Watch::of_machine();
    let [first, second] = targets;
    let (mut of_first, mut of_second) = (Vec::new(), Vec::new());
    let mut take_first = |batch: &Batch| of_first.push(batch.clone());
    let mut take_second = |batch: &Batch| of_second.push(batch.clone());
    let allowances = [(&*first, requests[0]), (&*second, requests[1])]
        .map(|(target, request)| Allowance::from_request(request, &target.left));
    let [allowed_first, allowed_second] = allowances;
    let mut sides = [
        Listening::new(requests[0], allowed_first, &mut take_first),
        Listening::new(requests[1], allowed_second, &mut take_second),
    ];
    let (Some(inside_first), Some(inside_second)) = (&mut first.inside, &mut second.inside) else {
        unreachable!("both were entered");
    };
    let links = [&mut inside_first.link, &mut inside_second.link];
    listen_to_both(&mut sides, links, file);
    let outside = watch.stop();
    let [side_first, side_second] = sides;
    let bytes = [side_first.bytes, side_second.bytes];
    let outcomes = [side_first.outcome, side_second.outcome];
    let notes = [(inside_first, &mut first.left), (inside_second, &mut second.left)]
        .map(|(inside, left)| left.keep_notes(inside.link.take_notes()));
    first.left.take_bytes(bytes[0]);
    second.left.take_bytes(bytes[1]);
    let [mut outcome_first, mut outcome_second] = outcomes;
    for (outcome, notes) in [&mut outcome_first, &mut outcome_second].into_iter().zip(notes) {
        (outcome.outside, outcome.notes) = (outside.clone(), notes);
    }
    [(outcome_first, of_first), (outcome_second, of_second)]
}

/// Listens until both trials have ended. A side whose partner ended has little time left.
fn listen_to_both(sides: &mut [Listening<'_>; 2], mut links: [&mut Link<'_>; 2], file: &TurnFile) {
    let mut is_open = [true; 2];
    let mut deadline = sides[0].deadline();
    for (at, link) in links.iter_mut().enumerate() {
        if let Err(error) = sides[at].send(link) {
            fail(&mut sides[at].outcome, &error);
            is_open[at] = false;
        }
    }
    while is_open.contains(&true) {
        let [first, second] = &mut links;
        let waited = Link::await_either(first, second, deadline);
        for at in 0..2 {
            let result = take_frames(&mut sides[at], links[at]);
            let ended = match (&waited, result) {
                _ if !is_open[at] => continue,
                (_, Ok(true)) => true,
                (_, Err(error)) => fail(&mut sides[at].outcome, &error),
                (Err(error), Ok(false)) => fail(&mut sides[at].outcome, error),
                (Ok(()), Ok(false)) => false,
            };
            if ended {
                is_open[at] = false;
                deadline = deadline.min(Instant::now() + 2 * sides[at].patience() + AFTER_PARTNER);
                if sides[at].outcome.failure.is_some() {
                    // The other may wait for a turn that does not come.
                    let _ = file.write_word(GIVEN_UP);
                }
            }
        }
    }
}

/// Takes the frames that have arrived; true once the trial has ended.
fn take_frames(side: &mut Listening<'_>, link: &mut Link<'_>) -> Result<bool, LinkError> {
    while let Some(arrived) = link.take_arrived() {
        if side.take_frame(arrived)? {
            return Ok(true);
        }
    }
    if link.has_ended() { Err(LinkError::Ended) } else { Ok(false) }
}

/// Ends a side that cannot be listened to any more.
fn fail(outcome: &mut Outcome, error: &LinkError) -> bool {
    outcome.interrupted = *error == LinkError::Interrupted;
    outcome.failure.get_or_insert(error.to_failure("last frame of the trial"));
    outcome.lost = true;
    true
}
