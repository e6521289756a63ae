//! Every timed system call of the release binary has the machine code that glibc programs have.
//!
//! `mov $number,%eax` right before `syscall`, or `xor %eax,%eax` for read, whose number is 0: gVisor's systrap
//! makes a cheap jump of the first shape only, so that with any other figure tare would see another gVisor
//! than the programs that it stands for. See `tare_probes::harness::syscall`.

mod release;

use iced_x86::{Code, Decoder, DecoderOptions, Instruction, Mnemonic, Register};
use tare_probes::harness::syscall::SECTION;

/// Address and bytes of a section of an ELF file of 64 bits, little-endian (elf(5)).
fn section(file: &[u8], wanted: &str) -> Option<(u64, Vec<u8>)> {
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
        let (address, from, length) =
            (number(header + 16, 8), number(header + 24, 8) as usize, number(header + 32, 8) as usize);
        Some((address, file[from..from + length].to_vec()))
    })
}

/// What is wrong with the instruction before a syscall, if anything is.
fn fault(before: &Instruction) -> Option<String> {
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

#[test]
fn the_number_stands_right_before_every_timed_syscall() {
    let binary = release::agent();
    let file = std::fs::read(&binary).unwrap();
    let (address, code) = section(&file, SECTION).expect("the binary has a section of timed loops");
    let instructions: Vec<Instruction> =
        Decoder::with_ip(64, &code, address, DecoderOptions::NONE).into_iter().collect();
    let mut sites = 0;
    for pair in instructions.windows(2) {
        if pair[1].mnemonic() == Mnemonic::Syscall {
            sites += 1;
            let fault = fault(&pair[0]);
            assert_eq!(fault, None, "the syscall at {:#x} of {}", pair[1].ip(), binary.display());
        }
    }
    // Each timed function has at least one; a section that lost its calls to a wrapper would pass otherwise.
    assert!(sites >= 25, "{sites} timed system calls found");
}

#[test]
fn other_shapes_are_rejected() {
    let fault_of = |code: &[u8]| fault(&Decoder::new(64, code, DecoderOptions::NONE).decode());
    assert_eq!(fault_of(&[0xb8, 0x6e, 0, 0, 0]), None, "mov $0x6e,%eax");
    assert_eq!(fault_of(&[0x31, 0xc0]), None, "xor %eax,%eax");
    for other in [&[0x89, 0xc8][..], &[0x31, 0xd2], &[0xb8, 0, 0, 0, 0], &[0xbf, 1, 0, 0, 0]] {
        assert!(fault_of(other).is_some(), "{other:x?}");
    }
}
