//! Trials before the rounds: a case's pace in an environment, and what a command asks of the system.

use tare_data::batch::{Batch, Sample};
use tare_data::failure::{Failure, FailureKind};
use tare_data::names::Case;
use tare_data::peer::{LOOPBACK, Peer};
use tare_data::request::{Amount, TrialRequest};
use tare_data::session::demand::Counted;
use tare_probes::Probe;
use tare_probes::descriptions::{DEMAND_COMMAND, USER_COMMAND, demand_of, run_limit_s};

use crate::error::LabError;
use crate::session::arena::{Arena, Started};
use crate::session::plan::amount::{Pace, compute_pace};
use crate::session::plan::budget::cut_deadline_ms;
use crate::storage::places::OWN;
use crate::study::SelectedCase;

/// A calibration may take this long: a kernel in a VM on an emulated processor is slow, not dead.
const CALIBRATION_DEADLINE_MS: u64 = 20_000;
/// The slowest disk that a large file is made on, bytes a millisecond: 20 MB/s, as behind an emulated kernel.
const SLOWEST_DISK: u64 = 20_000;
/// Longest calibration, however large the files: half an hour.
const CALIBRATION_MOST_MS: u64 = 1_800_000;

/// Limit on the calibrations of a command that fails.
const MOST_TRIES: usize = 4;

/// Batches of a trial, and its time by the host's clock.
struct Sent {
    batches: Vec<Batch>,
    elapsed_ns: u64,
}

/// Measures the pace of a case in an environment. `until_ns` is when the budget is spent.
pub fn calibrate_case(
    selected: &SelectedCase,
    target: (usize, &Started),
    seed: u64,
    until_ns: Option<u64>,
    arena: &mut dyn Arena,
) -> Result<Result<Pace, Failure>, LabError> {
    let mut sent = trial(&selected.case, Amount::Calibrate, target, seed, until_ns, arena)?;
    // A command that fails now and then is measured: the rounds count its failures.
    for _ in 1..MOST_TRIES {
        let is_flaky = |failure: &Failure| failure.kind == FailureKind::WrongWork;
        if selected.probe.name != USER_COMMAND || !sent.as_ref().is_err_and(is_flaky) {
            break;
        }
        sent = trial(&selected.case, Amount::Calibrate, target, seed, until_ns, arena)?;
    }
    Ok(sent.and_then(|sent| {
        compute_pace(&sent.batches, sent.elapsed_ns)
            .ok_or_else(|| Failure::new(FailureKind::Broken, "the calibration sent no samples"))
    }))
}

/// Counts a command's demand in the baseline, which is the first environment.
pub fn count_demand(
    case: &Case,
    started: &Started,
    seed: u64,
    arena: &mut dyn Arena,
) -> Result<Counted, LabError> {
    let case = Case { probe: DEMAND_COMMAND.to_owned(), ..case.clone() };
    let once = Amount::Operations { batch: 1, batches: 1 };
    Ok(match trial(&case, once, (0, started), seed, None, arena)? {
        Err(failure) => Counted::Failed(failure),
        Ok(sent) => Counted::Demand(demand_of(sent.batches.iter().filter_map(|batch| match batch.sample {
            Sample::Gauge { value } => Some((batch.series.as_str(), value)),
            Sample::Throughput { .. } | Sample::Stretches { .. } | Sample::Latency { .. } => None,
        }))),
    })
}

/// Runs a trial that is in no round.
fn trial(
    case: &Case,
    amount: Amount,
    (target, started): (usize, &Started),
    seed: u64,
    until_ns: Option<u64>,
    arena: &mut dyn Arena,
) -> Result<Result<Sent, Failure>, LabError> {
    let deadline_ms = cut_deadline_ms(deadline_ms(case), until_ns, arena.now_ns());
    let request = match trial_request(0, case, amount, started, seed, deadline_ms) {
        Ok(request) => request,
        Err(failure) => return Ok(Err(failure)),
    };
    let mut batches = Vec::new();
    let began_ns = arena.now_ns();
    let outcome = arena.run_trial(target, &request, &mut |batch| batches.push(batch.clone()));
    let elapsed_ns = arena.now_ns() - began_ns;
    if outcome.interrupted {
        return Err(LabError::interruption_error());
    }
    if let Some(error) = arena.host_failure() {
        return Err(error);
    }
    if outcome.lost {
        // The next case deserves a living environment; if it cannot be had, its own trial fails.
        let started = arena.enter_environment(target);
        if started.is_err() && arena.is_interrupted() {
            return Err(LabError::interruption_error());
        }
    }
    Ok(match outcome.failure {
        Some(failure) => Err(failure),
        None => Ok(Sent { batches, elapsed_ns }),
    })
}

/// Computes the deadline of a trial before the rounds: its files must be made first, and a user's command brings a deadline of its own.
fn deadline_ms(case: &Case) -> u64 {
    let number = |key: &str| case.parameters.get_integer(key).unwrap_or(0);
    let bytes = number("size").max(number("total"));
    // Prepare, the command and clean.
    let commands_ms = run_limit_s(&case.parameters).unwrap_or(0).saturating_mul(3_000);
    (CALIBRATION_DEADLINE_MS + bytes / SLOWEST_DISK + commands_ms).min(CALIBRATION_MOST_MS)
}

/// Makes the request of a trial; it fails where the environment does not have the case's place or peer.
pub fn trial_request(
    trial: u64,
    case: &Case,
    amount: Amount,
    started: &Started,
    seed: u64,
    deadline_ms: u64,
) -> Result<TrialRequest, Failure> {
    let directory = match &case.place {
        None => started.paths.get(OWN).filter(|_| writes_program(case)).cloned(),
        Some(place) => Some(started.paths.get(place).cloned().ok_or_else(|| {
            let none = || {
                Failure::new(FailureKind::NotSupported, format!("this environment has no place '{place}'"))
            };
            started.missing.get(place).cloned().unwrap_or_else(none)
        })?),
    };
    let peer = case.peer.as_deref().map(|name| route(name, started)).transpose()?;
    let case = case.clone();
    Ok(TrialRequest {
        trial,
        case,
        amount,
        directory,
        peer,
        seed,
        deadline_ms,
        slower: 0.0,
        settling_ms: 0,
        turn: None,
        nonce: 0,
    })
}

fn writes_program(case: &Case) -> bool {
    tare_probes::find_probe(&case.probe).is_some_and(Probe::writes_program)
}

/// Finds the route from the environment to a peer.
fn route(name: &str, started: &Started) -> Result<Peer, Failure> {
    if name == LOOPBACK {
        return Ok(Peer::Loopback);
    }
    started.peers.get(name).cloned().ok_or_else(|| {
        let reason = format!(
            "this environment does not reach the peer '{name}'; where it can, its option net= lets it"
        );
        Failure::new(FailureKind::NotSupported, reason)
    })
}
