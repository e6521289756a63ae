//! The alarm of a process: SIGALRM after a given time, which ends the process or only the call that it waits in.

#![allow(unsafe_code, reason = "signal handlers and timers")]

/// Makes SIGALRM end a wait instead of the process.
pub(crate) fn wake_on_alarm() {
    extern "C" fn nothing(_: libc::c_int) {}
    let handler: extern "C" fn(libc::c_int) = nothing;
    // SAFETY: an all-zero sigaction is valid: no flags, so that waits are not restarted, and an empty mask.
    let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
    action.sa_sigaction = handler as libc::sighandler_t;
    // SAFETY: the handler does nothing; the struct lives through the call.
    unsafe { libc::sigaction(libc::SIGALRM, &action, std::ptr::null_mut()) };
}

/// Sends SIGALRM to this process after `after_ms`, and every second from then on; 0 turns it off.
pub(crate) fn set_alarm(after_ms: u64) {
    let value = libc::timeval {
        tv_sec: (after_ms / 1000) as libc::time_t,
        tv_usec: (after_ms % 1000 * 1000) as libc::suseconds_t,
    };
    let interval = libc::timeval { tv_sec: 1, tv_usec: 0 };
    let timer = libc::itimerval { it_interval: interval, it_value: value };
    // SAFETY: the struct is whole and lives through the call.
    unsafe { libc::setitimer(libc::ITIMER_REAL, &timer, std::ptr::null_mut()) };
}
