//! Docker: containers run by its daemon.

use crate::containers::engine::{Engine, OPTIONS, Starts, make_footprint};
use crate::owned::EngineName;
use crate::provider::root::Roots;
use crate::provider::{ByDefault, KernelFacts, Provider, provider};

pub static PROVIDER: fn() -> Provider = provider! {
    name: "docker",
    instance: Some("image"),
    parse: |specification| ENGINE.parse_container(specification),
    summary: "a container by Docker, with its filter of system calls; an image's programs with docker:IMAGE",
    short_description: "container by Docker",
    stands_for: "containers as most people run them. On Windows and macOS Docker runs them in a virtual machine, and they stand \
                 for that as well.",
    options: OPTIONS,
    descends: false,
    kernel: KernelFacts::OF_RUNTIME,
    roots: Roots::Host("Docker mounts layers over the folders of this machine alone, with a daemon that sees them, and as root"),
    by_default: ByDefault { tried: &[], ranked: &[(4, "docker")], stays: false },
    footprint: make_footprint("docker"),
};

static ENGINE: Engine = Engine {
    name: EngineName::Docker,
    install: "apt-get install docker.io",
    version: &["version", "--format", "{{.Server.Version}}"],
    import: &["import"],
    takes_folders: false,
    starts: Starts::InDaemon,
};
