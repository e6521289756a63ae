//! Container engines: what Podman, Docker and nerdctl have in common, by their command line.

use std::collections::BTreeMap;
use std::fs;
use std::io;

use std::time::Duration;

use tare_data::shell::quote_word;
use tare_probes::harness::folder::spread_folders;
use tare_probes::tiny::FILE;

use crate::containers::daemon;
use crate::containers::private_mounts;
use crate::containers::root::{AGENT, OWN, Root};
use crate::containers::user_namespaces;
use crate::containers::view::BASE;
use crate::host::control_groups;
use crate::host::mounts;
use crate::host::network_namespace;
use crate::host::private_folder;
use crate::host::processes::FINISHES;
use crate::network::lab;
use crate::owned::{EngineName, EngineThing, MARK, Owned, PREFIX};
use crate::provider::footprint::OWN_MOUNTS;
use crate::provider::images::{archive_links, check_image_name};
use crate::provider::prelude::*;
use crate::provider::root::{Inside, RootFolder, Work};
use crate::provider::shared_memory;

/// Time that an engine has for a question, or for making an image of nothing.
const ANSWER_WAIT: Duration = Duration::from_secs(30);
/// Folder of the shares, inside.
const SHARES: &str = "/shares";

const RUNTIME: OptionDescription = OptionDescription::new_text(
    "runtime",
    "",
    "the runtime below the engine (runc, crun, runsc), where it is not the engine's own choice",
);

choice! {
    enum Net: "net", "none: a namespace with nothing but loopback; host: the host's network" {
        None = "none",
        Host = "host",
    }
}

choice! {
    enum PodmanNet: "net",
        "none: a namespace with nothing but loopback; host: the host's network; bridge: Podman's own bridge, in the \
         session's own network, where the peer `host` is; slirp4netns: a network stack in user space"
    {
        None = "none",
        Host = "host",
        Bridge = "bridge",
        Slirp4netns = "slirp4netns",
    }
}

choice! {
    enum Seccomp: "seccomp", "default: the engine's filter of system calls; unconfined: none" {
        Default = "default",
        Unconfined = "unconfined",
    }
}

choice! {
    enum OwnPlace: "own",
        "where the place 'own' is: volume: a folder of the host's disk; root: the container's overlay, whose fsync \
         Podman switches off"
    {
        Volume = "volume",
        Root = "root",
    }
}

/// Describes what containers of an engine leave.
pub fn make_footprint(program: &str) -> Footprint {
    Footprint {
        programs: vec![program.into()],
        mounts: OWN_MOUNTS,
        writes: Some(
            "containers, with a root from an image an empty image, and with this machine's programs in Docker volumes, in \
             the engine's own storage",
        ),
        ..Footprint::from_starts(
            "an engine's container, removed after each start; before, the engine is asked for its version",
        )
    }
}

/// Options of an engine's specifications.
pub const OPTIONS: &[OptionDescription] = &[RUNTIME, Net::OPTION, Seccomp::OPTION, OwnPlace::OPTION];
/// Options for Podman, which has no daemon and can be started in the lab's network.
pub const PODMAN_OPTIONS: &[OptionDescription] =
    &[RUNTIME, PodmanNet::OPTION, Seccomp::OPTION, OwnPlace::OPTION];

#[derive(Debug)]
pub struct Engine {
    pub name: EngineName,
    /// The command that installs it.
    pub install: &'static str,
    /// The question for its version; it must fail when the engine cannot run containers.
    pub version: &'static [&'static str],
    /// Command that makes an image of an archive; it must print nothing, since nobody may be left to read it.
    pub import: &'static [&'static str],
    /// True when it takes a root folder in place of an image.
    pub takes_folders: bool,
    pub starts: Starts,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Starts {
    /// A daemon, which knows runtimes by their names.
    InDaemon,
    /// The command, as Podman: containers descend from it, its limits and mounts are theirs, it takes runtimes by
    /// their paths, and it can be started in another network.
    InCommand,
}

