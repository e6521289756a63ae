//! Container engines: what Podman, Docker and nerdctl have in common, by their command line.

use std::fs;
use std::net::{IpAddr, Ipv4Addr};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use tare_data::facts::Facts;

use crate::containers::control_groups;
use crate::containers::private_mounts;
use crate::containers::root::{AGENT, OWN, Root, SHARES};
use crate::error::{ErrorKind, LabError};
use crate::host::mounts;
use crate::host::network_namespace;
use crate::host::processes::FINISHES;
use crate::host::programs::{self, Programs};
use crate::network::lab;
use crate::ownership::owned::MARK;
use crate::ownership::owned::Owned;
use crate::provider::specification::Specification;
use crate::provider::{Entrance, NotReady, OptionDescription, Workspace};

/// Time that an engine has for a question, or for making an image of nothing.
const ANSWER_WAIT: Duration = Duration::from_secs(30);
/// An archive with nothing in it: two blocks of zeros.
const EMPTY_ARCHIVE: [u8; 1024] = [0; 1024];

const RUNTIME: OptionDescription = OptionDescription {
    key: "runtime",
    default: "",
    values: &[],
    about: "the runtime below the engine (runc, crun, runsc), where it is not the engine's own choice",
};
const NET: OptionDescription = OptionDescription {
    key: "net",
    default: "none",
    values: &["none", "host"],
    about: "none: a namespace with nothing but loopback; host: the host's network",
};
const PODMAN_NET: OptionDescription = OptionDescription {
    values: &["none", "host", "bridge", "slirp4netns"],
    about: "none: a namespace with nothing but loopback; host: the host's network; bridge: Podman's own bridge, in \
            the session's own network, where the peer `host` is; slirp4netns: a network stack in user space",
    ..NET
};
const SECCOMP: OptionDescription = OptionDescription {
    key: "seccomp",
    default: "default",
    values: &["default", "unconfined"],
    about: "default: the engine's filter of system calls; unconfined: none",
};
const OWN_FOLDER: OptionDescription = OptionDescription {
    key: "own",
    default: "volume",
    values: &["volume", "root"],
    about: "where the place 'own' is: volume: a folder of the host's disk; root: the container's overlay, \
            whose fsync Podman switches off",
};

/// What a specification of an engine may say.
pub const OPTIONS: &[OptionDescription] = &[RUNTIME, NET, SECCOMP, OWN_FOLDER];
/// The same for Podman, which has no daemon and can be started in the lab's network.
pub const PODMAN_OPTIONS: &[OptionDescription] = &[RUNTIME, PODMAN_NET, SECCOMP, OWN_FOLDER];

/// An engine.
#[derive(Debug)]
pub struct Engine {
    pub program: &'static str,
    /// The command that installs it.
    pub install: &'static str,
    /// What it is asked for its version; it must fail when the engine cannot run containers.
    pub version: &'static [&'static str],
    /// What makes an image of an archive; it must not talk meanwhile, since nobody may be left to hear it.
    pub import: &'static [&'static str],
    /// Whether it can be given a root folder in place of an image.
    pub takes_folders: bool,
    /// Whether it is Podman, which has no daemon: containers descend from it, and its own limits hold for them.
    pub is_podman: bool,
}

impl Engine {
    /// Whether it can be used here and now.
    pub fn ready(&self, specification: &Specification, programs: &Programs) -> Result<Facts, NotReady> {
        let program =
            programs.find(self.program).ok_or_else(|| NotReady::missing(self.program, self.install))?;
        let runtime = RUNTIME.value(specification);
        // A runtime by name may be known to the engine alone; one by path must be there.
        if runtime.contains('/') && programs.find(runtime).is_none() {
            return Err(NotReady::because(format!("there is no {runtime}")));
        }
        match NET.value(specification) {
            "none" | "host" => {}
            "slirp4netns" if programs.find("slirp4netns").is_none() => {
                return Err(NotReady::missing("slirp4netns", "apt-get install slirp4netns"));
            }
            _ => lab::ready()?,
        }
        let mut facts = Facts::default();
        let version = ask(Command::new(&program).args(self.version))
            .map_err(|reason| NotReady::because(format!("{}: {reason}", self.program)))?;
        facts.note("runtime.path", program.to_string_lossy());
        facts.note("runtime.version", version);
        for option in OPTIONS {
            facts.note(format!("runtime.{}", option.key), option.value(specification));
        }
        facts.note("cgroup.version", control_groups::versions());
        Ok(facts)
    }

