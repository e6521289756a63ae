//! A process that shares its parent's memory, and a thread: both from their start until the parent knows of their end.

#![allow(unsafe_code, reason = "clone with a stack of its own")]

use std::path::Path;

use rustix::io::Errno;
use tare_data::failure::Failure;

use super::repeated::Loop;
use crate::harness::stopwatch::Stopwatch;

/// Stack of the child, which only returns.
const STACK: usize = 64 << 10;
/// As vfork(2) and posix_spawn(3) make one: the parent sleeps until the child is done with its memory.
const VFORK: i32 = libc::CLONE_VM | libc::CLONE_VFORK | libc::SIGCHLD;
/// What threads share, but for being one process to their parent, so that wait(2) shows the end.
const THREAD: i32 = libc::CLONE_VM | libc::CLONE_FS | libc::CLONE_FILES | libc::CLONE_SIGHAND | libc::SIGCHLD;

pub fn spawn(_: &Path) -> Result<Loop<'_>, Failure> {
    Ok(children(VFORK))
}

pub fn thread(_: &Path) -> Result<Loop<'_>, Failure> {
    Ok(children(THREAD))
}

extern "C" fn nothing(_: *mut libc::c_void) -> libc::c_int {
    0
}

fn children(flags: i32) -> Loop<'static> {
    let mut stack = vec![0_u128; STACK / size_of::<u128>()];
    Box::new(move |operations| {
        let (mut right, mut stopwatch) = (0, Stopwatch::started());
        for _ in 0..operations {
            right += u64::from(child(flags, &mut stack)?);
        }
        stopwatch.stop();
        Ok((stopwatch, right))
    })
}

/// One child, from its start until wait(2) returns; whether it ended with 0.
#[inline(always)]
fn child(flags: i32, stack: &mut [u128]) -> Result<bool, Errno> {
    let top = stack.as_mut_ptr_range().end.cast();
    // SAFETY: the child runs on a stack that lives until it has been waited for, and only returns.
    let pid = unsafe { libc::clone(nothing, top, flags, std::ptr::null_mut()) };
    if pid < 0 {
        return Err(last_error());
    }
    let mut status = -1;
    // SAFETY: `status` lives through the call.
    let waited = unsafe { libc::waitpid(pid, &mut status, libc::__WALL) };
    if waited < 0 { Err(last_error()) } else { Ok(waited == pid && status == 0) }
}

fn last_error() -> Errno {
    Errno::from_raw_os_error(std::io::Error::last_os_error().raw_os_error().unwrap_or(libc::EIO))
}
