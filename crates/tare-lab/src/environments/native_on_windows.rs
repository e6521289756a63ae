//! Native on Windows: the host itself, with nothing in between.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;
use tare_data::session::specification::NATIVE;

use crate::host::mounts;
use crate::host::private_folder;
use crate::provider::prelude::*;

pub static PROVIDER: fn() -> Provider = provider! {
    name: NATIVE,
    instance: None,
    parse: |_| Ok(Box::new(Native)),
    summary: "the host itself",
    short_description: "the host itself",
    stands_for: "Windows installed on the machine. Where the host is itself a virtual machine, that layer is below \
                 every environment alike and cannot be seen.",
    options: &[],
    descends: true,
    kernel: KernelFacts::OWN,
    roots: Roots::Own("other roots need Linux: Windows shows all programs the same files"),
    by_default: ByDefault { tried: &[NATIVE], ranked: &[], stays: false },
    footprint: Footprint::from_starts("the agent, as a plain process"),
};

struct Native;

impl Environment for Native {
    fn proof(&self) -> Proof {
        Proof::None
    }

    fn check_ready(&self, _: &Programs) -> Result<Ready, NotReady> {
        Ok(Ready::new(Facts::default(), enter))
    }
}

fn enter(workspace: &mut dyn Workspace) -> Result<Entrance, LabError> {
    let own = workspace.folder().join("own");
    private_folder::make_private_folder(&own).map_err(LabError::storage_error("make the folder", &own))?;
    let mut outside = Facts::default();
    let mut places = BTreeMap::new();
    let shares = workspace.shares().iter().map(|(name, path)| (name.as_str(), path));
    for (name, path) in [("own", &own)].into_iter().chain(shares) {
        mounts::note_file_system(&mut outside, name, path);
        places.insert(name.to_owned(), path.to_string_lossy().into_owned());
    }
    let mut command = programs::command(&Found::own(workspace.agent()));
    // Not in its own folder, which could then not be removed.
    command.arg(tare_probes::agent::AGENT).current_dir(workspace.session_folder());
    Ok(Entrance { command, host: Some(Ipv4Addr::LOCALHOST.into()), places, outside })
}