impl Engine {
    /// Parses the container that a specification names.
    pub(crate) fn parse_container(
        &'static self,
        specification: &Specification,
    ) -> Result<Box<dyn Environment>, LabError> {
        let net = match self.starts {
            Starts::InCommand => PodmanNet::from_specification(specification)?,
            Starts::InDaemon => match Net::from_specification(specification)? {
                Net::None => PodmanNet::None,
                Net::Host => PodmanNet::Host,
            },
        };
        Ok(Box::new(Container {
            engine: self,
            runtime: RUNTIME.read_non_empty(specification),
            net,
            seccomp: Seccomp::from_specification(specification)?,
            own: OwnPlace::from_specification(specification)?,
            image: specification
                .instance
                .clone()
                .map(|image| check_image_name(image, self.name.name()))
                .transpose()?,
        }))
    }
}

#[derive(Clone)]
struct Container {
    engine: &'static Engine,
    /// A name or a path.
    runtime: Option<String>,
    net: PodmanNet,
    seccomp: Seccomp,
    own: OwnPlace,
    /// Somebody's image, whose programs are inside; otherwise nothing is.
    image: Option<String>,
}

impl Environment for Container {
    fn proof(&self) -> Proof {
        if self.runtime.as_deref().is_some_and(is_gvisor) {
            return Proof::Kernel("gvisor");
        }
        let is_rootless = !rustix::process::geteuid().is_root();
        let network = Kinds::NETWORK.only_if(self.net != PodmanNet::Host);
        // Control groups are of the engine's settings and their version, users of the daemon's.
        let (users, either) = match self.engine.starts {
            Starts::InCommand => (Kinds::USERS.only_if(is_rootless), Kinds::CONTROL_GROUPS),
            Starts::InDaemon => (Kinds::NONE, Kinds::USERS | Kinds::CONTROL_GROUPS),
        };
        let own = Kinds::CONTAINER | network | users;
        Proof::Namespaces(Namespaces { own, either })
    }

    fn has_image(&self) -> bool {
        self.image.is_some()
    }

    fn check_view(&self, programs: &Programs) -> Result<(), NotReady> {
        let Engine { name, install, starts, .. } = self.engine;
        match starts {
            Starts::InDaemon => daemon::check_sight(&require_program(programs, name.name(), install)?),
            Starts::InCommand => Ok(()),
        }
    }

    fn check_ready(&self, programs: &Programs) -> Result<Ready, NotReady> {
        let engine = self.engine;
        let program = require_program(programs, engine.name.name(), engine.install)?;
        let found = self.runtime.as_deref().and_then(|runtime| programs.find(runtime));
        // A runtime by name may be known to the engine alone; one by path must be there.
        if let (Some(path), None) = (self.runtime.as_deref().filter(|name| name.contains('/')), &found) {
            return Err(NotReady::from_reason(format!("there is no {path}")));
        }
        if engine.starts == Starts::InCommand {
            user_namespaces::check_container_namespaces()?;
            check_locks()?;
        }
        match self.net {
            PodmanNet::None | PodmanNet::Host => {}
            PodmanNet::Bridge => lab::check_lab_ready()?,
            PodmanNet::Slirp4netns => {
                crate::provider::require_program(programs, "slirp4netns", "apt-get install slirp4netns")?;
                lab::check_lab_ready()?;
            }
        }
        let version = ask(programs::command(&program).args(engine.version))
            .map_err(|e| NotReady::from_reason(format!("{}: {e}", engine.name.name())))?;
        let mut facts = note_runtime(&program, &version);
        if let Some(image) = &self.image {
            facts.add_fact("image.id", engine.id_of(&program, image)?);
        }
        facts.add_fact("runtime.runtime", self.runtime.as_deref().unwrap_or_default());
        self.net.note_choice(&mut facts);
        self.seccomp.note_choice(&mut facts);
        self.own.note_choice(&mut facts);
        facts.add_fact("cgroup.version", control_groups::find_versions());
        let mut container = self.clone();
        if let (Starts::InCommand, Some(path)) = (engine.starts, found) {
            container.runtime = Some(path.to_string_lossy().into_owned());
        }
        Ok(Ready::new(facts, move |workspace| container.enter(&program, workspace)))
    }
}

/// Checks that an engine which starts containers in its own command has room for its locks, or has them already.
fn check_locks() -> Result<(), NotReady> {
    match Path::new(shared_memory::FOLDER).join("libpod_lock").exists() {
        true => Ok(()),
        false => shared_memory::require_room(1, "its locks"),
    }
}

