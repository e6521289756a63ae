//! Extended state: hides processor registers that are more than user-mode Linux before 6.13 has room for.
//!
//! That kernel keeps 2696 bytes for the registers of a process: AVX-512, but not AMX (11008 bytes). Where the
//! processor has more, the host refuses to set them from so short a buffer (EFAULT), and the first process
//! of the guest dies. When the host refuses to read them in the first place, it does without: it saves the
//! SSE registers only. Every page fault then loses the upper halves of the wider ones, so that programs in
//! the guest must not use them: the compiler does not by itself, and the C library gets an order not to.

#![allow(unsafe_code, reason = "the standard library runs code between fork and exec only on promise")]

use std::io;
use std::os::unix::process::CommandExt;
use std::process::Command;

use crate::containers::call_filter::{self, NUMBER, allow_call, fail_call, load_field, skip_unless_equal};

/// Room for the registers of a process in user-mode Linux before 6.13 (HOST_FP_SIZE).
const ROOM_BYTES: u32 = 2696;

/// Environment variable with which the C library in the guest does so, and its value: no wider registers, whatever
/// the processor has. The names are of glibc 2.33 and later, and are passed over where they are unknown.
pub const TUNABLES: (&str, &str) =
    ("GLIBC_TUNABLES", "glibc.cpu.hwcaps=-AVX,-AVX2,-AVX512F,-AVX512VL,-AVX512BW,-AVX_Fast_Unaligned_Load");

/// Tells whether this host's processor has more registers than there is room for.
pub fn is_too_large() -> bool {
    size_bytes().is_some_and(|size| size > ROOM_BYTES)
}

/// Reads the size of all registers that this system has switched on; None on processors that user-mode Linux
/// does not run on.
#[cfg(not(target_arch = "x86_64"))]
fn size_bytes() -> Option<u32> {
    None
}

/// Reads the size of all registers that this system has switched on.
#[cfg(target_arch = "x86_64")]
fn size_bytes() -> Option<u32> {
    use std::arch::x86_64::{__cpuid_count, __get_cpuid_max};
    // Intel's manual, volume 1, 13.2: leaf 13, subleaf 0, EBX.
    const STATE: u32 = 13;
    let (most, _) = __get_cpuid_max(0);
    (most >= STATE).then(|| __cpuid_count(STATE, 0).ebx)
}

/// Lets the command's `ptrace(PTRACE_GETREGSET, ..., NT_X86_XSTATE, ...)` fail with EINVAL.
pub fn hide_extended_state(command: &mut Command) {
    // SAFETY: between fork and exec only system calls are made, and nothing is allocated.
    unsafe { command.pre_exec(refuse) };
}

/// Byte offsets of the call's first and third argument in `struct seccomp_data`.
const FIRST: u32 = 16;
const THIRD: u32 = 32;

fn refuse() -> io::Result<()> {
    const NT_X86_XSTATE: u32 = 0x202;
    const GETREGSET: u32 = 0x4204;
    call_filter::install_filter(&mut [
        load_field(NUMBER),
        skip_unless_equal(libc::SYS_ptrace as u32, 5),
        load_field(FIRST),
        skip_unless_equal(GETREGSET, 3),
        load_field(THIRD),
        skip_unless_equal(NT_X86_XSTATE, 1),
        fail_call(libc::EINVAL),
        allow_call(),
    ])
}
