//! gVisor: a kernel in user space that answers the system calls itself.

use std::net::Ipv4Addr;
use std::path::Path;
use std::process::Command;

use tare_data::facts::Facts;

use crate::containers::bundle;
use crate::containers::control_groups;
use crate::containers::private_mounts;
use crate::containers::root::Root;
use crate::error::{ErrorKind, LabError};
use crate::guests::kvm;
use crate::host::programs::{self, Programs};
use crate::network::container::{self, ContainerNetwork};
use crate::network::lab;
use crate::ownership::owned::Owned;
use crate::provider::specification::Specification;
use crate::provider::{Entrance, NotReady, OptionDescription, Provider, Workspace};

/// Installs a runsc of our day. Debian's own is of 2022, has no systrap and runs no bundles.
const INSTALL: &str = "CGO_ENABLED=0 go install -ldflags='-s -w' \
                       gvisor.dev/gvisor/runsc@v0.0.0-20260905035102-160fafc42237";

const PLATFORM: OptionDescription = OptionDescription {
    key: "platform",
    default: "systrap",
    values: &["systrap", "ptrace", "kvm"],
    about: "how system calls are caught: SIGSYS with patched call sites, ptrace, or a virtual machine",
};
const NET: OptionDescription = OptionDescription {
    key: "net",
    default: "none",
    values: &["none", "sandbox", "host"],
    about: "none: gVisor's own stack with nothing but loopback; sandbox: that stack with a way to the session's \
            own network, where the peer `host` is; host: the host's stack, passed through",
};
const OVERLAY: OptionDescription = OptionDescription {
    key: "overlay",
    default: "none",
    values: &["none", "self", "memory"],
    about: "where writes to the root folder go: none: to the host's disk; self: to one sparse file there, \
            which is runsc's default and answers fsync without doing it; memory: nowhere",
};
const DIRECTFS: OptionDescription = OptionDescription {
    key: "directfs",
    default: "on",
    values: &["on", "off"],
    about: "on: the sandbox opens host files itself; off: it asks a second process for each",
};

pub struct Gvisor;

impl Provider for Gvisor {
    fn name(&self) -> &'static str {
        "gvisor"
    }

    fn summary(&self) -> &'static str {
        "gVisor: system calls are answered by a kernel in user space"
    }

    fn stands_for(&self) -> &'static str {
        "translating system calls, which is WSL1's architecture: many small calls are dear, computing costs \
         nothing. WSL1 translates in the Windows kernel, gVisor in user space, so only the shape carries \
         over. It is also what Google's cloud runs untrusted containers in; there, as with runsc's defaults, \
         the root folder has an overlay whose fsync does nothing. Here writes go to the disk unless \
         overlay=self is asked for, so that the place 'own' is comparable with the others."
    }

    fn options(&self) -> &'static [OptionDescription] {
        &[PLATFORM, NET, OVERLAY, DIRECTFS]
    }

    fn by_default(&self) -> &'static [&'static str] {
        &["gvisor", "gvisor?platform=ptrace"]
    }

    fn ready(&self, specification: &Specification, programs: &Programs) -> Result<Facts, NotReady> {
        let program = programs.find("runsc").ok_or_else(|| NotReady::missing("runsc", INSTALL))?;
        if !private_mounts::permitted() {
            return Err(NotReady::because(
                "runsc needs root here: it makes namespaces for its own processes",
            ));
        }
        if NET.value(specification) == "sandbox" {
            lab::ready()?;
        }
        let platform = PLATFORM.value(specification);
        if platform == "kvm" {
            kvm::proven(programs)?;
        }
        let ended = programs::run(Command::new(&program).arg("--version"), programs::VERSION_WAIT)
            .map_err(|e| NotReady::because(format!("{}: {e}", program.display())))?;
        let (version, specified) = versions(&ended.output);
        // The first line of the bundle format that the runsc of 2022 knew was 1.0.
        if specified.is_some_and(|version| version.starts_with("1.0")) {
            return Err(NotReady {
                reason: format!("{} is too old ({})", program.display(), version.unwrap_or("no version")),
                command: Some(INSTALL.to_owned()),
            });
        }
        let mut facts = Facts::default();
        facts.note("runtime.path", program.to_string_lossy());
        facts.note("runtime.version", version.unwrap_or_default());
        for option in self.options() {
            facts.note(format!("runtime.{}", option.key), option.value(specification));
        }
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
            .find("runsc")
            .ok_or_else(|| LabError::new(ErrorKind::Environment, "runsc is not installed"))?;
        let root = Root::build(workspace)?;
        let mut outside = Facts::default();
        let network = network(specification, workspace, &mut outside)?;
        let bundle = bundle::write(workspace, &root, &network)?;
        let state = workspace.folder().join("state");
        let flags = flags(specification, &state);
        let id = workspace.name().to_owned();
        workspace.own(Owned::Container {
            runtime: program.clone(),
            arguments: flags.clone(),
            id: id.clone(),
            known_by: Some(state.join(format!("{id}_sandbox:{id}.state"))),
        })?;
        let mut command = Command::new(&program);
        command
            .args(&flags)
            .arg("run")
            .arg("--bundle")
            .arg(&bundle)
            .arg(&id)
            .env("TMPDIR", workspace.folder());
        // runsc mounts an empty network namespace in its state folder and leaves it there.
        private_mounts::apply(&mut command);
        root.note_places(&mut outside);
        Ok(Entrance { command, host: network.host, places: root.places, outside })
    }
}

/// gVisor takes addresses and routes away from the namespace that it is given: each start has a fresh one.
fn network(
    specification: &Specification,
    workspace: &mut dyn Workspace,
    outside: &mut Facts,
) -> Result<ContainerNetwork, LabError> {
    match NET.value(specification) {
        "sandbox" => container::attach("veth", workspace, outside),
        "host" => {
            Ok(ContainerNetwork { is_own: false, namespace: None, host: Some(Ipv4Addr::LOCALHOST.into()) })
        }
        _ => Ok(ContainerNetwork { is_own: true, namespace: None, host: None }),
    }
}

fn flags(specification: &Specification, state: &Path) -> Vec<String> {
    let overlay = match OVERLAY.value(specification) {
        "self" => "root:self",
        "memory" => "root:memory",
        _ => "none",
    };
    vec![
        format!("--root={}", state.display()),
        // Control groups limit nothing here, and runsc's needs differ from one host to the next.
        "--ignore-cgroups".to_owned(),
        format!("--platform={}", PLATFORM.value(specification)),
        format!("--network={}", NET.value(specification)),
        format!("--overlay2={overlay}"),
        format!("--directfs={}", DIRECTFS.value(specification) == "on"),
    ]
}

/// The version of runsc and the version of the bundle format that it prints: `runsc version X`, `spec: Y`.
fn versions(output: &str) -> (Option<&str>, Option<&str>) {
    let after = |beginning| output.lines().find_map(|line| line.strip_prefix(beginning)).map(str::trim);
    (after("runsc version"), after("spec:"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_versions_are_read() {
        assert_eq!(versions("runsc version release-1\nspec: 1.2.1\n"), (Some("release-1"), Some("1.2.1")));
        assert_eq!(versions(""), (None, None));
    }

    #[test]
    fn options_become_flags() {
        let specification = Specification::parse("gvisor?platform=ptrace&overlay=self&directfs=off").unwrap();
        assert_eq!(
            flags(&specification, Path::new("/s")),
            [
                "--root=/s",
                "--ignore-cgroups",
                "--platform=ptrace",
                "--network=none",
                "--overlay2=root:self",
                "--directfs=false"
            ]
        );
    }
}
