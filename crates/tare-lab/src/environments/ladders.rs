//! Ladders: environments built up one mechanism at a time, to separate the cost of each.

use tare_analysis::orders::Exchange;
use tare_data::session::specification::Specification;

use crate::error::LabError;
use crate::nearest::add_nearest_hint;

/// A mechanism, and the environment that has it and all before it.
#[derive(Clone, Copy, Debug)]
pub struct Step {
    pub adds: &'static str,
    pub specification: &'static str,
}

#[derive(Clone, Copy, Debug)]
pub struct Ladder {
    pub name: &'static str,
    /// Summary, in one sentence.
    pub summary: &'static str,
    /// Steps. The first one builds on the host itself, and each other one on the step before.
    pub steps: &'static [Step],
}

const fn step(adds: &'static str, specification: &'static str) -> Step {
    Step { adds, specification }
}

/// All ladders. Adding one is an entry here and nothing else.
pub const LADDERS: &[Ladder] = &[
    Ladder {
        name: "container",
        summary: "from the host to a container as engines configure it: namespaces, control groups, system call filter",
        steps: &[
            step("mount namespace", "container?namespaces=mounts&net=host"),
            step("PID namespace", "container?namespaces=processes&net=host"),
            step("IPC, host name", "container?net=host"),
            step("network namespace", "container"),
            step("control groups", "container?limits=yes"),
            step("system call filter", "container?limits=yes&seccomp=docker"),
            step("user namespace", "container?limits=yes&seccomp=docker&user=yes"),
        ],
    },
    Ladder {
        name: "seccomp",
        summary: "a system call filter by its rules: the first alone, ten times as many, thirty times, and Docker's own list",
        steps: &[
            step("a container", "container"),
            step("filter of 10 rules", "container?seccomp=10"),
            step("100 rules", "container?seccomp=100"),
            step("300 rules", "container?seccomp=300"),
            step("Docker's list", "container?seccomp=docker"),
        ],
    },
    Ladder {
        name: "speculation",
        summary: "work that a processor may do ahead of time, where the kernel lets a process switch it off: loads before stores, then indirect branches",
        steps: &[
            step("a container", "container"),
            step("no store bypass", "container?speculation=no-bypass"),
            step("no indirect branch", "container?speculation=none"),
        ],
    },
    Ladder {
        name: "landlock",
        summary: "Landlock by its size: the first layer with one rule, a hundred rules, and nearly as many layers as a kernel has",
        steps: &[
            step("Landlock, 1 rule", "landlock"),
            step("100 rules", "landlock?rules=100"),
            step("15 layers", "landlock?layers=15&rules=100"),
        ],
    },
    Ladder {
        name: "gvisor",
        summary: "gVisor: a container, its kernel, files by way of a second process, and ptrace instead of patched calls",
        steps: &[
            step("a container", "container"),
            step("gVisor's kernel", "gvisor?platform=systrap"),
            step("files by a gofer", "gvisor?platform=systrap&directfs=off"),
            step("calls by ptrace", "gvisor?platform=ptrace&directfs=off"),
        ],
    },
];

/// An environment of a ladder, and the one that it is built upon, by its place among them; none is the baseline.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rung {
    pub specification: String,
    pub below: Option<usize>,
}

/// Option that a step gives or takes away: its key, and its value afterwards.
type Change = (String, Option<String>);

impl Ladder {
    /// Lists the environments to enter: those of the steps, and those in which the last steps are taken in reverse order.
    pub fn list_rungs(&self) -> Vec<Rung> {
        let steps = self.steps.iter().enumerate();
        let steps = steps.map(|(at, step)| Rung {
            specification: step.specification.to_owned(),
            below: at.checked_sub(1),
        });
        let mut rungs: Vec<Rung> = steps.collect();
        let Some((first, changes)) = self.list_exchangeable() else { return rungs };
        let (mut specification, mut below) = (parse(self.steps[first - 1].specification), first - 1);
        for change in changes[1..].iter().rev() {
            specification = apply(specification, change);
            rungs.push(Rung { specification: specification.to_string(), below: Some(below) });
            below = rungs.len() - 1;
        }
        rungs
    }

    /// Lists the mechanisms that are added in two orders, by the places of their environments in [`Ladder::list_rungs`].
    pub fn list_exchanges(&self) -> Vec<Exchange> {
        let Some((first, changes)) = self.list_exchangeable() else { return Vec::new() };
        // The reverse order, from the environment below the first step to the last one.
        let (between, last) = (self.steps.len()..self.steps.len() + changes.len() - 1, self.steps.len() - 1);
        let reverse: Vec<usize> = [first - 1].into_iter().chain(between).chain([last]).collect();
        let exchange = |at: usize| {
            let (step, of_reverse) = (first + at, changes.len() - 1 - at);
            Exchange {
                step,
                forward: [step - 1, step],
                reverse: [reverse[of_reverse], reverse[of_reverse + 1]],
            }
        };
        (0..changes.len()).map(exchange).collect()
    }

