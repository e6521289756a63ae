//! Standard output: whether the program was started without one.
//!
//! Before `main`, the runtime puts /dev/null in the place of one that is closed, and whatever is printed vanishes.

use std::os::fd::BorrowedFd;
use std::sync::atomic::{AtomicBool, Ordering};

/// Its number (stdin(3)).
const STANDARD_OUTPUT: i32 = 1;

static WAS_CLOSED: AtomicBool = AtomicBool::new(false);

/// Whether there was none when the program was started.
pub fn was_closed() -> bool {
    WAS_CLOSED.load(Ordering::Relaxed)
}

extern "C" fn look() {
    // SAFETY: the number is only looked at, which is an error where nothing is open.
    let output = unsafe { BorrowedFd::borrow_raw(STANDARD_OUTPUT) };
    let is_closed = rustix::io::fcntl_getfd(output).is_err();
    WAS_CLOSED.store(is_closed, Ordering::Relaxed);
}

// SAFETY: functions of this section are called before `main`, with arguments that one without parameters ignores; this
// one makes a system call and sets a flag, for which the runtime need not be there.
#[used]
#[unsafe(link_section = ".init_array")]
static LOOK: extern "C" fn() = look;
