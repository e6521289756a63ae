//! Sides: the environments of a session, parsed once, and found ready.

use std::collections::BTreeMap;
use std::rc::Rc;

use tare_data::facts::Facts;
use tare_data::names::Parameters;
use tare_data::session::specification::{NATIVE, Specification};
use tare_data::session::{Role, Side, Sides};
use tare_data::shell::join_words;

use crate::environments::{self, Named, PROVIDERS, presets};
use crate::error::{ErrorKind, LabError};
use crate::host::programs::Programs;
use crate::provider::options::SLOWER;
use crate::provider::root::RootFolder;
use crate::provider::{NotReady, Provider, Ready};
use crate::session::plan::planting::PLANTED;

/// The sides of a session, each with the result of asking its provider. Sides with the same specification share it.
#[derive(Clone, Debug)]
pub struct Cast {
    pub sides: Sides,
    ready: BTreeMap<Specification, Rc<Ready>>,
}

impl Cast {
    /// Gives each side what its provider said.
    pub fn list_resolved(&self) -> Vec<Resolved> {
        let resolved = |target: &Side| {
            let ready = Rc::clone(self.ready.get(&target.specification)?);
            Some(Resolved { target: target.clone(), ready })
        };
        self.sides.iter().filter_map(resolved).collect()
    }
}

/// A side of a session that can be entered.
#[derive(Clone, Debug)]
pub struct Resolved {
    /// Side as in the record.
    pub target: Side,
    /// Result of asking its provider, shared by the baseline and its control.
    pub ready: Rc<Ready>,
}

/// The fate of a subject that is not ready. A baseline that is not ready is always an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WhenNotReady {
    /// The session fails.
    Refuse,
    /// The subject becomes a gap with the reason, as if entering had failed, because nodes of a fleet differ.
    Gap,
    /// The subject is left out, because the user did not ask for it.
    LeaveOut,
}

/// Checks which sides are ready.
pub fn resolve_sides(
    mut sides: Sides,
    when_not_ready: WhenNotReady,
    root: &RootFolder,
    programs: &Programs,
) -> Result<Cast, LabError> {
    let mut ready: BTreeMap<Specification, Rc<Ready>> = BTreeMap::new();
    for (at, target) in sides.iter().enumerate() {
        if ready.contains_key(&target.specification) {
            continue;
        }
        let named = environments::find_environment(target.specification.clone())?.with_root(root);
        let is_subject = sides.role(at) == Role::Subject;
        let is_ready = match (named.check_ready(programs), when_not_ready) {
            (Ok(is_ready), _) => is_ready,
            (Err(not_ready), WhenNotReady::Gap) if is_subject => never(target, not_ready),
            (Err(_), WhenNotReady::LeaveOut) if is_subject => continue,
            (Err(not_ready), _) => return Err(refused(target, not_ready)),
        };
        ready.insert(target.specification.clone(), Rc::new(is_ready));
    }
    sides.retain(|side| ready.contains_key(&side.specification));
    Ok(Cast { sides, ready })
}

/// Makes a `Ready` that cannot be entered, for this reason.
fn never(target: &Side, not_ready: NotReady) -> Ready {
    let target = target.clone();
    Ready::new(Facts::default(), move |_| Err(refused(&target, not_ready.clone())))
}

/// Parses the sides of a session: the baseline, the baseline again as its control, and the subjects, each compared with the baseline.
///
/// A subject that is named twice, or is the baseline, counts once.
pub fn name_sides(baseline: &str, subjects: &[String]) -> Result<Sides, LabError> {
    let mut sides = Sides::new(parse_target(baseline)?);
    add_control(&mut sides, 0);
    for text in subjects {
        let mut subject = parse_target(text)?;
        if sides.iter().all(|other| other.specification != subject.specification) {
            subject.name = make_distinct_name(subject.name, &sides);
            sides.add_subject(subject);
        }
    }
    Ok(sides)
}

