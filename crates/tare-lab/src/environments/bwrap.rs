//! Bubblewrap: the namespaces that Flatpak uses.

use std::os::unix::fs::PermissionsExt;

use crate::containers::root::Root;
use crate::containers::user_namespaces;
use crate::network::container::{Net, Way};
use crate::provider::footprint::OWN_MOUNTS;
use crate::provider::prelude::*;

pub static PROVIDER: fn() -> Provider = provider! {
    name: "bwrap",
    instance: None,
    parse: |specification| Ok(Box::new(Bwrap { net: Net::from_specification(specification)? })),
    summary: "namespaces by bubblewrap, with its default of no system call filter",
    short_description: "Linux namespaces by bubblewrap",
    stands_for: "the way in which Flatpak and many build sandboxes make a container. Flatpak adds a system call \
                 filter, which is not here.",
    options: &[Net::OPTION],
    descends: true,
    kernel: KernelFacts::MACHINE,
    roots: Roots::Any,
    by_default: ByDefault { tried: &["bwrap"], ranked: &[(6, "bwrap")], stays: false },
    footprint: Footprint {
        programs: vec!["bwrap".into()],
        mounts: OWN_MOUNTS,
        ..Footprint::from_starts("the agent, by bubblewrap, which is asked for its version before")
    },
};

struct Bwrap {
    net: Net,
}

impl Environment for Bwrap {
    fn proof(&self) -> Proof {
        // Users and control groups are tried: an old kernel, or a rule, may refuse them.
        let either = Kinds::USERS | Kinds::CONTROL_GROUPS;
        Proof::Namespaces(Namespaces { own: Kinds::CONTAINER | self.net.kinds_made(), either })
    }

    fn check_ready(&self, programs: &Programs) -> Result<Ready, NotReady> {
        let way = self.net.check_ready(programs)?;
        let (program, mut facts) = require_runtime(programs, "bwrap", "apt-get install bubblewrap")?;
        // Some systems let it make namespaces that its users may not.
        if !is_setuid(&program) {
            user_namespaces::check_container_namespaces()?;
        }
        facts.add_fact("runtime.seccomp", "none");
        Ok(Ready::new(facts, move |workspace| enter(&program, &way, workspace)))
    }
}

fn is_setuid(program: &Found) -> bool {
    program.metadata().is_ok_and(|about| about.permissions().mode() & 0o4000 != 0)
}

fn enter(program: &Found, way: &Way, workspace: &mut dyn Workspace) -> Result<Entrance, LabError> {
    let mut outside = Facts::default();
    let network = way.prepare_network(workspace, &mut outside)?;
    let root = Root::build(workspace)?;
    let mut command = programs::command(program);
    // The environment passes through bubblewrap to the agent, so it is emptied here.
    command.env_clear().arg("--bind").arg(root.path()).arg("/");
    command.args(["--dev", "/dev", "--proc", "/proc", "--unshare-all", "--die-with-parent"]);
    command.args(["--ro-bind-try", "/sys", "/sys", "--chdir", "/"]);
    if !network.is_own {
        command.arg("--share-net");
    }
    network.inherit_network(&mut command)?;
    for (path, inside) in &root.shares {
        command.arg("--bind").arg(path).arg(inside);
    }
    if root.is_view() {
        command.args(["--perms", "1777", "--tmpfs", "/dev/shm"]);
    }
    root.mount_for(&mut command, workspace)?;
    command.args(workspace.words_inside(&root.agent));
    root.note_places(&mut outside);
    Ok(Entrance { command, host: network.host, places: root.places, outside })
}
