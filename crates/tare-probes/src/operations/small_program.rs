//! A small program that starts as most do: a file with four segments that names an interpreter, which is another such file. Each touches
//! its segments and makes 16 calls by 16 instructions, as a dynamic linker and a C library make theirs: gVisor charges more for the
//! first call by an instruction than for the next. Then the interpreter goes on with the program, which ends. A bill subtracts the calls.

#![allow(unsafe_code, reason = "code of this program that is copied into a file")]

use std::arch::global_asm;
use std::ffi::CString;
use std::fs::{File, Permissions};
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use rustix::fs::OFlags;
use tare_paths::door::Door;

// Both words before the code are data: whether it is the interpreter's, and the size of a page.
#[cfg(target_arch = "x86_64")]
global_asm!(
    ".pushsection .rodata",
    "tare_small_program:",
    "mov rbx, [rip + tare_small_program - 8]",
    "lea rax, [rip + tare_small_program]",
    "mov rcx, rax",
    "sub rcx, rbx",
    "mov dl, [rcx]",
    "add rax, rbx",
    "mov dl, [rax]",
    "add rax, rbx",
    "mov byte ptr [rax], 1",
    ".rept 16",
    "mov eax, 110",
    "syscall",
    ".endr",
    "cmp qword ptr [rip + tare_small_program - 16], 0",
    "je 3f",
    "mov rsi, [rsp]",
    "lea rsi, [rsp + rsi * 8 + 16]",
    "2:",
    "lodsq",
    "test rax, rax",
    "jnz 2b",
    "4:",
    "mov rax, [rsi]",
    "mov rdx, [rsi + 8]",
    "add rsi, 16",
    "cmp rax, 9",
    "jne 4b",
    "jmp rdx",
    "3:",
    "mov eax, 60",
    "xor edi, edi",
    "syscall",
    "tare_small_program_end:",
    ".popsection",
);

#[cfg(target_arch = "aarch64")]
global_asm!(
    ".pushsection .rodata",
    ".balign 4",
    "tare_small_program:",
    "adr x0, tare_small_program",
    "ldr x1, [x0, #-8]",
    "sub x2, x0, x1",
    "ldrb w3, [x2]",
    "add x2, x0, x1",
    "ldrb w3, [x2]",
    "add x2, x2, x1",
    "strb w3, [x2]",
    ".rept 16",
    "mov x8, #173",
    "svc #0",
    ".endr",
    "adr x0, tare_small_program",
    "ldr x1, [x0, #-16]",
    "cbz x1, 3f",
    "ldr x1, [sp]",
    "add x2, sp, #16",
    "add x2, x2, x1, lsl #3",
    "2:",
    "ldr x3, [x2], #8",
    "cbnz x3, 2b",
    "4:",
    "ldp x3, x4, [x2], #16",
    "cmp x3, #9",
    "b.ne 4b",
    "br x4",
    "3:",
    "mov x8, #93",
    "mov x0, #0",
    "svc #0",
    "tare_small_program_end:",
    ".popsection",
);

#[cfg(target_arch = "riscv64")]
global_asm!(
    ".pushsection .rodata",
    ".balign 4",
    ".option push",
    // A linker may else take the address from a register that the copy does not have.
    ".option norelax",
    "tare_small_program:",
    "lla t0, tare_small_program",
    "ld t1, -8(t0)",
    "sub t2, t0, t1",
    "lbu t3, 0(t2)",
    "add t2, t0, t1",
    "lbu t3, 0(t2)",
    "add t2, t2, t1",
    "sb t3, 0(t2)",
    ".rept 16",
    "li a7, 173",
    "ecall",
    ".endr",
    "ld t1, -16(t0)",
    "beqz t1, 3f",
    "ld t1, 0(sp)",
    "slli t1, t1, 3",
    "add t2, sp, t1",
    "addi t2, t2, 16",
    "2:",
    "ld t3, 0(t2)",
    "addi t2, t2, 8",
    "bnez t3, 2b",
    "li t5, 9",
    "4:",
    "ld t3, 0(t2)",
    "ld t4, 8(t2)",
    "addi t2, t2, 16",
    "bne t3, t5, 4b",
    "jr t4",
    "3:",
    "li a7, 93",
    "li a0, 0",
    "ecall",
    "tare_small_program_end:",
    ".option pop",
    ".popsection",
);