impl Container {
    /// Prepares a container. Its root is the image that was named, or else a folder where the engine takes one and its
    /// overlay is not wanted, or else an image of nothing, made once a session. The agent is bound into an image.
    fn enter(&self, program: &Found, workspace: &mut dyn Workspace) -> Result<Entrance, LabError> {
        let engine = self.engine;
        let takes_folder = self.image.is_none() && engine.takes_folders && self.own == OwnPlace::Volume;
        let root = match takes_folder {
            true => Some(Root::build(workspace)?),
            false => self.check_root_of_image(&workspace.inside().root).map(|()| None)?,
        };
        let image = match (&self.image, &root) {
            (Some(image), _) => Some(image.clone()),
            (None, Some(_)) => None,
            (None, None) => Some(engine.image(program, workspace)?),
        };
        let name = workspace.name().to_owned();
        let mut outside = Facts::default();
        let mut command = programs::command(program);
        // Its temporary files are in a folder that is removed with the rest, however it ends.
        command.env("TMPDIR", workspace.folder());
        let (host, namespace) = self.network(workspace, &mut command, &mut outside)?;
        let id_file = engine.own_container(&name, namespace, workspace)?;
        let is_gvisor = self.runtime.as_deref().is_some_and(is_gvisor);
        if engine.starts == Starts::InCommand && is_gvisor && self.net == PodmanNet::None {
            // Podman leaves the loopback device to the runtime; gVisor has one of its own only with this flag.
            command.arg("--runtime-flag=network=none");
        }
        // Podman leaves its groups to systemd where that runs, which makes them elsewhere.
        let takes_groups = engine.starts == Starts::InCommand && private_mounts::can_make_mount_namespace();
        command.args(takes_groups.then_some("--cgroup-manager=cgroupfs"));
        command.args(["run", "--interactive", "--rm", "--name", &name, "--hostname", "tare"]);
        command.arg(format!("--network={}", self.net.name()));
        command.arg(format!("--env={MARK}={}", workspace.mark()));
        command.args(self.runtime.iter().map(|runtime| format!("--runtime={runtime}")));
        match self.seccomp {
            Seccomp::Default => {}
            Seccomp::Unconfined => drop(command.arg("--security-opt=seccomp=unconfined")),
        }
        if engine.starts == Starts::InCommand {
            command.args(limits()).arg("--cidfile").arg(id_file);
            let path = workspace.own_groups().format_path(workspace.number());
            command.args(takes_groups.then(|| format!("--cgroup-parent={path}")));
        }
        let places = match root.as_ref().filter(|root| root.is_view()) {
            Some(root) => show_places(root, &mut command, &mut outside),
            None => self.bind_places(workspace, &mut command, &mut outside)?,
        };
        if let Some(image) = image {
            if self.image.is_some() {
                // Nothing is fetched unasked, and an image's own user and program are not those of a session.
                command.args(["--pull=never", "--user=0:0", "--entrypoint="]);
            }
            self.bind_work(workspace, &mut command)?;
            let (agent, base) = (workspace.copy_agent()?, find_base(workspace));
            let (file, inside) = (format!("{base}/{FILE}"), format!("{base}{AGENT}"));
            command.args(workspace.is_call().then(|| bind(&agent.with_file_name(FILE), &file)));
            command.arg(bind(&agent, &inside)).arg(image).args(workspace.words_inside(&inside));
        } else if let Some(root) = root {
            command.arg("--rootfs").arg(root.path()).args(workspace.words_inside(&root.agent));
            root.mount_for(&mut command, workspace)?;
        }
        if takes_groups {
            // Its calls that remove a container see all groups, and may make one of that path at their root.
            if workspace.recall("groups of an engine").is_none() {
                let name = format!("{PREFIX}{}", workspace.session_mark());
                workspace.own_for_session(Owned::ControlGroup(name))?;
                workspace.remember("groups of an engine", "");
            }
            // Podman runs crun in this very process's descendants; Docker does so in its daemon's.
            private_mounts::apply_with_own_groups(&mut command, workspace.own_groups());
        }
        Ok(Entrance { command, host, places, outside })
    }

