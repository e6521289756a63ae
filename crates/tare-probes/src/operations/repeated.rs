//! An operation in a loop by itself.

use rustix::io::Errno;

use crate::harness::stopwatch::Stopwatch;

/// Loop of a number of operations: it returns how long they took, and how many did what they should.
pub type Loop<'a> = Box<dyn FnMut(u64) -> Result<(Stopwatch, u64), Errno> + 'a>;

/// A timed loop: does `$body` once an operation, and counts those for which it is true.
macro_rules! timed_loop {
    ($(#[$about:meta])* fn $name:ident($($argument:ident: $type:ty),*) $body:block) => {
        crate::timed! {
            $(#[$about])*
            fn $name(operations: u64 $(, $argument: $type)*) -> Result<(Stopwatch, u64), Errno> {
                let (mut right, mut stopwatch) = (0, Stopwatch::start_new());
                for _ in 0..operations {
                    right += u64::from($body);
                }
                stopwatch.stop();
                Ok((stopwatch, right))
            }
        }
    };
}
pub(super) use timed_loop;
