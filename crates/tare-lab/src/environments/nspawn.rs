//! systemd-nspawn: a container as systemd makes it.

use std::fs;
use std::process::Command;

use tare_data::facts::Facts;

use crate::containers::control_groups;
use crate::containers::private_mounts;
use crate::containers::root::{AGENT, Root};
use crate::error::{ErrorKind, LabError};
use crate::host::programs::{self, Programs};
use crate::network::container::{self, NET};
use crate::ownership::owned::MARK;
use crate::provider::specification::Specification;
use crate::provider::{Entrance, NotReady, OptionDescription, Provider, Workspace};

const PROGRAM: &str = "systemd-nspawn";

const SECCOMP: OptionDescription = OptionDescription {
    key: "seccomp",
    default: "on",
    values: &["on", "off"],
    about: "on: systemd's filter of system calls, which costs some tens of nanoseconds a call",
};

pub struct Nspawn;

impl Provider for Nspawn {
    fn name(&self) -> &'static str {
        "nspawn"
    }

    fn summary(&self) -> &'static str {
        "a container by systemd-nspawn, with its filter of system calls"
    }

    fn stands_for(&self) -> &'static str {
        "containers of whole systems, as machinectl starts them; here without an init inside and without \
         registration, so that nothing of it outlives the session."
    }

    fn options(&self) -> &'static [OptionDescription] {
        &[NET, SECCOMP]
    }

    fn by_default(&self) -> &'static [&'static str] {
        &[]
    }

    fn ready(&self, specification: &Specification, programs: &Programs) -> Result<Facts, NotReady> {
        let program = programs
            .find(PROGRAM)
            .ok_or_else(|| NotReady::missing(PROGRAM, "apt-get install systemd-container"))?;
        if !private_mounts::permitted() {
            return Err(NotReady::because("systemd-nspawn needs root"));
        }
        container::ready(NET.value(specification), programs)?;
        let version = programs::version(&program, &["--version"])
            .map_err(|e| NotReady::because(format!("{}: {e}", program.display())))?;
        let mut facts = Facts::default();
        facts.note("runtime.path", program.to_string_lossy());
        facts.note("runtime.version", version);
        facts.note("runtime.seccomp", SECCOMP.value(specification));
        facts.note("cgroup.version", control_groups::versions());
        Ok(facts)
    }

    fn enter(
        &self,
        specification: &Specification,
        workspace: &mut dyn Workspace,
    ) -> Result<Entrance, LabError> {
        let program = workspace
            .programs()
            .find(PROGRAM)
            .ok_or_else(|| LabError::new(ErrorKind::Environment, format!("{PROGRAM} is not installed")))?;
        let mut outside = Facts::default();
        let network = container::prepare(specification, workspace, &mut outside)?;
        let root = Root::build(workspace)?;
        // It refuses a root folder that does not look like a system's.
        let release = root.outside("/etc/os-release");
        fs::create_dir(root.outside("/usr")).and_then(|()| fs::write(&release, "ID=tare\n")).map_err(
            |e| LabError::new(ErrorKind::Storage, format!("cannot write {}", release.display())).because(e),
        )?;
        let mut command = Command::new(&program);
        command.args(["--quiet", "--pipe", "--register=no", "--keep-unit", "--link-journal=no"]);
        command.args(["--resolv-conf=off", "--timezone=off", "--as-pid2"]);
        command.arg("-D").arg(&root.folder).arg(format!("--machine={}", workspace.name()));
        command.arg(format!("--setenv={MARK}={}", workspace.mark()));
        if network.is_own {
            command.arg("--private-network");
        }
        network.inherit(&mut command)?;
        if SECCOMP.value(specification) == "off" {
            command.env("SYSTEMD_SECCOMP", "0");
        }
        for (path, inside) in &root.shares {
            // A colon parts the two, and stands for itself after a backslash.
            let path = path.to_string_lossy().replace(':', "\\:");
            command.arg(format!("--bind={path}:{inside}"));
        }
        command.args([AGENT, tare_probes::agent::AGENT]);
        // It makes groups below its own, and leaves them.
        control_groups::join(&mut command, workspace)?;
        // It keeps files below /run, and leaves them.
        private_mounts::apply_with_fresh(&mut command, c"/run");
        root.note_places(&mut outside);
        Ok(Entrance { command, host: network.host, places: root.places, outside })
    }
}