/// Makes the sides of a session that compares commands in one environment: the first, the first again as its control, and the others,
/// each compared with the first.
pub fn name_command_sides(environment: &str, commands: &[Parameters]) -> Result<Sides, LabError> {
    let environment = parse_target(environment)?;
    let mut sides: Option<Sides> = None;
    for command in commands {
        let title = shorten_title(command.get_text("title").unwrap_or_default());
        let words = command.get_text("command").ok().and_then(|json| serde_json::from_str(json).ok());
        let words: Vec<String> = words.unwrap_or_default();
        let taken = sides.as_ref().map_or(&[][..], |sides| sides);
        let side = Side {
            name: make_distinct_name(title, taken),
            short_description: join_words(words),
            command: Some(command.clone()),
            ..environment.clone()
        };
        match &mut sides {
            Some(sides) => sides.add_subject(side),
            None => {
                let first = sides.insert(Sides::new(side));
                add_control(first, 0);
            }
        }
    }
    Ok(sides.unwrap_or_default())
}

/// Lists the names that commands with these titles have as sides of a session.
pub fn name_commands<'t>(titles: impl Iterator<Item = &'t str>) -> Vec<String> {
    let of_title = |title: &str| Parameters([("title".to_owned(), title.to_owned())].into_iter().collect());
    let sides = name_command_sides(NATIVE, &titles.map(of_title).collect::<Vec<_>>()).unwrap_or_default();
    sides.iter().filter(|side| side.repeats.is_none()).map(|side| side.name.clone()).collect()
}

/// Shortens the title of a command to a name that has room in a column; commands differ at their ends.
fn shorten_title(title: &str) -> String {
    let letters: Vec<char> = title.chars().collect();
    if letters.len() <= LONGEST_NAME {
        return title.to_owned();
    }
    let text = |letters: &[char]| letters.iter().collect::<String>();
    let (start, end) = (LONGEST_NAME / 3, LONGEST_NAME - 1 - LONGEST_NAME / 3);
    format!("{}…{}", text(&letters[..start]), text(&letters[letters.len() - end..]))
}

/// Adds a number to a name that another target has: the same program may be called with other words.
fn make_distinct_name(name: String, targets: &[Side]) -> String {
    let is_free = |name: &String| targets.iter().all(|target| target.name != *name);
    let numbered = (2..).map(|number| format!("{name}-{number}"));
    std::iter::once(name.clone()).chain(numbered).find(is_free).unwrap_or_default()
}

fn parse_target(text: &str) -> Result<Side, LabError> {
    let typed: Specification = text.parse()?;
    let preset = presets::find_preset(&typed.provider);
    let Named { specification, provider, .. } = environments::find_environment(typed.clone())?;
    let serving = provider.kernel.serving;
    let name = heading(&typed, &provider);
    let short_description =
        preset.map_or(provider.short_description.as_str(), |preset| preset.short_description).to_owned();
    Ok(Side { short_description, serving, ..Side::new(name, specification) })
}

/// Option with the name of words: a provider that has it takes the words of a launcher as its instance.
const NAME: &str = "name";

/// Beginning of the digest in the name of an image, and its digits that are shown: as many as Docker shows.
const DIGEST: &str = "@sha256:";
const DIGEST_DIGITS: usize = 12;
/// Longest name of a side that is a command.
const LONGEST_NAME: usize = 48;

/// Number of default subjects that are measured: more would have too little time each.
pub const MOST_DEFAULT: usize = 3;

/// Lists the subjects of a session that names none: specifications of which those that are ready are used, all of a study's
/// choice, or else the first.
pub fn default_subjects(chosen: &[String]) -> Vec<String> {
    if !chosen.is_empty() {
        return chosen.to_vec();
    }
    let mut ranked: Vec<_> = PROVIDERS.iter().flat_map(|provider| provider.by_default.ranked).collect();
    ranked.sort_unstable();
    let ranked: Vec<String> = ranked.into_iter().map(|(_, text)| (*text).to_owned()).collect();
    if ranked.is_empty() { every_default_subject() } else { ranked }
}