    /// Prepares a container. Its root is a folder where the engine takes one and its overlay is not asked for;
    /// otherwise an image of nothing, made once a session, into which the agent is bound.
    pub fn enter(
        &self,
        specification: &Specification,
        workspace: &mut dyn Workspace,
    ) -> Result<Entrance, LabError> {
        let program = workspace.programs().find(self.program).ok_or_else(|| {
            LabError::new(ErrorKind::Environment, format!("{} is not installed", self.program))
        })?;
        let folder = self.takes_folders && OWN_FOLDER.value(specification) == "volume";
        let image = if folder { None } else { Some(self.image(&program, workspace)?) };
        let name = workspace.name().to_owned();
        let mut outside = Facts::default();
        let mut command = Command::new(&program);
        // What it needs for a moment lies where it is taken away with the rest, however it ends.
        command.env("TMPDIR", workspace.folder());
        let (host, namespace) = network(specification, workspace, &mut command, &mut outside)?;
        let words = ["rm", "--force", &name].map(str::to_owned).to_vec();
        let what = format!("container {name}");
        workspace.own(Owned::Foreign { what, program: program.clone(), words, namespace })?;
        let runtime = runtime(specification, workspace.programs());
        if self.is_podman && runtime.as_deref().is_some_and(is_gvisor) && is_alone(specification) {
            // Podman leaves the loopback device to the runtime; gVisor has one of its own only if told so.
            command.arg("--runtime-flag=network=none");
        }
        command.args(["run", "--interactive", "--rm", "--name", &name, "--hostname", "tare"]);
        command.arg(format!("--network={}", NET.value(specification)));
        command.arg(format!("--env={MARK}={}", workspace.mark()));
        command.args(runtime.iter().map(|runtime| format!("--runtime={runtime}")));
        if SECCOMP.value(specification) == "unconfined" {
            command.arg("--security-opt=seccomp=unconfined");
        }
        if self.is_podman {
            command.args(limits());
        }
        let mut places = [("own".to_owned(), OWN.to_owned())].into();
        self.bind_places(specification, workspace, &mut command, &mut places, &mut outside)?;
        match image {
            None => command.arg("--rootfs").arg(Root::build(workspace)?.folder),
            Some(image) => command.arg(bind(workspace.agent(), AGENT)).arg(image),
        };
        command.args([AGENT, tare_probes::agent::AGENT]);
        if private_mounts::permitted() && self.is_podman {
            // Podman runs crun in this very process's descendants; Docker does so in its daemon's.
            private_mounts::apply_without_hybrid_groups(&mut command);
        }
        Ok(Entrance { command, host, places, outside })
    }

    fn bind_places(
        &self,
        specification: &Specification,
        workspace: &dyn Workspace,
        command: &mut Command,
        places: &mut std::collections::BTreeMap<String, String>,
        outside: &mut Facts,
    ) -> Result<(), LabError> {
        if OWN_FOLDER.value(specification) == "volume" {
            let own = workspace.folder().join("own");
            fs::create_dir(&own).map_err(|e| storage(&own, e))?;
            mounts::note(outside, "own", &own);
            command.arg(bind(&own, OWN));
        } else {
            // Made by the engine on the way to mounting something below it.
            command.arg(format!("--mount=type=tmpfs,destination={OWN}/.tare,tmpfs-size=4096"));
        }
        for (name, path) in workspace.shares() {
            let inside = format!("{SHARES}/{name}");
            mounts::note(outside, name, path);
            command.arg(bind(path, &inside));
            places.insert(name.clone(), inside);
        }
        Ok(())
    }

