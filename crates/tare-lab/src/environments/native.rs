//! Native: the host itself, with nothing in between.

use std::collections::BTreeMap;

use crate::containers::root::Root;
use crate::host::mounts;
use crate::host::private_folder;
use crate::host::processes;
use crate::host::programs::Programs;
use crate::platform::AGAIN;
use crate::provider::prelude::*;
use crate::provider::root::RootFolder;
use crate::provider::{Entrance, Environment, NotReady, Provider, Ready, SHARES_FILES, Workspace};
use crate::storage::places::{INHERITED, TURNS};
use tare_data::session::specification::NATIVE;
use tare_probes::harness::folder::spread_folders;

pub static PROVIDER: fn() -> Provider = provider! {
    name: NATIVE,
    instance: None,
    parse: |_| Ok(Box::new(Native)),
    summary: "the host itself",
    short_description: "the host itself",
    stands_for: "Linux installed on the machine, as with dual boot. Where the host is itself a virtual machine, that \
                 layer is below every environment alike and cannot be seen.",
    options: &[],
    descends: true,
    kernel: KernelFacts::MACHINE,
    roots: Roots::Any,
    by_default: ByDefault { tried: &[NATIVE], ranked: &[], stays: false },
    footprint: Footprint::from_starts("the agent, as a plain process"),
};

struct Native;

impl Environment for Native {
    fn proof(&self) -> Proof {
        Proof::Here
    }

    fn is_machine(&self) -> bool {
        true
    }

    fn check_ready(&self, _: &Programs) -> Result<Ready, NotReady> {
        Ok(Ready::new(Facts::default(), |workspace| enter_by(workspace, &[])))
    }
}

/// Enters the host itself; by a verb of this program and its words, which starts the agent, where one is named.
pub(super) fn enter_by(workspace: &mut dyn Workspace, verb: &[&str]) -> Result<Entrance, LabError> {
    // A call is a command as somebody types it, with nothing in between.
    if workspace.inside().root != RootFolder::Empty && !workspace.is_call() {
        return enter_view(workspace, verb);
    }
    enter_with(make_agent_command(workspace.agent(), verb, workspace), workspace)
}

/// Enters the host itself by a command that starts the agent.
pub(super) fn enter_with(mut command: Command, workspace: &mut dyn Workspace) -> Result<Entrance, LabError> {
    let own = workspace.folder().join("own");
    private_folder::make_private_folder(&own).map_err(LabError::storage_error("make the folder", &own))?;
    spread_folders(&own);
    let mut outside = Facts::default();
    outside.add_fact(SHARES_FILES, "yes");
    let mut places = BTreeMap::new();
    let shares = workspace.shares().iter().map(|(name, path)| (name.as_str(), path));
    let shares = shares.filter(|(name, _)| *name != TURNS);
    for (name, path) in [("own", &own)].into_iter().chain(shares) {
        mounts::note_file_system(&mut outside, name, path);
        places.insert(name.to_owned(), path.to_string_lossy().into_owned());
    }
    if !workspace.is_call() && !workspace.turn_descriptors().is_empty() {
        // A path may be changed by whoever shares this machine's files.
        processes::pass_on(&mut command, workspace.turn_descriptors());
        command.args(workspace.turn_descriptors().iter().map(i32::to_string));
        places.insert(TURNS.to_owned(), INHERITED.to_owned());
    }
    command.current_dir(workspace.call_folder().unwrap_or(Path::new("/")));
    Ok(Entrance { command, host: Some(HostPath::LOOPBACK), places, outside })
}

/// Enters the host through the layers that capture changes, with nothing else in between.
fn enter_view(workspace: &mut dyn Workspace, verb: &[&str]) -> Result<Entrance, LabError> {
    let root = Root::build(workspace)?;
    let mut command = make_agent_command(Path::new(&root.agent), verb, workspace);
    root.enter_with(&mut command, workspace)?;
    let mut outside = Facts::default();
    root.note_places(&mut outside);
    Ok(Entrance { command, host: Some(HostPath::LOOPBACK), places: root.places, outside })
}

pub(super) fn make_agent_command(program: &Path, verb: &[&str], workspace: &dyn Workspace) -> Command {
    let mut words = workspace.words_inside(&program.to_string_lossy());
    let mut command = match verb {
        [] => {
            // A program that is held starts itself again as what it is, whatever is at its path.
            let (first, others) = words.split_at_mut(1);
            others.iter_mut().filter(|word| **word == first[0]).for_each(|word| AGAIN.clone_into(word));
            let folder = workspace.call_folder().unwrap_or(Path::new("/"));
            programs::command(&Found::called(&words[0], folder))
        }
        verb => {
            let mut command = programs::command(&Found::own(program));
            let is_held = program == workspace.agent() && Path::new(&words[0]) == program;
            command.args(verb).arg(if is_held { AGAIN } else { &words[0] });
            command
        }
    };
    command.args(&words[1..]).env_clear();
    command
}
