//! nerdctl: containers run by containerd.

use crate::containers::engine::{Engine, OPTIONS, Starts, make_footprint};
use crate::owned::EngineName;
use crate::provider::root::Roots;
use crate::provider::{ByDefault, KernelFacts, Provider, provider};

pub static PROVIDER: fn() -> Provider = provider! {
    name: "nerdctl",
    instance: Some("image"),
    parse: |specification| ENGINE.parse_container(specification),
    summary: "a container by nerdctl, on containerd as Kubernetes uses it; an image's programs with nerdctl:IMAGE",
    short_description: "container by nerdctl on containerd",
    stands_for: "containers as the nodes of a Kubernetes cluster run them, without its network and its pods.",
    options: OPTIONS,
    descends: false,
    kernel: KernelFacts::OF_RUNTIME,
    roots: Roots::Own("containerd's daemon cannot see mounts that a session makes for itself"),
    by_default: ByDefault::NEVER,
    footprint: make_footprint("nerdctl"),
};

static ENGINE: Engine = Engine {
    name: EngineName::Nerdctl,
    install: "see https://github.com/containerd/nerdctl/releases",
    version: &["version", "--format", "{{.Client.Version}}"],
    import: &["import"],
    takes_folders: true,
    starts: Starts::InDaemon,
};
