//! Waiting with an end: for descriptors that become ready, and for things that come to hold.

use std::io;
use std::thread;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, Timespec, poll};
use rustix::io::Errno;

/// Waits until one of the descriptors is ready; false when the time is up first. A signal does not end the wait.
pub fn until_ready(descriptors: &mut [PollFd<'_>], wait: Duration) -> io::Result<bool> {
    let end = Instant::now() + wait;
    loop {
        let left = end.saturating_duration_since(Instant::now());
        if until_ready_or_signal(descriptors, left)? {
            return Ok(true);
        }
        if left.is_zero() {
            return Ok(false);
        }
    }
}

/// The same, for those who look at a flag when a signal arrives: it ends the wait.
pub fn until_ready_or_signal(descriptors: &mut [PollFd<'_>], wait: Duration) -> io::Result<bool> {
    let wait = Timespec { tv_sec: wait.as_secs() as i64, tv_nsec: wait.subsec_nanos().into() };
    match poll(descriptors, Some(&wait)) {
        Ok(ready) => Ok(ready > 0),
        Err(Errno::INTR) => Ok(false),
        Err(e) => Err(e.into()),
    }
}

/// Looks again and again, with a pause between, until there is something; None when the time is up first.
pub fn until_found<T>(wait: Duration, pause: Duration, mut look: impl FnMut() -> Option<T>) -> Option<T> {
    let end = Instant::now() + wait;
    loop {
        if let Some(found) = look() {
            return Some(found);
        }
        if Instant::now() > end {
            return None;
        }
        thread::sleep(pause);
    }
}

#[cfg(test)]
mod tests {
    use rustix::event::PollFlags;
    use rustix::pipe::pipe;

    use super::*;

    #[test]
    fn a_wait_ends_when_something_is_there_or_the_time_is_up() {
        let (reader, writer) = pipe().unwrap();
        let wait =
            |ms| until_ready(&mut [PollFd::new(&reader, PollFlags::IN)], Duration::from_millis(ms)).unwrap();
        assert!(!wait(1));
        rustix::io::write(&writer, b"x").unwrap();
        assert!(wait(10_000));
        let mut looks = 0;
        let found = until_found(Duration::from_secs(10), Duration::ZERO, || {
            looks += 1;
            (looks == 3).then_some(looks)
        });
        assert_eq!(found, Some(3));
        assert_eq!(until_found(Duration::ZERO, Duration::ZERO, || None::<()>), None);
    }
}
