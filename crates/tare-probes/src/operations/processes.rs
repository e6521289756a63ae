//! A process that shares its parent's memory, one that becomes another program, and a thread: each from its start until the
//! parent knows of its end.

#![allow(unsafe_code, reason = "clone with a stack of its own, and what the child does on it")]

use std::ffi::CString;

use rustix::io::Errno;
use tare_data::failure::Failure;
use tare_paths::door::Door;

use super::repeated::Loop;
use super::small_program;
use crate::harness::stopwatch::Stopwatch;
use crate::harness::trial::broken_failure;

/// Stack of the child, which only returns.
const STACK: usize = 64 << 10;
/// As vfork(2) and posix_spawn(3) make one: the parent sleeps until the child is done with its memory.
const VFORK: i32 = libc::CLONE_VM | libc::CLONE_VFORK | libc::SIGCHLD;
/// Everything that threads share, except that the parent sees a process of its own, so that wait(2) shows the
/// end.
const THREAD: i32 = libc::CLONE_VM | libc::CLONE_FS | libc::CLONE_FILES | libc::CLONE_SIGHAND | libc::SIGCHLD;

pub fn spawn_program(_: &Door) -> Result<Loop<'_>, Failure> {
    Ok(children(VFORK, nothing, None))
}

pub fn exec_program(folder: &Door) -> Result<Loop<'_>, Failure> {
    let program =
        small_program::write_small_program(folder).map_err(|e| broken_failure("writing a program", e))?;
    Ok(children(VFORK, become_program, Some(program)))
}

pub fn start_thread(_: &Door) -> Result<Loop<'_>, Failure> {
    Ok(children(THREAD, nothing, None))
}

/// Function that a child runs.
type Act = extern "C" fn(*mut libc::c_void) -> libc::c_int;

extern "C" fn nothing(_: *mut libc::c_void) -> libc::c_int {
    0
}

/// Returns only where the program cannot be started.
extern "C" fn become_program(path: *mut libc::c_void) -> libc::c_int {
    let path: *const libc::c_char = path.cast();
    let (arguments, variables) = ([path, std::ptr::null()], [std::ptr::null()]);
    // SAFETY: the parent holds the path, and both lists end with null.
    unsafe { libc::execve(path, arguments.as_ptr(), variables.as_ptr()) };
    127
}

/// Starts children that run one function, with one argument where it takes one.
fn children(flags: i32, act: Act, argument: Option<CString>) -> Loop<'static> {
    let mut stack = vec![0_u128; STACK / size_of::<u128>()];
    Box::new(move |operations| {
        // The argument lives in this loop, and so as long as children are started by it.
        let pointer = argument.as_ref().map_or(std::ptr::null(), |text| text.as_ptr()).cast_mut().cast();
        let (mut right, mut stopwatch) = (0, Stopwatch::start_new());
        for _ in 0..operations {
            right += u64::from(child(flags, (act, pointer), &mut stack)?);
        }
        stopwatch.stop();
        Ok((stopwatch, right))
    })
}

/// Runs one child until wait(2) returns, and reports whether it exited with 0.
#[inline(always)]
fn child(flags: i32, (act, argument): (Act, *mut libc::c_void), stack: &mut [u128]) -> Result<bool, Errno> {
    let top = stack.as_mut_ptr_range().end.cast();
    // SAFETY: the child runs on a stack that lives until it has been waited for; it returns, or becomes another program.
    let pid = unsafe { libc::clone(act, top, flags, argument) };
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
