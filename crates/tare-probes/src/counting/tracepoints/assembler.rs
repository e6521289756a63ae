//! The few instructions of the kernel's own machine that counting takes, and jumps by label.

use std::os::fd::RawFd;

/// Registers: what calls return, their arguments, what survives a call, and the frame, which is below its address.
#[derive(Clone, Copy)]
pub(super) enum Register {
    Answer = 0,
    First,
    Second,
    Third,
    Fourth,
    Context = 6,
    Value,
    Then,
    Number,
    Frame,
}

/// Functions of the kernel by their numbers (bpf-helpers(7)).
#[derive(Clone, Copy)]
pub(super) enum Helper {
    Lookup = 1,
    Update = 2,
    Delete = 3,
    Now = 5,
    Task = 14,
    ReadKernel = 113,
}

/// Comparisons of a register with a number, without signs.
#[derive(Clone, Copy)]
pub(super) enum If {
    Equal = 0x15,
    AtLeast = 0x35,
    Differs = 0x55,
    Below = 0xa5,
}

/// A place in a program that is jumped to.
#[derive(Clone, Copy)]
pub(super) struct Label(usize);

/// A program under way.
#[derive(Default)]
pub(super) struct Assembler {
    code: Vec<u64>,
    /// Position of each label, once it is known.
    labels: Vec<Option<usize>>,
    jumps: Vec<(usize, Label)>,
}

impl Assembler {
    pub(super) fn new_label(&mut self) -> Label {
        self.labels.push(None);
        Label(self.labels.len() - 1)
    }

    pub(super) fn place_label(&mut self, label: Label) {
        self.labels[label.0] = Some(self.code.len());
    }

    fn push(&mut self, code: u8, to: Register, from: Register, offset: i16, number: i32) {
        let registers = (to as u8) | (from as u8) << 4;
        self.code.push(
            u64::from(code)
                | u64::from(registers) << 8
                | u64::from(offset as u16) << 16
                | u64::from(number as u32) << 32,
        );
    }

    pub(super) fn set(&mut self, to: Register, number: i32) {
        self.push(0xb7, to, Register::Answer, 0, number);
    }

    pub(super) fn copy(&mut self, to: Register, from: Register) {
        self.push(0xbf, to, from, 0, 0);
    }

    pub(super) fn add(&mut self, to: Register, number: i32) {
        self.push(0x07, to, Register::Answer, 0, number);
    }

    pub(super) fn subtract(&mut self, from: Register, what: Register) {
        self.push(0x1f, from, what, 0, 0);
    }

    /// Loads eight bytes from an address.
    pub(super) fn load(&mut self, to: Register, at: Register, offset: i16) {
        self.push(0x79, to, at, offset, 0);
    }

    pub(super) fn store(&mut self, at: Register, offset: i16, from: Register) {
        self.push(0x7b, at, from, offset, 0);
    }

    /// Stores the lower four bytes of a register.
    pub(super) fn store_half(&mut self, at: Register, offset: i16, from: Register) {
        self.push(0x63, at, from, offset, 0);
    }

    pub(super) fn store_number(&mut self, at: Register, offset: i16, number: i32) {
        self.push(0x7a, at, Register::Answer, offset, number);
    }

    /// Adds to eight bytes that other processors add to as well.
    pub(super) fn add_to(&mut self, at: Register, what: Register) {
        self.push(0xdb, at, what, 0, 0);
    }

    /// Loads a map's descriptor, which the kernel replaces with the map's address.
    pub(super) fn load_map(&mut self, to: Register, map: RawFd) {
        self.push(0x18, to, Register::First, 0, map);
        self.code.push(0);
    }

    pub(super) fn call(&mut self, helper: Helper) {
        self.push(0x85, Register::Answer, Register::Answer, 0, helper as i32);
    }

    pub(super) fn jump_if(&mut self, what: Register, comparison: If, number: i32, label: Label) {
        self.jumps.push((self.code.len(), label));
        self.push(comparison as u8, what, Register::Answer, 0, number);
    }

    /// Ends the program with exit code 0 and returns its instructions.
    pub(super) fn finish_program(mut self) -> Vec<u64> {
        self.set(Register::Answer, 0);
        self.push(0x95, Register::Answer, Register::Answer, 0, 0);
        for (at, label) in std::mem::take(&mut self.jumps) {
            let place = self.labels[label.0].expect("every label that is jumped to has a place");
            // Counted from the next instruction.
            let distance = place as i64 - at as i64 - 1;
            self.code[at] |= u64::from(distance as i16 as u16) << 16;
        }
        self.code
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_jump_reaches_its_label() {
        let mut program = Assembler::default();
        let out = program.new_label();
        program.jump_if(Register::Value, If::Differs, 7, out);
        program.set(Register::First, 1);
        program.place_label(out);
        let code = program.finish_program();
        // jne r7, 7, +1; mov r1, 1; mov r0, 0; exit
        assert_eq!(code, [0x0000_0007_0001_0755, 0x0000_0001_0000_01b7, 0xb7, 0x95]);
    }
}
