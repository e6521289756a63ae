//! Environments of tare for Linux by name, known to every build so that an error can say so.

pub(crate) const NAMES: &[&str] = &[
    "native",
    "container",
    "landlock",
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
    "kubernetes",
    "exec",
];
