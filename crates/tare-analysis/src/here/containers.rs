//! Containers and sandboxes of namespaces, by the marks of the engine that made them.

use std::collections::{BTreeMap, BTreeSet};
use tare_data::facts::keys::{
    MARKS_CONTROL_GROUPS, MARKS_LABEL, MARKS_MANAGER, MARKS_SEEN, MOUNTS_SIGNS, PROCESS_ANCESTORS,
    PROCESS_FIRST, ROOT_TYPE, VARIABLES_CONTAINER, VARIABLES_SET,
};

use super::layers::{Class, Confidence, Evidence, Layer};
use super::namespaces::Namespace;
use super::signs::{Seen, Strength, View};

/// Files masked below /proc and /sys by which a runtime of containers is known.
const FEWEST_MASKS: u32 = 3;
/// Namespaces that make a container, whoever made it.
const FEWEST_OF_CONTAINER: usize = 4;
/// Namespaces that every runtime of containers makes.
const OF_RUNTIMES: [&str; 4] = ["mnt", "pid", "ipc", "uts"];

/// Engines, the innermost first where several show at once.
pub(super) const ORDER: [&str; 14] = [
    "srt",
    "codex",
    "bwrap",
    "flatpak",
    "firejail",
    "snap",
    "nspawn",
    "lxc",
    "docker",
    "podman",
    "containerd",
    "oci",
    "apptainer",
    "kubernetes",
];

