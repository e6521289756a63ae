//! Targets: the environments of a session, parsed once, and found ready.

use std::collections::BTreeMap;
use std::rc::Rc;

use tare_data::facts::Facts;
use tare_data::session::{Role, Target};

use crate::environments::{self, Named, PROVIDERS};
use crate::error::{ErrorKind, LabError};
use crate::host::programs::Programs;
use crate::provider::options::SLOWER;
use crate::provider::root::RootFolder;
use crate::provider::specification::Specification;
use crate::provider::{NotReady, Ready};
use crate::session::plan::planting::PLANTED;

/// A target of a session that can be entered.
#[derive(Clone, Debug)]
pub struct Resolved {
    /// As the record has it.
    pub target: Target,
    /// The baseline and its control share one.
    pub ready: Rc<Ready>,
}

/// The targets of a session: the baseline, the baseline once more as the control, and the subjects.
///
/// A subject that is named twice, or is the baseline, counts once. One that is not ready is an error.
pub fn resolve(
    baseline: &str,
    subjects: &[String],
    root: &RootFolder,
    programs: &Programs,
) -> Result<Vec<Resolved>, LabError> {
    let named = named(baseline, subjects.iter().map(String::as_str), root)?;
    all_ready(named, programs)
}

/// The same in a fleet, where nodes differ: a subject that is not ready is a gap with its reason, as if it could not be entered.
pub fn resolve_on_node(
    baseline: &str,
    subjects: &[String],
    root: &RootFolder,
    programs: &Programs,
) -> Result<Vec<Resolved>, LabError> {
    let mut resolved = Vec::new();
    for (target, named) in named(baseline, subjects.iter().map(String::as_str), root)? {
        let ready = match (target.role, named.ready(programs)) {
            (_, Ok(ready)) => ready,
            (Role::Subject, Err(not_ready)) => never(&target, not_ready),
            (_, Err(not_ready)) => return Err(refused(&target, not_ready)),
        };
        with_control(&mut resolved, target, Rc::new(ready));
    }
    Ok(resolved)
}

/// What is entered in vain.
fn never(target: &Target, not_ready: NotReady) -> Ready {
    let target = target.clone();
    Ready::new(Facts::default(), move |_| Err(refused(&target, not_ready.clone())))
}

/// Adds a control for each of these subjects: the environment once more, as the baseline's control is for the baseline.
///
/// One that is named twice, or is the baseline, has one anyway. One that is not measured is an error.
pub fn add_controls(resolved: &mut Vec<Resolved>, controls: &[String]) -> Result<(), LabError> {
    for text in controls {
        let specification = environments::parse(text)?.specification.to_string();
        let is_same = |resolved: &&Resolved| resolved.target.specification == specification;
        if resolved.iter().filter(is_same).any(|resolved| resolved.target.role == Role::Control) {
            continue;
        }
        let Some(of) = resolved.iter().find(is_same) else {
            let subjects = resolved.iter().filter(|resolved| resolved.target.role == Role::Subject);
            let names: Vec<&str> = subjects.map(|resolved| resolved.target.name.as_str()).collect();
            return Err(LabError::new(ErrorKind::Usage, format!("--control {text}: it is not measured"))
                .hint(format!("the environments of this session are {}", names.join(", "))));
        };
        let control = Resolved { target: control_of(&of.target), ready: Rc::clone(&of.ready) };
        resolved.push(control);
    }
    Ok(())
}

/// Adds the baseline once more, slower on purpose by a known share: not where nothing is compared, nor where something is
/// slower on purpose already.
pub fn add_planted(resolved: &mut Vec<Resolved>, root: &RootFolder, programs: &Programs) {
    let is_compared = resolved.iter().any(|resolved| resolved.target.role == Role::Subject);
    if !is_compared || resolved.iter().any(|resolved| resolved.target.slower().is_some()) {
        return;
    }
    let Some(Resolved { target, .. }) = resolved.iter().find(|r| r.target.role == Role::Baseline) else {
        return;
    };
    let separator = if target.specification.contains('?') { '&' } else { '?' };
    let text = format!("{}{separator}{}={PLANTED}", target.specification, SLOWER.key);
    let Ok(named) = environments::parse(&text) else { return };
    let named = named.with_root(root);
    let Ok(ready) = named.ready(programs) else { return };
    let (name, specification) = (format!("{} planted", target.name), named.specification.to_string());
    let target = Target { name, specification, role: Role::Planted };
    resolved.push(Resolved { target, ready: Rc::new(ready) });
}

