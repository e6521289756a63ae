//! Facts that the first process finds about itself: others would not be traced, or see another vDSO.

#![allow(unsafe_code, reason = "the name of the program is read where the kernel put it")]

use super::bounded::{MOST_BYTES, read_proc_itself};
use super::steps::Noting;
use crate::harness::vdso;
use tare_data::facts::keys::{
    KERNEL_MACHINE, KERNEL_NAME, KERNEL_RELEASE, KERNEL_VERSION, PROCESS_CAPABILITIES, PROCESS_NAME,
    PROCESS_NUMBER, PROCESS_USER, PROGRAM_MACHINE, PROGRAM_NAME, SECCOMP_FILTERS, SECCOMP_MODE,
    SYSTEM_PROCESSES, VDSO, VDSO_RELEASE,
};

/// Notes the kernel's names, the vDSO, and who traces this process.
pub fn note_all(noting: &mut Noting<'_>) {
    let names = rustix::system::uname();
    for (key, name) in [
        (KERNEL_NAME, names.sysname()),
        (KERNEL_RELEASE, names.release()),
        (KERNEL_VERSION, names.version()),
        (KERNEL_MACHINE, names.machine()),
    ] {
        noting.add_fact(key, name.to_string_lossy());
    }
    noting.add_fact(PROGRAM_MACHINE, std::env::consts::ARCH);
    noting.add_fact(PROCESS_NUMBER, rustix::process::getpid().as_raw_nonzero().to_string());
    noting.add_fact(PROCESS_USER, rustix::process::geteuid().as_raw().to_string());
    noting.add_fact(SYSTEM_PROCESSES, rustix::system::sysinfo().procs.to_string());
    noting.add_fact(PROGRAM_NAME, if find_program_name() == own_name() { "its own" } else { "another" });
    noting.add_fact(VDSO, if vdso::map_vdso().is_some() { "present" } else { "absent" });
    noting.add_fact(VDSO_RELEASE, vdso::read_release().unwrap_or_default());
    // A debugger lets forked children go, so that they would not show it.
    let status = read_proc_itself("/proc/self/status", MOST_BYTES).unwrap_or_default();
    for (key, line) in [
        ("tracer", "TracerPid:"),
        (PROCESS_NAME, "Name:"),
        (SECCOMP_MODE, "Seccomp:"),
        (SECCOMP_FILTERS, "Seccomp_filters:"),
        ("process.no_new_privileges", "NoNewPrivs:"),
        (PROCESS_CAPABILITIES, "CapEff:"),
    ] {
        let value = status.lines().find_map(|text| text.strip_prefix(line));
        noting.add_fact(key, value.unwrap_or_default().trim());
    }
}

/// Bytes of a process's name that the kernel keeps.
const NAME_BYTES: usize = 15;

/// Gives the name under which the kernel started this program, as far as it keeps one.
fn find_program_name() -> Vec<u8> {
    // SAFETY: asks for a number.
    let address = unsafe { libc::getauxval(libc::AT_EXECFN) } as usize;
    if address == 0 {
        return Vec::new();
    }
    // SAFETY: the kernel put a text that ends with a zero there, for the life of the process.
    let path = unsafe { std::ffi::CStr::from_ptr(address as *const libc::c_char) }.to_bytes();
    let name = path.rsplit(|byte| *byte == b'/').next().unwrap_or_default();
    name.iter().copied().take(NAME_BYTES).collect()
}

fn own_name() -> Vec<u8> {
    let mut name = [0u8; NAME_BYTES + 1];
    // SAFETY: the call writes at most 16 bytes.
    unsafe { libc::prctl(libc::PR_GET_NAME, name.as_mut_ptr()) };
    name.iter().copied().take_while(|byte| *byte != 0).collect()
}