    fn bind_places(
        &self,
        workspace: &dyn Workspace,
        command: &mut Command,
        outside: &mut Facts,
    ) -> Result<BTreeMap<String, String>, LabError> {
        let base = find_base(workspace);
        let own_inside = format!("{base}{OWN}");
        match self.own {
            OwnPlace::Volume => {
                let own = workspace.folder().join("own");
                private_folder::make_private_folder(&own).map_err(LabError::storage_error("write", &own))?;
                spread_folders(&own);
                mounts::note_file_system(outside, "own", &own);
                command.arg(bind(&own, &own_inside));
            }
            // Made by the engine on the way to mounting something below it.
            OwnPlace::Root => {
                command.arg(format!("--mount=type=tmpfs,destination={own_inside}/.tare,tmpfs-size=4096"));
            }
        }
        let mut places = BTreeMap::from([("own".to_owned(), own_inside)]);
        for (name, path) in workspace.shares() {
            let inside = format!("{base}{SHARES}/{name}");
            mounts::note_file_system(outside, name, path);
            command.arg(bind(path, &inside));
            places.insert(name.clone(), inside);
        }
        if workspace.inside().root != RootFolder::Empty {
            daemon::show_machine(workspace, command, &mut places, outside)?;
        }
        Ok(places)
    }

    /// Binds the folder that commands work in, under its own path: for writing, or with writes discarded.
    fn bind_work(&self, workspace: &dyn Workspace, command: &mut Command) -> Result<(), LabError> {
        let Inside { root, work: Some(Work { folder, shared }) } = workspace.inside() else { return Ok(()) };
        let is_machine = *root != RootFolder::Empty;
        if self.image.is_none() && !is_machine {
            return Ok(());
        }
        let refused = || {
            LabError::usage_error(format!("{} cannot show {}", self.engine.name.name(), folder.display()))
                .with_hint("run it from another folder, or share this one for writing with --work share")
        };
        let path = folder.to_str().ok_or_else(|| refused().with_cause("its path is not UTF-8"))?;
        if *shared {
            command.arg(bind(folder, path));
            return Ok(());
        }
        match self.engine.starts {
            // The layers over this machine's folders show it already.
            Starts::InDaemon if is_machine => Ok(()),
            Starts::InDaemon => Err(refused().with_cause("its daemon cannot discard changes there")),
            Starts::InCommand if path.contains([':', ',']) => {
                Err(refused().with_cause("its path contains ':' or ','"))
            }
            Starts::InCommand => {
                command.arg(format!("--volume={path}:{path}:O"));
                Ok(())
            }
        }
    }

    /// Refuses a root that an image cannot have. A daemon mounts this machine's folders in it.
    fn check_root_of_image(&self, root: &RootFolder) -> Result<(), LabError> {
        if *root == RootFolder::Empty || self.engine.starts == Starts::InDaemon {
            return Ok(());
        }
        let what = format!(
            "{}: own=root is in an image, and root= takes a folder in its place",
            self.engine.name.name()
        );
        Err(LabError::usage_error(what).with_hint("leave out one of the two"))
    }

    /// Prepares the network: returns the path of a container to the host's peer, and the
    /// namespace in which the engine works where its networks are to be made in the lab's.
    fn network(
        &self,
        workspace: &mut dyn Workspace,
        command: &mut Command,
        outside: &mut Facts,
    ) -> Result<(Option<HostPath>, Option<String>), LabError> {
        match self.net {
            PodmanNet::None => Ok((None, None)),
            PodmanNet::Host => Ok((Some(HostPath::LOOPBACK), None)),
            PodmanNet::Bridge | PodmanNet::Slirp4netns => {
                let lab = lab::ensure_lab_namespace(workspace)?;
                network_namespace::inherit_namespace(command, &lab)
                    .map_err(|e| lab::make_network_error("opening a network namespace", e))?;
                lab::note_lab_facts(outside, self.net.name(), &lab, None);
                Ok((Some(lab::describe_path(None)), Some(lab::lab_namespace_name(workspace.session_mark()))))
            }
        }
    }
}

