//! A session's measurements, by the environments of articles that its own correspond to.

use std::collections::BTreeMap;
use tare_data::facts::keys::{KERNEL_NAME, KERNEL_RELEASE, MOUNT_TYPE};

use tare_data::names::parse_size;
use tare_data::peer::PeerKind;
use tare_data::session::specification::NATIVE;
use tare_data::session::{PlannedCase, Role, Session, Side, TargetFacts};

use super::{EnvironmentKind, Subject};
use crate::findings::{Cell, Comparison, Level, Missing, OwnValue, Row};
use crate::target_pairs::{Ratio, Seat, TargetPairs};
use crate::verdicts::doubts::comparable::{find_target_objection, is_emulated};
use crate::verdicts::rows::Options;

/// A session whose environments correspond to those of articles.
pub(super) struct Measured<'s> {
    session: &'s Session,
    targets: Vec<Standing<'s>>,
    pairs: TargetPairs<'s>,
}

/// An environment and the kind that it corresponds to.
struct Standing<'a> {
    target: &'a Side,
    kind: Option<EnvironmentKind>,
}

/// A row's position in the plan.
#[derive(Clone, Copy)]
pub(super) struct Place<'r, 's> {
    pub row: &'r Row,
    pub case: &'s PlannedCase,
    /// Indices in the plan.
    at: usize,
    metric: usize,
}

impl<'s> Measured<'s> {
    pub fn new(session: &'s Session, options: &'s Options) -> Self {
        let targets = session.plan.targets.iter();
        let standing = |target| Standing { target, kind: stands_for(target, facts_of(session, target)) };
        Measured {
            session,
            targets: targets.map(standing).collect(),
            pairs: TargetPairs::new(session, options),
        }
    }

    pub fn find_place<'r>(&self, row: &'r Row) -> Option<Place<'r, 's>> {
        let at = self.session.plan.cases.iter().position(|case| case.id == row.case)?;
        let case = &self.session.plan.cases[at];
        let metric = case.metrics.iter().position(|metric| metric.name == row.metric.name)?;
        Some(Place { row, case, at, metric })
    }

    /// Gives the kind of environment that the baseline corresponds to.
    pub fn baseline_kind(&self) -> Option<EnvironmentKind> {
        self.targets.get(self.session.plan.targets.baseline_at()?)?.kind
    }

    /// Finds the environment that corresponds to one of an article: a subject, or else the baseline. Of several, the one that
    /// mounts the host's folders by 9P, as every WSL2 did that an article has measured.
    pub fn find_target(&self, kind: EnvironmentKind) -> Option<usize> {
        let of = |role| {
            let of_role = self.session.plan.targets.list_role(role);
            let mut all = of_role.filter(|at| self.targets[*at].kind == Some(kind));
            let first = all.next()?;
            Some([first].into_iter().chain(all).find(|at| self.shares_by_9p(*at)).unwrap_or(first))
        };
        of(Role::Subject).or_else(|| of(Role::Baseline))
    }

    fn shares_by_9p(&self, target: usize) -> bool {
        let facts = facts_of(self.session, self.targets[target].target);
        let mut places = facts.iter().flat_map(|facts| facts.places.values());
        places.any(|place| place.get(MOUNT_TYPE) == Some("9p"))
    }

    pub fn session(&self) -> &'s Session {
        self.session
    }

    pub fn target_name(&self, target: usize) -> String {
        self.targets[target].target.name.clone()
    }

    /// Reads a row's value in an environment.
    pub fn read_level<'r>(&self, row: &'r Row, target: usize) -> Option<&'r Level> {
        match self.session.plan.targets.role(target) {
            Role::Baseline => row.baseline.as_ref(),
            _ => match self.cell(row, target)? {
                Cell::Compared(comparison) => Some(&comparison.level),
                Cell::Observed(level) => Some(level),
                Cell::Missing(Missing::NoBaseline(level) | Missing::NotComparable { level, .. }) => {
                    Some(level)
                }
                Cell::Missing(Missing::Failed(_) | Missing::NotReached) => None,
            },
        }
    }

    pub fn own_value(&self, row: &Row, target: usize) -> Option<OwnValue> {
        let Level { median, low, high, rounds, .. } = *self.read_level(row, target)?;
        Some(OwnValue { median, low, high, rounds })
    }

    /// Explains why nothing that an article says may be judged by these environments in a row, if it may not: what an
    /// emulated processor computes is the emulator's speed, and what a broken promise yields is another quantity.
    pub fn find_objection(&self, place: &Place<'_, '_>, targets: &[usize]) -> Option<String> {
        let metric = &place.case.metrics[place.metric];
        targets.iter().find_map(|at| {
            let target = self.targets[*at].target;
            let facts = facts_of(self.session, target);
            if is_emulated(facts) {
                return Some(format!("the processor of {} is emulated", target.name));
            }
            let reason = find_target_objection(place.case, metric, facts)?;
            Some(format!("{}: {reason}", target.name))
        })
    }

    /// Finds a subject's cell, by its index in the plan.
    fn cell<'r>(&self, row: &'r Row, target: usize) -> Option<&'r Cell> {
        row.cells.get(self.session.plan.targets.list_role(Role::Subject).position(|at| at == target)?)
    }

    /// Finds a subject's comparison with the session's baseline.
    fn comparison<'r>(&self, row: &'r Row, target: usize) -> Option<&'r Comparison> {
        self.cell(row, target)?.comparison()
    }

    /// Compares the costs of two environments.
    ///
    /// An environment that may not be compared with the session's baseline is not compared with others
    /// either.
    pub fn compare_targets(&mut self, place: &Place<'_, '_>, target: usize, against: usize) -> Option<Ratio> {
        let is_baseline = |at: usize| self.session.plan.targets.role(at) == Role::Baseline;
        let of = |comparison: &Comparison| {
            let Comparison { ratio, interval, .. } = *comparison;
            Ratio { ratio, interval }
        };
        match (is_baseline(target), is_baseline(against)) {
            _ if target == against => None,
            (false, true) => self.comparison(place.row, target).map(of),
            (true, false) => self.comparison(place.row, against).map(of).map(Ratio::inverse),
            _ => {
                self.comparison(place.row, target)?;
                self.comparison(place.row, against)?;
                self.pairs.compare_costs(seat(place, target), seat(place, against))
            }
        }
    }

    /// Compares the cost of one row with that of another in the same environment.
    pub fn compare_rows(
        &mut self,
        place: &Place<'_, '_>,
        over: &Place<'_, '_>,
        target: usize,
    ) -> Option<Ratio> {
        self.read_level(place.row, target)?;
        self.read_level(over.row, target)?;
        self.pairs.compare_costs(seat(place, target), seat(over, target))
    }
}

