//! Open descriptors: those that tare was started with are not for what it starts.

#![allow(unsafe_code, reason = "descriptors that nothing here owns are known by number")]

use std::fs;

/// Has programs that are started from now on inherit none of the descriptors that are open: an environment, and whatever
/// runs in it, could read the caller's files through them.
pub fn keep_from_children() {
    let names = fs::read_dir("/proc/self/fd").into_iter().flatten().flatten();
    let numbers = names.filter_map(|entry| entry.file_name().to_str()?.parse::<libc::c_int>().ok());
    for number in numbers.filter(|number| *number > libc::STDERR_FILENO) {
        // SAFETY: sets a flag of a descriptor and touches no memory; one that is closed by now is refused.
        unsafe { libc::fcntl(number, libc::F_SETFD, libc::FD_CLOEXEC) };
    }
}
