//! Proof: the description by which an environment is recognised at every start, before anything is measured in it.

use tare_analysis::here::layers::{Confidence, Layer};
use tare_analysis::here::recognise_layers;
use tare_data::facts::Facts;
use tare_data::facts::keys::{
    KERNEL_MACHINE as MACHINE, KERNEL_RELEASE as RELEASE, KERNEL_VERSION as VERSION, NAMESPACE_MNT,
    NAMESPACE_PID,
};
use tare_data::failure::{Failure, FailureKind};
use tare_probes::signs::{BOOT, PARENT};

use super::namespaces::Namespaces;

const TRACER: &str = "tracer";

/// Description of an environment by signs that only it shows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Proof {
    /// Nothing shows that it is what it is named after.
    #[default]
    None,
    /// This machine's boot and kernel, and its processes and network.
    Here,
    /// Tracer that stops the agent, by its name in `tare here`.
    Tracer(&'static str),
    /// Rules that keep the agent from looking at the process that started it.
    Landlock,
    /// Namespaces that are not this machine's, and no others.
    Namespaces(Namespaces),
    /// Kernel in place of this machine's, by its name in `tare here`.
    Kernel(&'static str),
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
    /// Compares the signs of an environment with the description. Fails if they refute it. `own` are this process's signs.
    pub fn compare_signs(self, signs: &Facts, own: &Facts) -> Result<Proven, Failure> {
        match self {
            Proof::None if is_elsewhere(signs, own) => {
                Ok(Proven::Unseen("no sign is known by which it could be recognised"))
            }
            Proof::None => Ok(Proven::Unseen(
                "its kernel and namespaces are this machine's; it may have entered nothing",
            )),
            Proof::Channel => Ok(Proven::Seen("the agent that was sent there answers".into())),
            Proof::Here => require_here(signs, own),
            Proof::Tracer(name) => require_tracer(name, signs, own),
            Proof::Landlock => match signs.get(PARENT) {
                Some("refused") => Ok(Proven::Seen("it may not look at the process that started it".into())),
                Some(_) => {
                    Err(refuted("no rules restrict it; look at the kernel's list of security modules"))
                }
                None => Ok(Proven::Unseen("/proc does not show the process that started it")),
            },
            Proof::Namespaces(namespaces) => match namespaces.compare_signs(signs, own) {
                Ok(Some(seen)) => Ok(Proven::Seen(format!("namespaces {seen}"))),
                Ok(None) => Ok(Proven::Unseen("/proc does not show its namespaces")),
                Err(why) => Err(refuted(&why)),
            },
            Proof::Kernel(name) => require_kernel(name, signs, own),
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
fn is_elsewhere(signs: &Facts, own: &Facts) -> bool {
    let is_sign =
        |key: &str| [BOOT, RELEASE, VERSION, MACHINE, TRACER].contains(&key) || key.starts_with("namespace.");
    signs.0.iter().any(|(key, value)| is_sign(key) && own.get(key).is_some_and(|own| own != value))
}

fn refuted(why: &str) -> Failure {
    Failure::new(FailureKind::NotPermitted, format!("it is not what it is named after: {why}"))
}

/// Requires this machine's boot, kernel, processes and network.
fn require_here(signs: &Facts, own: &Facts) -> Result<Proven, Failure> {
    for key in [BOOT, RELEASE, VERSION, NAMESPACE_PID, "namespace.net"] {
        if let (Some(one), Some(other)) = (signs.get(key), own.get(key))
            && one != other
        {
            return Err(refuted(&format!("{key} is {one}, and this machine's is {other}")));
        }
    }
    Ok(match (signs.get(BOOT), signs.get(NAMESPACE_PID)) {
        (Some(boot), Some(pid)) => Proven::Seen(format!("boot {boot}, pid:[{pid}]")),
        (None, Some(pid)) => {
            Proven::Seen(format!("kernel {}, pid:[{pid}]", signs.get(RELEASE).unwrap_or_default()))
        }
        _ => Proven::Unseen("/proc does not show its boot and namespaces"),
    })
}

fn require_tracer(name: &str, signs: &Facts, own: &Facts) -> Result<Proven, Failure> {
    match (signs.get(TRACER), recognise(name, signs)) {
        (None, _) => Ok(Proven::Unseen("/proc does not show its tracer")),
        (Some("0"), _) => Err(refuted(
            "nothing traces it (TracerPid is 0); allow ptrace in the filter or container around tare",
        )),
        (tracer, _) if tracer == own.get(TRACER) => {
            Err(refuted("the tracer is the one that traces tare itself; start tare without it"))
        }
        (Some(tracer), Some(_)) => Ok(Proven::Seen(format!("traced by process {tracer}"))),
        (Some(_), None) => Ok(Proven::Unseen("its tracer has another name")),
    }
}

fn require_kernel(name: &str, signs: &Facts, own: &Facts) -> Result<Proven, Failure> {
    let is_same = |key: &str| signs.get(key).is_some() && signs.get(key) == own.get(key);
    match (recognise(name, signs), recognise(name, own)) {
        (Some(layer), None) => Ok(Proven::Seen(describe_evidence(&layer))),
        // This machine is one as well, so that its name proves nothing.
        (Some(_), Some(_)) if is_same(NAMESPACE_MNT) => {
            Err(refuted("it is the very one that tare runs in; look at the runtime's installation"))
        }
        (Some(_), Some(_)) => Ok(Proven::Unseen("this machine shows the same signs")),
        (None, _) if is_same(BOOT) || is_same(RELEASE) && is_same(VERSION) => {
            Err(refuted("its kernel is this machine's; look at the runtime's installation"))
        }
        (None, _) => Ok(Proven::Unseen("its kernel shows none of the known signs")),
    }
}

/// Recognises a layer as `tare here` does.
fn recognise(name: &str, signs: &Facts) -> Option<Layer> {
    let layers = recognise_layers(signs).layers;
    layers.into_iter().find(|layer| layer.name == name && layer.confidence >= Confidence::Likely)
}

fn describe_evidence(layer: &Layer) -> String {
    layer.evidence.iter().map(|evidence| evidence.proves).collect::<Vec<_>>().join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::provider::namespaces::Kinds;

    const CONTAINER: Proof = Proof::Namespaces(Namespaces { own: Kinds::CONTAINER, either: Kinds::NONE });

    fn signs(changes: &[(&str, &str)]) -> Facts {
        let mut signs = Facts::default();
        let host = [
            (BOOT, "b"),
            (RELEASE, "6.1"),
            (VERSION, "#1"),
            (MACHINE, "x86_64"),
            (TRACER, "0"),
            (PARENT, "shown"),
            ("cpuinfo.kind", "x86"),
            ("namespace.pid", "4026531836"),
            ("namespace.mnt", "4026531841"),
            ("namespace.ipc", "4026531839"),
            ("namespace.uts", "4026531838"),
        ];
        for (key, value) in host.into_iter().chain(changes.iter().copied()) {
            signs.0.remove(key);
            signs.add_fact(key, value);
        }
        signs
    }

    /// Every description that this machine refutes.
    const ELSEWHERE: [Proof; 7] = [
        Proof::Tracer("traced"),
        Proof::Tracer("proot"),
        Proof::Landlock,
        CONTAINER,
        Proof::Kernel("gvisor"),
        Proof::Kernel("uml"),
        Proof::OtherBoot,
    ];

    #[test]
    fn this_machine_is_recognised_as_itself_and_as_nothing_else() {
        let host = signs(&[]);
        assert!(matches!(Proof::Here.compare_signs(&host, &host), Ok(Proven::Seen(_))));
        for proof in ELSEWHERE {
            let failure = proof.compare_signs(&host, &host).unwrap_err();
            assert!(failure.reason.len() <= 170, "{failure}");
        }
        let nothing = Proof::None.compare_signs(&host, &host).unwrap().describe();
        assert!(nothing.ends_with("it may have entered nothing"), "{nothing}");
        // Nobody is refuted by what is not shown, and nobody proven.
        for proof in ELSEWHERE.into_iter().chain([Proof::Here, Proof::None]) {
            let proven = proof.compare_signs(&Facts::default(), &host);
            assert!(matches!(proven, Ok(Proven::Unseen(_))), "{proof:?}: {proven:?}");
        }
    }

    #[test]
    fn each_environment_is_recognised_by_its_sign() {
        let host = signs(&[]);
        let other = [
            ("namespace.pid", "4026532001"),
            ("namespace.mnt", "4026532002"),
            ("namespace.ipc", "4026532003"),
            ("namespace.uts", "4026532004"),
        ];
        for (proof, changes) in [
            (Proof::Tracer("traced"), &[(TRACER, "7")][..]),
            (Proof::Tracer("proot"), &[(TRACER, "7"), ("tracer.name", "proot")]),
            (Proof::Landlock, &[(PARENT, "refused")]),
            (CONTAINER, &other),
            (Proof::Kernel("gvisor"), &[(VERSION, "#1 SMP Sun Jan 10 15:06:54 PST 2016")]),
            (Proof::Kernel("uml"), &[("cpuinfo.kind", "uml"), (BOOT, "c")]),
            (Proof::OtherBoot, &[(BOOT, "c")]),
            (Proof::OtherMachine, &[(MACHINE, "aarch64")]),
        ] {
            let proven = proof.compare_signs(&signs(changes), &host);
            assert!(matches!(proven, Ok(Proven::Seen(_))), "{proof:?}: {proven:?}");
        }
        for changes in [&[(BOOT, "c")][..], &[("namespace.net", "9")], &other[..1]] {
            let host = signs(&[("namespace.net", "8")]);
            assert!(Proof::Here.compare_signs(&signs(changes), &host).is_err(), "{changes:?}");
        }
    }

    #[test]
    fn where_tare_itself_stands_in_a_layer_that_layer_proves_nothing() {
        let gvisor = (VERSION, "#1 SMP Sun Jan 10 15:06:54 PST 2016");
        let (inside, traced) = (signs(&[gvisor]), signs(&[(TRACER, "7")]));
        assert!(Proof::Kernel("gvisor").compare_signs(&inside, &inside).is_err());
        let other = signs(&[gvisor, ("namespace.mnt", "4026532002")]);
        let proven = Proof::Kernel("gvisor").compare_signs(&other, &inside);
        assert!(matches!(proven, Ok(Proven::Unseen(_))), "{proven:?}");
        assert!(Proof::Tracer("traced").compare_signs(&traced, &traced).is_err());
        // proot is not any tracer.
        let proven = Proof::Tracer("proot").compare_signs(&traced, &signs(&[]));
        assert!(matches!(proven, Ok(Proven::Unseen(_))), "{proven:?}");
    }
}
