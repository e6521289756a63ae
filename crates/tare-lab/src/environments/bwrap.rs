//! Bubblewrap: namespaces as Flatpak makes them.

use std::process::Command;

use tare_data::facts::Facts;

use crate::environments::{Entrance, Ground, NotReady, OptionDescription, Provider};
use crate::error::{ErrorKind, LabError};
use crate::programs::{self, Programs};
use crate::root::{AGENT, Root};
use crate::specification::Specification;

const NETWORK: OptionDescription = OptionDescription {
    key: "network",
    default: "own",
    values: &["own", "host"],
    about: "own: a namespace with nothing but loopback; host: the host's network",
};

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
        &[NETWORK]
    }

    fn by_default(&self) -> &'static [&'static str] {
        &["bwrap"]
    }

    fn ready(&self, _: &Specification, programs: &Programs) -> Result<Facts, NotReady> {
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

    fn enter(&self, specification: &Specification, ground: &mut dyn Ground) -> Result<Entrance, LabError> {
        let program = ground
            .programs()
            .find("bwrap")
            .ok_or_else(|| LabError::new(ErrorKind::Environment, "bubblewrap is not installed"))?;
        let root = Root::build(ground)?;
        let mut command = Command::new(&program);
        // The environment passes through bubblewrap to the agent, so it is emptied here.
        command.env_clear().arg("--bind").arg(&root.folder).arg("/");
        command.args(["--dev", "/dev", "--proc", "/proc", "--unshare-all", "--die-with-parent"]);
        command.args(["--ro-bind-try", "/sys", "/sys", "--chdir", "/"]);
        if NETWORK.value(specification) == "host" {
            command.arg("--share-net");
        }
        for (path, inside) in &root.shares {
            command.arg("--bind").arg(path).arg(inside);
        }
        command.args([AGENT, tare_probes::agent::AGENT]);
        let mut outside = Facts::default();
        root.note_places(&mut outside);
        Ok(Entrance { command, host: None, places: root.places, outside })
    }
}