/// A sign of an engine: its name, what it is worth, and what shows it.
type Mark = (&'static str, Strength, Evidence);

pub(super) fn recognise_containers(
    view: View<'_>,
    namespaces: &BTreeMap<&'static str, Namespace>,
    seen: &Seen<'_>,
) -> Vec<Layer> {
    let own: BTreeSet<&str> =
        namespaces.iter().filter(|(_, which)| **which == Namespace::Own).map(|(kind, _)| *kind).collect();
    let other_kernel = seen.is_other_kernel();
    let can_be_boxed = {
        let is_first = |kind| namespaces.get(kind) == Some(&Namespace::First);
        other_kernel || own.contains("mnt") || own.contains("pid") || !(is_first("mnt") || is_first("pid"))
    };
    let mut engines = if can_be_boxed { name_engines(view, &own, other_kernel) } else { Vec::new() };
    // A mark that only may be an engine's does not explain namespaces.
    // User-mode Linux numbers namespaces as any Linux does.
    let is_linux = !other_kernel || seen.has_kernel("uml");
    if is_linux && engines.iter().all(|engine| engine.confidence == Confidence::Possible) {
        engines.extend(recognise_unnamed(view, &own, namespaces));
    }
    let lxc = engines.iter_mut().find(|layer| layer.name == "lxc" && own.contains("user"));
    if let Some(lxc) = lxc {
        "unprivileged".clone_into(&mut lxc.variant);
    }
    if seen.has_kernel("wsl2") {
        // A distribution of WSL 2 has all namespaces but the network to itself.
        let is_unnamed = |layer: &Layer| ["container", "namespaces", "oci"].contains(&layer.name);
        engines.retain(|layer| !is_unnamed(layer) || own.contains("net"));
    }
    engines
}

/// Finds the engines whose marks are there, and judges how much they prove.
fn name_engines(view: View<'_>, own: &BTreeSet<&str>, other_kernel: bool) -> Vec<Layer> {
    let mut by_name: BTreeMap<&'static str, Vec<(Strength, Evidence)>> = BTreeMap::new();
    for (name, strength, evidence) in list_marks(view, own).into_iter().chain(list_sandbox_marks(view, own)) {
        by_name.entry(name).or_default().push((strength, evidence));
    }
    let judged = by_name.into_iter().filter_map(|(name, marks)| {
        let strongest = marks.iter().map(|(strength, _)| *strength).max()?;
        let confidence = match strongest {
            Strength::Act => Confidence::Sure,
            Strength::Name => Confidence::Likely,
            // An image may hold any file, and a process inherits variables.
            Strength::Hint if other_kernel => Confidence::Possible,
            Strength::Hint if view.text("mounts").is_empty() && !own.is_empty() => Confidence::Possible,
            Strength::Hint => return None,
        };
        // Another kernel's namespaces tell nothing; inside it, marks count that the kernel below could not make.
        let confidence = if other_kernel && name == "kubernetes" { Confidence::Likely } else { confidence };
        let evidence = marks.into_iter().map(|(_, evidence)| evidence).collect();
        Some(Layer { class: Class::Container, name, variant: String::new(), confidence, evidence })
    });
    let mut engines: Vec<Layer> = judged.collect();
    if engines.iter().any(|layer| layer.confidence > Confidence::Possible) {
        engines.retain(|layer| layer.confidence > Confidence::Possible);
    }
    engines.sort_by_key(|layer| ORDER.iter().position(|name| *name == layer.name));
    repeat_nested(view, &mut engines);
    engines
}

/// Repeats bubblewrap as often as it is among the ancestors.
fn repeat_nested(view: View<'_>, engines: &mut Vec<Layer>) {
    let times = view.text(PROCESS_ANCESTORS).split(' ').filter(|name| *name == "bwrap").count();
    if let Some(at) = engines.iter().position(|layer| layer.name == "bwrap") {
        for _ in 1..times {
            engines.insert(at, engines[at].clone());
        }
    }
}

/// Marks of engines: the fact and the word in it, the engine, what the mark is worth, and what it shows.
const MARKS: [(&str, &str, &str, Strength, &str); 18] = [
    (MOUNTS_SIGNS, "docker-files", "docker", Strength::Act, "files of Docker's are mounted over /etc"),
    (MARKS_CONTROL_GROUPS, "docker", "docker", Strength::Act, "the control group is one of Docker's"),
    (MARKS_SEEN, "/.dockerenv", "docker", Strength::Hint, "/.dockerenv is there, which images may hold"),
    (MOUNTS_SIGNS, "containerenv", "podman", Strength::Act, "/run/.containerenv is a mount"),
    (MOUNTS_SIGNS, "podman-files", "podman", Strength::Act, "files of Podman's are mounted"),
    (MOUNTS_SIGNS, "podman-storage", "podman", Strength::Name, "the root is in the storage that Podman uses"),
    (MARKS_CONTROL_GROUPS, "podman", "podman", Strength::Act, "the control group is one of Podman's"),
    (MARKS_SEEN, "/run/.containerenv", "podman", Strength::Hint, "/run/.containerenv is there"),
    (MOUNTS_SIGNS, "containerd-files", "containerd", Strength::Act, "files of containerd's are mounted"),
    (
        MARKS_CONTROL_GROUPS,
        "containerd",
        "containerd",
        Strength::Act,
        "the control group is one of containerd's",
    ),
    (MOUNTS_SIGNS, "kubelet-files", "kubernetes", Strength::Name, "files of the kubelet's are mounted"),
    (MARKS_CONTROL_GROUPS, "kubernetes", "kubernetes", Strength::Name, "the control group is one of a pod"),
    (MOUNTS_SIGNS, "lxcfs", "lxc", Strength::Act, "lxcfs is mounted"),
    (MARKS_CONTROL_GROUPS, "lxc", "lxc", Strength::Act, "the control group is one of LXC's"),
    (MARKS_SEEN, "/dev/incus/sock", "lxc", Strength::Act, "the socket of Incus is there"),
    (MARKS_SEEN, "/dev/lxd/sock", "lxc", Strength::Act, "the socket of LXD is there"),
    (MARKS_MANAGER, "systemd-nspawn", "nspawn", Strength::Act, "systemd-nspawn wrote its name"),
    (PROCESS_FIRST, "(sd-stubinit)", "nspawn", Strength::Act, "process 1 is nspawn's"),
];
/// Variables of engines: the fact and the word in it, the engine, and what it shows.
const VARIABLES: [(&str, &str, &str, &str); 4] = [
    (VARIABLES_CONTAINER, "podman", "podman", "the variable container says podman"),
    (VARIABLES_CONTAINER, "lxc", "lxc", "the variable container says lxc"),
    (VARIABLES_CONTAINER, "systemd-nspawn", "nspawn", "the variable container says systemd-nspawn"),
    (VARIABLES_SET, "KUBERNETES_SERVICE_HOST", "kubernetes", "a variable of pods is set"),
];

fn list_marks(view: View<'_>, own: &BTreeSet<&str>) -> Vec<Mark> {
    let marks = MARKS.iter().filter(|(fact, word, ..)| view.has_word(fact, word));
    let marks =
        marks.map(|(fact, _, engine, strength, proves)| (*engine, *strength, view.evidence(fact, proves)));
    // Variables are inherited: they count where somebody made the namespaces of a container.
    let is_boxed = own.contains("mnt") && own.contains("pid") && own.len() >= FEWEST_OF_CONTAINER;
    let strength = if is_boxed { Strength::Name } else { Strength::Hint };
    let variables = VARIABLES.iter().filter(|(fact, word, ..)| view.has_word(fact, word));
    let variables =
        variables.map(|(fact, _, engine, proves)| (*engine, strength, view.evidence(fact, proves)));
    marks.chain(variables).collect()
}

/// Lists marks of sandboxes that put a program of theirs around a command.
fn list_sandbox_marks(view: View<'_>, own: &BTreeSet<&str>) -> Vec<Mark> {
    use Strength::{Act, Hint, Name};
    let has_own = !own.is_empty();
    let is_first = |begin: &str| view.text(PROCESS_FIRST).starts_with(begin);
    let is_ancestor =
        |begin: &str| view.text(PROCESS_ANCESTORS).split(' ').any(|name| name.starts_with(begin));
    let has_variable = |begin: &str| view.text(VARIABLES_SET).split(' ').any(|name| name.starts_with(begin));
    let processes = |begin: &str, proves| match is_first(begin) {
        true => view.evidence(PROCESS_FIRST, proves),
        false => view.evidence(PROCESS_ANCESTORS, proves),
    };
    let is_around = |begin: &str| has_own && (is_first(begin) || is_ancestor(begin));
    let is_codex = is_around("codex-linux");
    let is_srt = has_variable("SANDBOX_RUNTIME") && (is_around("bwrap") || own.contains("mnt"));
    let is_flatpak = view.has_word(MARKS_SEEN, "/.flatpak-info");
    // Variables are inherited, and images are copied: both together, with mounts of its own, are a name.
    let is_apptainer = own.contains("mnt")
        && view.has_word(MARKS_SEEN, "/.singularity.d")
        && ["APPTAINER_", "SINGULARITY_"].iter().any(|begin| has_variable(begin));
    let is_snap = own.contains("mnt") && has_variable("SNAP") && view.text(ROOT_TYPE) == "squashfs";
    let is_bare = is_around("bwrap") && !is_codex && !is_srt && !is_flatpak;
    let variables = |proves| view.evidence(VARIABLES_SET, proves);
    let in_namespaces = if own.contains("mnt") && own.contains("pid") { Name } else { Hint };
    let all = [
        (is_codex, "codex", Act, processes("codex-linux", "the sandbox of codex started this process")),
        (
            is_srt,
            "srt",
            if is_around("bwrap") { Act } else { Name },
            variables("the sandbox runtime sets its variable"),
        ),
        (
            is_flatpak,
            "flatpak",
            if own.contains("mnt") { Act } else { Hint },
            view.evidence(MARKS_SEEN, "/.flatpak-info is there"),
        ),
        (
            is_bare,
            "bwrap",
            Act,
            processes("bwrap", "bubblewrap started this process, which has namespaces to itself"),
        ),
        (is_around("firejail"), "firejail", Act, processes("firejail", "firejail started this process")),
        (
            view.text(VARIABLES_CONTAINER) == "firejail",
            "firejail",
            in_namespaces,
            view.evidence(VARIABLES_CONTAINER, "the variable container says firejail"),
        ),
        (
            is_apptainer,
            "apptainer",
            Name,
            variables("variables of Apptainer are set, and the root has a folder of its own"),
        ),
        (is_snap, "snap", Name, variables("a snap's variable is set, and the root is a packed file system")),
        (view.text(MARKS_LABEL) == "snap", "snap", Act, view.evidence(MARKS_LABEL, "its label is a snap's")),
    ];
    let there = all.into_iter().filter(|(is_so, ..)| *is_so);
    there.map(|(_, name, strength, evidence)| (name, strength, evidence)).collect()
}

/// Recognises namespaces about whose maker nothing is known.
fn recognise_unnamed(
    view: View<'_>,
    own: &BTreeSet<&str>,
    namespaces: &BTreeMap<&'static str, Namespace>,
) -> Option<Layer> {
    let masks =
        view.text(MOUNTS_SIGNS).split(' ').find_map(|sign| sign.strip_prefix("masked:")?.parse::<u32>().ok());
    let is_runtime =
        view.has_word(MOUNTS_SIGNS, "dev-64m") || masks.is_some_and(|masks| masks >= FEWEST_MASKS);
    let has_all = OF_RUNTIMES.iter().all(|kind| own.contains(kind));
    let untold = |kind| namespaces.get(kind) == Some(&Namespace::Unknown);
    let (name, confidence) = match () {
        () if own.is_empty() => return None,
        () if has_all && is_runtime => ("oci", Confidence::Likely),
        () if has_all || own.len() >= FEWEST_OF_CONTAINER => ("container", Confidence::Sure),
        () if untold("mnt") && untold("ipc") && own.contains("pid") => ("container", Confidence::Likely),
        () => ("namespaces", Confidence::Sure),
    };
    let value = own.iter().copied().collect::<Vec<_>>().join(" ");
    let namespaces =
        Evidence { fact: "namespace", value, proves: "these namespaces are not the first of their kind" };
    let runtime = (name == "oci")
        .then(|| view.evidence(MOUNTS_SIGNS, "mounts are as the OCI's specification of runtimes has them"));
    let evidence = [Some(namespaces), runtime].into_iter().flatten().collect();
    Some(Layer { class: Class::Container, name, variant: String::new(), confidence, evidence })
}
