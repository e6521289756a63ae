//! Loop of `proc.thread_hold`: see its description.

#![allow(unsafe_code, reason = "threads are made as C programs make them")]

use std::sync::atomic::{AtomicU32, Ordering};

use super::proc_fork_hold::{LONGEST_LOOK_MS, pss_bytes, read_hold_parameters, report_increase, say_held};
use crate::harness::kernel_files::available_bytes;
use crate::harness::syscall::futex_wait;
use crate::probe::prelude::*;

pub(super) fn measure_proc_thread_hold(trial: &mut Trial<'_>) -> Result<(), Failure> {
    let parameters = trial.parameters();
    let (n, hold_ms) = read_hold_parameters(parameters)?;
    let stack = match parameters.get_text("stack")? {
        "default" => None,
        _ => Some(parameters.get_integer("stack")? as usize),
    };
    hold(trial, n, stack, hold_ms)
}

/// Longest single wait of a thread; it waits again until it is asked to end.
const WAIT_S: i64 = 60;

/// 0 while threads stay, 1 when they shall end.
static OVER: AtomicU32 = AtomicU32::new(0);

extern "C" fn stay(_: *mut libc::c_void) -> *mut libc::c_void {
    while OVER.load(Ordering::Acquire) == 0 {
        let _ = futex_wait(&OVER, 0, WAIT_S);
    }
    std::ptr::null_mut()
}

/// Threads that are ended, and waited for, when dropped.
struct Threads(Vec<libc::pthread_t>);

impl Threads {
    fn start(&mut self, attributes: &Attributes) -> Result<(), Failure> {
        let mut thread = 0;
        // SAFETY: the attributes are initialised; the thread uses nothing but a static.
        let error = unsafe { libc::pthread_create(&mut thread, &attributes.0, stay, std::ptr::null_mut()) };
        if error != 0 {
            let what = format!("thread {}", self.0.len() + 1);
            return Err(broken_failure(&what, std::io::Error::from_raw_os_error(error)));
        }
        self.0.push(thread);
        Ok(())
    }

    fn end(&mut self) {
        OVER.store(1, Ordering::Release);
        // SAFETY: wakes waiters on a static; touches no memory.
        unsafe {
            let operation = libc::FUTEX_WAKE | libc::FUTEX_PRIVATE_FLAG;
            libc::syscall(libc::SYS_futex, OVER.as_ptr(), operation, i32::MAX);
        }
        for thread in self.0.drain(..) {
            // SAFETY: each was started, and is joined once.
            unsafe { libc::pthread_join(thread, std::ptr::null_mut()) };
        }
        OVER.store(0, Ordering::Release);
    }
}

impl Drop for Threads {
    fn drop(&mut self) {
        self.end();
    }
}

struct Attributes(libc::pthread_attr_t);

impl Attributes {
    fn new(stack: Option<usize>) -> Result<Attributes, Failure> {
        // SAFETY: pthread_attr_init fills it before use.
        let mut attributes: libc::pthread_attr_t = unsafe { std::mem::zeroed() };
        // SAFETY: the struct lives through the calls.
        let error = unsafe {
            libc::pthread_attr_init(&mut attributes);
            stack.map_or(0, |bytes| {
                libc::pthread_attr_setstacksize(&mut attributes, bytes.max(libc::PTHREAD_STACK_MIN))
            })
        };
        if error != 0 {
            return Err(broken_failure("a stack of that size", std::io::Error::from_raw_os_error(error)));
        }
        Ok(Attributes(attributes))
    }
}

fn hold(trial: &mut Trial<'_>, n: u64, stack: Option<usize>, hold_ms: u64) -> Result<(), Failure> {
    let attributes = Attributes::new(stack)?;
    let mut threads = Threads(Vec::with_capacity(n as usize));
    let own_pss = || pss_bytes(std::process::id() as i32);
    say_held(trial, 0, hold_ms.min(LONGEST_LOOK_MS))?;
    let (before, pss_before) = (available_bytes(), own_pss());
    trial.run_once(|report| {
        let mut laps = Laps::new();
        for _ in 0..n {
            let started_ns = now_ns();
            threads.start(&attributes)?;
            laps.add(started_ns, now_ns());
        }
        prove_count("threads", laps.operations(), n)?;
        report.add_latency("thread", 0, laps);
        Ok(())
    })?;
    say_held(trial, n, hold_ms)?;
    trial.run_once(|report| {
        report_increase(report, "memory", available_bytes(), before, n);
        report_increase(report, "pss", pss_before, own_pss(), n);
        let mut stopwatch = Stopwatch::start_new();
        threads.end();
        stopwatch.stop();
        report.add_throughput("end", n, &stopwatch);
        Ok(())
    })
}
