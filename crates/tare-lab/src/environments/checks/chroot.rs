//! chroot: the host with another root folder, and nothing else changed.

use crate::containers::private_mounts;
use crate::containers::root::Root;
use crate::provider::prelude::*;

choice! {
    enum User: "user", "who the agent is: root, or Debian's user for what belongs to nobody" {
        Root = "root",
        Nobody = "nobody",
    }
}

pub static PROVIDER: fn() -> Provider = provider! {
    name: "chroot",
    instance: None,
    parse: |specification| Ok(Box::new(Chroot { user: User::from_specification(specification)? })),
    summary: "the host with another root folder",
    short_description: "the host with another root",
    stands_for: "the least that a container does. Processes, network and mounts are the host's own.",
    options: &[User::OPTION],
    descends: true,
    kernel: KernelFacts::MACHINE,
    roots: Roots::Any,
    by_default: ByDefault::NEVER,
    footprint: Footprint {
        programs: vec!["chroot".into()],
        ..Footprint::from_starts("the agent, by chroot, which is asked for its version before")
    },
};

struct Chroot {
    user: User,
}

impl Environment for Chroot {
    fn proof(&self) -> Proof {
        Proof::Here
    }

    fn check_ready(&self, programs: &Programs) -> Result<Ready, NotReady> {
        let (program, mut facts) = require_runtime(programs, "chroot", "apt-get install coreutils")?;
        if !private_mounts::can_make_mount_namespace() {
            return Err(NotReady::from_reason("only root may change the root folder"));
        }
        self.user.note_choice(&mut facts);
        let user = self.user;
        Ok(Ready::new(facts, move |workspace| enter(&program, user, workspace)))
    }
}

fn enter(program: &Found, user: User, workspace: &mut dyn Workspace) -> Result<Entrance, LabError> {
    let root = Root::build(workspace)?;
    let mut command = programs::command(program);
    command.env_clear();
    match user {
        User::Root => {}
        User::Nobody => drop(command.arg("--userspec=65534:65534")),
    }
    command.arg(root.path()).args([&root.agent, tare_probes::agent::AGENT]);
    root.mount_for(&mut command, workspace)?;
    let mut outside = Facts::default();
    root.note_places(&mut outside);
    Ok(Entrance { command, host: None, places: root.places, outside })
}