unsafe extern "C" {
    static tare_small_program: u8;
    static tare_small_program_end: u8;
}

/// The number of this machine in a file's head (elf(5)).
#[cfg(target_arch = "x86_64")]
const MACHINE: u16 = 62;
#[cfg(target_arch = "aarch64")]
const MACHINE: u16 = 183;
#[cfg(target_arch = "riscv64")]
const MACHINE: u16 = 243;

/// Sizes of a file's head and of an entry about a segment.
const HEAD: usize = 64;
const ENTRY: usize = 56;
/// Kinds of entries: what is mapped, who starts the program, how its stack may be used.
const LOAD: u32 = 1;
const INTERPRETER: u32 = 3;
const STACK: u32 = 0x6474_e551;
/// Permissions of a segment.
const RUN: u32 = 1;
const WRITE: u32 = 2;
const READ: u32 = 4;

/// Writes the program and its interpreter into a folder, and returns the program's path.
pub fn write_small_program(folder: &Door) -> io::Result<CString> {
    let [program, interpreter] = ["p", "i"].map(Path::new);
    let page = rustix::param::page_size();
    let name = CString::new(folder.join(interpreter).as_os_str().as_bytes())?;
    for (path, bytes) in [(interpreter, file(None, page)), (program, file(Some(&name), page))] {
        let mut file = File::from(folder.open_with(path, OFlags::CREATE | OFlags::EXCL)?);
        file.write_all(&bytes)?;
        file.set_permissions(Permissions::from_mode(0o755))?;
    }
    Ok(CString::new(folder.join(program).as_os_str().as_bytes())?)
}

/// Lays out a page for each segment: the headers, the code, constants, and data.
fn file(interpreter: Option<&CString>, page: usize) -> Vec<u8> {
    let segments = [READ, READ | RUN, READ, READ | WRITE];
    let entries = segments.len() + 1 + usize::from(interpreter.is_some());
    let name_at = HEAD + entries * ENTRY;
    let mut out = head(entries, page);
    if let Some(name) = interpreter {
        out.extend(entry(INTERPRETER, READ, name_at, name.as_bytes_with_nul().len(), 1));
    }
    for (number, flags) in segments.into_iter().enumerate() {
        out.extend(entry(LOAD, flags, number * page, page, page));
    }
    out.extend(entry(STACK, READ | WRITE, 0, 0, 16));
    if let Some(name) = interpreter {
        out.extend(name.as_bytes_with_nul());
    }
    out.resize(page - 2 * size_of::<u64>(), 0);
    out.extend(u64::from(interpreter.is_none()).to_le_bytes());
    out.extend((page as u64).to_le_bytes());
    out.extend(code());
    out.resize(segments.len() * page, 0);
    out
}

/// Returns the code that both run from their second page on.
fn code() -> &'static [u8] {
    let (start, end) = (&raw const tare_small_program, &raw const tare_small_program_end);
    // SAFETY: both are in one section of this program, the first before the second.
    unsafe { std::slice::from_raw_parts(start, end.offset_from_unsigned(start)) }
}

/// Builds the header of a file that can be loaded anywhere and begins with its second page.
fn head(entries: usize, page: usize) -> Vec<u8> {
    let mut out = vec![0x7f, b'E', b'L', b'F', 2, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    let short = |out: &mut Vec<u8>, value: u16| out.extend(value.to_le_bytes());
    let long = |out: &mut Vec<u8>, value: usize| out.extend((value as u64).to_le_bytes());
    short(&mut out, 3);
    short(&mut out, MACHINE);
    out.extend(1_u32.to_le_bytes());
    [page, HEAD, 0].into_iter().for_each(|value| long(&mut out, value));
    out.extend(0_u32.to_le_bytes());
    let sizes = [HEAD, ENTRY, entries, 0, 0, 0];
    sizes.into_iter().for_each(|value| short(&mut out, value as u16));
    out
}

/// Builds the entry of a segment that has the same offset in the file and in memory.
fn entry(kind: u32, flags: u32, at: usize, size: usize, alignment: usize) -> Vec<u8> {
    let mut out = [kind.to_le_bytes(), flags.to_le_bytes()].concat();
    for value in [at, at, at, size, size, alignment] {
        out.extend((value as u64).to_le_bytes());
    }
    out
}
