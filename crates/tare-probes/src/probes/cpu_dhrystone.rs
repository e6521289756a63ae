//! Loop of `cpu.dhrystone`: see its description.

use std::hint::black_box;

use crate::probe::prelude::*;

pub(super) fn measure_cpu_dhrystone(trial: &mut Trial<'_>) -> Result<(), Failure> {
    trial.repeat(|operations, report| {
        let mut program = Program::new();
        let mut stopwatch = Stopwatch::start_new();
        for run in 1..=operations {
            program.run(run as i32);
        }
        stopwatch.stop();
        prove_count("variables that end as they must", program.right(operations), CHECKS)?;
        report.add_throughput("loop", operations, &stopwatch);
        Ok(())
    })
}

/// The thirty-character strings of the definition.
type Text = [u8; 31];

const SOME: Text = *b"DHRYSTONE PROGRAM, SOME STRING\0";
const FIRST: Text = *b"DHRYSTONE PROGRAM, 1'ST STRING\0";
const SECOND: Text = *b"DHRYSTONE PROGRAM, 2'ND STRING\0";
const THIRD: Text = *b"DHRYSTONE PROGRAM, 3'RD STRING\0";

#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(i32)]
enum Ident {
    One,
    Two,
    Three,
    Four,
    #[allow(dead_code, reason = "the definition has five, and uses four")]
    Five,
}

/// Which of the two records a pointer points to.
type Pointer = usize;

#[derive(Clone, Copy)]
struct Record {
    next: Pointer,
    discriminant: Ident,
    ident: Ident,
    integer: i32,
    text: Text,
}

/// The global variables, and those of the main loop that outlive a turn.
struct Program {
    /// The record that the global pointer points to, and the next one.
    records: [Record; 2],
    int_global: i32,
    bool_global: bool,
    char_1: u8,
    char_2: u8,
    array_1: [i32; 50],
    array_2: Box<[[i32; 50]; 50]>,
    int_1: i32,
    int_2: i32,
    int_3: i32,
    ident: Ident,
    text_1: Text,
    text_2: Text,
}

const GLOBAL: Pointer = 0;
const NEXT: Pointer = 1;
/// Values that the definition gives for the end of a run.
const CHECKS: u64 = 19;

impl Program {
    fn new() -> Program {
        let record =
            Record { next: NEXT, discriminant: Ident::One, ident: Ident::Three, integer: 40, text: SOME };
        let mut array_2 = Box::new([[0; 50]; 50]);
        array_2[8][7] = 10;
        Program {
            records: black_box([record, Record { integer: 0, text: [0; 31], ..record }]),
            int_global: 0,
            bool_global: false,
            char_1: 0,
            char_2: 0,
            array_1: [0; 50],
            array_2,
            int_1: 0,
            int_2: 0,
            int_3: 0,
            ident: Ident::One,
            text_1: black_box(FIRST),
            text_2: [0; 31],
        }
    }

    /// Runs the loop of the main program once.
    #[inline(always)]
    fn run(&mut self, run: i32) {
        self.procedure_5();
        self.procedure_4();
        self.int_1 = 2;
        self.int_2 = 3;
        self.text_2 = black_box(SECOND);
        self.ident = Ident::Two;
        self.bool_global = !self.function_2_on_texts();
        while self.int_1 < self.int_2 {
            self.int_3 = 5 * self.int_1 - self.int_2;
            self.int_3 = procedure_7(self.int_1, self.int_2);
            self.int_1 += 1;
        }
        procedure_8(&mut self.array_1, &mut self.array_2, &mut self.int_global, self.int_1, self.int_3);
        self.procedure_1(GLOBAL);
        let mut index = b'A';
        while index <= self.char_2 {
            if self.ident == function_1(index, b'C', &mut self.char_1) {
                self.ident = procedure_6(Ident::One, self.int_global);
                self.text_2 = black_box(THIRD);
                self.int_2 = run;
                self.int_global = run;
            }
            index += 1;
        }
        self.int_2 *= self.int_1;
        self.int_1 = self.int_2 / self.int_3;
        self.int_2 = 7 * (self.int_2 - self.int_3) - self.int_1;
        self.int_1 = self.procedure_2(self.int_1);
    }

    fn function_2_on_texts(&mut self) -> bool {
        function_2(&self.text_1, &self.text_2, &mut self.char_1, &mut self.int_global)
    }

