//! Waiting with an end for things that come to hold.

use std::thread;
use std::time::{Duration, Instant};

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
    use super::*;

    #[test]
    fn a_look_is_repeated_until_there_is_something_or_the_time_is_up() {
        let mut looks = 0;
        let found = until_found(Duration::from_secs(10), Duration::ZERO, || {
            looks += 1;
            (looks == 3).then_some(looks)
        });
        assert_eq!(found, Some(3));
        assert_eq!(until_found(Duration::ZERO, Duration::ZERO, || None::<()>), None);
    }
}