/// The targets of a session whose subjects nobody named: what its provider lists as such and is ready.
pub fn resolve_default(
    baseline: &str,
    root: &RootFolder,
    programs: &Programs,
) -> Result<Vec<Resolved>, LabError> {
    let subjects = PROVIDERS.iter().flat_map(|provider| provider.by_default).copied();
    let mut resolved = Vec::new();
    for (target, named) in named(baseline, subjects, root)? {
        match (target.role, named.ready(programs)) {
            (_, Ok(ready)) => with_control(&mut resolved, target, Rc::new(ready)),
            (Role::Subject, Err(_)) => {}
            (_, Err(not_ready)) => return Err(refused(&target, not_ready)),
        }
    }
    Ok(resolved)
}

/// The targets of a record.
pub fn resolve_recorded(
    targets: &[Target],
    root: &RootFolder,
    programs: &Programs,
) -> Result<Vec<Resolved>, LabError> {
    let mut known: BTreeMap<&str, Rc<Ready>> = BTreeMap::new();
    let mut resolved = Vec::new();
    for target in targets {
        let ready = match known.get(target.specification.as_str()) {
            Some(ready) => Rc::clone(ready),
            None => {
                let named = environments::parse(&target.specification)?.with_root(root);
                let ready = Rc::new(named.ready(programs).map_err(|not| refused(target, not))?);
                known.insert(&target.specification, Rc::clone(&ready));
                ready
            }
        };
        resolved.push(Resolved { target: target.clone(), ready });
    }
    Ok(resolved)
}

/// Baseline and subjects, each once.
pub(crate) fn named<'a>(
    baseline: &str,
    subjects: impl Iterator<Item = &'a str>,
    root: &RootFolder,
) -> Result<Vec<(Target, Named)>, LabError> {
    let parse = |text: &str, role| -> Result<(Target, Named), LabError> {
        let named = environments::parse(text)?.with_root(root);
        let specification = named.specification.to_string();
        Ok((Target { name: heading(text), specification, role }, named))
    };
    let mut all = vec![parse(baseline, Role::Baseline)?];
    for text in subjects {
        let subject = parse(text, Role::Subject)?;
        if all.iter().all(|(other, _)| other.specification != subject.0.specification) {
            all.push(subject);
        }
    }
    Ok(all)
}

fn all_ready(named: Vec<(Target, Named)>, programs: &Programs) -> Result<Vec<Resolved>, LabError> {
    let mut resolved = Vec::new();
    for (target, named) in named {
        let ready = named.ready(programs).map_err(|not_ready| refused(&target, not_ready))?;
        with_control(&mut resolved, target, Rc::new(ready));
    }
    Ok(resolved)
}

/// Adds a target; after the baseline comes its control.
fn with_control(resolved: &mut Vec<Resolved>, target: Target, ready: Rc<Ready>) {
    let control = (target.role == Role::Baseline).then(|| control_of(&target));
    for target in [Some(target), control].into_iter().flatten() {
        resolved.push(Resolved { target, ready: Rc::clone(&ready) });
    }
}

fn control_of(target: &Target) -> Target {
    Target { name: format!("{} again", target.name), role: Role::Control, ..target.clone() }
}

fn refused(target: &Target, not_ready: NotReady) -> LabError {
    LabError::new(ErrorKind::Environment, format!("cannot enter '{}'", target.specification))
        .because(not_ready.reason)
        .hint(not_ready.command.unwrap_or_else(|| "tare check lists what is ready here".to_owned()))
}

