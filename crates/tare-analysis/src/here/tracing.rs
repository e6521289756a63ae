//! Tracers and other roots: what stands between a process and its own kernel without being a container.

use super::filters::Filters;
use super::layers::{Class, Confidence, Evidence, Layer};
use super::signs::{Seen, Signs, Strength, View};
use tare_data::facts::keys::{
    PTRACE_REQUEST, PTRACE_SCOPE, ROOT_DEVICE, ROOT_IS_MOUNT, ROOT_LINK, ROOT_MOUNT, ROOT_MOUNT_DEVICE,
    ROOT_NUMBER, ROOT_TYPE, TRACER_NAME, VARIABLES_SET, VDSO,
};

/// Numbers that the root folder has in a file system that is whole.
const WHOLE_ROOTS: [(&str, &[&str]); 4] =
    [("ext4", &["2"]), ("xfs", &["32", "64", "96", "128"]), ("btrfs", &["256"]), ("f2fs", &["3"])];
/// Number of the root folder in gVisor.
const GVISOR_ROOT: &str = "1";

pub(super) fn recognise_tracers(view: View<'_>, filters: &Filters, translated: bool) -> Vec<Layer> {
    let is_traced = view.number("tracer").is_some_and(|tracer| tracer > 0.0);
    if let Some(proot) = recognise_proot(view, is_traced) {
        return vec![proot];
    }
    let mut signs = Signs::default();
    signs.note(is_traced, Strength::Act, view.evidence("tracer", "the kernel names the process that traces"));
    // Without a filter, only a tracer or a rule against all tracing refuses it.
    let is_refused = view.text(PTRACE_REQUEST) == "EPERM" && filters.mode == Some(0) && !translated;
    let strength = if view.text(PTRACE_SCOPE) == "3" { Strength::Hint } else { Strength::Name };
    let refused = view.evidence(PTRACE_REQUEST, "a child cannot be traced, as if it were already");
    signs.note(is_refused && !is_traced, strength, refused);
    signs.into_layer(Class::Tracer, "traced", view.text(TRACER_NAME)).into_iter().collect()
}

fn recognise_proot(view: View<'_>, is_traced: bool) -> Option<Layer> {
    use Strength::{Act, Hint, Name};
    let mut signs = Signs::default();
    let is_named = is_traced && view.text(TRACER_NAME).starts_with("proot");
    signs.note(is_named, Act, view.evidence(TRACER_NAME, "the tracer is called proot"));
    let elsewhere = view.evidence(ROOT_LINK, "/proc names another root, which a tracer hides elsewhere");
    signs.note(is_traced && view.text(ROOT_LINK) == "elsewhere", Name, elsewhere);
    let not_whole = view.evidence(ROOT_NUMBER, "the root is not the one of the mount table");
    signs.note(is_traced && is_part_by_number(view) && !is_named, Name, not_whole);
    let no_vdso = view.evidence(VDSO, "the program was started without a vDSO");
    signs.note(is_traced && view.text(VDSO) == "absent", Name, no_vdso);
    let has_variables = view.text(VARIABLES_SET).split(' ').any(|name| name.starts_with("PROOT_"));
    let variables = view.evidence(VARIABLES_SET, "variables of proot are set");
    // They are inherited by what proot does not trace.
    signs.note(is_traced && has_variables, Hint, variables);
    (signs.confidence()? > Confidence::Possible).then_some(())?;
    signs.into_layer(Class::Tracer, "proot", "")
}

/// Tells whether / has a number that no whole file system gives its root, though the mount table has all of it there.
fn is_part_by_number(view: View<'_>) -> bool {
    view.text(ROOT_MOUNT) == "whole"
        && view.text(ROOT_MOUNT_DEVICE) == view.text(ROOT_DEVICE)
        && is_not_top(view)
}

fn is_not_top(view: View<'_>) -> bool {
    let tops = WHOLE_ROOTS.iter().find(|(name, _)| *name == view.text(ROOT_TYPE));
    let number = view.text(ROOT_NUMBER);
    !number.is_empty() && tops.is_some_and(|(_, tops)| !tops.contains(&number))
}

/// Recognises a root folder that was changed and nothing else.
pub(super) fn recognise_root(view: View<'_>, seen: &Seen<'_>) -> Option<Layer> {
    if seen.has_tracer("proot") {
        return None;
    }
    let in_gvisor = seen.has_kernel("gvisor");
    let found: Option<(Confidence, Evidence)> = match () {
        () if view.text(ROOT_MOUNT) == "none" => {
            Some((Confidence::Sure, view.evidence(ROOT_MOUNT, "no mount of the table is at /")))
        }
        () if view.text(ROOT_IS_MOUNT) == "no" => {
            Some((Confidence::Sure, view.evidence(ROOT_IS_MOUNT, "/ is not the root of a mount")))
        }
        () if in_gvisor && !["", GVISOR_ROOT].contains(&view.text(ROOT_NUMBER)) => {
            let proves = "/ is not the first folder that gVisor made";
            Some((Confidence::Likely, view.evidence(ROOT_NUMBER, proves)))
        }
        () if view.text(ROOT_IS_MOUNT) != "yes"
            && !in_gvisor
            && (is_part_by_number(view) || is_alone(view)) =>
        {
            let proves = "/ has a number that no whole file system gives its root";
            Some((Confidence::Likely, view.evidence(ROOT_NUMBER, proves)))
        }
        () => None,
    };
    let (confidence, evidence) = found?;
    let variant = String::new();
    Some(Layer { class: Class::Root, name: "chroot", variant, confidence, evidence: vec![evidence] })
}

/// Tells whether only the number of / speaks, because no mount table can be read.
fn is_alone(view: View<'_>) -> bool {
    view.text("mounts").is_empty() && is_not_top(view)
}
