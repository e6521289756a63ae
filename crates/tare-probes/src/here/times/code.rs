//! Code of this program: a kernel or a translator below may rewrite it, or take long for code that is new.

#![allow(unsafe_code, reason = "code is read, written and run")]

use std::hint::black_box;
use tare_data::facts::keys::{
    CODE_AFTER, CODE_BEFORE, COST_KNOWN_CODE, COST_NEW_CODE, CYCLES_CALL, CYCLES_COLD_CODE, CYCLES_CPUID,
    CYCLES_FAULT, CYCLES_WARM_CODE,
};

use super::cycle::time_addition;
use crate::harness::stopwatch::now_ns;
use crate::here::steps::Noting;

/// Blocks of which the least counts.
const BLOCKS: usize = 12;
/// Fewest of them, where each takes long.
const FEWEST_BLOCKS: usize = 5;
/// Fewest passes over new code, whose extremes are the ends of a 95 % interval of the median.
#[cfg(target_arch = "x86_64")]
const FEWEST_PASSES: usize = 6;
/// Time after which no further block is begun, for one operation.
const LONGEST_NS: u64 = 40_000_000;
/// Calls before gVisor's systrap rewrites the code that makes them: 1,024 of it, from its source's limit upwards.
#[cfg(target_arch = "x86_64")]
const CALLS: usize = 3_000;
/// Time that these calls may take.
#[cfg(target_arch = "x86_64")]
const LONGEST_CALLS_NS: u64 = 500_000_000;

/// Notes how many cycles a cheap call, a page fault and the processor's name take, and code that was never run.
pub fn note_times(noting: &mut Noting<'_>) {
    let cycles = (0..BLOCKS).map(|_| time_addition());
    let Some(cycle_ns) = cycles.reduce(f64::min).filter(|ns| *ns > 0.0) else { return };
    noting.add_fact("cycle.ps", format!("{:.0}", cycle_ns * 1_000.0));
    let mut note = |key: &str, blocks: &[f64]| {
        if let Some(least) = find_least(blocks) {
            noting.add_fact(key, format!("{:.0}", least / cycle_ns));
        }
    };
    note(
        CYCLES_CALL,
        &blocks(100, |calls| (0..calls).for_each(|_| _ = black_box(crate::harness::syscall::getppid()))),
    );
    note(CYCLES_FAULT, &blocks(100, touch_new_pages));
    #[cfg(target_arch = "x86_64")]
    {
        note(
            CYCLES_CPUID,
            &blocks(10, |times| {
                (0..times).for_each(|_| _ = black_box(std::arch::x86_64::__cpuid(0x4000_0000)))
            }),
        );
        let ends_ns = now_ns() + LONGEST_NS;
        let passes = (0..BLOCKS).take_while(|pass| *pass < FEWEST_PASSES || now_ns() < ends_ns);
        let (cold, warm): (Vec<f64>, Vec<f64>) = passes.filter_map(|_| x86::time_new_code()).unzip();
        note(CYCLES_COLD_CODE, &cold);
        note(CYCLES_WARM_CODE, &warm);
        let join = |times: &[f64]| times.iter().map(|ns| format!("{ns:.2}")).collect::<Vec<_>>().join(" ");
        noting.add_fact(COST_NEW_CODE, join(&cold));
        noting.add_fact(COST_KNOWN_CODE, join(&warm));
    }
}

/// Finds the least of times: other work makes some of them longer, and a layer that answers or translates makes none short.
fn find_least(times: &[f64]) -> Option<f64> {
    times.iter().copied().reduce(f64::min)
}

/// Measures blocks of as many operations, and returns the time of one in each, in ns.
fn blocks(operations: u64, mut work: impl FnMut(u64)) -> Vec<f64> {
    let (mut times, ends_ns) = (Vec::with_capacity(BLOCKS), now_ns() + LONGEST_NS);
    while times.len() < BLOCKS && (times.len() < FEWEST_BLOCKS || now_ns() < ends_ns) {
        let started_ns = now_ns();
        work(operations);
        times.push((now_ns() - started_ns) as f64 / operations as f64);
    }
    times
}

/// Touches pages that were never touched before.
fn touch_new_pages(pages: u64) {
    let page = rustix::param::page_size();
    if let Ok(mut memory) = crate::harness::buffer::Buffer::new_untouched(pages as usize * page) {
        memory.small_pages();
        memory.iter_mut().step_by(page).for_each(|byte| *byte = 1);
        black_box(&mut memory);
    }
}

/// Notes whether code that makes system calls stays as it was compiled.
#[cfg(target_arch = "x86_64")]
pub fn note_rewriting(noting: &mut Noting<'_>) {
    let before = x86::read_call_code();
    let ends_ns = now_ns() + LONGEST_CALLS_NS;
    for call in 0..CALLS {
        x86::call_by_own_code();
        if call % 64 == 0 && now_ns() > ends_ns {
            break;
        }
    }
    let after = x86::read_call_code();
    let hex = |code: [u8; x86::CODE_BYTES]| code.map(|byte| format!("{byte:02x}")).concat();
    noting.add_fact(CODE_BEFORE, hex(before));
    noting.add_fact(CODE_AFTER, hex(after));
}

