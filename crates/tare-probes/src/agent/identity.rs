//! Which program this is: what its linker left in it, as the system laid it into memory.

#![allow(unsafe_code, reason = "the program's own headers and notes in memory")]

#[cfg(unix)]
use std::ffi::{c_int, c_void};
use std::slice;

use tare_data::build::Build;
#[cfg(windows)]
use tare_data::build::Laid;
#[cfg(unix)]
use tare_data::build::{NOTES, build_id};

/// Identifies this program. Reads no file: /proc may be missing, and reading would add to the time that a
/// start takes.
#[cfg(unix)]
pub fn identify_program() -> Build {
    let mut digest = String::new();
    // SAFETY: the callback gets the text back as what it is, and only during the call.
    unsafe { libc::dl_iterate_phdr(Some(find), (&raw mut digest).cast()) };
    Build { target: format!("{}-{}", std::env::consts::ARCH, std::env::consts::OS), digest }
}

/// Looks through the notes of the first object, which is the program; 1 ends the iteration.
#[cfg(unix)]
unsafe extern "C" fn find(object: *mut libc::dl_phdr_info, _size: usize, digest: *mut c_void) -> c_int {
    // SAFETY: libc hands over an object that lives through the call, and what `own` gave it.
    let (object, digest) = unsafe { (&*object, &mut *digest.cast::<String>()) };
    // SAFETY: the headers are mapped and never written.
    let headers = unsafe { slice::from_raw_parts(object.dlpi_phdr, object.dlpi_phnum.into()) };
    for header in headers.iter().filter(|header| header.p_type == NOTES) {
        let from = (object.dlpi_addr + header.p_vaddr) as *const u8;
        // SAFETY: linkers lay notes into a loaded segment, which is mapped and read-only.
        let notes = unsafe { slice::from_raw_parts(from, header.p_memsz as usize) };
        if let Some(found) = build_id(notes) {
            *digest = found;
        }
    }
    1
}

/// Identifies this program by the headers at its load address.
#[cfg(windows)]
pub fn identify_program() -> Build {
    use windows_sys::Win32::System::LibraryLoader::GetModuleHandleW;
    use windows_sys::Win32::System::ProcessStatus::{K32GetModuleInformation, MODULEINFO};
    use windows_sys::Win32::System::Threading::GetCurrentProcess;

    // SAFETY: an all-zero struct is valid.
    let mut about: MODULEINFO = unsafe { std::mem::zeroed() };
    let size = size_of::<MODULEINFO>() as u32;
    // SAFETY: the struct has that size and lives through the call.
    let known = unsafe {
        K32GetModuleInformation(GetCurrentProcess(), GetModuleHandleW(std::ptr::null()), &mut about, size)
    };
    if known == 0 {
        return Build::default();
    }
    // SAFETY: the system tells where the program lies, all of which stays mapped as long as it runs.
    let image = unsafe { slice::from_raw_parts(about.lpBaseOfDll.cast::<u8>(), about.SizeOfImage as usize) };
    Build::of_pe(image, Laid::InMemory).unwrap_or_default()
}
