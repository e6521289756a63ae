//! Open descriptors: those that tare was started with are not for what it starts, and standard output may be none of them.

#![allow(unsafe_code, reason = "descriptors that nothing here owns are known by number")]

use std::fs;
use std::hint::black_box;
use std::sync::atomic::{AtomicBool, Ordering};

/// True when there was no standard output at the start.
static NO_OUTPUT: AtomicBool = AtomicBool::new(false);

/// Tells whether tare was started with its standard output closed. Before `main` the runtime puts /dev/null
/// in its place, where everything that is printed vanishes.
pub fn had_no_output() -> bool {
    // The linker takes along what is used.
    black_box(&LOOK);
    NO_OUTPUT.load(Ordering::Relaxed)
}

extern "C" fn look() {
    // SAFETY: reads a flag of a descriptor and touches no memory; one that is closed is refused.
    let is_closed = unsafe { libc::fcntl(libc::STDOUT_FILENO, libc::F_GETFD) } == -1;
    NO_OUTPUT.store(is_closed, Ordering::Relaxed);
}

// SAFETY: functions of this section are called before `main`, with arguments that one without parameters ignores; this
// one makes a system call and sets a flag, for which the runtime need not be there.
#[used]
#[unsafe(link_section = ".init_array")]
static LOOK: extern "C" fn() = look;

/// Describes the limit of open files where it is so small that runtimes fail by it, in words that may not say so.
pub(crate) fn describe_small_limit(said: &str) -> Option<String> {
    const FEW: u64 = 128;
    let files = rustix::process::getrlimit(rustix::process::Resource::Nofile).current?;
    (files < FEW && !said.contains("open files"))
        .then(|| format!("it may have {files} open files (ulimit -n)"))
}

/// Has programs that are started from now on inherit none of the descriptors that are open: an environment, and whatever
/// runs in it, could read the caller's files through them. And has the kernel keep their ends for this process, whatever the caller
/// ignores: that stays so through an exec.
pub fn keep_from_children() {
    let names = fs::read_dir("/proc/self/fd").into_iter().flatten().flatten();
    let numbers = names.filter_map(|entry| entry.file_name().to_str()?.parse::<libc::c_int>().ok());
    for number in numbers.filter(|number| *number > libc::STDERR_FILENO) {
        // SAFETY: sets a flag of a descriptor and touches no memory; one that is closed by now is refused.
        unsafe { libc::fcntl(number, libc::F_SETFD, libc::FD_CLOEXEC) };
    }
    // SAFETY: sets the default.
    unsafe { libc::signal(libc::SIGCHLD, libc::SIG_DFL) };
}
