//! A filter of system calls that a program starts with: a call fails there as if the kernel did not know it.

#![allow(unsafe_code, reason = "a seccomp filter is a pointer to a program")]

use std::io;

/// Byte offset of the call's number in `struct seccomp_data`.
pub const NUMBER: u32 = 0;

/// Has this process, and all that it starts, under the filter from now on. Only system calls, so that it may run
/// between fork and exec.
pub fn install_filter(lines: &mut [libc::sock_filter]) -> io::Result<()> {
    let program = libc::sock_fprog { len: lines.len() as u16, filter: lines.as_mut_ptr() };
    // SAFETY: the program and its lines live through the call that copies them.
    unsafe {
        if libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0
            || libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &program) != 0
        {
            return Err(io::Error::last_os_error());
        }
    }
    Ok(())
}

/// Loads the field at an offset.
pub const fn load_field(offset: u32) -> libc::sock_filter {
    statement(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, offset)
}

/// Goes on when what was loaded is equal, and otherwise `after` lines further.
pub const fn skip_unless_equal(value: u32, after: u8) -> libc::sock_filter {
    let line = statement(libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K, value);
    libc::sock_filter { jf: after, ..line }
}

/// Lets the call fail.
pub const fn fail_call(errno: i32) -> libc::sock_filter {
    give(libc::SECCOMP_RET_ERRNO | errno as u32)
}

/// Lets the call through.
pub const fn allow_call() -> libc::sock_filter {
    give(libc::SECCOMP_RET_ALLOW)
}

const fn give(value: u32) -> libc::sock_filter {
    statement(libc::BPF_RET | libc::BPF_K, value)
}

const fn statement(code: u32, k: u32) -> libc::sock_filter {
    libc::sock_filter { code: code as u16, jt: 0, jf: 0, k }
}