    fn procedure_1(&mut self, pointer: Pointer) {
        let next = self.records[pointer].next;
        self.records[next] = self.records[GLOBAL];
        self.records[pointer].integer = 5;
        self.records[next].integer = self.records[pointer].integer;
        self.records[next].next = self.records[pointer].next;
        self.records[next].next = self.procedure_3();
        if self.records[next].discriminant == Ident::One {
            self.records[next].integer = 6;
            self.records[next].ident = procedure_6(self.records[pointer].ident, self.int_global);
            self.records[next].next = self.records[GLOBAL].next;
            self.records[next].integer = procedure_7(self.records[next].integer, 10);
        } else {
            self.records[pointer] = self.records[next];
        }
    }

    fn procedure_2(&mut self, int: i32) -> i32 {
        let mut local = int + 10;
        loop {
            if self.char_1 == b'A' {
                local -= 1;
                return local - self.int_global;
            }
        }
    }

    fn procedure_3(&mut self) -> Pointer {
        let next = self.records[GLOBAL].next;
        self.records[GLOBAL].integer = procedure_7(10, self.int_global);
        next
    }

    fn procedure_4(&mut self) {
        let local = self.char_1 == b'A';
        self.bool_global |= local;
        self.char_2 = b'B';
    }

    fn procedure_5(&mut self) {
        self.char_1 = b'A';
        self.bool_global = false;
    }

    /// Counts the values that are as the definition demands.
    fn right(&self, runs: u64) -> u64 {
        let [global, next] = &self.records;
        let checks: [bool; CHECKS as usize] = [
            self.int_global == 5,
            self.bool_global,
            self.char_1 == b'A',
            self.char_2 == b'B',
            self.array_1[8] == 7,
            self.array_2[8][7] == (runs + 10) as i32,
            global.discriminant == Ident::One,
            global.ident == Ident::Three,
            global.integer == 17,
            global.text == SOME,
            next.discriminant == Ident::One,
            next.ident == Ident::Two,
            next.integer == 18,
            next.text == SOME,
            self.int_1 == 5,
            self.int_2 == 13,
            self.int_3 == 7,
            self.ident == Ident::Two,
            self.text_1 == FIRST && self.text_2 == SECOND,
        ];
        checks.iter().map(|&right| u64::from(right)).sum()
    }
}

// The second compilation unit.

#[inline(never)]
fn procedure_6(value: Ident, int_global: i32) -> Ident {
    let otherwise = if function_3(value) { value } else { Ident::Four };
    match value {
        Ident::One => Ident::One,
        Ident::Two if int_global > 100 => Ident::One,
        Ident::Two => Ident::Four,
        Ident::Three => Ident::Two,
        Ident::Four => otherwise,
        Ident::Five => Ident::Three,
    }
}

#[inline(never)]
fn procedure_7(one: i32, other: i32) -> i32 {
    let local = one + 2;
    other + local
}

#[inline(never)]
fn procedure_8(
    array_1: &mut [i32; 50],
    array_2: &mut [[i32; 50]; 50],
    int_global: &mut i32,
    one: i32,
    other: i32,
) {
    let local = (one + 5) as usize;
    array_1[local] = other;
    array_1[local + 1] = array_1[local];
    array_1[local + 30] = local as i32;
    for place in &mut array_2[local][local..=local + 1] {
        *place = local as i32;
    }
    array_2[local][local - 1] += 1;
    array_2[local + 20][local] = array_1[local];
    *int_global = 5;
}

#[inline(never)]
fn function_1(one: u8, other: u8, char_1: &mut u8) -> Ident {
    let local = one;
    if local != other {
        return Ident::One;
    }
    *char_1 = local;
    Ident::Two
}

#[inline(never)]
fn function_2(one: &Text, other: &Text, char_1: &mut u8, int_global: &mut i32) -> bool {
    let mut local = 2usize;
    let mut letter = 0;
    while local <= 2 {
        if function_1(one[local], other[local + 1], char_1) == Ident::One {
            letter = b'A';
            local += 1;
        }
    }
    if (b'W'..b'Z').contains(&letter) {
        local = 7;
    }
    if letter == b'R' {
        return true;
    }
    if one > other {
        *int_global = local as i32 + 7;
        return true;
    }
    false
}

#[inline(never)]
fn function_3(value: Ident) -> bool {
    value == Ident::Three
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_variable_ends_as_the_definition_says() {
        for runs in [1, 2, 23, 1_000] {
            let mut program = Program::new();
            (1..=runs).for_each(|run| program.run(run as i32));
            assert_eq!(program.right(runs), CHECKS);
        }
    }

    #[test]
    fn a_wrong_variable_is_noticed() {
        let mut program = Program::new();
        program.run(1);
        program.records[NEXT].integer += 1;
        assert_eq!(program.right(1), CHECKS - 1);
    }
}
