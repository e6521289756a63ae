//! Affinity on Windows: which processors a process may run on, of the first 64.

#![allow(unsafe_code, reason = "the system is called by its C interface")]

use std::io;

use tare_data::failure::{Failure, FailureKind};
use windows_sys::Win32::System::Threading::{
    GetCurrentProcess, GetProcessAffinityMask, SetProcessAffinityMask,
};

/// Lists the processors that this process may run on, in ascending order.
pub fn list_allowed_processors() -> Vec<usize> {
    let (mut own, mut all) = (0, 0);
    // SAFETY: both numbers live through the call.
    let known = unsafe { GetProcessAffinityMask(GetCurrentProcess(), &mut own, &mut all) } != 0;
    (0..usize::BITS as usize).filter(|cpu| known && own >> cpu & 1 == 1).collect()
}

/// Keeps this process on one processor.
pub fn pin_to_processor(cpu: usize) -> Result<(), Failure> {
    // SAFETY: touches no memory.
    match unsafe { SetProcessAffinityMask(GetCurrentProcess(), 1 << cpu) } {
        0 => {
            let cause = io::Error::last_os_error();
            Err(Failure::new(FailureKind::NotSupported, format!("staying on processor {cpu}: {cause}")))
        }
        _ => Ok(()),
    }
}
