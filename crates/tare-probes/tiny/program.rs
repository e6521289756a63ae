//! The tiny program: a few pages without the standard library, so that starting it costs as little as starting a program can.
//!
//! `build.rs` compiles it, and `src/tiny.rs` carries it along. Without arguments it ends at once. Otherwise the first one is:
//!
//! - `chain`, followed by three numbers of 16 hex digits: a count, its goal and a descriptor. It executes itself with the count one
//!   higher until that is the goal, and writes the count and the time at which the last one began.
//! - A token, followed by a command: it writes that it has begun, runs the command, and writes that this has
//!   ended, how long it took in nanoseconds, and its exit code.

#![no_std]
#![no_main]
// Else loops that copy bytes become calls of a C library.
#![no_builtins]

use core::arch::{asm, global_asm};
use core::mem::MaybeUninit;
use core::ptr::null;

type Text = *const u8;

const NO_WORDS: isize = 3;
const DIGITS: usize = 16;
/// Standard output, and standard error.
const OUTPUT: usize = 1;
const ERRORS: usize = 2;
/// Exit codes of a shell for a program that cannot be started, and for a signal, whose number is added.
const NOT_STARTED: usize = 127;
const SIGNALLED: usize = 128;
/// Search path where the environment has none: that of execvp(3).
const USUAL_PATH: Text = c"/usr/local/bin:/bin:/usr/bin".as_ptr().cast();
const LONGEST_PATH: usize = 4096;
const SIGCHLD: usize = 17;
const CLOCK_MONOTONIC: usize = 1;

#[cfg(target_arch = "x86_64")]
mod number {
    pub const WRITE: usize = 1;
    pub const WRITEV: usize = 20;
    pub const CLONE: usize = 56;
    pub const EXECVE: usize = 59;
    pub const WAIT4: usize = 61;
    pub const CLOCK_GETTIME: usize = 228;
    pub const EXIT_GROUP: usize = 231;
}

/// Numbers that all later processors have in common.
#[cfg(not(target_arch = "x86_64"))]
mod number {
    pub const WRITE: usize = 64;
    pub const WRITEV: usize = 66;
    pub const EXIT_GROUP: usize = 94;
    pub const CLOCK_GETTIME: usize = 113;
    pub const CLONE: usize = 220;
    pub const EXECVE: usize = 221;
    pub const WAIT4: usize = 260;
}

// The kernel leaves the number of arguments at the top of the stack, and the arguments after it.
#[cfg(target_arch = "x86_64")]
global_asm!(".globl _start", "_start:", "mov rdi, rsp", "and rsp, -16", "call {}", sym begin);
#[cfg(target_arch = "aarch64")]
global_asm!(".globl _start", "_start:", "mov x0, sp", "bl {}", sym begin);
#[cfg(target_arch = "riscv64")]
global_asm!(".globl _start", "_start:", "mv a0, sp", "andi sp, sp, -16", "call {}", sym begin);

/// Makes a system call; the fifth argument is always zero.
unsafe fn call(number: usize, [a, b, c, d]: [usize; 4]) -> isize {
    let result: isize;
    // SAFETY: the caller passes what the call takes.
    unsafe {
        #[cfg(target_arch = "x86_64")]
        asm!("syscall", inlateout("rax") number => result, in("rdi") a, in("rsi") b, in("rdx") c, in("r10") d,
             in("r8") 0, lateout("rcx") _, lateout("r11") _);
        #[cfg(target_arch = "aarch64")]
        asm!("svc 0", in("x8") number, inlateout("x0") a => result, in("x1") b, in("x2") c, in("x3") d, in("x4") 0);
        #[cfg(target_arch = "riscv64")]
        asm!("ecall", in("a7") number, inlateout("a0") a => result, in("a1") b, in("a2") c, in("a3") d, in("a4") 0);
    }
    result
}

unsafe extern "C" fn begin(stack: *const isize) -> ! {
    // SAFETY: the kernel has laid out the stack as is read here, and each argument ends with a zero.
    unsafe {
        let began_ns = now_ns();
        let words = stack.add(1).cast::<Text>();
        if *stack < NO_WORDS {
            end(0);
        }
        let variables = words.offset(*stack + 1);
        match equals(*words.add(1), c"chain".as_ptr().cast()) {
            true => chain(words, variables, began_ns),
            false => run(*words.add(1), words.add(2), variables),
        }
    }
}

/// Is a link of a chain.
unsafe fn chain(words: *const Text, variables: *const Text, began_ns: u64) -> ! {
    // SAFETY: as in `begin`; arguments may be written to.
    unsafe {
        let [done, goal, into] = [2, 3, 4].map(|at| *words.add(at));
        if done.is_null() || goal.is_null() || into.is_null() {
            end(NOT_STARTED);
        }
        let count = read_digits(done);
        if count < read_digits(goal) {
            write_digits(done.cast_mut(), count + 1);
            call(number::EXECVE, [*words as usize, words as usize, variables as usize, 0]);
            end(NOT_STARTED);
        }
        let result = [count, began_ns];
        call(number::WRITE, [read_digits(into) as usize, result.as_ptr() as usize, 16, 0]);
        end(0)
    }
}

