//! A filter of system calls, as container engines install: an allow list that the kernel goes through at each call.

use std::io;

use libc::{
    BPF_ABS, BPF_ALU, BPF_AND, BPF_JEQ, BPF_JGE, BPF_JMP, BPF_K, BPF_LD, BPF_RET, BPF_W, SECCOMP_RET_ALLOW,
    SECCOMP_RET_ERRNO, SECCOMP_RET_KILL_PROCESS, sock_filter,
};
use serde::{Deserialize, Serialize};

use crate::containers::call_filter;
use crate::provider::prelude::*;

choice! {
    /// The filter of a container.
    #[derive(Serialize, Deserialize)]
    pub enum Seccomp: "seccomp",
        "the filter of system calls. none; docker: an allow list with Docker's exceptions, the others fail with EPERM; \
         10, 100, 300: that number of rules that allow everything, to see what a rule costs"
    {
        None = "none",
        Docker = "docker",
        Ten = "10",
        Hundred = "100",
        ThreeHundred = "300",
    }
}

/// Calls that Docker's default profile does not allow: what reaches beyond a container, or has no use in one.
const DENIED: &[libc::c_long] = &[
    libc::SYS_acct,
    libc::SYS_add_key,
    libc::SYS_bpf,
    libc::SYS_clock_adjtime,
    libc::SYS_clock_settime,
    libc::SYS_delete_module,
    libc::SYS_fanotify_init,
    libc::SYS_finit_module,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fsopen,
    libc::SYS_fspick,
    libc::SYS_get_mempolicy,
    libc::SYS_init_module,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    libc::SYS_io_uring_setup,
    libc::SYS_kcmp,
    #[cfg(not(target_arch = "riscv64"))]
    libc::SYS_kexec_file_load,
    libc::SYS_kexec_load,
    libc::SYS_keyctl,
    libc::SYS_lookup_dcookie,
    libc::SYS_mbind,
    libc::SYS_migrate_pages,
    libc::SYS_mount,
    libc::SYS_mount_setattr,
    libc::SYS_move_mount,
    libc::SYS_move_pages,
    libc::SYS_nfsservctl,
    libc::SYS_open_by_handle_at,
    libc::SYS_open_tree,
    libc::SYS_perf_event_open,
    libc::SYS_pivot_root,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_quotactl,
    libc::SYS_reboot,
    libc::SYS_request_key,
    libc::SYS_set_mempolicy,
    libc::SYS_setns,
    libc::SYS_settimeofday,
    libc::SYS_swapoff,
    libc::SYS_swapon,
    libc::SYS_umount2,
    libc::SYS_unshare,
    libc::SYS_userfaultfd,
    libc::SYS_vhangup,
];
/// Denied calls that only x86-64 has.
#[cfg(target_arch = "x86_64")]
const DENIED_OLDER: &[libc::c_long] = &[
    libc::SYS_ioperm,
    libc::SYS_iopl,
    libc::SYS__sysctl,
    libc::SYS_sysfs,
    libc::SYS_uselib,
    libc::SYS_ustat,
];
#[cfg(not(target_arch = "x86_64"))]
const DENIED_OLDER: &[libc::c_long] = &[];
/// Last number before those of the second table (424 and up continue it since 5.1), and the last that is allowed.
const OLD: u32 = if cfg!(target_arch = "x86_64") { 334 } else { 294 };
const NEW: std::ops::RangeInclusive<u32> = 424..=462;
/// Flags of clone(2) that make namespaces.
const NEW_NAMESPACES: u32 = 0x7E02_0000;
/// Personalities that a container may choose: Linux with and without 3 GB and random addresses, and the question which.
const PERSONALITIES: [u32; 5] = [0, 0x8, 0x2_0000, 0x2_0008, 0xFFFF_FFFF];
/// Numbers from here on are of the x32 interface of x86-64, and of nothing elsewhere.
const X32: u32 = 0x4000_0000;
/// Offsets in the kernel's description of a call: number, architecture, low half of the first argument.
const NUMBER: u32 = 0;
const ARCHITECTURE: u32 = 4;
const FIRST_ARGUMENT: u32 = 16;
/// This processor in the kernel's audit numbers.
const HERE: u32 = match () {
    () if cfg!(target_arch = "aarch64") => 0xC000_00B7,
    () if cfg!(target_arch = "riscv64") => 0xC000_00F3,
    () => 0xC000_003E,
};

impl Seccomp {
    /// Installs the filter for this process and all that it starts. Without privilege that takes giving up others.
    pub(crate) fn install(self) -> io::Result<()> {
        let mut filter = match self {
            Seccomp::None => return Ok(()),
            Seccomp::Docker => docker(),
            Seccomp::Ten => rules(10),
            Seccomp::Hundred => rules(100),
            Seccomp::ThreeHundred => rules(300),
        };
        call_filter::install_filter(&mut filter)
    }
}

fn step(code: u32, k: u32, jt: u8, jf: u8) -> sock_filter {
    sock_filter { code: code as u16, jt, jf, k }
}

fn load(offset: u32) -> sock_filter {
    step(BPF_LD | BPF_W | BPF_ABS, offset, 0, 0)
}

fn answer(with: u32) -> sock_filter {
    step(BPF_RET | BPF_K, with, 0, 0)
}

fn fails_with(errno: i32) -> u32 {
    SECCOMP_RET_ERRNO | errno as u32
}

/// Skips the next steps unless the loaded word has this value.
fn where_equal(value: u32, steps: u8) -> sock_filter {
    step(BPF_JMP | BPF_JEQ | BPF_K, value, 0, steps)
}

