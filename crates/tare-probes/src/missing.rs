//! Probes that the agent for Windows lacks, and why. Every build has the list, so that a test holds it against that of
//! the probes.

/// Probes by name, with the reason that a report gives.
const ON_WINDOWS: &[(&str, &str)] = &[
    ("sys.getppid", "programs for Windows make no system call of their own: the system's libraries do"),
    ("sys.mix", "programs for Windows make no system call of their own: the system's libraries do"),
    ("sys.early", "programs for Windows make no system call of their own: the system's libraries do"),
    ("sys.operation", "the operations are Linux' calls"),
    ("proc.spawn", "Windows has no fork"),
    ("proc.exec", "Windows has no exec: a program is always a new process"),
    ("proc.shell", "the scripts need a Unix shell's pipes and processes"),
    ("proc.fork_hold", "Windows has no fork"),
    ("proc.thread_hold", "not written for Windows yet"),
    ("ipc.unix", "not written for Windows yet"),
    ("ipc.futex", "not written for Windows yet"),
    ("net.hops", "Windows' sockets have no timestamps by hop"),
    ("user.command", "programs of Linux do not run on Windows"),
    ("work.lasting", "its slices fork, which Windows does not have"),
    ("demand.command", "the demand of a command is counted by ptrace, which Windows does not have"),
];

/// Explains why a probe has no loop on the system for which this agent was built.
pub(crate) fn explain_missing_probe(probe: &str) -> &'static str {
    let known = ON_WINDOWS.iter().find(|(name, _)| *name == probe);
    known.map_or("this agent has no such probe", |(_, reason)| reason)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::ON_WINDOWS;
    use crate::descriptions::PROBES;
    use crate::probes::EVERYWHERE;

    /// Probes that Windows measures by separate loops, which no other build has.
    const IN_ITS_OWN_WAY: [&str; 3] = ["net.connect", "net.rr", "net.stream"];

    #[test]
    fn every_probe_is_measured_on_windows_or_has_a_reason() {
        let names: BTreeSet<&str> = PROBES.iter().map(|probe| probe.name).collect();
        let measured = EVERYWHERE.iter().map(|(probe, _)| probe.name);
        let told: Vec<&str> =
            ON_WINDOWS.iter().map(|(name, _)| *name).chain(measured).chain(IN_ITS_OWN_WAY).collect();
        assert_eq!(told.len(), names.len(), "one is told of twice");
        assert_eq!(told.into_iter().collect::<BTreeSet<_>>(), names);
    }
}