    /// The session's image; there is nothing in it.
    fn image(&self, program: &Path, workspace: &mut dyn Workspace) -> Result<String, LabError> {
        let image = format!("tare-{}", workspace.session_mark());
        let made = workspace.session_folder().join(format!("image-{}", self.program));
        if made.exists() {
            return Ok(image);
        }
        let words = ["rmi", "--force", &image].map(str::to_owned).to_vec();
        let what = format!("image {image}");
        workspace.own_for_session(Owned::Foreign {
            what,
            program: program.to_owned(),
            words,
            namespace: None,
        })?;
        let archive = workspace.session_folder().join("image.tar");
        fs::write(&archive, EMPTY_ARCHIVE).map_err(|e| storage(&archive, e))?;
        // A session that is killed now must not take this with it: half an image spoils the engine's storage.
        ask(Command::new(program)
            .args(self.import)
            .arg(&archive)
            .arg(&image)
            .env(FINISHES, "1")
            .env("TMPDIR", workspace.session_folder()))
        .map_err(|cause| {
            LabError::new(ErrorKind::Environment, format!("{} cannot make an image", self.program))
                .because(cause)
        })?;
        fs::write(&made, "").map_err(|e| storage(&made, e))?;
        Ok(image)
    }
}

fn is_gvisor(runtime: &str) -> bool {
    Path::new(runtime).file_name().is_some_and(|name| name == "runsc")
}

/// The address at which a container will reach the host's peer, and the namespace in which the engine works where
/// its networks are to be made in the lab's.
fn network(
    specification: &Specification,
    workspace: &mut dyn Workspace,
    command: &mut Command,
    outside: &mut Facts,
) -> Result<(Option<IpAddr>, Option<String>), LabError> {
    match NET.value(specification) {
        "none" => Ok((None, None)),
        "host" => Ok((Some(Ipv4Addr::LOCALHOST.into()), None)),
        net => {
            let lab = lab::namespace(workspace)?;
            network_namespace::inherit(command, &lab)
                .map_err(|e| lab::failed("opening a network namespace", e))?;
            lab::note(outside, net, &lab, None);
            Ok((lab::host(), Some(lab::name(workspace.session_mark()))))
        }
    }
}

/// Whether the container has a network namespace of its own.
fn is_alone(specification: &Specification) -> bool {
    NET.value(specification) == NET.default
}

/// Podman wants a path where it has not heard of a runtime; Docker knows them by name alone.
fn runtime(specification: &Specification, programs: &Programs) -> Option<String> {
    let name = Some(RUNTIME.value(specification)).filter(|name| !name.is_empty())?;
    let path: Option<PathBuf> = programs.find(name).filter(|_| specification.provider == "podman");
    Some(path.map_or_else(|| name.to_owned(), |path| path.to_string_lossy().into_owned()))
}

fn bind(path: &Path, inside: &str) -> String {
    // In the form of fields a colon in a path needs no care, and a comma is a quoted one.
    format!("--mount=type=bind,\"source={}\",destination={inside}", path.display())
}

/// Limits that the container may have: Podman's own are more than many users'.
fn limits() -> Vec<String> {
    use rustix::process::{Resource, getrlimit};
    // Podman allows a container 2048 processes in any case, and lowers the limit that it passes on.
    let (files, processes) = (1 << 20, 4096);
    [("nofile", Resource::Nofile, files), ("nproc", Resource::Nproc, processes)]
        .into_iter()
        .map(|(name, resource, most)| {
            let limit = getrlimit(resource).maximum.map_or(most, |own| own.min(most));
            format!("--ulimit={name}={limit}:{limit}")
        })
        .collect()
}

/// Asks the engine something; the first line of its answer.
fn ask(command: &mut Command) -> Result<String, String> {
    match programs::run(command, ANSWER_WAIT) {
        Ok(ended) if ended.status.success() => Ok(ended.first_line().to_owned()),
        Ok(ended) => Err(ended.errors.lines().last().unwrap_or("it failed without a word").trim().to_owned()),
        Err(e) => Err(e.to_string()),
    }
}

fn storage(path: &Path, cause: std::io::Error) -> LabError {
    LabError::new(ErrorKind::Storage, format!("cannot write {}", path.display())).because(cause)
}
