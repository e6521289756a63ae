//! This machine: what distinguishes it from others, since when it runs, and the memory that it has left.

#![allow(unsafe_code, reason = "the system is called by its C interface")]

use std::mem;
use std::os::windows::ffi::OsStrExt;
use std::path::Path;
use std::ptr;

use windows_sys::Wdk::System::SystemInformation::{NtQuerySystemInformation, SystemTimeOfDayInformation};
use windows_sys::Win32::Storage::FileSystem::GetDiskFreeSpaceExW;
use windows_sys::Win32::System::Registry::{HKEY_LOCAL_MACHINE, RRF_RT_REG_SZ, RegGetValueW};
use windows_sys::Win32::System::SystemInformation::{
    ComputerNameDnsHostname, GetComputerNameExW, GlobalMemoryStatusEx, MEMORYSTATUSEX,
};
use windows_sys::w;

/// Longest text that is read: a name of 63 letters, or a number of 36.
const LONGEST: usize = 256;
/// Numbers of 8 bytes in an answer whose first number is the time at which the machine was started.
const TIMES: usize = 6;

/// Returns this machine's name in its network.
pub(crate) fn node_name() -> String {
    let mut name = [0u16; LONGEST];
    let mut length = LONGEST as u32;
    // SAFETY: the text has that length, and both live through the call.
    match unsafe { GetComputerNameExW(ComputerNameDnsHostname, name.as_mut_ptr(), &mut length) } {
        0 => String::new(),
        _ => String::from_utf16_lossy(&name[..length as usize]),
    }
}

/// Reads an id that no other machine has, unless it was cloned: it was set up with the system.
pub(crate) fn machine_id() -> String {
    let mut text = [0u16; LONGEST];
    let mut bytes = mem::size_of_val(&text) as u32;
    // SAFETY: the names end with zeros; the text has that many bytes, and all live through the call.
    let failed = unsafe {
        RegGetValueW(
            HKEY_LOCAL_MACHINE,
            w!("SOFTWARE\\Microsoft\\Cryptography"),
            w!("MachineGuid"),
            RRF_RT_REG_SZ,
            ptr::null_mut(),
            text.as_mut_ptr().cast(),
            &mut bytes,
        )
    };
    let end = text.iter().position(|&unit| unit == 0).unwrap_or(0);
    if failed == 0 { String::from_utf16_lossy(&text[..end]) } else { String::new() }
}

/// Identifies the boot by the time at which the machine was started, as the system counts it: another number
/// after each boot, and after the clock was set.
pub(crate) fn boot_id() -> String {
    let mut times = [0u64; TIMES];
    let size = mem::size_of_val(&times) as u32;
    // SAFETY: the numbers have that size, and live through the call.
    let failed = unsafe {
        NtQuerySystemInformation(SystemTimeOfDayInformation, times.as_mut_ptr().cast(), size, ptr::null_mut())
    };
    if failed == 0 { times[0].to_string() } else { String::new() }
}

/// Reads how much room is left for this user's files on the disk of a folder.
pub(crate) fn free_bytes(folder: &Path) -> Option<u64> {
    let name: Vec<u16> = folder.as_os_str().encode_wide().chain([0]).collect();
    let mut free = 0u64;
    // SAFETY: the name ends with zero, and both live through the call; the other two counts are not wanted.
    let done = unsafe { GetDiskFreeSpaceExW(name.as_ptr(), &mut free, ptr::null_mut(), ptr::null_mut()) };
    (done != 0).then_some(free)
}

/// Reads how much memory is available without paging.
pub(crate) fn available_bytes() -> Option<u64> {
    // SAFETY: an all-zero struct is valid.
    let mut about: MEMORYSTATUSEX = unsafe { mem::zeroed() };
    about.dwLength = mem::size_of_val(&about) as u32;
    // SAFETY: the struct says its size, and lives through the call.
    (unsafe { GlobalMemoryStatusEx(&mut about) } != 0).then_some(about.ullAvailPhys)
}
