//! Facts that the agent can find out on Windows: the system, its processors, its clock, its memory.

#![allow(unsafe_code, reason = "the system is called by its C interface")]

use std::ffi::{CStr, c_char};
use tare_data::facts::keys::{CPU_COUNT, KERNEL_MACHINE, KERNEL_NAME, KERNEL_RELEASE, MEMORY_TOTAL_BYTES};

use tare_data::facts::Facts;
use windows_sys::Wdk::System::SystemServices::RtlGetVersion;
use windows_sys::Win32::System::LibraryLoader::{GetModuleHandleW, GetProcAddress};
use windows_sys::Win32::System::SystemInformation::{GlobalMemoryStatusEx, MEMORYSTATUSEX, OSVERSIONINFOW};
use windows_sys::w;

use super::clock;
use crate::platform::system_info;

pub fn note_all(facts: &mut Facts) {
    facts.add_fact(KERNEL_NAME, "Windows");
    facts.add_fact(KERNEL_RELEASE, release());
    facts.add_fact(KERNEL_MACHINE, std::env::consts::ARCH);
    facts.add_fact("wine.version", wine_version().unwrap_or_default());
    let about = system_info();
    facts.add_fact(CPU_COUNT, about.dwNumberOfProcessors.to_string());
    facts.add_fact("memory.page_bytes", about.dwPageSize.to_string());
    facts.add_fact(MEMORY_TOTAL_BYTES, memory_bytes().map(|bytes| bytes.to_string()).unwrap_or_default());
    clock::note_all(facts);
}

/// Formats the system's version, as `10.0.19045`.
fn release() -> String {
    // SAFETY: an all-zero struct is valid.
    let mut about: OSVERSIONINFOW = unsafe { std::mem::zeroed() };
    about.dwOSVersionInfoSize = std::mem::size_of_val(&about) as u32;
    // SAFETY: the struct says its size, and lives through the call, which cannot fail then.
    unsafe { RtlGetVersion(&mut about) };
    format!("{}.{}.{}", about.dwMajorVersion, about.dwMinorVersion, about.dwBuildNumber)
}

fn memory_bytes() -> Option<u64> {
    // SAFETY: an all-zero struct is valid.
    let mut about: MEMORYSTATUSEX = unsafe { std::mem::zeroed() };
    about.dwLength = std::mem::size_of_val(&about) as u32;
    // SAFETY: the struct says its size, and lives through the call.
    (unsafe { GlobalMemoryStatusEx(&mut about) } != 0).then_some(about.ullTotalPhys)
}

/// Reads Wine's version; only its library has the function.
fn wine_version() -> Option<String> {
    // SAFETY: the names end with zeros; the library is loaded in every process and stays.
    let function =
        unsafe { GetProcAddress(GetModuleHandleW(w!("ntdll.dll")), c"wine_get_version".as_ptr().cast()) }?;
    // SAFETY: Wine documents this signature.
    let function: unsafe extern "system" fn() -> *const c_char = unsafe { std::mem::transmute(function) };
    // SAFETY: it gives a text that ends with a zero and stays.
    Some(unsafe { CStr::from_ptr(function()) }.to_string_lossy().into_owned())
}
