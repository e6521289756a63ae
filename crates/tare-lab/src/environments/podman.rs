//! Podman: containers without a daemon.

use tare_data::facts::Facts;

use crate::containers::engine::{Engine, PODMAN_OPTIONS};
use crate::error::LabError;
use crate::host::programs::Programs;
use crate::provider::specification::Specification;
use crate::provider::{Entrance, NotReady, OptionDescription, Provider, Workspace};

const ENGINE: Engine = Engine {
    program: "podman",
    install: "apt-get install podman",
    version: &["version", "--format", "{{.Client.Version}}"],
    import: &["import", "--quiet"],
    takes_folders: true,
    is_podman: true,
};

pub struct Podman;

impl Provider for Podman {
    fn name(&self) -> &'static str {
        "podman"
    }

    fn summary(&self) -> &'static str {
        "a container by Podman, with its filter of system calls"
    }

    fn stands_for(&self) -> &'static str {
        "containers as Red Hat and its kin run them. The root is a folder on the host's disk; with own=root it \
         is an image's overlay, as people have it, which Podman mounts without fsync."
    }

    fn options(&self) -> &'static [OptionDescription] {
        PODMAN_OPTIONS
    }

    fn by_default(&self) -> &'static [&'static str] {
        &[]
    }

    fn ready(&self, specification: &Specification, programs: &Programs) -> Result<Facts, NotReady> {
        ENGINE.ready(specification, programs)
    }

    fn enter(
        &self,
        specification: &Specification,
        workspace: &mut dyn Workspace,
    ) -> Result<Entrance, LabError> {
        ENGINE.enter(specification, workspace)
    }
}