/// Lists a specification of every kind of environment that needs none of its options.
pub fn every_default_subject() -> Vec<String> {
    PROVIDERS.iter().flat_map(|provider| provider.by_default.tried).map(|&text| text.to_owned()).collect()
}

/// Keeps the first of the default subjects, and returns the names of the others.
pub fn keep_first_subjects(sides: &mut Sides) -> Vec<String> {
    let others = sides.of_role(Role::Subject).skip(MOST_DEFAULT);
    let others: Vec<String> = others.map(|side| side.name.clone()).collect();
    sides.retain(|side| !others.contains(&side.name));
    others
}

fn add_control(sides: &mut Sides, of: usize) {
    let name = make_distinct_name(format!("{} again", sides[of].name), sides);
    sides.add_control(of, name);
}

/// Adds a control for each of these subjects, which measures the environment a second time.
///
/// A subject that is named twice, or is the baseline, gets only one control. Naming one that is not measured
/// is an error.
pub fn add_controls(sides: &mut Sides, controls: &[String]) -> Result<(), LabError> {
    for text in controls {
        let of = match sides.find(text) {
            None if !sides.compare_commands() => {
                let specification = environments::parse_environment(text)?.specification;
                sides.iter().position(|side| side.specification == specification)
            }
            None => sides.iter().position(|side| side.title() == Some(text)),
            of => of,
        };
        let Some(of) = of else {
            let names: Vec<&str> = sides.of_role(Role::Subject).map(|side| side.name.as_str()).collect();
            return Err(LabError::new(ErrorKind::Usage, format!("--control {text}: it is not measured"))
                .with_hint(format!("this session compares {}", names.join(", "))));
        };
        if sides.find_control(of).is_none() {
            add_control(sides, of);
        }
    }
    Ok(())
}

/// Adds a copy of the baseline with a known slowdown, unless nothing is compared or another environment is
/// already slowed down.
pub fn add_planted(cast: &mut Cast, root: &RootFolder, programs: &Programs) {
    let sides = &mut cast.sides;
    let is_compared = sides.of_role(Role::Subject).next().is_some();
    if !is_compared || sides.iter().any(|side| side.slower_share().is_some()) {
        return;
    }
    let Some(baseline) = sides.of_role(Role::Baseline).next() else { return };
    let specification = baseline.specification.clone().with_option(SLOWER.key, PLANTED);
    let name = make_distinct_name(format!("{} planted", baseline.name), sides);
    let planted = Side { name, specification, ..baseline.clone() };
    if let Ok(Cast { ready, .. }) =
        resolve_sides(Sides::new(planted.clone()), WhenNotReady::Refuse, root, programs)
    {
        sides.add_planted(planted);
        cast.ready.extend(ready);
    }
}

fn refused(target: &Side, not_ready: NotReady) -> LabError {
    LabError::new(ErrorKind::Environment, format!("cannot enter '{}'", target.specification))
        .with_cause(not_ready.reason)
        .with_hint(not_ready.command.unwrap_or_else(|| "tare check lists what is ready here".to_owned()))
}

/// Builds the heading of a column, short but distinct for each specification of a provider. A preset keeps
/// the name that the user typed, a launcher's file the name in it, and words the name that they were given.
fn heading(typed: &Specification, provider: &Provider) -> String {
    let first = if typed.provider.ends_with(".toml") { &provider.name } else { &typed.provider };
    let named = typed.options.get(NAME).filter(|name| !name.is_empty());
    if let (Some(name), true) = (named, is_of_words(provider)) {
        return name.clone();
    }
    let instance = typed.instance.as_deref().map(|instance| match is_of_words(provider) {
        true => program_of_words(instance),
        false => instance,
    });
    let parts = instance.into_iter().chain(typed.options.values().map(String::as_str));
    parts.fold(first.to_owned(), |name, part| format!("{name}-{}", shorten_part(part)))
}

