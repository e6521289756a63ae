//! A program whose getppid takes a known time longer, and that of everything it starts.
//!
//! The kernel hands each call to a thread of this process (seccomp_unotify(2)), which waits for the time by the
//! clock and lets the call go on. Caller and thread share a processor, so that no processor falls asleep and has
//! to wake up: with a delay of zero everything is the same but the wait, and the difference of two delays is the
//! difference of the measurement.

use std::ffi::OsString;
use std::io;
use std::os::fd::{FromRawFd, OwnedFd};
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use rustix::fd::{AsFd, AsRawFd};
use rustix::process::Pid;
use rustix::thread::{CpuSet, sched_setaffinity};

use crate::machine;

/// Requests of seccomp_unotify(2) for this layout of their structures (linux/seccomp.h).
const RECEIVE: libc::Ioctl = 0xc050_2100u32 as libc::Ioctl;
const ANSWER: libc::Ioctl = 0xc018_2101u32 as libc::Ioctl;
/// The flag that lets the call continue as if it had not been intercepted.
const GO_ON: u32 = 1;

/// Runs a program with the delay; its exit code.
pub fn run_with_delay(delay: Duration, words: &[OsString]) -> Result<i32, String> {
    let (program, arguments) = words.split_first().ok_or("no program is named")?;
    let (sender, receiver) = std::sync::mpsc::channel::<OwnedFd>();
    // Started before the filter is there, which holds for the other thread and its children alone.
    thread::spawn(move || {
        if let Ok(calls) = receiver.recv() {
            let _ = wait_on_all(&calls, delay);
        }
    });
    let calls = filter().map_err(|e| format!("the filter of system calls: {e}"))?;
    sender.send(calls).map_err(|e| e.to_string())?;
    let status =
        Command::new(program).args(arguments).status().map_err(|e| format!("{}: {e}", program.display()))?;
    Ok(status.code().unwrap_or(1))
}

/// Reports each getppid of this thread, and of its children, to the holder of the descriptor.
fn filter() -> io::Result<OwnedFd> {
    let statement = |code: u32, k: u32| libc::sock_filter { code: code as u16, jt: 0, jf: 0, k };
    let mut lines = [
        // The number of the call comes first in `struct seccomp_data`.
        statement(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0),
        libc::sock_filter {
            jf: 1,
            ..statement(libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K, libc::SYS_getppid as u32)
        },
        statement(libc::BPF_RET | libc::BPF_K, libc::SECCOMP_RET_USER_NOTIF),
        statement(libc::BPF_RET | libc::BPF_K, libc::SECCOMP_RET_ALLOW),
    ];
    let program = libc::sock_fprog { len: lines.len() as u16, filter: lines.as_mut_ptr() };
    // SAFETY: the program and its lines live through the calls; the descriptor is new and nobody else's.
    unsafe {
        if libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 {
            return Err(io::Error::last_os_error());
        }
        let flags = libc::SECCOMP_FILTER_FLAG_NEW_LISTENER;
        let descriptor = libc::syscall(libc::SYS_seccomp, libc::SECCOMP_SET_MODE_FILTER, flags, &program);
        if descriptor < 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(OwnedFd::from_raw_fd(descriptor as i32))
    }
}

/// Answers every call after the delay, until there is nobody left to make one.
fn wait_on_all(calls: &impl AsFd, delay: Duration) -> io::Result<()> {
    let mut last_pid = 0;
    loop {
        // SAFETY: plain data, for which zeros are valid and which the kernel wants to be zero.
        let mut call: libc::seccomp_notif = unsafe { std::mem::zeroed() };
        control(calls, RECEIVE, &mut call)?;
        let began = Instant::now();
        if call.pid != last_pid {
            last_pid = call.pid;
            share_a_processor(call.pid)?;
        }
        while began.elapsed() < delay {
            std::hint::spin_loop();
        }
        let mut answer = libc::seccomp_notif_resp { id: call.id, val: 0, error: 0, flags: GO_ON };
        control(calls, ANSWER, &mut answer)?;
    }
}

/// Makes an ioctl; a caller that died meanwhile is not an error.
fn control<T>(calls: &impl AsFd, request: libc::Ioctl, value: &mut T) -> io::Result<()> {
    loop {
        // SAFETY: the structure is the one that the request is for, and lives through the call.
        if unsafe { libc::ioctl(calls.as_fd().as_raw_fd(), request, std::ptr::from_mut(value)) } == 0 {
            return Ok(());
        }
        match io::Error::last_os_error() {
            e if e.raw_os_error() == Some(libc::EINTR) => {}
            e if e.raw_os_error() == Some(libc::ENOENT) && request == ANSWER => return Ok(()),
            // Before a call arrived its caller died; the structure must be zero again.
            e if e.raw_os_error() == Some(libc::ENOENT) => {
                // SAFETY: plain data, as above.
                *value = unsafe { std::mem::zeroed() };
            }
            e => return Err(e),
        }
    }
}

fn share_a_processor(pid: u32) -> io::Result<()> {
    let last = machine::list_allowed_processors().pop().ok_or(io::ErrorKind::NotFound)?;
    let mut one = CpuSet::new();
    one.set(last);
    sched_setaffinity(None, &one)?;
    // A thread that is gone by now, or may not be moved, is measured where it runs.
    let _ = sched_setaffinity(Pid::from_raw(pid as i32), &one);
    Ok(())
}