/// What a column is headed with: short, and still distinguishing specifications of one provider. A preset goes by
/// the name that it was called by.
fn heading(text: &str) -> String {
    let Ok(specification) = Specification::parse(text) else { return text.to_owned() };
    let parts = specification.instance.iter().chain(specification.options.values());
    parts.fold(specification.provider.clone(), |name, part| format!("{name}-{part}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(baseline: &str, subjects: &[&str]) -> Vec<Target> {
        let named = super::named(baseline, subjects.iter().copied(), &RootFolder::Empty).unwrap();
        named.into_iter().map(|(target, _)| target).collect()
    }

    #[test]
    fn a_preset_heads_its_column_by_its_own_name() {
        let targets = named("native", &["wsl1-like", "wsl2-like?memory=512", "guest", "qemu"]);
        let described = |target: &Target| format!("{} = {}", target.name, target.specification);
        assert_eq!(
            targets[1..].iter().map(described).collect::<Vec<_>>(),
            [
                "wsl1-like = gvisor?platform=systrap",
                "wsl2-like-512 = qemu?cache=mmap&memory=512",
                // Whoever names it twice, by whatever names, gets it once.
                "guest = qemu",
            ]
        );
    }

    #[test]
    fn every_environment_counts_once() {
        let targets = named("native", &["native", "gvisor", "gvisor?platform=ptrace", "gvisor", "oci:crun"]);
        let names: Vec<&str> = targets.iter().map(|target| target.name.as_str()).collect();
        assert_eq!(names, ["native", "gvisor", "gvisor-ptrace", "oci-crun"]);
    }

    #[test]
    fn the_control_is_the_baseline_and_is_found_ready_once() {
        let resolved = resolve("native", &[], &RootFolder::Empty, &Programs::default()).unwrap();
        let names: Vec<&str> = resolved.iter().map(|resolved| resolved.target.name.as_str()).collect();
        assert_eq!(names, ["native", "native again"]);
        assert_eq!(resolved[1].target.role, Role::Control);
        let targets: Vec<Target> = resolved.into_iter().map(|resolved| resolved.target).collect();
        let again = resolve_recorded(&targets, &RootFolder::Empty, &Programs::default()).unwrap();
        assert!(Rc::ptr_eq(&again[0].ready, &again[1].ready));
    }

    #[test]
    fn a_subject_has_a_control_where_it_is_wanted() {
        let mut resolved = resolve("native", &[], &RootFolder::Empty, &Programs::default()).unwrap();
        let layer = Target { name: "layer".into(), specification: "bwrap".into(), role: Role::Subject };
        resolved.push(Resolved { target: layer, ready: Rc::clone(&resolved[0].ready) });
        add_controls(&mut resolved, &["bwrap".into(), "native".into(), "bwrap".into()]).unwrap();
        let controls: Vec<&Target> =
            resolved.iter().map(|resolved| &resolved.target).filter(|t| t.role == Role::Control).collect();
        assert_eq!(
            controls.iter().map(|t| t.specification.as_str()).collect::<Vec<_>>(),
            ["native", "bwrap"]
        );
        let refused = add_controls(&mut resolved, &["gvisor".into()]).unwrap_err();
        assert_eq!(refused.to_string(), "--control gvisor: it is not measured");
    }

    #[test]
    fn the_planted_environment_is_the_baseline_but_for_its_share() {
        let mut resolved = resolve("native", &[], &RootFolder::Empty, &Programs::default()).unwrap();
        add_planted(&mut resolved, &RootFolder::Empty, &Programs::default());
        assert_eq!(resolved.len(), 2, "nothing is compared");
        let layer = Target { name: "layer".into(), specification: "bwrap".into(), role: Role::Subject };
        resolved.push(Resolved { target: layer, ready: Rc::clone(&resolved[0].ready) });
        add_planted(&mut resolved, &RootFolder::Empty, &Programs::default());
        let Resolved { target, ready } = resolved.last().unwrap();
        assert_eq!((target.role, target.specification.as_str()), (Role::Planted, "native?slower=5%"));
        assert_eq!((target.slower(), ready.slower), (Some(0.05), 0.05));
        add_planted(&mut resolved, &RootFolder::Empty, &Programs::default());
        assert_eq!(resolved.len(), 4, "a session has one");
    }

    #[test]
    fn what_is_named_and_not_ready_is_an_error_and_a_default_is_left_out() {
        let refused =
            resolve("native", &["proot".to_owned()], &RootFolder::Empty, &Programs::default()).unwrap_err();
        assert_eq!(refused.to_string(), "cannot enter 'proot': proot is not installed");
        assert_eq!(refused.hint.as_deref(), Some("apt-get install proot"));
        let resolved =
            resolve_on_node("native", &["proot".to_owned()], &RootFolder::Empty, &Programs::default());
        let resolved = resolved.unwrap();
        assert_eq!(
            resolved.last().map(|last| (last.target.name.as_str(), last.target.role)),
            Some(("proot", Role::Subject))
        );
        let resolved = resolve_default("native", &RootFolder::Empty, &Programs::default()).unwrap();
        assert!(resolved.iter().all(|resolved| resolved.target.specification != "proot"));
    }
}