/// Shortens a part of a name that has no end that people read: the digest of an image to its first digits.
fn shorten_part(part: &str) -> &str {
    match part.find(DIGEST) {
        Some(at) => part.get(..at + DIGEST.len() + DIGEST_DIGITS).unwrap_or(part),
        None => part,
    }
}

/// Tells whether the instance of an environment is the words of a launcher.
fn is_of_words(provider: &Provider) -> bool {
    provider.options.iter().any(|option| option.key == NAME)
}

/// Extracts the file name of the program that comes first.
fn program_of_words(words: &str) -> &str {
    let first = words.split_whitespace().next().unwrap_or_default();
    first.rsplit('/').next().unwrap_or(first)
}

#[cfg(test)]
mod tests {
    use tare_data::session::Serving;

    use super::*;

    fn named(subjects: &[&str]) -> Sides {
        let subjects: Vec<String> = subjects.iter().map(|&text| text.to_owned()).collect();
        name_sides("native", &subjects).unwrap()
    }

    fn resolved(subjects: &[&str], when_not_ready: WhenNotReady) -> Result<Cast, LabError> {
        resolve_sides(named(subjects), when_not_ready, &RootFolder::Empty, &Programs::default())
    }

    fn layer() -> Side {
        Side::new("layer", Specification::from_provider("bwrap"))
    }

    #[test]
    fn a_preset_heads_its_column_by_its_own_name() {
        let targets = named(&["wsl1-like", "wsl2-like?memory=512", "guest", "qemu"]);
        let described = |target: &Side| format!("{} = {}", target.name, target.specification);
        assert_eq!(
            targets[2..].iter().map(described).collect::<Vec<_>>(),
            [
                "wsl1-like = gvisor?platform=systrap",
                "wsl2-like-512 = qemu?memory=512&share=virtiofs",
                // An environment that is named twice, by whatever names, is measured once.
                "guest = qemu",
            ]
        );
    }

    #[test]
    fn every_environment_counts_once() {
        let targets = named(&["native", "gvisor", "gvisor?platform=ptrace", "gvisor", "oci:crun"]);
        let names: Vec<&str> = targets.iter().map(|target| target.name.as_str()).collect();
        assert_eq!(names, ["native", "native again", "gvisor", "gvisor-ptrace", "oci-crun"]);
    }

    #[test]
    fn a_session_that_names_nothing_has_a_guest_only_with_hardware_for_it() {
        let subjects = default_subjects(&[]);
        let guests: Vec<&String> = subjects.iter().filter(|text| text.starts_with("qemu")).collect();
        assert_eq!(guests, ["qemu?acceleration=kvm"], "an emulated one would take all the time");
        assert_eq!(subjects[0], "container");
        assert_eq!(default_subjects(&["qemu".to_owned()]), ["qemu"], "a study may choose it");
    }

    #[test]
    fn default_subjects_have_ranks_of_their_own() {
        let ranked = PROVIDERS.iter().flat_map(|provider| provider.by_default.ranked);
        let mut ranks: Vec<u32> = ranked.map(|(rank, _)| *rank).collect();
        ranks.sort_unstable();
        assert_eq!(ranks, (1..=ranks.len() as u32).collect::<Vec<_>>());
        assert_eq!(default_subjects(&[])[3..], ["docker", "podman", "bwrap", "docker-like"]);
    }

    #[test]
    fn a_plan_says_how_an_environment_serves_calls() {
        let serving = |text: &str| {
            let Serving { one_at_a_time, beside, beside_pinned } = named(&[text])[2].serving;
            (one_at_a_time, beside, beside_pinned)
        };
        for traced in ["traced", "proot?root=host"] {
            assert_eq!(serving(traced), (true, 1.2, 1.0), "{traced}");
        }
        assert_eq!(serving("uml"), (true, 1.15, 1.15));
        assert_eq!(serving("gvisor?platform=ptrace"), (false, 1.0, 1.0));
        assert_eq!(serving("qemu"), (false, 1.15, 1.15));
    }

