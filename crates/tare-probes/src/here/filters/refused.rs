//! Refused calls: each is tried in a child of its own, with arguments that every kernel refuses, and the error tells who did.

#![allow(unsafe_code, reason = "calls that no library wraps")]

use libc::*;
use tare_data::facts::keys::{CALLS_REFUSED, CALLS_TRIED};

use super::name_error;
use crate::harness::child::{Child, Ending};
use crate::harness::stopwatch::now_ns;
use crate::here::steps::Noting;

/// Children that a filter may kill before the others are left untried.
const MOST_KILLS: usize = 3;
/// Time for all calls, and for one, in ns: gVisor needs 2 ms for each child.
const LONGEST_NS: u64 = 400_000_000;
const LONGEST_CALL_NS: u64 = 100_000_000;
/// Exit code of a child whose call succeeded, above every number of an error.
const DONE: i32 = 255;
/// All bits: no descriptor, no address, a length beyond every bound, and flags that no kernel knows. Zeros are valid in some calls.
const ALL: [c_long; 6] = [-1; 6];
/// Flags of clone(2) that exclude each other.
const NEW_AND_SHARED: [c_long; 6] = [(CLONE_NEWNS | CLONE_FS) as c_long, 0, 0, 0, 0, 0];
/// Type of socket beyond the last, which is looked at before the family's own code.
const NO_TYPE: c_long = 12;

/// A number that the library lacks.
#[expect(non_upper_case_globals, reason = "named as the library names others")]
const SYS_io_pgetevents: c_long = if cfg!(target_arch = "x86_64") { 333 } else { 292 };

/// A call that is tried; `is_early` where Linux looks at the arguments before it looks at who calls.
struct Tried {
    name: &'static str,
    number: c_long,
    arguments: [c_long; 6],
    is_early: bool,
}

/// Lists calls with the same arguments, by their constants.
macro_rules! calls {
    ($is_early:literal, $arguments:expr, $($number:ident)+) => {
        &[$(Tried {
            name: stringify!($number).split_at(4).1,
            number: $number,
            arguments: $arguments,
            is_early: $is_early,
        }),+]
    };
}

const fn socket(name: &'static str, family: c_int) -> Tried {
    let arguments = [family as c_long, NO_TYPE, 0, 0, 0, 0];
    Tried { name, number: SYS_socket, arguments, is_early: true }
}

/// Calls that are tried, those first that people miss most. A call that is not here counts as not tried.
static TRIED: [&[Tried]; 8] = [
    calls!(true, ALL, SYS_mount SYS_umount2 SYS_chroot SYS_setns SYS_unshare SYS_clone3 SYS_ptrace SYS_execve
        SYS_perf_event_open SYS_process_vm_readv SYS_process_vm_writev SYS_kcmp SYS_keyctl SYS_add_key
        SYS_request_key SYS_seccomp SYS_connect SYS_bind SYS_listen SYS_accept4 SYS_sendto SYS_sendmsg
        SYS_setsockopt SYS_io_uring_enter SYS_io_uring_register SYS_io_setup SYS_io_destroy SYS_io_submit
        SYS_io_cancel SYS_io_getevents SYS_pidfd_open SYS_pidfd_getfd SYS_pidfd_send_signal SYS_process_madvise
        SYS_mbind SYS_set_mempolicy SYS_get_mempolicy SYS_migrate_pages SYS_move_pages SYS_name_to_handle_at
        SYS_open_tree SYS_fsconfig SYS_mount_setattr SYS_fanotify_mark SYS_swapon SYS_quotactl SYS_settimeofday
        SYS_clock_settime SYS_clock_adjtime SYS_adjtimex SYS_ioprio_set SYS_vmsplice SYS_memfd_create
        SYS_landlock_create_ruleset SYS_landlock_add_rule SYS_capset SYS_setuid SYS_setgid SYS_prctl
        SYS_futex_waitv SYS_io_pgetevents SYS_quotactl_fd SYS_set_mempolicy_home_node SYS_remap_file_pages
        SYS_personality),
    calls!(true, NEW_AND_SHARED, SYS_clone),
    #[cfg(target_arch = "x86_64")]
    calls!(true, ALL, SYS_iopl SYS_ioperm SYS_ustat),
    #[cfg(target_arch = "x86_64")]
    // No byte of a table is read.
    calls!(true, [0; 6], SYS_modify_ldt),
    #[cfg(target_arch = "x86_64")]
    calls!(false, ALL, SYS_kexec_file_load),
    #[cfg(not(target_arch = "x86_64"))]
    &[],
    #[cfg(not(target_arch = "x86_64"))]
    &[],
    #[cfg(not(target_arch = "x86_64"))]
    &[],
    &[
        socket("socket(AF_UNIX)", AF_UNIX),
        socket("socket(AF_INET)", AF_INET),
        socket("socket(AF_INET6)", AF_INET6),
        socket("socket(AF_NETLINK)", AF_NETLINK),
        socket("socket(AF_PACKET)", AF_PACKET),
        socket("socket(AF_VSOCK)", AF_VSOCK),
    ],
    calls!(false, ALL, SYS_bpf SYS_userfaultfd SYS_io_uring_setup SYS_pivot_root SYS_sethostname
        SYS_setdomainname SYS_reboot SYS_swapoff SYS_finit_module SYS_delete_module SYS_kexec_load SYS_acct
        SYS_syslog SYS_open_by_handle_at SYS_fsopen SYS_fsmount SYS_fspick SYS_move_mount SYS_fanotify_init),
    // A length of nothing: one beyond every bound is complained of in the kernel's log.
    calls!(false, [-1, 0, -1, 0, 0, 0], SYS_init_module),
];

/// Notes how many calls were tried, and those that were refused, with their answers: `mount:EPERM`, and `mount:EPERM:early` where Linux
/// would have looked at the arguments first.
pub fn note_refused(noting: &mut Noting<'_>) {
    let ends_ns = now_ns() + LONGEST_NS;
    let (mut tried, mut kills, mut refused) = (0, 0, Vec::new());
    for call in TRIED.iter().copied().flatten() {
        if kills >= MOST_KILLS || now_ns() >= ends_ns {
            break;
        }
        let answer = match try_call(call) {
            None => continue,
            Some(Ending::Code(error @ (EPERM | EACCES | ENOSYS))) => Some(name_error(error)),
            Some(Ending::Code(_)) => None,
            Some(Ending::Signal(_)) => {
                kills += 1;
                Some("killed".to_owned())
            }
            // Not told in time: nobody knows.
            Some(Ending::Running) => continue,
        };
        tried += 1;
        let early = if call.is_early { ":early" } else { "" };
        refused.extend(answer.map(|answer| format!("{}:{answer}{early}", call.name)));
    }
    noting.add_fact(CALLS_TRIED, tried.to_string());
    noting.add_fact(CALLS_REFUSED, refused.join(" "));
}

/// Tries a call in a child; None where there is no child, or its end is not told.
fn try_call(call: &Tried) -> Option<Ending> {
    let &Tried { number, arguments: [a, b, c, d, e, f], .. } = call;
    let child = Child::fork(&[], move || {
        // SAFETY: the flag alone; a filter that kills leaves no core file in the user's folder.
        unsafe { prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) };
        // SAFETY: the arguments point nowhere, and the process ends after this.
        let answer = unsafe { syscall(number, a, b, c, d, e, f) };
        if answer == -1 { std::io::Error::last_os_error().raw_os_error().unwrap_or(DONE) } else { DONE }
    });
    let ending = child.ok()?.wait_until(now_ns() + LONGEST_CALL_NS);
    (ending != Ending::Code(0)).then_some(ending)
}
