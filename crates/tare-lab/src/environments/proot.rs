//! proot: another root folder without any privilege, by translating system calls through ptrace.

use std::net::Ipv4Addr;
use std::process::Command;

use tare_data::facts::Facts;

use crate::containers::root::{AGENT, Root};
use crate::error::{ErrorKind, LabError};
use crate::host::programs::{self, Programs};
use crate::provider::specification::Specification;
use crate::provider::{Entrance, NotReady, OptionDescription, Provider, Workspace};

const SECCOMP: OptionDescription = OptionDescription {
    key: "seccomp",
    default: "on",
    values: &["on", "off"],
    about: "on: a filter lets calls through that need no translation; off: every call stops twice",
};

/// Host folders that proot shows inside: without them a program finds no devices and no processes.
const SHOWN: [&str; 3] = ["/proc", "/dev", "/sys"];

pub struct Proot;

impl Provider for Proot {
    fn name(&self) -> &'static str {
        "proot"
    }

    fn summary(&self) -> &'static str {
        "another root folder, by translating system calls through ptrace"
    }

    fn stands_for(&self) -> &'static str {
        "Linux distributions on Android phones and on clusters without root. Calls that name files cost two \
         stops of the tracer; with its filter the others pass. Network and processes are the host's own."
    }

    fn options(&self) -> &'static [OptionDescription] {
        &[SECCOMP]
    }

    fn by_default(&self) -> &'static [&'static str] {
        &["proot"]
    }

    fn ready(&self, specification: &Specification, programs: &Programs) -> Result<Facts, NotReady> {
        let program =
            programs.find("proot").ok_or_else(|| NotReady::missing("proot", "apt-get install proot"))?;
        let ended = programs::run(Command::new(&program).arg("--version"), programs::VERSION_WAIT)
            .map_err(|e| NotReady::because(format!("{}: {e}", program.display())))?;
        let mut facts = Facts::default();
        facts.note("runtime.path", program.to_string_lossy());
        facts.note("runtime.version", version(&ended.output).unwrap_or_default());
        facts.note("runtime.seccomp", SECCOMP.value(specification));
        Ok(facts)
    }

    fn enter(
        &self,
        specification: &Specification,
        workspace: &mut dyn Workspace,
    ) -> Result<Entrance, LabError> {
        let program = workspace
            .programs()
            .find("proot")
            .ok_or_else(|| LabError::new(ErrorKind::Environment, "proot is not installed"))?;
        let root = Root::build(workspace)?;
        let mut command = Command::new(&program);
        // Its own files go into the folder of this start, where they are taken away with it.
        command.env_clear().env("PROOT_TMP_DIR", workspace.folder());
        if SECCOMP.value(specification) == "off" {
            command.env("PROOT_NO_SECCOMP", "1");
        }
        command.arg("-r").arg(&root.folder).args(["-w", "/"]);
        for shown in SHOWN {
            command.args(["-b", shown]);
        }
        for (path, inside) in &root.shares {
            let mut binding = path.clone().into_os_string();
            binding.push(":");
            binding.push(inside);
            command.arg("-b").arg(binding);
        }
        command.args([AGENT, tare_probes::agent::AGENT]);
        let mut outside = Facts::default();
        root.note_places(&mut outside);
        Ok(Entrance { command, host: Some(Ipv4Addr::LOCALHOST.into()), places: root.places, outside })
    }
}

/// proot draws its version at the end of a banner of letters: the last word with a digit at its beginning.
fn version(banner: &str) -> Option<&str> {
    banner
        .split_ascii_whitespace()
        .find(|word| word.starts_with(|c: char| c.is_ascii_digit()) && word.contains('.'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_is_found_in_the_banner() {
        let banner = " _____ _____\n|  __ \\  __ \\\n|__|  |__|__\\_____/\\_____/\\____| 5.1.0\n\nbuilt-in accelerators: yes\n";
        assert_eq!(version(banner), Some("5.1.0"));
        assert_eq!(version(""), None);
    }
}
