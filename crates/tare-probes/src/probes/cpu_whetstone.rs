//! Loop of `cpu.whetstone`: see its description.

#![allow(unsafe_code, reason = "an empty instruction keeps the compiler from removing the work")]

use std::arch::asm;
use std::hint::black_box;

use crate::descriptions::cpu_whetstone::MILLIONS_A_PASS;
use crate::probe::prelude::*;

pub(super) fn measure_cpu_whetstone(trial: &mut Trial<'_>) -> Result<(), Failure> {
    trial.repeat(|operations, report| {
        let mut results = Results::default();
        let stopwatch = passes(operations, &mut results);
        prove_count("modules with the right result", results.right(operations), MODULES)?;
        report.add_throughput("million", operations * MILLIONS_A_PASS, &stopwatch);
        report.add_throughput("pass", operations, &stopwatch);
        Ok(())
    })
}

const MODULES: u64 = 8;
/// The first module's loop is this many times as long.
const N1_LONGER: u64 = 10;
const T: f64 = 0.499_999_75;
const T1: f64 = 0.500_000_25;
const T2: f64 = 2.0;

#[derive(Debug, Default)]
struct Results {
    n1: f64,
    n2: f64,
    n3: i64,
    n4: f64,
    n5: f64,
    n6: f64,
    n7: f64,
    n8: f64,
}

impl Results {
    /// Counts the modules that ended with the right result after `passes` passes.
    ///
    /// The tolerances hold the swing between odd and even passes, and libraries that differ in last digits.
    fn right(&self, passes: u64) -> u64 {
        let near = |value: f64, expected: f64, within: f64| (value - expected).abs() <= within;
        // Each turn takes the logarithm of x and halves it by T1 instead of 0.5.
        let shrunk = (0.5 / T1).powf((passes * 93 * 100) as f64);
        [
            near(self.n1, -1.1287, 0.006),
            near(self.n2, -1.1323, 0.002),
            self.n3 == 1,
            self.n4 == 12.0,
            near(self.n5, 0.4995, 0.001),
            near(self.n6, 1.0, 0.01),
            self.n7 == 3.0,
            near(self.n8, (0.75f64.ln() * shrunk).exp(), 1e-6),
        ]
        .iter()
        .map(|&right| u64::from(right))
        .sum()
    }
}

/// Measures one module over all passes, and adds its time to the sum.
fn module<T>(sum: &mut Stopwatch, work: impl FnOnce() -> T) -> (T, Stopwatch) {
    let mut stopwatch = Stopwatch::start_new();
    let result = work();
    stopwatch.stop();
    sum.add(&stopwatch);
    (result, stopwatch)
}

/// Runs all modules, one after the other, each over all passes.
fn passes(passes: u64, results: &mut Results) -> Stopwatch {
    let turns = |each: u64| passes * each * 100;
    let mut sum = Stopwatch::default();
    let (n1, longer) = module(&mut Stopwatch::default(), || array_elements(passes, 12 * 100 * N1_LONGER));
    sum.add(&Stopwatch::from_elapsed(longer.elapsed_ns() / N1_LONGER));
    results.n1 = n1;
    results.n2 = module(&mut sum, || array_as_parameter(passes, 14 * 100)).0;
    results.n3 = module(&mut sum, || conditional_jumps(turns(345))).0;
    results.n4 = module(&mut sum, || integer_arithmetic(turns(210))).0;
    results.n5 = module(&mut sum, || trigonometry(passes, 32 * 100)).0;
    results.n6 = module(&mut sum, || procedure_calls(turns(899))).0;
    results.n7 = module(&mut sum, || array_references(turns(616))).0;
    results.n8 = module(&mut sum, || standard_functions(turns(93))).0;
    sum
}

/// Runs the four assignments of modules 1 and 2.
#[inline(always)]
fn four(e: &mut [f64; 4], t: f64, last: impl Fn(f64) -> f64) {
    e[0] = (e[0] + e[1] + e[2] - e[3]) * t;
    e[1] = (e[0] + e[1] - e[2] + e[3]) * t;
    e[2] = (e[0] - e[1] + e[2] + e[3]) * t;
    e[3] = last(-e[0] + e[1] + e[2] + e[3]);
}

