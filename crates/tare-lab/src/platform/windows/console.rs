//! The console: how a person stops what runs there, by Ctrl-C, Ctrl-Break or by closing it.

#![allow(unsafe_code, reason = "the system is called by its C interface, and calls back")]

use std::io;
use std::process;
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use windows_sys::Win32::Foundation::TRUE;
use windows_sys::Win32::System::Console::{CTRL_BREAK_EVENT, CTRL_C_EVENT, SetConsoleCtrlHandler};

/// Flag that a person's request sets, and the exit code of a second one.
static FLAG: Mutex<Option<Arc<AtomicBool>>> = Mutex::new(None);
static EXIT_CODE: AtomicI32 = AtomicI32::new(1);
/// Time that the system leaves a program whose console is closed; when the handler returns, it is over at once.
const CLOSING: Duration = Duration::from_secs(5);

/// Has the first request set a flag, and a second one end the program with an exit code.
///
/// Not by the C library's signals: what is known of those differs from library to library.
pub fn on_request(flag: &Arc<AtomicBool>, _: &Arc<AtomicBool>, exit_code: i32) -> io::Result<()> {
    EXIT_CODE.store(exit_code, Ordering::Relaxed);
    let is_first = FLAG.lock().map_or(true, |mut known| known.replace(Arc::clone(flag)).is_none());
    // SAFETY: the function has this signature and stays.
    if is_first && unsafe { SetConsoleCtrlHandler(Some(requested), TRUE) } == 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}

/// Handles a request by the system, which calls this in a thread of its own.
unsafe extern "system" fn requested(kind: u32) -> i32 {
    let flag = FLAG.lock().ok().and_then(|flag| flag.clone());
    if flag.is_none_or(|flag| flag.swap(true, Ordering::Relaxed)) {
        process::exit(EXIT_CODE.load(Ordering::Relaxed));
    }
    if ![CTRL_C_EVENT, CTRL_BREAK_EVENT].contains(&kind) {
        thread::sleep(CLOSING);
    }
    TRUE
}
