//! Placeholders for things that only Linux has: a session makes none of them here, and a journal that names some is left as it is.

use std::path::Path;
use std::process::Command;

use crate::host::programs::Programs;
use crate::owned::Owned;
use crate::ownership::outcome::Outcome;
use crate::ownership::undoing::Undoing;

/// Why such a thing is left.
const ELSEWHERE: &str = "only Linux has such things";

/// Does nothing: only Linux prepares guests and has loop devices.
pub fn remove_unnamed(_: &Programs) -> Vec<Outcome> {
    Vec::new()
}

impl Undoing<'_> {
    pub fn remove_container(&self, thing: &Owned) -> Option<Outcome> {
        let Owned::Container { id, .. } = thing else { return None };
        Some(Outcome::new_left(format!("container {id}"), ELSEWHERE))
    }

    /// Does nothing: no engine's network is elsewhere here.
    pub fn join_network(_: &mut Command, _: &str) {}

    pub fn remove_forgotten(&self, id_file: &Path) -> Option<Outcome> {
        Some(Outcome::new_left(format!("container of {}", id_file.display()), ELSEWHERE))
    }

    pub fn of_kernel(&self, things: &[Owned]) -> Vec<Outcome> {
        let what = |thing: &Owned| match thing {
            Owned::Mount(point) => Some(format!("mount {}", point.display())),
            Owned::NetworkNamespace(name) => Some(format!("network namespace {name}")),
            Owned::NetworkDevice { device, .. } => Some(format!("network device {device}")),
            Owned::ControlGroup(name) => Some(format!("control group {name}")),
            Owned::PlacedGroups(_) => Some("control groups".to_owned()),
            _ => None,
        };
        things.iter().filter_map(what).map(|what| Outcome::new_left(what, ELSEWHERE)).collect()
    }
}
