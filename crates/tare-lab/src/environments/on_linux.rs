//! Names of the environments that tare for Linux enters, known to every build so that an error can say so.

pub(crate) const NAMES: &[&str] = &[
    "native",
    "container",
    "traced",
    "emulated",
    "bwrap",
    "proot",
    "nspawn",
    "oci",
    "podman",
    "docker",
    "nerdctl",
    "gvisor",
    "uml",
    "qemu",
    "wsl",
    "windows",
    "ssh",
    "slurm",
    "kubernetes",
];
