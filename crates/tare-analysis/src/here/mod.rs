//! Here: from facts that a process found about itself, the layers that it runs in, with how sure that is and why.
//!
//! A layer is sure only by an act or a mark that nothing else can make. Files and variables are copied into images and inherited by
//! processes, so that they say little by themselves.

pub mod changes;
pub mod command;
mod containers;
pub mod costs;
mod filters;
mod kernels;
pub mod layers;
pub mod limits;
mod machines;
pub mod namespaces;
mod signs;
mod times;
mod tracing;
mod translators;

use std::collections::{BTreeMap, BTreeSet};
use tare_data::facts::keys::{PROGRAM_MACHINE, ROOT_IS_MOUNT, VARIABLES_SET};

use tare_data::facts::Facts;

use self::layers::{Class, Confidence, Layer};
use self::namespaces::{Namespace, User};
use self::signs::{Seen, View};

/// The layers of a process, the innermost first, and what cannot be known about them.
#[derive(Clone, Debug, PartialEq)]
pub struct Where {
    pub layers: Vec<Layer>,
    /// Things that cannot be seen from inside.
    pub hidden: Vec<&'static str>,
    pub namespaces: BTreeMap<&'static str, Namespace>,
    pub filters: filters::Filters,
    pub user: Option<User>,
    /// Kind of job or workspace that variables name, which layers are told without.
    pub job: Option<&'static str>,
}

impl Where {
    /// Finds the innermost layer that answers calls in a process of its own.
    fn find_server(&self) -> Option<&Layer> {
        let serves = |class| match class {
            Class::Tracer | Class::Kernel => true,
            Class::Filter => self.filters.is_supervised,
            _ => false,
        };
        self.layers.iter().find(|layer| serves(layer.class))
    }

    /// Tells whether there likely is one.
    fn is_served(&self) -> bool {
        self.find_server().is_some_and(|layer| layer.confidence != Confidence::Possible)
    }
}

/// Recognises the layers around the process that found these facts.
pub fn recognise_layers(facts: &Facts) -> Where {
    let view = View(facts);
    let namespaces = namespaces::compare_with_first(view);
    let filters = filters::read_filters(view);
    let translator = translators::recognise_translator(view);
    let emulated = translators::is_machine_emulated(view, translator.as_ref());
    let kernels = kernels::recognise_kernels(view, translator.is_some() || emulated);
    let tracers = tracing::recognise_tracers(view, &filters, translator.is_some());
    let seen = Seen { translator: translator.is_some(), emulated, kernels: &kernels, tracers: &tracers };
    let root = tracing::recognise_root(view, &seen);
    let containers = containers::recognise_containers(view, &namespaces, &seen);
    let machine = machines::recognise_machine(view, &seen);
    let hidden = list_hidden(view, &seen, &containers, machine.is_some(), &namespaces);
    let mut layers = tracers.clone();
    layers.extend(filters.layers());
    layers.extend(translator);
    layers.extend(root);
    layers.extend(containers);
    layers.extend(kernels);
    layers.extend(machine);
    layers.sort_by_key(|layer| layer.class);
    Where { layers, hidden, namespaces, filters, user: namespaces::read_user(view), job: name_job(view) }
}

/// Layers that are in no table of engines or machines, by their names.
const OTHER_NAMES: &str = "chroot container fex freebsd gvisor illumos landlock namespaces proot qemu-user rosetta seccomp traced \
    translated-kernel translator uml vm wsl1 wsl2";

/// Lists the names that layers can have.
pub fn list_layer_names() -> BTreeSet<&'static str> {
    let machines = machines::INTERFACES.iter().chain(&machines::FIRMWARE).map(|(_, name)| *name);
    containers::ORDER.into_iter().chain(machines).chain(OTHER_NAMES.split(' ')).collect()
}

/// Variables of jobs and workspaces, those that say most first, and their names.
const JOBS: [(&str, &str); 5] = [
    ("GITHUB_ACTIONS", "a job of GitHub Actions"),
    ("GITLAB_CI", "a job of GitLab"),
    ("CODESPACES", "a Codespace"),
    ("REMOTE_CONTAINERS", "a dev container"),
    ("CI", "a job of continuous integration"),
];

fn name_job(view: View<'_>) -> Option<&'static str> {
    JOBS.iter().find(|(variable, _)| view.has_word(VARIABLES_SET, variable)).map(|(_, name)| *name)
}

fn list_hidden(
    view: View<'_>,
    seen: &Seen<'_>,
    containers: &[Layer],
    has_machine: bool,
    namespaces: &BTreeMap<&'static str, Namespace>,
) -> Vec<&'static str> {
    let is_x86 = view.text(PROGRAM_MACHINE) == "x86_64";
    let is_unknown = |kind: &str| namespaces.get(kind) == Some(&Namespace::Unknown);
    let all = [
        (seen.has_kernel("gvisor"), "a container around gVisor cannot be seen from inside"),
        (seen.has_kernel("uml"), "a container around user-mode Linux cannot be seen from inside"),
        (seen.emulated, "an emulated processor: the machine below cannot be seen from inside"),
        (!containers.is_empty() && !seen.is_other_kernel(), "an outer container would not show"),
        (
            !has_machine && is_x86 && !seen.translator && !seen.has_kernel("wsl2"),
            "a virtual machine that hides itself cannot be ruled out",
        ),
        (!has_machine && !is_x86, "a virtual machine would not show on this processor"),
        (
            is_unknown("mnt") && is_unknown("pid") && !seen.is_other_kernel(),
            "without /proc, namespaces of mounts and processes cannot be told from the first ones",
        ),
        (
            view.text(ROOT_IS_MOUNT) == "unknown" && view.text("mounts").is_empty(),
            "without /proc, another root folder would not show",
        ),
    ];
    all.into_iter().filter(|(is_so, _)| *is_so).map(|(_, text)| text).collect()
}

#[cfg(test)]
mod tests;