fn seat(place: &Place<'_, '_>, target: usize) -> Seat {
    Seat { case: place.at, metric: place.metric, target }
}

impl Place<'_, '_> {
    /// Recognises the same metric of the same case in another place, or with other values of some parameters.
    pub fn is_variant(
        &self,
        of: &Place<'_, '_>,
        place: Option<&str>,
        others: &BTreeMap<String, String>,
    ) -> bool {
        let mut wanted = of.case.case.parameters.0.clone();
        wanted.extend(others.clone());
        self.row.place.as_deref() == place.or(of.row.place.as_deref())
            && self.row.metric.name == of.row.metric.name
            && self.case.case.probe == of.case.case.probe
            && self.case.case.parameters.0 == wanted
    }

    /// Recognises a figure of the same metric of the same case.
    pub fn is_of(&self, subject: Subject<'_>) -> bool {
        subject.metric == self.row.metric.name && is_case_of(self.case, subject)
    }
}

/// Recognises a case of the same probe, place, kind of peer, and every parameter that a subject names.
pub(super) fn is_case_of(planned: &PlannedCase, subject: Subject<'_>) -> bool {
    let case = &planned.case;
    subject.probe == case.probe
        && subject.place.is_none_or(|place| case.place.as_deref() == Some(place))
        && subject.peer.is_none_or(|peer| case.peer.as_deref().map(PeerKind::from_name) == Some(peer))
        && subject
            .parameters
            .iter()
            .all(|(key, wanted)| case.parameters.0.get(key).is_some_and(|value| is_same_value(value, wanted)))
}

/// Compares two values of a parameter: `512` and `512B` are one size.
fn is_same_value(value: &str, wanted: &str) -> bool {
    value == wanted || parse_size(value).is_some_and(|size| parse_size(wanted) == Some(size))
}