/// Refuses other architectures and x32, as every profile does; leaves the number loaded.
fn prologue() -> Vec<sock_filter> {
    vec![
        load(ARCHITECTURE),
        step(BPF_JMP | BPF_JEQ | BPF_K, HERE, 1, 0),
        answer(SECCOMP_RET_KILL_PROCESS),
        load(NUMBER),
        step(BPF_JMP | BPF_JGE | BPF_K, X32, 0, 1),
        answer(fails_with(libc::ENOSYS)),
    ]
}

/// Builds an allow list, one comparison after the other, as libseccomp lays it out for the engines.
fn docker() -> Vec<sock_filter> {
    let mut filter = prologue();
    let by_argument = [libc::SYS_clone, libc::SYS_clone3, libc::SYS_personality];
    let listed = |number: &u32| {
        let number = libc::c_long::from(*number);
        let lists = [DENIED, DENIED_OLDER, by_argument.as_slice()];
        !lists.iter().any(|list| list.contains(&number))
    };
    for number in (0..=OLD).chain(NEW).filter(listed) {
        filter.extend([where_equal(number, 1), answer(SECCOMP_RET_ALLOW)]);
    }
    // The C library tries clone3, whose flags no filter can read, and then clone.
    filter.extend([where_equal(libc::SYS_clone3 as u32, 1), answer(fails_with(libc::ENOSYS))]);
    filter.extend([
        where_equal(libc::SYS_clone as u32, 4),
        load(FIRST_ARGUMENT),
        step(BPF_ALU | BPF_AND | BPF_K, NEW_NAMESPACES, 0, 0),
        where_equal(0, 1),
        answer(SECCOMP_RET_ALLOW),
    ]);
    filter.extend([
        where_equal(libc::SYS_personality as u32, 1 + 2 * PERSONALITIES.len() as u8),
        load(FIRST_ARGUMENT),
    ]);
    for personality in PERSONALITIES {
        filter.extend([where_equal(personality, 1), answer(SECCOMP_RET_ALLOW)]);
    }
    filter.push(answer(fails_with(libc::EPERM)));
    filter
}

/// Finds comparisons with numbers that no call has, and then everything is allowed.
fn rules(count: u32) -> Vec<sock_filter> {
    let mut filter = prologue();
    filter.extend((0..count).flat_map(|i| [where_equal(X32 - 1 - i, 1), answer(fails_with(libc::EPERM))]));
    filter.push(answer(SECCOMP_RET_ALLOW));
    filter
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Evaluates a filter by the rules of the kernel's interpreter, for the steps that are used here.
    fn answered(filter: &[sock_filter], architecture: u32, number: u32, argument: u32) -> u32 {
        let (mut at, mut word) = (0, 0);
        loop {
            let sock_filter { code, jt, jf, k } = filter[at];
            at += 1;
            match u32::from(code) {
                c if c == BPF_LD | BPF_W | BPF_ABS => {
                    word = match k {
                        NUMBER => number,
                        ARCHITECTURE => architecture,
                        _ => argument,
                    }
                }
                c if c == BPF_ALU | BPF_AND | BPF_K => word &= k,
                c if c == BPF_JMP | BPF_JEQ | BPF_K => at += usize::from(if word == k { jt } else { jf }),
                c if c == BPF_JMP | BPF_JGE | BPF_K => at += usize::from(if word >= k { jt } else { jf }),
                c if c == BPF_RET | BPF_K => return k,
                other => panic!("{other:#x}"),
            }
        }
    }

    #[test]
    fn the_list_allows_what_programs_need_and_refuses_what_reaches_out() {
        let filter = docker();
        let of = |number: libc::c_long, argument| answered(&filter, HERE, number as u32, argument);
        for allowed in
            [libc::SYS_read, libc::SYS_getppid, libc::SYS_execve, libc::SYS_ptrace, libc::SYS_faccessat2]
        {
            assert_eq!(of(allowed, 0), SECCOMP_RET_ALLOW, "{allowed}");
        }
        for denied in DENIED.iter().chain(DENIED_OLDER) {
            assert_eq!(of(*denied, 0), fails_with(libc::EPERM), "{denied}");
        }
        assert_eq!(of(libc::SYS_clone, libc::SIGCHLD as u32), SECCOMP_RET_ALLOW);
        assert_eq!(of(libc::SYS_clone, libc::CLONE_NEWUSER as u32), fails_with(libc::EPERM));
        assert_eq!(of(libc::SYS_clone3, 0), fails_with(libc::ENOSYS));
        assert_eq!(of(libc::SYS_personality, 0x2_0000), SECCOMP_RET_ALLOW);
        assert_eq!(of(libc::SYS_personality, 0x40_0000), fails_with(libc::EPERM));
        assert_eq!(of(9999, 0), fails_with(libc::EPERM));
        assert_eq!(answered(&filter, 0x4000_0003, 0, 0), SECCOMP_RET_KILL_PROCESS);
        assert_eq!(of(libc::c_long::from(X32), 0), fails_with(libc::ENOSYS));
        assert!(filter.len() < 4096, "the kernel takes no more");
    }

    #[test]
    fn counted_rules_allow_everything() {
        for (filter, count) in [(rules(10), 10), (rules(300), 300)] {
            assert_eq!(filter.len(), prologue().len() + 2 * count + 1);
            assert_eq!(answered(&filter, HERE, libc::SYS_mount as u32, 0), SECCOMP_RET_ALLOW);
        }
    }
}
