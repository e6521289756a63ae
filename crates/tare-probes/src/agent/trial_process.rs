//! The process of one trial: runs a probe, sends its batches and what disturbed them, and ends.

use std::io::{self, Read, Write};
use std::path::Path;
use std::time::Duration;

use tare_data::failure::{Failure, FailureKind};
use tare_data::frame::{Frame, LONGEST_REQUEST, encode_frame};
use tare_data::request::{TrialRequest, Turn};
use tare_data::session::Interference;

use crate::harness::affinity;
use crate::harness::folder::Folder;
use crate::harness::interference::{Watch, measure_canary};
use crate::harness::stopwatch::{now_ns, work_longer};
use crate::harness::trial::Trial;
use crate::platform::bound_trial;
use crate::platform::turns::Turns;

/// First argument under which the program runs one trial; the request comes by standard input, where no list of
/// processes shows it.
pub const TRIAL: &str = "agent-trial";

/// Number of pairs for each one that has canaries, because a canary takes as long as some pairs.
const PAIRS_A_CANARY: u64 = 20;

/// Runs the trial of a request in this process and sends its frames. `carried` holds the files of user commands.
pub fn run_requested_trial(program: &Path, carried: Option<&Path>) -> io::Result<()> {
    let mut request = String::new();
    io::stdin().lock().take(LONGEST_REQUEST as u64).read_to_string(&mut request)?;
    let request: TrialRequest = serde_json::from_str(&request)?;
    bound_trial(request.deadline_ms);
    send_frame(&Frame::Begun { trial: request.trial, nonce: request.nonce, clock_ns: now_ns() })?;
    let frame = match measure(program, &request, carried)? {
        Ok(interference) => Frame::Done { trial: request.trial, interference, clock_ns: now_ns() },
        Err(failure) => Frame::Failed { trial: request.trial, failure, clock_ns: now_ns() },
    };
    send_frame(&frame)
}

/// Writes a frame at once: the host stamps its arrival.
pub fn send_frame(frame: &Frame) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(encode_frame(frame).as_bytes())?;
    out.flush()
}

/// Runs the probe. The outer error is the stream's, the inner one the trial's.
fn measure(
    program: &Path,
    request: &TrialRequest,
    carried: Option<&Path>,
) -> io::Result<Result<Interference, Failure>> {
    let run = match crate::probes::run_of(&request.case.probe) {
        Ok(run) => run,
        Err(reason) => return Ok(Err(Failure::new(FailureKind::NotSupported, reason))),
    };
    let folder = match &request.directory {
        None => None,
        Some(place) => {
            let is_apart = crate::find_probe(&request.case.probe).is_some_and(|probe| probe.is_apart());
            let place = Path::new(place);
            let side = request.turn.as_ref().map(|turn| turn.is_second);
            match match side {
                _ if is_apart => Folder::make_apart(place, side, (request.seed, request.trial)),
                Some(is_second) => Folder::make_for_side(place, is_second),
                None => Folder::make_fresh(place),
            } {
                Ok(folder) => Some(folder),
                Err(failure) => return Ok(Err(failure)),
            }
        }
    };
    let mut sent = Ok(());
    let mut sink = |batch| {
        if sent.is_ok() {
            sent = send_frame(&Frame::Batch { trial: request.trial, batch });
        }
    };
    work_longer(request.slower);
    let turns = match &request.turn {
        None => None,
        Some(turn) => match take_place(turn, request) {
            Ok(turns) => Some(turns),
            Err(failure) => return Ok(Err(failure)),
        },
    };
    let has_canary = request.turn.is_none() || (request.trial / 2).is_multiple_of(PAIRS_A_CANARY);
    let canary_ns = has_canary.then(measure_canary);
    let watch = if request.turn.is_some() { Watch::of_process() } else { Watch::of_all() };
    let door = folder.as_ref().map(Folder::door);
    let mut trial = Trial::new(request, program, door, &mut sink).with_carried(carried).with_turns(turns);
    let outcome = run(&mut trial);
    if outcome.is_err() {
        trial.give_up();
    }
    let batches_interrupted = trial.count_interrupted().filter(|count| *count > 0);
    let interference = Interference { batches_interrupted, canary_ns, ..watch.stop() };
    let said = trial.take_said();
    sent?;
    if let Some(said) = said {
        send_frame(&Frame::Said { trial: request.trial, said })?;
    }
    Ok(outcome.map(|()| interference))
}

/// Moves this process to the processor of its pair, and maps the file of its turns.
fn take_place(turn: &Turn, request: &TrialRequest) -> Result<Turns, Failure> {
    turn.processor.map_or(Ok(()), affinity::pin_to_processor)?;
    Turns::open(turn, request.seed, Duration::from_millis(request.deadline_ms))
}
