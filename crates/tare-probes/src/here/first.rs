//! Facts that the first process finds about itself: others would not be traced, or see another vDSO.

#![allow(unsafe_code, reason = "the vDSO is read where the kernel mapped it")]

use super::bounded::{MOST_BYTES, read_proc_itself};
use super::steps::Noting;
use tare_data::facts::keys::{
    KERNEL_MACHINE, KERNEL_NAME, KERNEL_RELEASE, KERNEL_VERSION, PROCESS_NAME, PROCESS_NUMBER,
    PROGRAM_MACHINE, PROGRAM_NAME, SECCOMP_FILTERS, SECCOMP_MODE, SYSTEM_PROCESSES, VDSO, VDSO_RELEASE,
};

/// Bytes at the beginning of the vDSO in which its notes lie: a page, which always is there whole.
const VDSO_BYTES: usize = 4096;
/// Sizes and offsets of an ELF file of 64 bits, and of a note in it; see elf(5).
const PROGRAM_HEADERS_AT: usize = 32;
const PROGRAM_HEADER_BYTES: usize = 56;
const PROGRAM_HEADER_COUNT_AT: usize = 56;
const MOST_PROGRAM_HEADERS: usize = 16;
const NOTE: u32 = 4;

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
    noting.add_fact(SYSTEM_PROCESSES, rustix::system::sysinfo().procs.to_string());
    noting.add_fact(PROGRAM_NAME, if find_program_name() == own_name() { "its own" } else { "another" });
    let vdso = map_vdso();
    noting.add_fact(VDSO, if vdso.is_some() { "present" } else { "absent" });
    noting.add_fact(VDSO_RELEASE, vdso.and_then(find_release).unwrap_or_default());
    // A debugger lets forked children go, so that they would not show it.
    let status = read_proc_itself("/proc/self/status", MOST_BYTES).unwrap_or_default();
    for (key, line) in [
        ("tracer", "TracerPid:"),
        (PROCESS_NAME, "Name:"),
        (SECCOMP_MODE, "Seccomp:"),
        (SECCOMP_FILTERS, "Seccomp_filters:"),
        ("process.no_new_privileges", "NoNewPrivs:"),
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

/// Gives the first page of the vDSO; None where the kernel mapped none.
fn map_vdso() -> Option<&'static [u8]> {
    // SAFETY: asks for a number.
    let address = unsafe { libc::getauxval(libc::AT_SYSINFO_EHDR) } as usize;
    // SAFETY: the kernel maps the vDSO there for the life of the process, in whole pages.
    (address != 0).then(|| unsafe { std::slice::from_raw_parts(address as *const u8, VDSO_BYTES) })
}

/// Finds the release of Linux in the notes of a vDSO, which uname(2) cannot change: `6.18.44`.
pub(super) fn find_release(vdso: &[u8]) -> Option<String> {
    if !vdso.starts_with(b"\x7fELF\x02") {
        return None;
    }
    let headers_at = usize::try_from(number::<8>(vdso, PROGRAM_HEADERS_AT)?).ok()?;
    let count = number::<2>(vdso, PROGRAM_HEADER_COUNT_AT)? as usize;
    (0..count.min(MOST_PROGRAM_HEADERS)).find_map(|index| {
        let header = vdso.get(headers_at.checked_add(index * PROGRAM_HEADER_BYTES)?..)?;
        if number::<4>(header, 0)? as u32 != NOTE {
            return None;
        }
        let (from, size) = (number::<8>(header, 8)? as usize, number::<8>(header, 32)? as usize);
        release_in_notes(vdso.get(from..from.checked_add(size)?)?)
    })
}

fn release_in_notes(mut notes: &[u8]) -> Option<String> {
    let padded = |length: u64| (length as usize).checked_next_multiple_of(4);
    loop {
        let (name, about, kind) = (number::<4>(notes, 0)?, number::<4>(notes, 4)?, number::<4>(notes, 8)?);
        let about_at = 12usize.checked_add(padded(name)?)?;
        if kind == 0 && notes.get(12..18)? == b"Linux\0" {
            let code = number::<4>(notes, about_at)?;
            return Some(format!("{}.{}.{}", code >> 16, code >> 8 & 0xff, code & 0xff));
        }
        notes = notes.get(about_at.checked_add(padded(about)?)?..)?;
    }
}

/// Reads a number of as many bytes.
fn number<const BYTES: usize>(bytes: &[u8], at: usize) -> Option<u64> {
    let bytes: &[u8; BYTES] = bytes.get(at..)?.first_chunk()?;
    let mut whole = [0; 8];
    whole[..BYTES].copy_from_slice(bytes);
    Some(u64::from_le_bytes(whole))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_release_is_found_among_notes() {
        let note = |name: &[u8], kind: u32, about: &[u8]| {
            let mut bytes = [(name.len() as u32).to_le_bytes(), (about.len() as u32).to_le_bytes()].concat();
            bytes.extend(kind.to_le_bytes());
            bytes.extend(name);
            bytes.resize(bytes.len().next_multiple_of(4), 0);
            bytes.extend(about);
            bytes
        };
        let release = (6u32 << 16 | 1 << 8 | 147).to_le_bytes();
        let notes = [note(b"GNU\0", 3, &[1; 20]), note(b"Linux\0", 0, &release)].concat();
        assert_eq!(release_in_notes(&notes).as_deref(), Some("6.1.147"));
        assert_eq!(release_in_notes(&notes[..40]), None);
        assert_eq!(release_in_notes(&[0xff; 64]), None);
        assert_eq!(find_release(b"\x7fELF\x02 too short"), None);
    }

    #[test]
    fn this_kernel_names_itself_twice() {
        let names = rustix::system::uname();
        let release = names.release().to_string_lossy().into_owned();
        if let Some(found) = map_vdso().and_then(find_release) {
            assert!(release.starts_with(found.rsplit_once('.').unwrap().0), "{found} {release}");
        }
    }
}
