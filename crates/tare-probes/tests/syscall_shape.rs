//! Every timed system call of the release binary has the machine code that glibc programs have.
//!
//! On x86-64 `mov $number,%eax` right before `syscall`, or `xor %eax,%eax` for read, whose number is 0:
//! gVisor's systrap makes a cheap jump of the first shape only, so that with any other figure tare would see
//! another gVisor than the programs that it represents. On arm64 `mov x8, #number` before `svc #0`, on RISC-V
//! `li a7, number` before `ecall`. See `tare_probes::harness::syscall`.

mod release;

use iced_x86::{Code, Decoder, DecoderOptions, Instruction, Mnemonic, Register};
use tare_probes::harness::syscall::SECTION;

/// Processors by their numbers in ELF files.
const X86_64: u64 = 62;
const ARM64: u64 = 183;
const RISC_V: u64 = 243;

/// A section of an ELF file of 64 bits, little-endian (elf(5)), and the processor that the file is for.
struct Section {
    machine: u64,
    address: u64,
    code: Vec<u8>,
}

fn section(file: &[u8], wanted: &str) -> Option<Section> {
    let number = |at: usize, bytes: usize| {
        file[at..at + bytes].iter().rev().fold(0u64, |sum, &byte| sum << 8 | u64::from(byte))
    };
    assert_eq!(&file[..6], b"\x7fELF\x02\x01");
    let (table, size, count, names) = (number(40, 8), number(58, 2), number(60, 2), number(62, 2));
    let header = |i: u64| (table + i * size) as usize;
    let names = number(header(names) + 24, 8) as usize;
    (0..count).map(header).find_map(|header| {
        let name = names + number(header, 4) as usize;
        if !file[name..].starts_with(format!("{wanted}\0").as_bytes()) {
            return None;
        }
        let (from, length) = (number(header + 24, 8) as usize, number(header + 32, 8) as usize);
        let code = file[from..from + length].to_vec();
        Some(Section { machine: number(18, 2), address: number(header + 16, 8), code })
    })
}

/// The fault of the instruction before a system call, if it has one.
type Fault = Option<String>;

/// Lists every system call: its address, and the fault before it.
fn sites(section: &Section) -> Vec<(u64, Fault)> {
    match section.machine {
        X86_64 => x86_sites(section),
        ARM64 => sites_of(&words(section, |_| 4), |word| word == 0xd400_0001, arm_fault),
        RISC_V => sites_of(&words(section, risc_v_length), |word| word == 0x0000_0073, risc_v_fault),
        other => panic!("ELF's machine {other} is not known here"),
    }
}

fn x86_sites(section: &Section) -> Vec<(u64, Fault)> {
    let instructions: Vec<Instruction> =
        Decoder::with_ip(64, &section.code, section.address, DecoderOptions::NONE).into_iter().collect();
    let pairs = instructions.windows(2).filter(|pair| pair[1].mnemonic() == Mnemonic::Syscall);
    pairs.map(|pair| (pair[1].ip(), x86_fault(&pair[0]))).collect()
}

fn x86_fault(before: &Instruction) -> Fault {
    let number = match before.code() {
        Code::Mov_r32_imm32 if before.op0_register() == Register::EAX => before.immediate32(),
        Code::Xor_r32_rm32 | Code::Xor_rm32_r32
            if before.op0_register() == Register::EAX && before.op1_register() == Register::EAX =>
        {
            0
        }
        code => return Some(format!("{code:?} stands before it")),
    };
    let read_by_mov = before.mnemonic() == Mnemonic::Mov && number == 0;
    read_by_mov.then(|| "read with mov, which glibc writes as xor".to_owned())
}

/// Splits code into instructions with their addresses, where the first bytes tell the length.
fn words(section: &Section, length: fn(u16) -> usize) -> Vec<(u64, u32)> {
    let (mut found, mut at) = (Vec::new(), 0);
    while let Some(first) = section.code.get(at..at + 2) {
        let length = length(u16::from_le_bytes([first[0], first[1]]));
        let Some(bytes) = section.code.get(at..at + length) else { break };
        let word = bytes.iter().rev().fold(0u32, |sum, &byte| sum << 8 | u32::from(byte));
        found.push((section.address + at as u64, word));
        at += length;
    }
    found
}

