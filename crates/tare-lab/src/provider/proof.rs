//! Proof: the description by which an environment is recognised at every start, before anything is measured in it.

use tare_data::facts::Facts;
use tare_data::failure::{Failure, FailureKind};
use tare_probes::facts::signs::{BOOT, KERNEL, MACHINE, NAMESPACE, TRACER};

/// Words of gVisor's uname(2), which are those of no other kernel: its build date is fixed, and later releases name it.
const GVISOR: [&str; 2] = ["Sun Jan 10 15:06:54 PST 2016", "gvisor"];

/// Description of an environment by signs that only it shows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Proof {
    /// Nothing shows that it is what it is named after.
    #[default]
    None,
    /// This machine's boot and kernel, and its processes.
    Here,
    /// A tracer that stops the agent.
    Traced,
    /// Namespaces of these kinds that are not this machine's.
    Namespaces(&'static [&'static str]),
    /// gVisor's own kernel.
    Gvisor,
    /// A kernel that was booted separately.
    OtherBoot,
    /// Another processor on this machine's kernel.
    OtherMachine,
    /// The way there: the agent that was sent through it answers, and each trial echoes a number drawn for it.
    Channel,
}

/// Result of a comparison with a description.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Proven {
    /// Recognised, by this.
    Seen(String),
    /// Not refuted; the reason why nothing can be seen.
    Unseen(&'static str),
}

impl Proven {
    /// Returns the text of a fact.
    pub fn describe(&self) -> String {
        match self {
            Proven::Seen(by) => by.clone(),
            Proven::Unseen(why) => format!("not proven: {why}"),
        }
    }
}

impl Proof {
    /// Compares the signs of an environment with the description; `own` are those of this process. Fails if they refute it.
    pub fn compare_signs(self, signs: &Facts, own: &Facts) -> Result<Proven, Failure> {
        match self {
            Proof::None if differs(signs, own) => {
                Ok(Proven::Unseen("no sign is known by which it could be recognised"))
            }
            Proof::None => Ok(Proven::Unseen(
                "its kernel and namespaces are this machine's; it may have entered nothing",
            )),
            Proof::Channel => Ok(Proven::Seen("the agent that was sent there answers".into())),
            Proof::Here => require_same(signs, own),
            Proof::Traced => match signs.get(TRACER) {
                None => Ok(Proven::Unseen("/proc does not show its tracer")),
                Some("0") => Err(refuted(
                    "nothing traces it (TracerPid is 0); allow ptrace in the filter or container around tare",
                )),
                Some(tracer) => Ok(Proven::Seen(format!("traced by process {tracer}"))),
            },
            Proof::Namespaces(kinds) => require_namespaces(kinds, signs, own),
            Proof::Gvisor => {
                let kernel = signs.get(KERNEL).unwrap_or_default();
                match GVISOR.iter().any(|words| kernel.contains(words)) {
                    true => Ok(Proven::Seen(format!("kernel {kernel}"))),
                    false if signs.get(KERNEL) == own.get(KERNEL) => Err(refuted(
                        "its kernel is this machine's, and not gVisor; look at the runtime's installation",
                    )),
                    false => Ok(Proven::Unseen("its kernel has another name than gVisor's known ones")),
                }
            }
            Proof::OtherBoot => match (signs.get(BOOT), own.get(BOOT)) {
                (Some(boot), Some(own)) if boot == own => Err(refuted(
                    "it runs in this machine's boot, and not in a kernel of a guest; look at the command that starts it",
                )),
                (Some(boot), Some(_)) => Ok(Proven::Seen(format!("boot {boot}"))),
                _ => Ok(Proven::Unseen("no boot id is shown")),
            },
            Proof::OtherMachine => match (signs.get(MACHINE), own.get(MACHINE)) {
                (Some(machine), Some(own)) if machine != own => {
                    Ok(Proven::Seen(format!("processor {machine}")))
                }
                _ => Ok(Proven::Unseen("it reports this machine's processor")),
            },
        }
    }
}

/// Tells whether a kernel, a boot, a namespace or a tracer is another one.
fn differs(signs: &Facts, own: &Facts) -> bool {
    signs.0.iter().any(|(key, value)| own.get(key).is_some_and(|own| own != value))
}

fn refuted(why: &str) -> Failure {
    Failure::new(FailureKind::NotPermitted, format!("it is not what it is named after: {why}"))
}

