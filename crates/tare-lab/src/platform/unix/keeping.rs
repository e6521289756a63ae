//! A keeper: a process between this one and a command, where no control group may be made. Whatever the command leaves running gets
//! the keeper as its parent, so that it is known as a descendant, and no other start's.

#![allow(unsafe_code, reason = "a process is made between fork and exec")]

use std::io;
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::ptr;

use rustix::process::{
    Pid, Signal, WaitOptions, WaitStatus, kill_process, set_parent_process_death_signal, setsid, wait,
};

/// Descriptors that are closed where the kernel cannot close all at once: more than a session has.
const MOST_DESCRIPTORS: libc::c_int = 1024;

/// Has a keeper start the command, once all else is prepared. It ends after the last of the command's descendants, as the command ended.
pub(crate) fn keep_descendants(command: &mut Command) {
    let keep = || {
        // SAFETY: sets flags of this process, which has one thread, and makes another like fork(2); nothing is allocated.
        let made = unsafe {
            libc::prctl(libc::PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
            libc::sigprocmask(libc::SIG_BLOCK, &list_signals(), ptr::null_mut());
            libc::syscall(libc::SYS_clone, libc::SIGCHLD, 0, 0, 0, 0)
        };
        match made {
            -1 => Err(io::Error::last_os_error()),
            0 => {
                // SAFETY: as above.
                unsafe { libc::sigprocmask(libc::SIG_UNBLOCK, &list_signals(), ptr::null_mut()) };
                // A signal to its group does not reach the keeper, and it ends with the keeper as it would have with this process.
                setsid()?;
                Ok(set_parent_process_death_signal(Some(Signal::KILL))?)
            }
            // SAFETY: this process does nothing else from here on.
            command => unsafe { libc::_exit(keep_until_last(command as i32)) },
        }
    };
    // SAFETY: between fork and exec only system calls are made, and nothing is allocated.
    unsafe { command.pre_exec(keep) };
}

/// Lists the signals that a keeper waits for: a child has ended, and its parent has.
fn list_signals() -> libc::sigset_t {
    // SAFETY: a set of signals is numbers, and made empty first.
    unsafe {
        let mut set = std::mem::zeroed();
        libc::sigemptyset(&mut set);
        libc::sigaddset(&mut set, libc::SIGCHLD);
        libc::sigaddset(&mut set, libc::SIGTERM);
        set
    }
}

/// Waits for all descendants; returns the command's exit code. Once this process' parent has died, the command is killed, and the
/// keeper stays: by it a cleaning finds the rest.
fn keep_until_last(command: i32) -> i32 {
    // SAFETY: none of the descriptors is used in this process any more.
    unsafe {
        if libc::syscall(libc::SYS_close_range, 0, libc::c_uint::MAX, 0) != 0 {
            for number in 0..MOST_DESCRIPTORS {
                libc::close(number);
            }
        }
    }
    let _ = set_parent_process_death_signal(Some(Signal::TERM));
    let mut code = 0;
    loop {
        match wait(WaitOptions::NOHANG) {
            Ok(Some((pid, status))) if pid.as_raw_pid() == command => code = read_code(status),
            Ok(Some(_)) => {}
            // SAFETY: the call writes nothing.
            Ok(None) if unsafe { libc::sigwaitinfo(&list_signals(), ptr::null_mut()) } == libc::SIGTERM => {
                let _ = Pid::from_raw(command).map(|command| kill_process(command, Signal::KILL));
            }
            Ok(None) => {}
            Err(_) => return code,
        }
    }
}

fn read_code(status: WaitStatus) -> i32 {
    status.exit_status().or_else(|| Some(128 + status.terminating_signal()?)).unwrap_or(1)
}

#[cfg(test)]
mod tests {
    use std::thread;
    use std::time::{Duration, Instant};

    use super::*;
    use crate::platform::processes::{Signs, die_with_parent};

    #[test]
    fn what_a_command_leaves_descends_from_its_keeper() {
        let seconds = format!("8{}", std::process::id());
        let mut command = Command::new("sh");
        command.args(["-c", "setsid -f env -i sleep $0; exit 3", &seconds]);
        die_with_parent(&mut command);
        keep_descendants(&mut command);
        let mut keeper = command.spawn().unwrap();
        let signs = Signs::from_descent(keeper.id());
        let lines = || {
            let found = signs.find_processes().into_keys();
            let lines = found.map(|pid| std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default());
            lines.filter(|line| line.starts_with(b"sleep\0")).count()
        };
        let end = Instant::now() + Duration::from_secs(60);
        while (lines() == 0 || signs.find_processes().len() > 2) && Instant::now() < end {
            thread::sleep(Duration::from_millis(5));
        }
        assert_eq!((lines(), signs.find_processes().len()), (1, 2));
        assert!(keeper.try_wait().unwrap().is_none());
        // The keeper ends by itself after the last, unless it is killed before.
        assert!(signs.kill_processes().1.is_empty());
        assert!(keeper.wait().unwrap().code().is_none_or(|code| code == 3));
    }

    #[test]
    fn a_command_that_leaves_nothing_ends_as_without_a_keeper() {
        let run = |words: &str| {
            let mut command = Command::new("sh");
            keep_descendants(command.args(["-c", words]));
            let output = command.output().unwrap();
            (String::from_utf8(output.stdout).unwrap(), output.status.code())
        };
        assert_eq!(run("echo x; exit 7"), ("x\n".to_owned(), Some(7)));
        assert_eq!(run("kill -9 $$"), (String::new(), Some(137)));
        let mut missing = Command::new("/no/such/program");
        keep_descendants(&mut missing);
        assert_eq!(missing.spawn().unwrap_err().kind(), io::ErrorKind::NotFound);
    }
}