/// Turns of a module in each pass. T and 1 - T take turns, so that what one pass takes away the next gives back.
fn each_pass(passes: u64, turns: u64, mut turn: impl FnMut(f64)) {
    for pass in 0..passes {
        let t = black_box(if pass % 2 == 0 { T } else { 1.0 - T });
        (0..turns).for_each(|_| turn(t));
    }
}

fn array_elements(passes: u64, turns: u64) -> f64 {
    let mut e = black_box([1.0, -1.0, -1.0, -1.0]);
    each_pass(passes, turns, |t| four(&mut e, t, |value| value * t));
    e[3]
}

fn array_as_parameter(passes: u64, turns: u64) -> f64 {
    let mut e = black_box([1.0, -1.0, -1.0, -1.0]);
    each_pass(passes, turns, |t| six_times_four(&mut e, t));
    e[3]
}

#[inline(never)]
fn six_times_four(e: &mut [f64; 4], t: f64) {
    for _ in 0..6 {
        four(e, t, |value| value / T2);
    }
}

/// Hides a value from the compiler in a register, where [`black_box`] would send it through memory and cost
/// more than the statement that it guards.
#[inline(always)]
fn unknown(mut value: i64) -> i64 {
    // SAFETY: no instruction at all.
    unsafe { asm!("/* {0} */", inout(reg) value, options(pure, nomem, nostack, preserves_flags)) };
    value
}

fn conditional_jumps(turns: u64) -> i64 {
    let mut j = 1;
    for _ in 0..turns {
        j = unknown(if j == 1 { 2 } else { 3 });
        j = unknown(if j > 2 { 0 } else { 1 });
        j = unknown(if j < 1 { 1 } else { 0 });
    }
    j
}

fn integer_arithmetic(turns: u64) -> f64 {
    let (mut j, mut k, mut l) = (black_box(1i64), black_box(2i64), black_box(3i64));
    let mut e = black_box([0.0; 4]);
    for _ in 0..turns {
        j = j * (k - j) * (l - k);
        k = l * k - (l - j) * k;
        l = (l - k) * (k + j);
        e[(l - 2) as usize & 3] = (j + k + l) as f64;
        e[(k - 2) as usize & 3] = (j * k * l) as f64;
        (j, k, l) = (unknown(j), unknown(k), unknown(l));
    }
    e[0] + e[1]
}

fn trigonometry(passes: u64, turns: u64) -> f64 {
    let (mut x, mut y) = (black_box(0.5f64), black_box(0.5f64));
    each_pass(passes, turns, |t| {
        let below = (x + y).cos() + (x - y).cos() - 1.0;
        x = t * (T2 * x.sin() * x.cos() / below).atan();
        let below = (x + y).cos() + (x - y).cos() - 1.0;
        y = t * (T2 * y.sin() * y.cos() / below).atan();
    });
    y
}

fn procedure_calls(turns: u64) -> f64 {
    let (mut x, mut y, mut z) = (1.0, 1.0, 1.0);
    for _ in 0..turns {
        three(&mut x, &mut y, &mut z);
    }
    z
}

#[inline(never)]
fn three(x: &mut f64, y: &mut f64, z: &mut f64) {
    *x = *y;
    *y = *z;
    *x = T * (*x + *y);
    *y = T1 * (*x + *y);
    *z = (*x + *y) / T2;
}

fn array_references(turns: u64) -> f64 {
    let (j, k, l) = black_box((0, 1, 2));
    let mut e = black_box([1.0, 2.0, 3.0, 0.0]);
    for _ in 0..turns {
        rotate(&mut e, j, k, l);
    }
    e[2]
}

#[inline(never)]
fn rotate(e: &mut [f64; 4], j: usize, k: usize, l: usize) {
    e[j & 3] = e[k & 3];
    e[k & 3] = e[l & 3];
    e[l & 3] = e[j & 3];
}

fn standard_functions(turns: u64) -> f64 {
    let mut x = black_box(0.75f64);
    for _ in 0..turns {
        x = (x.ln() / T1).exp().sqrt();
    }
    x
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_module_ends_where_its_arithmetic_leads() {
        for n in [1, 2, 23] {
            let mut results = Results::default();
            passes(n, &mut results);
            assert_eq!(results.right(n), MODULES, "{n} passes: {results:?}");
        }
    }

    #[test]
    fn a_wrong_module_is_noticed() {
        let mut results = Results::default();
        passes(1, &mut results);
        results.n8 += 0.001;
        results.n4 = 11.0;
        assert_eq!(results.right(1), MODULES - 2);
    }
}
