//! Ladders: environments built up one mechanism at a time, to separate the cost of each.

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
    /// Steps, of which the first builds on the host itself, and each other one on the step before.
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
    fn every_step_is_an_environment_and_differs_from_the_one_before() {
        for ladder in LADDERS {
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
