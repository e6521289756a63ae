//! OCI: a container by any runtime that takes a bundle, without an engine above it.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::Command;

use tare_data::facts::Facts;

use crate::containers::bundle;
use crate::containers::control_groups;
use crate::containers::private_mounts;
use crate::containers::root::Root;
use crate::error::{ErrorKind, LabError};
use crate::host::programs::{self, Programs};
use crate::network::container::{self, NET};
use crate::ownership::owned::Owned;
use crate::provider::specification::Specification;
use crate::provider::{Entrance, NotReady, OptionDescription, Provider, Workspace};

/// The runtime when the specification names none.
const RUNTIME: &str = "runc";

pub struct Oci;

impl Provider for Oci {
    fn name(&self) -> &'static str {
        "oci"
    }

    fn summary(&self) -> &'static str {
        "a container by an OCI runtime, named after ':' (runc, crun, youki)"
    }

    fn stands_for(&self) -> &'static str {
        "what Docker, Podman and Kubernetes start in the end, without their engine, image layers, bridge and \
         system call filter. The root folder is a plain folder, not an overlay."
    }

    fn options(&self) -> &'static [OptionDescription] {
        &[NET]
    }

    fn by_default(&self) -> &'static [&'static str] {
        &["oci:runc", "oci:crun"]
    }

    fn ready(&self, specification: &Specification, programs: &Programs) -> Result<Facts, NotReady> {
        let name = runtime(specification);
        let program =
            programs.find(name).ok_or_else(|| NotReady::missing(name, format!("apt-get install {name}")))?;
        if name == "crun" && control_groups::versions() == "hybrid" && !private_mounts::permitted() {
            return Err(NotReady::because(
                "crun refuses hosts with both versions of control groups, and only root can hide one",
            ));
        }
        container::ready(NET.value(specification), programs)?;
        let version = programs::version(&program, &["--version"])
            .map_err(|e| NotReady::because(format!("{}: {e}", program.display())))?;
        let mut facts = Facts::default();
        facts.note("runtime.path", program.to_string_lossy());
        facts.note("runtime.version", version);
        facts.note("runtime.seccomp", "none");
        facts.note("cgroup.version", control_groups::versions());
        Ok(facts)
    }

    fn enter(
        &self,
        specification: &Specification,
        workspace: &mut dyn Workspace,
    ) -> Result<Entrance, LabError> {
        let name = runtime(specification);
        let program = workspace
            .programs()
            .find(name)
            .ok_or_else(|| LabError::new(ErrorKind::Environment, format!("{name} is not installed")))?;
        let mut outside = Facts::default();
        let network = container::prepare(specification, workspace, &mut outside)?;
        let root = Root::build(workspace)?;
        let bundle = bundle::write(workspace, &root, &network)?;
        let state = workspace.folder().join("state");
        let id = workspace.name().to_owned();
        workspace.own(Owned::ControlGroup(id.clone()))?;
        workspace.own(container(program.clone(), &state, &id))?;
        let mut command = Command::new(&program);
        command.arg("--root").arg(&state).arg("run").arg("--bundle").arg(&bundle).arg(&id);
        // Runtimes put files of their own there, and leave them when they are killed.
        command.env("XDG_RUNTIME_DIR", workspace.folder()).env("TMPDIR", workspace.folder());
        if private_mounts::permitted() {
            private_mounts::apply_without_hybrid_groups(&mut command);
        }
        root.note_places(&mut outside);
        Ok(Entrance { command, host: network.host, places: root.places, outside })
    }
}

fn runtime(specification: &Specification) -> &str {
    specification.target.as_deref().unwrap_or(RUNTIME)
}

/// runc, crun and youki keep a folder a container in their state folder, by its id.
fn container(runtime: PathBuf, state: &std::path::Path, id: &str) -> Owned {
    let arguments = vec!["--root".to_owned(), OsString::from(state).to_string_lossy().into_owned()];
    Owned::Container { runtime, arguments, id: id.to_owned(), known_by: Some(state.join(id)) }
}
