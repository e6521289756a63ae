//! A counter passed back and forth between two processes, over any two pairs of file descriptors.

#[cfg(unix)]
use std::panic::AssertUnwindSafe;

use tare_data::failure::{Failure, FailureKind};
use tare_data::names::Parameters;

use crate::harness::affinity;
#[cfg(unix)]
use crate::harness::child::Child;
use crate::harness::stopwatch::Stopwatch;
use crate::harness::syscall::{read, write};
#[cfg(unix)]
use crate::harness::trial::Trial;
use crate::harness::trial::{Report, broken_failure, prove_count};
#[cfg(unix)]
use crate::platform::{AsFd, OwnedFd};
use crate::platform::{BorrowedFd, Errno};
use crate::probe::PIN;

/// The two ends of a channel between two processes.
#[cfg(unix)]
pub struct Ends {
    /// Written and read by this process.
    pub here: (OwnedFd, OwnedFd),
    /// Written and read by the other.
    pub there: (OwnedFd, OwnedFd),
}

/// Passes an 8-byte counter to another process and back, as often as the trial demands.
///
/// Each batch has a process of its own, forked beforehand: where the scheduler puts the two says more about a batch than
/// anything else, and it puts them anew for each. Where both are pinned, one process lasts for the trial.
#[cfg(unix)]
pub fn exchange_counter(
    trial: &mut Trial<'_>,
    channel: impl Fn() -> Result<Ends, Failure>,
) -> Result<(), Failure> {
    let placement = Placement::pin_this_side(trial.parameters())?;
    let mut is_first = true;
    let mut lasting = None;
    trial.repeat(|operations, report| {
        let other = match lasting.take() {
            Some(other) => other,
            None => Other::fork(channel()?, placement)?,
        };
        let is_first = std::mem::take(&mut is_first);
        exchange_batch(operations, is_first, (other.there.as_fd(), other.back.as_fd()), report)?;
        if matches!(placement, Placement::Free) {
            return other.finish();
        }
        lasting = Some(other);
        Ok(())
    })?;
    lasting.map_or(Ok(()), Other::finish)
}

/// The other process, and the channel to it.
#[cfg(unix)]
struct Other {
    process: Child,
    there: OwnedFd,
    back: OwnedFd,
}

#[cfg(unix)]
impl Other {
    fn fork(ends: Ends, placement: Placement) -> Result<Other, Failure> {
        let Ends { here: (there, back), there: (to_here, from_here) } = ends;
        let process = Child::fork(
            &[there.as_fd(), back.as_fd()],
            AssertUnwindSafe(move || match placement.pin_other_side() {
                Ok(()) => hand_back(from_here.as_fd(), to_here.as_fd()),
                Err(_) => 1,
            }),
        )?;
        Ok(Other { process, there, back })
    }

    /// Closes the channel, at which the process ends.
    fn finish(self) -> Result<(), Failure> {
        let Other { process, there, back } = self;
        drop((there, back));
        prove_count("exit code of the other process", process.wait().unwrap_or(-1) as u64, 0)
    }
}

/// Passes the counter there and back. From a trial's second batch on, the other process gets ready in a round trip that is not
/// timed; the first one is the cold operation.
pub fn exchange_batch(
    operations: u64,
    is_first: bool,
    (there, back): (BorrowedFd<'_>, BorrowedFd<'_>),
    report: &mut Report,
) -> Result<(), Failure> {
    let mut counter = 0u64;
    let mut hand_over = |operations| {
        hand_over(operations, there, back, &mut counter)
            .map_err(|e| broken_failure("handing the counter over", e))
    };
    let before = u64::from(!is_first);
    hand_over(before)?;
    let stopwatch = hand_over(operations)?;
    prove_count("hands that the counter went through", counter, 2 * (operations + before))?;
    report.add_throughput("round", operations, &stopwatch);
    Ok(())
}

/// On which processors two threads of work run.
#[derive(Clone, Copy, Debug)]
pub enum Placement {
    Free,
    Pinned { there: usize },
}

impl Placement {
    /// Reads the value of [`PIN`], and pins the calling thread as this side.
    pub fn pin_this_side(parameters: &Parameters) -> Result<Placement, Failure> {
        // For each side, the place of its processor among those allowed.
        let words = [("none", None), ("same", Some((0, 0))), ("cross", Some((0, 1)))];
        let Some((here, there)) = parameters.one_of(PIN.name, &words)? else { return Ok(Placement::Free) };
        let allowed = affinity::list_allowed_processors();
        let (Some(&here), Some(&there)) = (allowed.get(here), allowed.get(there)) else {
            let reason = format!(
                "{}={} needs more than {} processors",
                PIN.name,
                parameters.get_text(PIN.name)?,
                allowed.len()
            );
            return Err(Failure::new(FailureKind::NotSupported, reason));
        };
        affinity::pin_to_processor(here)?;
        Ok(Placement::Pinned { there })
    }

    /// Pins the calling thread as the other side. Windows' other side is another program, which pins itself.
    #[cfg_attr(windows, expect(dead_code, reason = "as above"))]
    pub fn pin_other_side(self) -> Result<(), Failure> {
        match self {
            Placement::Free => Ok(()),
            Placement::Pinned { there } => affinity::pin_to_processor(there),
        }
    }
}

crate::timed! {
    /// Sends the counter and takes it back, one higher each time it changes hands.
    fn hand_over(
        operations: u64,
        there: BorrowedFd<'_>,
        back: BorrowedFd<'_>,
        counter: &mut u64,
    ) -> Result<Stopwatch, Errno> {
        let mut stopwatch = Stopwatch::start_new();
        for _ in 0..operations {
            let sent = *counter + 1;
            if write(there, &sent.to_le_bytes())? != 8 {
                return Err(Errno::PIPE);
            }
            let mut bytes = [0; 8];
            if read(back, &mut bytes)? != 8 {
                return Err(Errno::PIPE);
            }
            *counter = u64::from_le_bytes(bytes);
        }
        stopwatch.stop();
        Ok(stopwatch)
    }

    /// Runs the other process: adds one and sends the sum back until the channel is closed. Returns its exit
    /// code.
    pub fn hand_back(from: BorrowedFd<'_>, back: BorrowedFd<'_>) -> i32 {
        let mut bytes = [0; 8];
        loop {
            match read(from, &mut bytes) {
                Ok(8) => {}
                Ok(0) => return 0,
                _ => return 2,
            }
            let next = u64::from_le_bytes(bytes).wrapping_add(1);
            if write(back, &next.to_le_bytes()) != Ok(8) {
                return 3;
            }
        }
    }
}
