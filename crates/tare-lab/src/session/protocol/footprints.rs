//! Footprints: what entering an environment starts, mounts, writes and sends, for whoever wants to know beforehand.

use crate::guests::machine;

/// What a provider does on the way into an environment.
#[derive(Debug)]
pub(crate) struct Footprint {
    /// The provider's name.
    pub(crate) provider: &'static str,
    /// Programs that it starts beside tare itself; the instance of an environment stands for `*`.
    pub(crate) programs: &'static [&'static str],
    pub(crate) starts: &'static str,
    pub(crate) mounts: Option<&'static str>,
    /// Beside the session's own folder.
    pub(crate) writes: Option<&'static str>,
    pub(crate) sends: Option<&'static str>,
}

const BARE: Footprint =
    Footprint { provider: "", programs: &[], starts: "", mounts: None, writes: None, sends: None };
const OWN_MOUNTS: Option<&str> =
    Some("a root of its own with /proc, /dev and the places, in a mount namespace of its own");
const ENGINE: Footprint = Footprint {
    starts: "an engine's container, removed after each start; before, the engine is asked for its version",
    mounts: OWN_MOUNTS,
    writes: Some("containers and, with a root from an image, an empty image in the engine's own storage"),
    ..BARE
};

/// A line for each provider.
pub(crate) const FOOTPRINTS: &[Footprint] = &[
    Footprint { provider: "native", starts: "the agent, as a plain process", ..BARE },
    Footprint {
        provider: "container",
        starts: "the agent, in namespaces that tare makes",
        mounts: OWN_MOUNTS,
        writes: Some("with limits=yes, a control group"),
        ..BARE
    },
    Footprint {
        provider: "traced",
        starts: "the agent, as a plain process that tare traces with all that it starts",
        ..BARE
    },
    Footprint {
        provider: "emulated",
        programs: &["qemu-*"],
        starts: "the agent for that processor, by QEMU, which is asked for its version before",
        mounts: Some("binfmt_misc, in a user namespace and a mount namespace of its own"),
        ..BARE
    },
    Footprint {
        provider: "bwrap",
        programs: &["bwrap"],
        starts: "the agent, by bubblewrap, which is asked for its version before",
        mounts: OWN_MOUNTS,
        ..BARE
    },
    Footprint {
        provider: "proot",
        programs: &["proot"],
        starts: "the agent, traced by proot, which is asked for its version before",
        ..BARE
    },
    Footprint {
        provider: "nspawn",
        programs: &["systemd-nspawn"],
        starts: "the agent, by systemd-nspawn, which is asked for its version before",
        mounts: OWN_MOUNTS,
        writes: Some("a control group"),
        ..BARE
    },
    Footprint {
        provider: "oci",
        programs: &["*"],
        starts: "a container of that runtime, which is asked for its version before",
        mounts: OWN_MOUNTS,
        writes: Some("a control group"),
        ..BARE
    },
    Footprint { provider: "podman", programs: &["podman"], ..ENGINE },
    Footprint { provider: "docker", programs: &["docker"], ..ENGINE },
    Footprint { provider: "nerdctl", programs: &["nerdctl"], ..ENGINE },
    Footprint {
        provider: "gvisor",
        programs: &["runsc"],
        starts: "a sandbox by runsc, which is asked for its version before",
        mounts: Some("what runsc mounts, in a mount namespace of its own"),
        ..BARE
    },
    Footprint {
        provider: "uml",
        starts: "a kernel that was prepared, as a process with a disk of its own",
        ..BARE
    },
    Footprint {
        provider: "qemu",
        programs: &[machine::PROGRAMS[0], machine::PROGRAMS[1], machine::PROGRAMS[2], "virtiofsd", "diod"],
        starts: "a virtual machine with a disk of its own, and servers for shared folders; KVM is tried before",
        ..BARE
    },
    Footprint {
        provider: "wsl",
        programs: &["wsl.exe", "powershell.exe"],
        starts: "a distribution, or one that is made for the session; Windows is asked for its versions",
        mounts: Some("what Windows mounts in a distribution"),
        writes: Some("a distribution of Windows, unregistered afterwards"),
        ..BARE
    },
    Footprint {
        provider: "windows",
        programs: &["cmd.exe", "wslpath"],
        starts: "the agent for Windows, which Windows runs",
        writes: Some("a folder on a drive of Windows, with the agent, removed afterwards"),
        ..BARE
    },
    Footprint {
        provider: "ssh",
        programs: &["ssh"],
        starts: "the agent on the other machine, over one connection",
        writes: Some("on the other machine: a copy of tare, and a folder for each start"),
        sends: Some("to that machine: a copy of tare, then requests of trials"),
        ..BARE
    },
    Footprint {
        provider: "slurm",
        programs: &["srun"],
        starts: "the agent on the node, as a job step; the node is asked for its processor before",
        writes: Some("on the node: a copy of tare in the home folder, and a folder for each start"),
        sends: Some("to Slurm: a copy of tare, then requests of trials"),
        ..BARE
    },
    Footprint {
        provider: "kubernetes",
        programs: &["kubectl"],
        starts: "the agent in the pod, by kubectl exec; the pod is asked for its processor before",
        writes: Some("in the pod: a copy of tare, and a folder for each start"),
        sends: Some("to the cluster's API server: a copy of tare, then requests of trials"),
        ..BARE
    },
];

#[cfg(test)]
mod tests {
    use crate::environments::PROVIDERS;

    use super::*;

    #[test]
    fn every_provider_has_a_footprint() {
        let provided: Vec<&str> = PROVIDERS.iter().map(|provider| provider.name).collect();
        let known: Vec<&str> = FOOTPRINTS.iter().map(|footprint| footprint.provider).collect();
        assert_eq!(known, provided);
        assert!(FOOTPRINTS.iter().all(|footprint| !footprint.starts.is_empty()));
    }
}