fn facts_of<'s>(session: &'s Session, target: &Side) -> Option<&'s TargetFacts> {
    session.facts.iter().find(|facts| facts.target == target.name)
}

/// The presets that correspond to articles' environments.
const PRESETS: [(&str, EnvironmentKind); 5] = [
    ("wsl1-like", EnvironmentKind::Wsl1),
    ("wsl2-like", EnvironmentKind::Wsl2),
    ("guest", EnvironmentKind::Vm),
    (NATIVE, EnvironmentKind::Native),
    ("windows", EnvironmentKind::Windows),
];

/// Determines the kind of an environment: presets by their names, a distribution of WSL by its kernel. Native
/// is Windows if tare runs on it, and WSL if tare runs in that.
fn stands_for(target: &Side, facts: Option<&TargetFacts>) -> Option<EnvironmentKind> {
    let is_windows = facts.is_some_and(|facts| facts.inside.get(KERNEL_NAME) == Some("Windows"));
    // Microsoft's kernel of WSL2 calls itself so; that of WSL1 is called after Microsoft alone.
    let release = facts.and_then(|facts| facts.inside.get(KERNEL_RELEASE)).unwrap_or_default();
    let wsl = match release.contains("WSL2") {
        true => EnvironmentKind::Wsl2,
        false => EnvironmentKind::Wsl1,
    };
    match find_preset_kind(&target.name) {
        Some(_) if is_windows => Some(EnvironmentKind::Windows),
        Some(EnvironmentKind::Native) if release.contains("icrosoft") => Some(wsl),
        Some(kind) => Some(kind),
        None => (target.provider() == "wsl").then_some(wsl),
    }
}

/// Finds the kind to which a preset of this name corresponds. With options it goes by its name and theirs: `wsl2-like-512`.
pub(super) fn find_preset_kind(called: &str) -> Option<EnvironmentKind> {
    let is_it =
        |name: &str| called.strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with('-'));
    PRESETS.iter().find(|(name, _)| is_it(name)).map(|(_, kind)| *kind)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_stand_for_what_articles_measured_in() {
        let kind = |name: &str, specification: &str, kernel: &str| {
            let target = Side::new(name, specification.parse().unwrap());
            let mut facts = TargetFacts {
                target: name.into(),
                inside: Default::default(),
                outside: Default::default(),
                places: Default::default(),
            };
            facts
                .inside
                .add_fact("kernel.name", if kernel.starts_with("10.0") { "Windows" } else { "Linux" });
            facts.inside.add_fact("kernel.release", kernel);
            stands_for(&target, Some(&facts))
        };
        assert_eq!(kind("wsl1-like", "gvisor?platform=systrap", "4.4.0"), Some(EnvironmentKind::Wsl1));
        assert_eq!(kind("wsl2-like-512", "qemu?memory=512", "6.1"), Some(EnvironmentKind::Wsl2));
        assert_eq!(kind("guest", "qemu", "6.1"), Some(EnvironmentKind::Vm));
        assert_eq!(kind("native", "native", "6.1"), Some(EnvironmentKind::Native));
        assert_eq!(kind("native", "native", "10.0.26100"), Some(EnvironmentKind::Windows));
        let in_wsl = "5.15.153.1-microsoft-standard-WSL2";
        assert_eq!(kind("native", "native", in_wsl), Some(EnvironmentKind::Wsl2));
        assert_eq!(kind("native", "native", "4.4.0-19041-Microsoft"), Some(EnvironmentKind::Wsl1));
        assert_eq!(kind("windows", "windows", "10.0.26100"), Some(EnvironmentKind::Windows));
        assert_eq!(kind("wine", "wine", "10.0.19045"), None, "a library stands for itself");
        assert_eq!(kind("gvisor", "gvisor", "4.4.0"), None, "a sandbox stands for itself");
        let second = "5.15.153.1-microsoft-standard-WSL2";
        assert_eq!(kind("wsl-Ubuntu", "wsl:Ubuntu", second), Some(EnvironmentKind::Wsl2));
        assert_eq!(kind("wsl-Ubuntu", "wsl:Ubuntu", "4.4.0-19041-Microsoft"), Some(EnvironmentKind::Wsl1));
    }
}