/// Notes nothing: only gVisor for x86-64 rewrites code.
#[cfg(not(target_arch = "x86_64"))]
pub fn note_rewriting(_: &mut Noting<'_>) {}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::hint::black_box;

    use rustix::mm::{MapFlags, ProtFlags, mmap_anonymous, mprotect, munmap};

    use super::now_ns;

    /// Bytes of the call: `mov eax, 110`, `syscall`, `ret`.
    pub const CODE_BYTES: usize = 8;
    /// Functions of which each is run for the first time, in a cache line by itself.
    const FUNCTIONS: usize = 128;
    const FUNCTION_BYTES: usize = 64;
    /// The first of a page is run before, since a page that is not there yet takes long for another reason.
    const FUNCTIONS_A_PAGE: usize = 4096 / FUNCTION_BYTES;
    /// `mov eax, edi`, `add eax, 1`, `ret`.
    const FUNCTION: [u8; 6] = [0x89, 0xf8, 0x83, 0xc0, 0x01, 0xc3];

    std::arch::global_asm!(
        ".p2align 6",
        ".globl tare_here_call",
        "tare_here_call:",
        "mov eax, 110",
        "syscall",
        "ret",
        ".p2align 6",
    );

    unsafe extern "C" {
        fn tare_here_call() -> isize;
    }

    pub fn call_by_own_code() {
        // SAFETY: the function above only makes getppid, and may change rcx and r11 as any function may.
        unsafe { tare_here_call() };
    }

    pub fn read_call_code() -> [u8; CODE_BYTES] {
        let code = tare_here_call as *const () as *const [u8; CODE_BYTES];
        // SAFETY: the code is there, and readable. It is read again each time, since somebody may change it.
        unsafe { code.read_volatile() }
    }

    /// Writes functions, and times the first and the second run of each: ns for one. None where no code may be written.
    pub fn time_new_code() -> Option<(f64, f64)> {
        let bytes = FUNCTIONS * FUNCTION_BYTES;
        let writable = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: maps new memory at no particular address.
        let start =
            unsafe { mmap_anonymous(std::ptr::null_mut(), bytes, writable, MapFlags::PRIVATE) }.ok()?;
        // SAFETY: the mapping is ours, whole and writable.
        let code = unsafe { std::slice::from_raw_parts_mut(start.cast::<u8>(), bytes) };
        for function in code.chunks_mut(FUNCTION_BYTES) {
            function[..FUNCTION.len()].copy_from_slice(&FUNCTION);
        }
        // SAFETY: nothing refers to the memory any more.
        let is_code = unsafe {
            mprotect(start, bytes, rustix::mm::MprotectFlags::READ | rustix::mm::MprotectFlags::EXEC)
        };
        let times = is_code.ok().map(|()| (time_pass(start.cast()), time_pass(start.cast())));
        // SAFETY: the mapping is ours.
        let _ = unsafe { munmap(start, bytes) };
        times
    }

    /// Runs every function once, but for the first of each page, and returns the time of one in ns.
    fn time_pass(code: *const u8) -> f64 {
        let is_first = |index: &usize| index.is_multiple_of(FUNCTIONS_A_PAGE);
        (0..FUNCTIONS).filter(is_first).for_each(|index| run_function(code, index));
        let others = || (0..FUNCTIONS).filter(|index| !is_first(index));
        let started_ns = now_ns();
        others().for_each(|index| run_function(code, index));
        (now_ns() - started_ns) as f64 / others().count() as f64
    }

    fn run_function(code: *const u8, index: usize) {
        // SAFETY: each is a whole function that changes a register that functions may change.
        let function: extern "C" fn(i32) -> i32 =
            unsafe { std::mem::transmute(code.add(index * FUNCTION_BYTES)) };
        black_box(function(index as i32));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg(target_arch = "x86_64")]
    fn the_call_is_the_code_that_is_looked_for() {
        let code = x86::read_call_code();
        // A system that rewrites it has not done so yet.
        assert_eq!(code, [0xb8, 110, 0, 0, 0, 0x0f, 0x05, 0xc3]);
        x86::call_by_own_code();
    }

    #[test]
    fn blocks_that_take_long_are_few() {
        let slow = blocks(1, |_| std::thread::sleep(std::time::Duration::from_millis(50)));
        assert_eq!(slow.len(), FEWEST_BLOCKS);
        assert_eq!(blocks(1, |_| {}).len(), BLOCKS);
    }

    #[test]
    fn one_block_that_nothing_disturbed_is_enough() {
        // More than half of twelve may be stopped by other work.
        let times = [9e4, 8e4, 7e4, 9e4, 60.0, 8e4, 9e4, 61.0, 7e4, 62.0, 60.5, 8e4];
        assert_eq!(find_least(&times), Some(60.0));
        assert_eq!(find_least(&[]), None);
    }
}
