//! Computing as programs do it: small functions one after the other, each with branches and a look into memory.
//!
//! A chain of multiplications needs a cache line of code and no memory, and finds both where it left them. What a program computes
//! with is spread over pages, and whoever served its last call has taken caches, address translations and branch histories from it: it
//! computes on more slowly, and the next call is served by code that has become cold as well.

use std::hint::black_box;

/// Functions that a walk takes turns with: 48 KiB of code or so, beyond what a first-level cache holds.
const FUNCTIONS: usize = 512;
/// Words of the table: 256 KiB, 64 pages.
const WORDS: usize = 1 << 16;

type Step = fn(u32, &[u32; WORDS]) -> u32;

/// Position of a walk, and the table that it reads.
pub(crate) struct Walk {
    state: u32,
    table: Box<[u32; WORDS]>,
}

impl Walk {
    /// Starts the walk from a fixed state, with every page of its table touched.
    pub fn new() -> Walk {
        let mut word = 1_u32;
        let mut next = || {
            word = word.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            word ^ (word >> 15)
        };
        let words: Vec<u32> = (0..WORDS).map(|_| next()).collect();
        let table = words.try_into().expect("as many words as the table has");
        Walk { state: 1, table }
    }

    /// Begins anew, so that the same number of steps is the same work.
    pub fn restart(&mut self) {
        self.state = 1;
    }

    /// Goes on by as many functions as it is told; which one is next, the one before says.
    #[inline(never)]
    pub fn take_steps(&mut self, steps: u64) {
        let mut state = self.state;
        for _ in 0..steps {
            let number = (state >> 23) as usize;
            state = STEPS[number / 64][number / 8 % 8][number % 8](state, &self.table);
        }
        self.state = black_box(state);
    }
}

#[inline(never)]
fn step<const NUMBER: u32>(state: u32, table: &[u32; WORDS]) -> u32 {
    let odd = NUMBER.wrapping_mul(2_654_435_761) | 1;
    let mut mixed = state.wrapping_mul(odd).wrapping_add(NUMBER);
    if black_box(mixed) & (1 << (NUMBER % 11)) != 0 {
        mixed = mixed.rotate_left(NUMBER % 13 + 1);
    } else {
        mixed ^= odd >> 3;
    }
    let word = table[(mixed >> 9) as usize % WORDS];
    if black_box(word) & (1 << (NUMBER % 7)) != 0 { mixed.wrapping_add(word) } else { mixed ^ word }
}

/// Eight functions from a number on, and eight times eight.
macro_rules! eight {
    ($first:expr) => {
        [
            step::<{ $first }>,
            step::<{ $first + 1 }>,
            step::<{ $first + 2 }>,
            step::<{ $first + 3 }>,
            step::<{ $first + 4 }>,
            step::<{ $first + 5 }>,
            step::<{ $first + 6 }>,
            step::<{ $first + 7 }>,
        ]
    };
}

macro_rules! sixty_four {
    ($first:expr) => {
        [
            eight!($first),
            eight!($first + 8),
            eight!($first + 16),
            eight!($first + 24),
            eight!($first + 32),
            eight!($first + 40),
            eight!($first + 48),
            eight!($first + 56),
        ]
    };
}

static STEPS: [[[Step; 8]; 8]; FUNCTIONS / 64] = [
    sixty_four!(0),
    sixty_four!(64),
    sixty_four!(128),
    sixty_four!(192),
    sixty_four!(256),
    sixty_four!(320),
    sixty_four!(384),
    sixty_four!(448),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_walk_is_the_same_each_time_and_does_not_run_in_a_circle() {
        let states = || {
            let mut walk = Walk::new();
            std::array::from_fn::<u32, 4_000, _>(|_| {
                walk.take_steps(1);
                walk.state
            })
        };
        let all = states();
        assert_eq!(all, states());
        let mut met: Vec<u32> = all.iter().map(|state| state >> 23).collect();
        met.sort_unstable();
        met.dedup();
        // If all 512 are equally likely, 4,000 draws miss hardly one.
        assert!(met.len() > FUNCTIONS - 20, "{} functions", met.len());
    }

    #[test]
    fn a_function_is_another_for_each_number() {
        let walk = Walk::new();
        assert_ne!(step::<1>(12_345, &walk.table), step::<2>(12_345, &walk.table));
    }
}
