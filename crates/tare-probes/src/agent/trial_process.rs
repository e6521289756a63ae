//! The process of one trial: runs a probe, sends its batches and what disturbed them, and ends.

use std::io::{self, Read, Write};
use std::path::Path;

use tare_data::failure::{Failure, FailureKind};
use tare_data::frame::{Frame, LONGEST_REQUEST, encode_frame};
use tare_data::request::TrialRequest;
use tare_data::session::Interference;

use crate::harness::folder::Folder;
use crate::harness::interference::Watch;
use crate::harness::stopwatch::{now_ns, work_longer};
use crate::harness::trial::Trial;
use crate::platform::bound_trial;

/// First argument under which the program runs one trial; the request comes by standard input, where no list of
/// processes shows it.
pub const TRIAL: &str = "agent-trial";

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
            match if is_apart {
                Folder::make_apart(place, (request.seed, request.trial))
            } else {
                Folder::make_fresh(place)
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
    let watch = Watch::start();
    let directory = folder.as_ref().map(Folder::path);
    let outcome = run(&mut Trial::new(request, program, directory, &mut sink).with_carried(carried));
    let interference = watch.stop();
    sent?;
    Ok(outcome.map(|()| interference))
}
