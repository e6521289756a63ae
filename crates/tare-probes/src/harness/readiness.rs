//! Waiting until one of several descriptors is ready.

use std::time::Duration;

use rustix::event::{PollFd, Timespec, poll};
use rustix::io::Errno;

/// Waits for at most `longest`; a signal ends the wait with nothing ready. Gives how many are ready.
pub fn wait_ready(waited: &mut [PollFd<'_>], longest: Duration) -> Result<usize, Errno> {
    let longest = Timespec::try_from(longest).map_err(|_| Errno::INVAL)?;
    match poll(waited, Some(&longest)) {
        Err(Errno::INTR) => Ok(0),
        other => other,
    }
}