    #[test]
    fn commands_are_sides_of_one_environment_under_names_of_their_own() {
        let long = format!("{} -j1", "make -C a/very/long/path/to/some/place/of/mine".repeat(2));
        let command = |title: &str| {
            let pairs = [("title", title), ("command", "[\"./x\",\"a b\"]")];
            Parameters(pairs.map(|(key, value)| (key.to_owned(), value.to_owned())).into_iter().collect())
        };
        let commands = ["./x 'a b'", "./x 'a b'", &long].map(command);
        let sides = name_command_sides("bwrap", &commands).unwrap();
        let names: Vec<&str> = sides.iter().map(|side| side.name.as_str()).collect();
        assert_eq!(names[..3], ["./x 'a b'", "./x 'a b' again", "./x 'a b'-2"]);
        assert!(names[3].starts_with("make -C a") && names[3].ends_with("mine -j1"), "{names:?}");
        let of: Vec<Option<usize>> = (0..4).map(|at| sides.partner_of(at)).collect();
        assert_eq!(of, [None, Some(0), Some(0), Some(0)]);
        assert!(sides.iter().all(|side| side.specification.to_string() == "bwrap"));
        assert_eq!(
            (&sides[1].command, sides[2].short_description.as_str()),
            (&sides[0].command, "./x 'a b'")
        );
        let mut controlled = sides.clone();
        add_controls(&mut controlled, &["./x 'a b'-2".into()]).unwrap();
        assert_eq!(controlled.find_control(2), Some(4));
        add_controls(&mut controlled, std::slice::from_ref(&long)).unwrap();
        assert_eq!(controlled.find_control(3), Some(5), "a side is known by its whole title too");
        let titles = ["./x 'a b'", "./x 'a b'", &long];
        assert_eq!(name_commands(titles.into_iter()), [names[0], names[2], names[3]]);
        assert!(add_controls(&mut controlled, &["bwrap".into()]).is_err());
    }

    #[test]
    fn names_that_are_made_are_none_that_a_command_has() {
        let command =
            |title: &str| Parameters([("title".to_owned(), title.to_owned())].into_iter().collect());
        let sides = name_command_sides("native", &["old", "old planted", "new", "new again"].map(command));
        let root = RootFolder::Empty;
        let mut cast =
            resolve_sides(sides.unwrap(), WhenNotReady::Refuse, &root, &Programs::default()).unwrap();
        add_controls(&mut cast.sides, &["new".into()]).unwrap();
        add_planted(&mut cast, &root, &Programs::default());
        let names: Vec<&str> = cast.sides.iter().map(|side| side.name.as_str()).collect();
        assert_eq!(
            names,
            ["old", "old again", "old planted", "new", "new again", "new again-2", "old planted-2"]
        );
        let roles: Vec<Role> = (0..names.len()).map(|at| cast.sides.role(at)).collect();
        assert_eq!((roles[2], roles[4], roles[6]), (Role::Subject, Role::Subject, Role::Planted));
    }

    #[test]
    fn words_head_their_column_by_their_program_or_their_name() {
        let targets = named(&[
            "exec:bwrap --dev-bind / / --",
            "exec:/usr/bin/bwrap --ro-bind / / --",
            "exec:bwrap --dev-bind / / --?name=box",
            "exec:bwrap --dev-bind / / --?far=stdin",
            &format!("docker:debian@sha256:{}", "0123456789abcdef".repeat(4)),
            &format!("docker:debian@sha256:{}", "0123456789abfedc".repeat(4)),
            "uml?kernel=builds/linux-6.12",
        ]);
        let names: Vec<&str> = targets[2..].iter().map(|target| target.name.as_str()).collect();
        assert_eq!(names[..4], ["exec-bwrap", "exec-bwrap-2", "box", "exec-bwrap-stdin"]);
        // Versions stand in the name.
        assert_eq!(
            names[4..],
            [
                "docker-debian@sha256:0123456789ab",
                "docker-debian@sha256:0123456789ab-2",
                "uml-builds/linux-6.12"
            ]
        );
    }

