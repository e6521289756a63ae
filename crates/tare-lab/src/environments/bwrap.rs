//! Bubblewrap: namespaces as Flatpak makes them.

use std::process::Command;

use tare_data::facts::Facts;

use crate::containers::root::{AGENT, Root};
use crate::error::{ErrorKind, LabError};
use crate::host::programs::{self, Programs};
use crate::network::container::{self, NET};
use crate::provider::specification::Specification;
use crate::provider::{Entrance, NotReady, OptionDescription, Provider, Workspace};

pub struct Bwrap;

impl Provider for Bwrap {
    fn name(&self) -> &'static str {
        "bwrap"
    }

    fn summary(&self) -> &'static str {
        "namespaces by bubblewrap, with its default of no system call filter"
    }

    fn stands_for(&self) -> &'static str {
        "Flatpak's and many build sandboxes' way of making a container. Flatpak adds a system call filter, \
         which is not here."
    }

    fn options(&self) -> &'static [OptionDescription] {
        &[NET]
    }

    fn by_default(&self) -> &'static [&'static str] {
        &["bwrap"]
    }

    fn ready(&self, specification: &Specification, programs: &Programs) -> Result<Facts, NotReady> {
        container::ready(NET.value(specification), programs)?;
        let program = programs
            .find("bwrap")
            .ok_or_else(|| NotReady::missing("bubblewrap", "apt-get install bubblewrap"))?;
        let version = programs::version(&program, &["--version"])
            .map_err(|e| NotReady::because(format!("{}: {e}", program.display())))?;
        let mut facts = Facts::default();
        facts.note("runtime.path", program.to_string_lossy());
        facts.note("runtime.version", version);
        facts.note("runtime.seccomp", "none");
        Ok(facts)
    }

    fn enter(
        &self,
        specification: &Specification,
        workspace: &mut dyn Workspace,
    ) -> Result<Entrance, LabError> {
        let program = workspace
            .programs()
            .find("bwrap")
            .ok_or_else(|| LabError::new(ErrorKind::Environment, "bubblewrap is not installed"))?;
        let mut outside = Facts::default();
        let network = container::prepare(specification, workspace, &mut outside)?;
        let root = Root::build(workspace)?;
        let mut command = Command::new(&program);
        // The environment passes through bubblewrap to the agent, so it is emptied here.
        command.env_clear().arg("--bind").arg(&root.folder).arg("/");
        command.args(["--dev", "/dev", "--proc", "/proc", "--unshare-all", "--die-with-parent"]);
        command.args(["--ro-bind-try", "/sys", "/sys", "--chdir", "/"]);
        if !network.is_own {
            command.arg("--share-net");
        }
        network.inherit(&mut command)?;
        for (path, inside) in &root.shares {
            command.arg("--bind").arg(path).arg(inside);
        }
        command.args([AGENT, tare_probes::agent::AGENT]);
        root.note_places(&mut outside);
        Ok(Entrance { command, host: network.host, places: root.places, outside })
    }
}