/// Requires this machine's boot, kernel and processes.
fn require_same(signs: &Facts, own: &Facts) -> Result<Proven, Failure> {
    let pid = format!("{NAMESPACE}pid");
    for key in [BOOT, KERNEL, &pid] {
        if let (Some(one), Some(other)) = (signs.get(key), own.get(key))
            && one != other
        {
            return Err(refuted(&format!("{key} is {one}, and this machine's is {other}")));
        }
    }
    Ok(match (signs.get(BOOT), signs.get(&pid)) {
        (Some(boot), Some(pid)) => Proven::Seen(format!("boot {boot}, {pid}")),
        (None, Some(pid)) => Proven::Seen(format!("kernel {}, {pid}", signs.get(KERNEL).unwrap_or_default())),
        _ => Proven::Unseen("/proc does not show its boot and namespaces"),
    })
}

/// Requires namespaces of these kinds that are not this machine's.
fn require_namespaces(kinds: &[&str], signs: &Facts, own: &Facts) -> Result<Proven, Failure> {
    let mut seen = Vec::new();
    for kind in kinds {
        let key = format!("{NAMESPACE}{kind}");
        match (signs.get(&key), own.get(&key)) {
            (Some(one), Some(other)) if one == other => {
                return Err(refuted(&format!(
                    "its {kind} namespace is this machine's; allow namespaces in the filter or container around tare"
                )));
            }
            (Some(namespace), Some(_)) => seen.push(namespace),
            _ => return Ok(Proven::Unseen("/proc does not show its namespaces")),
        }
    }
    Ok(Proven::Seen(format!("namespaces {}", seen.join(" "))))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn signs(changes: &[(&str, &str)]) -> Facts {
        let mut signs = Facts::default();
        let host = [
            (BOOT, "b"),
            (KERNEL, "6.1 #1"),
            (MACHINE, "x86_64"),
            (TRACER, "0"),
            ("sign.ns.pid", "pid:[1]"),
            ("sign.ns.mnt", "mnt:[1]"),
        ];
        for (key, value) in host.into_iter().chain(changes.iter().copied()) {
            signs.0.remove(key);
            signs.add_fact(key, value);
        }
        signs
    }

    #[test]
    fn this_machine_is_recognised_as_itself_and_as_nothing_else() {
        let host = signs(&[]);
        let is_refuted = |proof: Proof| proof.compare_signs(&host, &host).is_err();
        assert!(!is_refuted(Proof::Here));
        for proof in [Proof::Traced, Proof::Namespaces(&["mnt", "pid"]), Proof::Gvisor, Proof::OtherBoot] {
            assert!(is_refuted(proof), "{proof:?}");
        }
        let nothing = Proof::None.compare_signs(&host, &host).unwrap().describe();
        assert!(nothing.ends_with("it may have entered nothing"), "{nothing}");
        // Nobody is refuted by what is not shown, and nobody proven.
        for proof in [Proof::Here, Proof::Traced, Proof::Namespaces(&["mnt"]), Proof::OtherBoot, Proof::None]
        {
            let proven = proof.compare_signs(&Facts::default(), &host);
            assert!(matches!(proven, Ok(Proven::Unseen(_))), "{proof:?}: {proven:?}");
        }
    }

    #[test]
    fn each_environment_is_recognised_by_its_sign() {
        let host = signs(&[]);
        for (proof, changes) in [
            (Proof::Traced, &[(TRACER, "7")][..]),
            (Proof::Namespaces(&["mnt", "pid"]), &[("sign.ns.pid", "pid:[2]"), ("sign.ns.mnt", "mnt:[2]")]),
            (Proof::Gvisor, &[(KERNEL, "4.4.0 #1 SMP Sun Jan 10 15:06:54 PST 2016")]),
            (Proof::OtherBoot, &[(BOOT, "c")]),
            (Proof::OtherMachine, &[(MACHINE, "aarch64")]),
        ] {
            let proven = proof.compare_signs(&signs(changes), &host);
            assert!(matches!(proven, Ok(Proven::Seen(_))), "{proof:?}: {proven:?}");
            assert!(Proof::Here.compare_signs(&signs(&[(BOOT, "c")]), &host).is_err());
        }
        let one = signs(&[("sign.ns.pid", "pid:[2]")]);
        assert!(
            Proof::Namespaces(&["mnt", "pid"]).compare_signs(&one, &host).is_err(),
            "both, not one of them"
        );
    }

    #[test]
    fn a_refusal_is_a_short_sentence() {
        let host = signs(&[]);
        for proof in [Proof::Traced, Proof::Namespaces(&["mnt"]), Proof::Gvisor, Proof::OtherBoot] {
            let failure = proof.compare_signs(&host, &host).unwrap_err();
            assert!(failure.reason.len() <= 170, "{failure}");
        }
    }
}
