//! nerdctl: containers by containerd.

use tare_data::facts::Facts;

use crate::containers::engine::{Engine, OPTIONS};
use crate::error::LabError;
use crate::host::programs::Programs;
use crate::provider::specification::Specification;
use crate::provider::{Entrance, NotReady, OptionDescription, Provider, Workspace};

const ENGINE: Engine = Engine {
    program: "nerdctl",
    install: "see https://github.com/containerd/nerdctl/releases",
    version: &["version", "--format", "{{.Client.Version}}"],
    import: &["import"],
    takes_folders: true,
    is_podman: false,
};

pub struct Nerdctl;

impl Provider for Nerdctl {
    fn name(&self) -> &'static str {
        "nerdctl"
    }

    fn summary(&self) -> &'static str {
        "a container by nerdctl, on containerd as Kubernetes uses it"
    }

    fn stands_for(&self) -> &'static str {
        "containers as the nodes of a Kubernetes cluster run them, without its network and its pods."
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
