//! OCI: a container run from a bundle by any runtime, without an engine on top.

use crate::containers::bundle;
use crate::containers::private_mounts;
use crate::containers::root::Root;
use crate::containers::user_namespaces;
use crate::host::control_groups;
use crate::nearest::find_nearest;
use crate::network::container::{Net, Way};
use crate::owned::{Owned, Runtime};
use crate::provider::footprint::OWN_MOUNTS;
use crate::provider::prelude::*;

/// Runtimes that Debian has packages of.
const PACKAGED: [&str; 2] = ["runc", "crun"];
/// The runtime when the specification names none.
const RUNTIME: &str = "runc";

pub static PROVIDER: fn() -> Provider = provider! {
    name: "oci",
    instance: Some("runtime"),
    parse: |specification| {
        let runtime = specification.instance.clone().unwrap_or_else(|| RUNTIME.to_owned());
        Ok(Box::new(Oci { runtime, net: Net::from_specification(specification)? }))
    },
    summary: "a container by an OCI runtime, named after ':' (runc, crun, youki)",
    short_description: "container by an OCI runtime",
    stands_for: "the containers that Docker, Podman and Kubernetes start in the end, without their engine, image layers, bridge and \
                 system call filter. The root folder is a plain folder, not an overlay.",
    options: &[Net::OPTION],
    descends: true,
    kernel: KernelFacts::OF_RUNTIME,
    roots: Roots::Any,
    by_default: ByDefault { tried: &["oci:runc", "oci:crun"], ranked: &[], stays: false },
    footprint: Footprint {
        programs: vec!["*".into()],
        mounts: OWN_MOUNTS,
        writes: Some("a control group"),
        ..Footprint::from_starts("a container of that runtime, which is asked for its version before")
    },
};

struct Oci {
    /// A name or a path.
    runtime: String,
    net: Net,
}

impl Environment for Oci {
    fn proof(&self) -> Proof {
        let user = Kinds::USERS.only_if(!rustix::process::geteuid().is_root());
        let own = Kinds::CONTAINER | self.net.kinds_made() | user;
        Proof::Namespaces(Namespaces { own, either: Kinds::NONE })
    }

    fn check_ready(&self, programs: &Programs) -> Result<Ready, NotReady> {
        let name = &self.runtime;
        if programs.find(name).is_none() && !PACKAGED.contains(&name.as_str()) {
            let near = find_nearest(name, PACKAGED.into_iter().chain(["youki"]));
            let meant = near.map(|near| format!("; did you mean '{near}'?")).unwrap_or_default();
            return Err(NotReady::from_reason(format!("{name} is not installed{meant}")));
        }
        let (program, mut facts) = require_runtime(programs, name, &format!("apt-get install {name}"))?;
        if name == "crun"
            && control_groups::find_versions() == "hybrid"
            && !private_mounts::can_make_mount_namespace()
        {
            return Err(NotReady::from_reason(
                "crun refuses hosts with both versions of control groups, and only root can hide one",
            ));
        }
        let way = self.net.check_ready(programs)?;
        user_namespaces::check_container_namespaces()?;
        facts.add_fact("runtime.seccomp", "none");
        facts.add_fact("cgroup.version", control_groups::find_versions());
        Ok(Ready::new(facts, move |workspace| enter(&program, &way, workspace)))
    }
}

fn enter(program: &Found, way: &Way, workspace: &mut dyn Workspace) -> Result<Entrance, LabError> {
    let mut outside = Facts::default();
    let network = way.prepare_network(workspace, &mut outside)?;
    let root = Root::build(workspace)?;
    let bundle = bundle::write_bundle(workspace, &root, &network)?;
    let state = workspace.folder().join("state");
    let id = workspace.name().to_owned();
    workspace.record_owned(Owned::Container {
        runtime: Runtime::from_program(program),
        state: state.clone(),
        id: id.clone(),
    })?;
    let mut command = programs::command(program);
    command.arg("--root").arg(&state).arg("run").arg("--bundle").arg(&bundle).arg(&id);
    // Runtimes put files of their own there, and leave them when they are killed.
    command.env("XDG_RUNTIME_DIR", workspace.folder()).env("TMPDIR", workspace.folder());
    root.mount_for(&mut command, workspace)?;
    if private_mounts::can_make_mount_namespace() {
        private_mounts::apply_with_own_groups(&mut command, workspace.own_groups());
    }
    root.note_places(&mut outside);
    Ok(Entrance { command, host: network.host, places: root.places, outside })
}