fn sites_of(words: &[(u64, u32)], is_call: fn(u32) -> bool, fault: fn(u32) -> Fault) -> Vec<(u64, Fault)> {
    let calls = words.windows(2).filter(|pair| is_call(pair[1].1));
    calls.map(|pair| (pair[1].0, fault(pair[0].1))).collect()
}

/// Expects a MOVZ of 64 bits into x8 (Arm's manual, C6.2).
fn arm_fault(before: u32) -> Fault {
    (before & 0xffe0_001f != 0xd280_0008).then(|| format!("{before:#010x} stands before it"))
}

/// Tells the length of an instruction: only those that end in two ones have four bytes (RISC-V's manual,
/// 1.5).
fn risc_v_length(first: u16) -> usize {
    if first & 3 == 3 { 4 } else { 2 }
}

/// Expects `addi a7, zero, number`, or its form in two bytes.
fn risc_v_fault(before: u32) -> Fault {
    let is_li = before & 0xf_ffff == 0x893 || (before <= 0xffff && before & 0xef83 == 0x4881);
    (!is_li).then(|| format!("{before:#010x} stands before it"))
}

#[test]
fn the_number_stands_right_before_every_timed_syscall() {
    let binary = release::build_agent();
    let file = std::fs::read(&binary).unwrap();
    let section = section(&file, SECTION).expect("the binary has a section of timed loops");
    let sites = sites(&section);
    for (address, fault) in &sites {
        assert_eq!(*fault, None, "the system call at {address:#x} of {}", binary.display());
    }
    // Each timed function has at least one; a section that lost its calls to a wrapper would pass otherwise.
    assert!(sites.len() >= 25, "{} timed system calls found", sites.len());
}

#[test]
fn other_shapes_are_rejected() {
    let fault_of = |code: &[u8]| x86_fault(&Decoder::new(64, code, DecoderOptions::NONE).decode());
    assert_eq!(fault_of(&[0xb8, 0x6e, 0, 0, 0]), None, "mov $0x6e,%eax");
    assert_eq!(fault_of(&[0x31, 0xc0]), None, "xor %eax,%eax");
    for other in [&[0x89, 0xc8][..], &[0x31, 0xd2], &[0xb8, 0, 0, 0, 0], &[0xbf, 1, 0, 0, 0]] {
        assert!(fault_of(other).is_some(), "{other:x?}");
    }
    assert_eq!(arm_fault(0xd280_15a8), None, "mov x8, #173");
    for other in [0xd280_15a0, 0x5280_15a8, 0xaa00_03e8] {
        assert!(arm_fault(other).is_some(), "{other:#x}");
    }
    assert_eq!(risc_v_fault(0x0ad0_0893), None, "li a7, 173");
    assert_eq!(risc_v_fault(0x48dd), None, "li a7, 23, in two bytes");
    for other in [0x0ad0_0513, 0x0ad8_0893, 0x88aa, 0x450d] {
        assert!(risc_v_fault(other).is_some(), "{other:#x}");
    }
}

#[test]
fn calls_are_found_between_instructions_of_any_length() {
    let riscv = [0x01, 0x45, 0x93, 0x08, 0xd0, 0x0a, 0x73, 0, 0, 0, 0x82, 0x80];
    let code = |machine, code: &[u8]| Section { machine, address: 0x1000, code: code.to_vec() };
    assert_eq!(sites(&code(RISC_V, &riscv)), [(0x1006, None)]);
    let arm = [0xd280_15a8u32, 0xd400_0001, 0xd65f_03c0].map(u32::to_le_bytes).concat();
    assert_eq!(sites(&code(ARM64, &arm)), [(0x1004, None)]);
    let x86 = [0x90, 0xb8, 0x6e, 0, 0, 0, 0x0f, 0x05, 0xc3];
    assert_eq!(sites(&code(X86_64, &x86)), [(0x1006, None)]);
}
