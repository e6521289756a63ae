//! Podman: containers without a daemon.

use crate::containers::engine::{Engine, PODMAN_OPTIONS, Starts, make_footprint};
use crate::owned::EngineName;
use crate::provider::root::Roots;
use crate::provider::{ByDefault, KernelFacts, Provider, provider};

pub static PROVIDER: fn() -> Provider = provider! {
    name: "podman",
    instance: Some("image"),
    parse: |specification| ENGINE.parse_container(specification),
    summary: "a container by Podman, with its filter of system calls; an image's programs with podman:IMAGE",
    short_description: "container by Podman",
    stands_for: "containers as Red Hat and its kin run them. The root is a folder on the host's disk; with own=root it is \
                 an image's overlay, as people have it, which Podman mounts without fsync.",
    options: PODMAN_OPTIONS,
    descends: true,
    kernel: KernelFacts::OF_RUNTIME,
    roots: Roots::Any,
    by_default: ByDefault { tried: &[], ranked: &[(5, "podman")], stays: false },
    footprint: make_footprint("podman"),
};

static ENGINE: Engine = Engine {
    name: EngineName::Podman,
    install: "apt-get install podman",
    version: &["version", "--format", "{{.Client.Version}}"],
    import: &["import", "--quiet"],
    takes_folders: true,
    starts: Starts::InCommand,
};
