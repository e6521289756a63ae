//! Starts: how long an environment takes from being entered to the agent's first frame.

use tare_data::facts::Facts;
use tare_data::failure::Failure;
use tare_data::session::specification::Specification;
use tare_data::session::{Role, Side, Sides};

use crate::provider::SHARES_FILES;
use crate::session::arena::Arena;
use crate::session::enter::live::PROOF_FACT;

/// Times in which an environment came up.
#[derive(Clone, Debug)]
pub struct BringUp {
    pub name: String,
    pub specification: Specification,
    /// Time of each start, in the order in which they were made.
    pub times_ns: Vec<u64>,
    /// Facts of its last start as this machine sees them; none where there was none.
    pub outside: Facts,
    /// Why it was not brought up any more.
    pub failure: Option<Failure>,
}

impl BringUp {
    /// Returns the sign by which it was recognised, or why none was seen.
    pub fn proof(&self) -> Option<&str> {
        self.outside.get(PROOF_FACT)
    }

    /// Tells whether it sees this user's own files.
    pub fn shares_files(&self) -> bool {
        self.outside.get(SHARES_FILES).is_some()
    }

    /// Summarises least, median and greatest time; None when it never came up.
    pub fn summary_ns(&self) -> Option<[u64; 3]> {
        let mut sorted = self.times_ns.clone();
        sorted.sort_unstable();
        let upper = *sorted.get(sorted.len() / 2)?;
        let lower = sorted[(sorted.len() - 1) / 2];
        Some([*sorted.first()?, lower.midpoint(upper), *sorted.last()?])
    }
}

/// The way in which environments are entered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Starts {
    /// This often, in turn, so that what passes on the machine meets all of them.
    Timed(u32),
    /// Once, while the baseline and its control stay entered, so that a session of all three has the room that it needs.
    BesideBaseline,
}

impl Starts {
    fn times(self) -> u32 {
        match self {
            Starts::Timed(times) => times,
            Starts::BesideBaseline => 1,
        }
    }

    /// Describes a start, as the progress has it.
    pub fn describe(self, name: &str, time: u32) -> String {
        match self {
            Starts::Timed(times) => format!("{name}, {time} of {times}"),
            Starts::BesideBaseline => name.to_owned(),
        }
    }
}

/// Enters every environment. One that fails is not entered again. `goes_on` gets what comes next, and decides whether to go on.
pub fn bring_up(
    targets: &Sides,
    starts: Starts,
    arena: &mut dyn Arena,
    goes_on: &mut dyn FnMut(&str, u32) -> bool,
) -> Vec<BringUp> {
    let of = |target: &Side| {
        let (name, specification) = (target.name.clone(), target.specification.clone());
        let (times_ns, outside, failure) = Default::default();
        BringUp { name, specification, times_ns, outside, failure }
    };
    let mut all: Vec<BringUp> = targets.iter().map(of).collect();
    for time in 1..=starts.times() {
        for (index, one) in all.iter_mut().enumerate().filter(|(_, one)| one.failure.is_none()) {
            if !goes_on(&one.name, time) {
                return all;
            }
            match arena.enter_environment(index) {
                Ok(started) => {
                    one.times_ns.push(started.elapsed_ns);
                    one.outside = started.outside;
                }
                Err(failure) => one.failure = Some(failure),
            }
            if starts != Starts::BesideBaseline || targets.role(index) == Role::Subject {
                arena.leave_environment(index);
            }
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_in_the_middle_of_the_times() {
        let one = |times_ns: &[u64]| BringUp {
            name: String::new(),
            specification: Specification::from_provider("native"),
            times_ns: times_ns.to_vec(),
            outside: Facts::default(),
            failure: None,
        };
        assert_eq!(one(&[]).summary_ns(), None);
        assert_eq!(one(&[7]).summary_ns(), Some([7, 7, 7]));
        assert_eq!(one(&[9, 1, 5]).summary_ns(), Some([1, 5, 9]));
        assert_eq!(one(&[4, 2]).summary_ns(), Some([2, 3, 4]));
    }
}