    #[test]
    fn the_control_is_the_baseline_and_is_found_ready_once() {
        let cast = resolved(&[], WhenNotReady::Refuse).unwrap();
        let names: Vec<&str> = cast.sides.iter().map(|side| side.name.as_str()).collect();
        assert_eq!(names, ["native", "native again"]);
        assert_eq!(cast.sides.role(1), Role::Control);
        let resolved = cast.list_resolved();
        assert!(Rc::ptr_eq(&resolved[0].ready, &resolved[1].ready));
    }

    #[test]
    fn a_subject_has_a_control_where_it_is_wanted() {
        let mut sides = named(&[]);
        sides.add_subject(layer());
        add_controls(&mut sides, &["bwrap".into(), "native".into(), "bwrap".into()]).unwrap();
        let controls: Vec<String> =
            sides.of_role(Role::Control).map(|t| t.specification.to_string()).collect();
        assert_eq!(controls, ["native", "bwrap"]);
        let refused = add_controls(&mut sides, &["gvisor".into()]).unwrap_err();
        assert_eq!(refused.to_string(), "--control gvisor: it is not measured");
    }

    #[test]
    fn the_planted_environment_is_the_baseline_but_for_its_share() {
        let mut cast = resolved(&[], WhenNotReady::Refuse).unwrap();
        add_planted(&mut cast, &RootFolder::Empty, &Programs::default());
        assert_eq!(cast.sides.len(), 2, "nothing is compared");
        let subject = Side { name: "subject".into(), ..cast.sides[0].clone() };
        cast.sides.add_subject(subject);
        add_planted(&mut cast, &RootFolder::Empty, &Programs::default());
        let resolved = cast.list_resolved();
        let Resolved { target, ready } = resolved.last().unwrap();
        assert_eq!(
            (cast.sides.role(3), target.specification.to_string()),
            (Role::Planted, "native?slower=5%".into())
        );
        assert_eq!((target.slower_share(), ready.slower), (Some(0.05), 0.05));
        add_planted(&mut cast, &RootFolder::Empty, &Programs::default());
        assert_eq!(cast.sides.len(), 4, "a session has one");
    }

    #[test]
    fn what_is_named_and_not_ready_is_an_error_and_a_default_is_left_out() {
        let refused = resolved(&["proot"], WhenNotReady::Refuse).unwrap_err();
        assert_eq!(refused.to_string(), "cannot enter 'proot': proot is not installed");
        assert_eq!(refused.hint.as_deref(), Some("apt-get install proot"));
        let names = |when_not_ready| -> Vec<String> {
            let cast = resolved(&["proot"], when_not_ready).unwrap();
            cast.sides.iter().map(|side| side.name.clone()).collect()
        };
        assert_eq!(names(WhenNotReady::Gap), ["native", "native again", "proot"]);
        assert_eq!(names(WhenNotReady::LeaveOut), ["native", "native again"]);
    }

    #[test]
    fn a_baseline_that_is_not_ready_is_an_error_whatever_becomes_of_subjects() {
        for when_not_ready in [WhenNotReady::Refuse, WhenNotReady::Gap, WhenNotReady::LeaveOut] {
            let sides = name_sides("proot", &[]).unwrap();
            let refused = resolve_sides(sides, when_not_ready, &RootFolder::Empty, &Programs::default());
            assert!(refused.is_err(), "{when_not_ready:?}");
        }
    }

    #[test]
    fn a_record_whose_specification_is_damaged_is_an_error() {
        let specification = serde_json::from_value("native?slower".into()).unwrap();
        let target = Side { specification, ..layer() };
        let refused =
            resolve_sides(Sides::new(target), WhenNotReady::Gap, &RootFolder::Empty, &Programs::default())
                .unwrap_err();
        assert_eq!(refused.to_string(), "there is no environment 'native?slower'");
    }
}
