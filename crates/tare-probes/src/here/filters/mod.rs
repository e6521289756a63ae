//! Filters: system calls that a filter may answer by death, and room that the filters in force leave. Each changes its process.

#![allow(unsafe_code, reason = "calls that no library wraps")]

pub mod refused;

use super::steps::Noting;
use tare_data::facts::keys::{
    CALL_UNKNOWN, KERNEL_LOG, LANDLOCK_ROOM, PROCESS_POLICY, PROCESS_STORE_BYPASS, PTRACE_REQUEST,
    SECCOMP_BY_CALL, SECCOMP_LISTENER, SECCOMP_ROOM,
};

/// A call that no Linux has, below the numbers of private calls.
const UNKNOWN_CALL: libc::c_long = 999;
/// Longest filter of seccomp, in instructions; see seccomp(2).
const LONGEST_FILTER: usize = 4096;
/// Instructions after which a kernel without a limit is assumed: Linux allows 32768 to all filters of a process.
const MOST_INSTRUCTIONS: usize = 60_000;
/// Rulesets that are stacked: Linux allows 16.
const MOST_RULESETS: u32 = 20;
/// Bytes of the kernel's log that are read, and words in it by which a kernel is known.
const LOG_BYTES: usize = 64 << 10;
const LOG_WORDS: [&str; 4] = ["Starting gVisor", "FIRECK", "User Mode Linux", "UML running"];

/// Notes what the process may do and how its speculation is restricted, which changes nothing.
pub fn note_process(noting: &mut Noting<'_>) {
    const SPECULATION: libc::c_int = 52;
    const STORE_BYPASS: libc::c_ulong = 0;
    /// Bits of the answer: disabled, and disabled for good.
    const DISABLED: libc::c_int = 4 | 8;
    // SAFETY: asks for a number.
    let mode = unsafe { libc::prctl(libc::PR_GET_SECCOMP) };
    noting.add_fact(SECCOMP_BY_CALL, if mode >= 0 { mode.to_string() } else { "refused".to_owned() });
    // SAFETY: as above.
    let bypass = unsafe { libc::prctl(SPECULATION, STORE_BYPASS, 0, 0, 0) };
    noting.add_fact(PROCESS_STORE_BYPASS, if bypass > 0 && bypass & DISABLED != 0 { "disabled" } else { "" });
    // SAFETY: as above.
    let policy = unsafe { libc::sched_getscheduler(0) };
    noting.add_fact(PROCESS_POLICY, if policy == libc::SCHED_IDLE { "idle" } else { "" });
}

/// Notes the answer to a call that does not exist.
pub fn note_unknown_call(noting: &mut Noting<'_>) {
    // SAFETY: no kernel knows the call, and its arguments point nowhere.
    let answer = unsafe { libc::syscall(UNKNOWN_CALL, -1, 0, -1, -1, -1, -1) };
    noting.add_fact(CALL_UNKNOWN, if answer == -1 { last_error() } else { "done".to_owned() });
}

/// Notes whether this process, which nobody has to trace, can ask to be traced.
pub fn note_tracing(noting: &mut Noting<'_>) {
    // SAFETY: the process ends after this.
    let asked = unsafe { libc::ptrace(libc::PTRACE_TRACEME, 0, 0, 0) };
    noting.add_fact(PTRACE_REQUEST, if asked == 0 { "done".to_owned() } else { last_error() });
}

/// Notes words of the kernel's log.
pub fn note_kernel_log(noting: &mut Noting<'_>) {
    const READ_ALL: libc::c_int = 3;
    let mut log = vec![0u8; LOG_BYTES];
    // SAFETY: the buffer lives through the call, which writes at most as much.
    let read = unsafe { libc::klogctl(READ_ALL, log.as_mut_ptr().cast(), LOG_BYTES as libc::c_int) };
    let Ok(read) = usize::try_from(read) else { return };
    let log = String::from_utf8_lossy(&log[..read.min(LOG_BYTES)]).into_owned();
    let found: Vec<&str> = LOG_WORDS.into_iter().filter(|word| log.contains(word)).collect();
    noting.add_fact(KERNEL_LOG, found.join("; "));
}