    /// Finds the longest row of last steps that can be taken in any order: each changes options that no other does. Gives the
    /// first, and the changes of each; none where they are fewer than two.
    fn list_exchangeable(&self) -> Option<(usize, Vec<Vec<Change>>)> {
        let mut changes: Vec<Vec<Change>> = Vec::new();
        for step in (1..self.steps.len()).rev() {
            let [below, above] = [step - 1, step].map(|at| parse(self.steps[at].specification));
            let Some(own) = find_changes(&below, &above) else { break };
            let is_known = |(key, _): &Change| changes.iter().flatten().any(|(other, _)| other == key);
            if own.iter().any(is_known) {
                break;
            }
            changes.insert(0, own);
        }
        (changes.len() > 1).then(|| (self.steps.len() - changes.len(), changes))
    }
}

fn parse(specification: &str) -> Specification {
    specification.parse().expect("the steps of ladders are environments")
}

/// Finds the options in which two environments of one provider differ.
fn find_changes(below: &Specification, above: &Specification) -> Option<Vec<Change>> {
    let keys =
        below.options.keys().chain(above.options.keys().filter(|key| !below.options.contains_key(*key)));
    let changed = keys.filter(|key| below.options.get(*key) != above.options.get(*key));
    (below.provider == above.provider && below.instance == above.instance)
        .then(|| changed.map(|key| (key.clone(), above.options.get(key).cloned())).collect())
}

fn apply(mut specification: Specification, changes: &[Change]) -> Specification {
    for (key, value) in changes {
        match value {
            Some(value) => drop(specification.options.insert(key.clone(), value.clone())),
            None => drop(specification.options.remove(key)),
        }
    }
    specification
}

/// Finds a ladder by its name, or suggests the most similar one.
pub fn find_ladder(name: &str) -> Result<&'static Ladder, LabError> {
    LADDERS.iter().find(|ladder| ladder.name == name).ok_or_else(|| {
        let names: Vec<&str> = LADDERS.iter().map(|ladder| ladder.name).collect();
        let otherwise = format!("there are {}; a record of one ends in .tare", names.join(", "));
        add_nearest_hint(LabError::usage_error(format!("unknown ladder '{name}'")), name, names, otherwise)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::environments;

    #[test]
    fn mechanisms_that_change_options_of_their_own_are_added_in_reverse_too() {
        let rungs = |name: &str| {
            let rungs = find_ladder(name).unwrap().list_rungs();
            let described = rungs.into_iter().map(|rung| (rung.specification, rung.below));
            described.collect::<Vec<_>>()
        };
        let of = |text: &str, below| (text.to_owned(), below);
        assert_eq!(
            rungs("landlock"),
            [
                of("landlock", None),
                of("landlock?rules=100", Some(0)),
                of("landlock?layers=15&rules=100", Some(1)),
                of("landlock?layers=15", Some(0)),
            ]
        );
        let exchanges = find_ladder("landlock").unwrap().list_exchanges();
        let both = |step, forward, reverse| Exchange { step, forward, reverse };
        assert_eq!(exchanges, [both(1, [0, 1], [3, 2]), both(2, [1, 2], [0, 3])]);
        assert_eq!(rungs("seccomp").len(), 5, "the number of rules is one option");
        let container = rungs("container");
        assert_eq!(container.len(), 7 + 4);
        assert_eq!(container[7], of("container?namespaces=processes&net=host&user=yes", Some(1)));
        assert_eq!(
            container[10],
            of("container?limits=yes&namespaces=processes&seccomp=docker&user=yes", Some(9))
        );
    }

    #[test]
    fn every_step_is_an_environment_and_differs_from_the_one_before() {
        for ladder in LADDERS {
            for rung in ladder.list_rungs() {
                environments::parse_environment(&rung.specification).unwrap();
            }
            for step in ladder.steps {
                environments::parse_environment(step.specification).unwrap();
                assert!(step.adds.chars().count() <= 20, "{} is too long for a column", step.adds);
            }
            for two in ladder.steps.windows(2) {
                assert_ne!(two[0].specification, two[1].specification);
            }
        }
        assert_eq!(find_ladder("contaner").unwrap_err().hint.as_deref(), Some("did you mean 'container'?"));
    }
}
