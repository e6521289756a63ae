//! Docker: containers run by its daemon.

use crate::containers::engine::{Engine, FOOTPRINT, OPTIONS, Starts};
use crate::owned::EngineName;
use crate::provider::footprint::Footprint;
use crate::provider::root::Roots;
use crate::provider::{ByDefault, KernelFacts, Provider};

pub static PROVIDER: Provider = Provider {
    name: "docker",
    summary: "a container by Docker, with its filter of system calls; an image's programs with docker:IMAGE",
    short_description: "container by Docker",
    stands_for: "containers as most people run them. On Windows and macOS Docker runs them in a virtual machine, and they stand \
                 for that as well.",
    instance: Some("image"),
    options: OPTIONS,
    descends: false,
    kernel: KernelFacts::OF_RUNTIME,
    roots: Roots::Own("Docker's daemon cannot see mounts that a session makes for itself"),
    by_default: ByDefault { tried: &[], ranked: &[(4, "docker")], stays: false },
    parse: |specification| ENGINE.parse_container(specification),
    preparation: None,
    footprint: Footprint { programs: &["docker"], ..FOOTPRINT },
};

static ENGINE: Engine = Engine {
    name: EngineName::Docker,
    install: "apt-get install docker.io",
    version: &["version", "--format", "{{.Server.Version}}"],
    import: &["import"],
    takes_folders: false,
    starts: Starts::InDaemon,
};
