//! Docker: containers by its daemon.

use tare_data::facts::Facts;

use crate::containers::engine::{Engine, OPTIONS};
use crate::error::LabError;
use crate::host::programs::Programs;
use crate::provider::specification::Specification;
use crate::provider::{Entrance, NotReady, OptionDescription, Provider, Workspace};

const ENGINE: Engine = Engine {
    program: "docker",
    install: "apt-get install docker.io",
    version: &["version", "--format", "{{.Server.Version}}"],
    import: &["import"],
    takes_folders: false,
    is_podman: false,
};

pub struct Docker;

impl Provider for Docker {
    fn name(&self) -> &'static str {
        "docker"
    }

    fn summary(&self) -> &'static str {
        "a container by Docker, with its filter of system calls"
    }

    fn stands_for(&self) -> &'static str {
        "containers as most people run them. On Windows and macOS Docker runs them in a virtual machine, and \
         they stand for that as well."
    }

    fn options(&self) -> &'static [OptionDescription] {
        OPTIONS
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