/// Runs a command between two lines, and ends with its exit code.
unsafe fn run(token: Text, words: *const Text, variables: *const Text) -> ! {
    // SAFETY: as in `begin`.
    unsafe {
        let newline = c"\n".as_ptr().cast();
        say(OUTPUT, [c"@tare-began ".as_ptr().cast(), token, newline, null()]);
        let began_ns = now_ns();
        let child = call(number::CLONE, [SIGCHLD, 0, 0, 0]);
        if child == 0 {
            execute(words, variables);
            say(ERRORS, [*words, c": cannot be started inside\n".as_ptr().cast(), null(), null()]);
            end(NOT_STARTED);
        }
        let mut status = 0u32;
        while child > 0 && call(number::WAIT4, [child as usize, &raw mut status as usize, 0, 0]) == -4 {
            // A signal came first.
        }
        let taken_ns = now_ns() - began_ns;
        let code = match status & 0x7f {
            _ if child < 0 => NOT_STARTED,
            0 => (status >> 8 & 0xff) as usize,
            signal => SIGNALLED + signal as usize,
        };
        // Both numbers, with a space before each.
        let mut numbers = [b' '; 2 * (DIGITS + 1) + 1];
        write_digits(numbers.as_mut_ptr().add(1), taken_ns);
        write_digits(numbers.as_mut_ptr().add(DIGITS + 2), code as u64);
        numbers[2 * (DIGITS + 1)] = 0;
        say(OUTPUT, [c"@tare-ended ".as_ptr().cast(), token, numbers.as_ptr(), newline]);
        end(code)
    }
}

/// Becomes a command, which it searches as execvp(3) does; returns where there is none.
unsafe fn execute(words: *const Text, variables: *const Text) {
    // SAFETY: as in `begin`; a path is shorter than its room.
    unsafe {
        let execute = |path: Text| call(number::EXECVE, [path as usize, words as usize, variables as usize, 0]);
        let name = *words;
        if (0..length(name)).any(|at| *name.add(at) == b'/') {
            execute(name);
            return;
        }
        let mut folders = USUAL_PATH;
        let mut variable = variables;
        while !(*variable).is_null() {
            if starts_with(*variable, c"PATH=".as_ptr().cast()) {
                folders = (*variable).add(5);
            }
            variable = variable.add(1);
        }
        let mut path = MaybeUninit::<[u8; LONGEST_PATH]>::uninit();
        let path = path.as_mut_ptr().cast::<u8>();
        loop {
            let mut size = 0;
            while !matches!(*folders.add(size), 0 | b':') {
                size += 1;
            }
            if size + length(name) + 2 <= LONGEST_PATH {
                (0..size).for_each(|at| *path.add(at) = *folders.add(at));
                *path.add(size) = b'/';
                // With the zero at its end.
                (0..=length(name)).for_each(|at| *path.add(size + 1 + at) = *name.add(at));
                execute(if size == 0 { name } else { path });
            }
            if *folders.add(size) == 0 {
                return;
            }
            folders = folders.add(size + 1);
        }
    }
}

/// Writes up to four texts at once.
unsafe fn say(into: usize, texts: [Text; 4]) {
    // SAFETY: each text ends with a zero, and writev(2) only reads.
    unsafe {
        let parts = texts.map(|text| [text as usize, if text.is_null() { 0 } else { length(text) }]);
        call(number::WRITEV, [into, parts.as_ptr() as usize, parts.len(), 0]);
    }
}

fn now_ns() -> u64 {
    let mut now = [0u64; 2];
    // SAFETY: the call fills two numbers.
    unsafe { call(number::CLOCK_GETTIME, [CLOCK_MONOTONIC, now.as_mut_ptr() as usize, 0, 0]) };
    now[0] * 1_000_000_000 + now[1]
}

unsafe fn length(text: Text) -> usize {
    let mut length = 0;
    // SAFETY: a text ends with a zero.
    while unsafe { *text.add(length) } != 0 {
        length += 1;
    }
    length
}

unsafe fn starts_with(text: Text, beginning: Text) -> bool {
    // SAFETY: both end with a zero, at which the comparison ends.
    unsafe { (0..length(beginning)).all(|at| *text.add(at) == *beginning.add(at)) }
}

unsafe fn equals(one: Text, other: Text) -> bool {
    // SAFETY: as above.
    unsafe { starts_with(one, other) && length(one) == length(other) }
}

/// Reads hex digits until the end of a text.
unsafe fn read_digits(text: Text) -> u64 {
    // SAFETY: as above.
    (0..unsafe { length(text) }).fold(0, |sum, at| {
        let digit = unsafe { *text.add(at) };
        sum << 4 | u64::from(if digit < b'a' { digit - b'0' } else { digit - b'a' + 10 })
    })
}

/// Writes a number as 16 hex digits.
unsafe fn write_digits(text: *mut u8, number: u64) {
    for at in 0..DIGITS {
        let digit = (number >> (60 - 4 * at) & 15) as u8;
        // SAFETY: there is room for 16.
        unsafe { *text.add(at) = if digit < 10 { b'0' + digit } else { b'a' + digit - 10 } };
    }
}

fn end(code: usize) -> ! {
    loop {
        // SAFETY: it does not return.
        unsafe { call(number::EXIT_GROUP, [code, 0, 0, 0]) };
    }
}

#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    end(NOT_STARTED)
}