impl Engine {
    /// Identifies an image by its content; the error says why it cannot be entered.
    fn id_of(&self, program: &Found, image: &str) -> Result<String, NotReady> {
        ask(programs::command(program).args(["image", "inspect", "--format", "{{.Id}}", image])).map_err(
            |cause| NotReady {
                reason: format!("image {image} is not here: {cause}"),
                command: Some(format!("{} pull {}", self.name.name(), quote_word(image))),
            },
        )
    }

    /// Makes the session's image: an empty one, or of the links in this machine's root, where that is shown.
    fn image(&self, program: &Found, workspace: &mut dyn Workspace) -> Result<String, LabError> {
        let (suffix, links) = match workspace.inside().root {
            RootFolder::Empty => ("", Vec::new()),
            RootFolder::Host | RootFolder::Folder(_) => ("-machine", daemon::list_links()?),
        };
        let image = format!("tare-{}{suffix}", workspace.session_mark());
        let made = format!("image-{}{suffix}", self.name.name());
        if workspace.recall(&made).is_some() {
            return Ok(image);
        }
        workspace.own_for_session(self.owned(EngineThing::Image, &image, None))?;
        let archive = workspace.session_folder().join("image.tar");
        fs::write(&archive, archive_links(&links)).map_err(LabError::storage_error("write", &archive))?;
        // A session that is killed now must not take this with it: half an image spoils the engine's storage.
        ask(programs::command(program)
            .args(self.import)
            .arg(&archive)
            .arg(&image)
            .env(FINISHES, "1")
            .env(MARK, workspace.session_mark())
            .env("TMPDIR", workspace.session_folder()))
        .map_err(|cause| {
            LabError::new(ErrorKind::Environment, format!("{} cannot make an image", self.name.name()))
                .with_cause(cause)
        })?;
        workspace.remember(&made, "");
        Ok(image)
    }

    /// Writes down the container that will be made. The file is where an engine without a daemon can write its id.
    fn own_container(
        &self,
        name: &str,
        namespace: Option<String>,
        workspace: &mut dyn Workspace,
    ) -> Result<PathBuf, LabError> {
        let id_file = workspace.folder().join("container.id");
        if self.starts == Starts::InCommand {
            // Before the container: things are undone from the last to the first.
            workspace.record_owned(Owned::ForgottenContainer { id_file: id_file.clone() })?;
        }
        workspace.record_owned(self.owned(EngineThing::Container, name, namespace))?;
        Ok(id_file)
    }

    fn owned(&self, kind: EngineThing, name: &str, namespace: Option<String>) -> Owned {
        Owned::Engine { engine: self.name, kind, name: name.to_owned(), namespace }
    }
}

/// Binds the shares into a view, which has the place `own` already.
fn show_places(root: &Root, command: &mut Command, outside: &mut Facts) -> BTreeMap<String, String> {
    root.note_places(outside);
    // Without a limit, as on a machine without an engine.
    command.arg("--shm-size=0");
    command.args(root.shares.iter().map(|(path, inside)| bind(path, inside)));
    root.places.clone()
}

/// Returns the path inside of the folder with the agent and the places, without a slash at its end: among this machine's files it has a
/// name that no other folder has.
fn find_base(workspace: &dyn Workspace) -> &'static str {
    if workspace.inside().root == RootFolder::Empty { "" } else { BASE }
}

fn is_gvisor(runtime: &str) -> bool {
    Path::new(runtime).file_name().is_some_and(|name| name == "runsc")
}

fn bind(path: &Path, inside: &str) -> String {
    // In the form of fields a colon in a path needs no care, a comma is in a quoted one, and a quotation mark there is doubled.
    let source = daemon::quote(&format!("source={}", path.display()));
    format!("--mount=type=bind,{source},destination={inside}")
}

/// Lists limits that the container may have: Podman's own are more than many users'.
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
fn ask(command: &mut Command) -> io::Result<String> {
    programs::read_first_line(command, ANSWER_WAIT)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_a_field_whatever_its_name() {
        let source = |path: &str| bind(Path::new(path), "/x");
        assert_eq!(source("/a,b:c"), "--mount=type=bind,\"source=/a,b:c\",destination=/x");
        assert_eq!(source("/a\"b"), "--mount=type=bind,\"source=/a\"\"b\",destination=/x");
    }
}