/// Notes how many rulesets of Landlock can be stacked before the kernel refuses another: `16 E2BIG`.
pub fn note_landlock_room(noting: &mut Noting<'_>) {
    const CREATE_RULESET: libc::c_long = 444;
    const RESTRICT_SELF: libc::c_long = 446;
    // The right to execute: a ruleset has to handle one.
    let handled: u64 = 1;
    forbid_new_privileges();
    let refusal = (0..MOST_RULESETS).find_map(|stacked| {
        // SAFETY: the ruleset lives through the call, which reads 8 bytes.
        let ruleset = unsafe { libc::syscall(CREATE_RULESET, &raw const handled, size_of::<u64>(), 0) };
        if ruleset < 0 {
            return Some((stacked, last_error()));
        }
        // SAFETY: the descriptor was just given to us.
        let restricted = unsafe { libc::syscall(RESTRICT_SELF, ruleset, 0) };
        let refused = (restricted != 0).then(|| (stacked, last_error()));
        // SAFETY: as above, and nobody else knows it.
        unsafe { libc::close(ruleset as libc::c_int) };
        refused
    });
    let (stacked, why) = refusal.unwrap_or((MOST_RULESETS, "none".to_owned()));
    noting.add_fact(LANDLOCK_ROOM, format!("{stacked} {why}"));
}

/// Instruction that allows the call.
const ALLOW: libc::sock_filter = libc::sock_filter {
    code: (libc::BPF_RET | libc::BPF_K) as u16,
    jt: 0,
    jf: 0,
    k: libc::SECCOMP_RET_ALLOW,
};

/// Notes how many instructions further filters may have: `32660 9 ENOMEM`, with the number of filters that were added.
pub fn note_seccomp_room(noting: &mut Noting<'_>) {
    const NOTHING: libc::sock_filter =
        libc::sock_filter { code: (libc::BPF_LD | libc::BPF_IMM) as u16, jt: 0, jf: 0, k: 0 };
    forbid_new_privileges();
    let (mut added, mut filters, mut length, mut why) = (0, 0, LONGEST_FILTER, "none".to_owned());
    while length > 0 && added < MOST_INSTRUCTIONS {
        let mut filter = vec![NOTHING; length];
        filter[length - 1] = ALLOW;
        let program = libc::sock_fprog { len: length as libc::c_ushort, filter: filter.as_mut_ptr() };
        // SAFETY: the program and its instructions live through the call.
        let done =
            unsafe { libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &raw const program) };
        if done == 0 {
            (added, filters) = (added + length, filters + 1);
            continue;
        }
        why = last_error();
        if why != "ENOMEM" {
            break;
        }
        length /= 2;
    }
    let why = if added >= MOST_INSTRUCTIONS { "none" } else { &why };
    noting.add_fact(SECCOMP_ROOM, format!("{added} {filters} {why}"));
}

/// Notes the answer to a filter that asks for a listener: the kernel refuses it where an earlier one has one (EBUSY).
pub fn note_listener(noting: &mut Noting<'_>) {
    const SET_FILTER: libc::c_long = 1;
    const NEW_LISTENER: libc::c_long = 1 << 3;
    let mut allow = ALLOW;
    let program = libc::sock_fprog { len: 1, filter: &raw mut allow };
    forbid_new_privileges();
    // SAFETY: the program and its instruction live through the call; the filter allows every call of this process, which ends.
    let set = unsafe { libc::syscall(libc::SYS_seccomp, SET_FILTER, NEW_LISTENER, &raw const program) };
    noting.add_fact(SECCOMP_LISTENER, if set < 0 { last_error() } else { "free".to_owned() });
}

fn forbid_new_privileges() {
    // SAFETY: sets a bit of this process, which ends after the step.
    unsafe { libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) };
}

/// Formats the last error as its constant, where it is one that these calls give.
fn last_error() -> String {
    name_error(std::io::Error::last_os_error().raw_os_error().unwrap_or_default())
}

/// Formats an error as its constant.
pub(super) fn name_error(number: i32) -> String {
    let known = [
        (libc::EPERM, "EPERM"),
        (libc::ENOSYS, "ENOSYS"),
        (libc::EACCES, "EACCES"),
        (libc::EINVAL, "EINVAL"),
        (libc::ENOMEM, "ENOMEM"),
        (libc::E2BIG, "E2BIG"),
        (libc::EBUSY, "EBUSY"),
        (libc::EOPNOTSUPP, "EOPNOTSUPP"),
    ];
    let name = known.iter().find(|(known, _)| *known == number);
    name.map_or_else(|| format!("error {number}"), |(_, name)| (*name).to_owned())
}
