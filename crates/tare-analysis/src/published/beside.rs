//! Which row of a session an article speaks of, and whether the session agrees with it.

use tare_data::names::parse_size;
use tare_data::session::{PlannedCase, Role, Session, Target, TargetFacts};

use super::target_pairs::{Ratio, TargetPairs};
use super::{EnvironmentKind, Published, Subject};
use crate::findings::{Beside, Cell, Comparison, Findings, Row};
use crate::verdicts::rows::Options;

/// Puts what articles say beside the rows that they speak of.
pub fn place_beside(findings: &mut Findings, session: &Session, articles: &[Published]) {
    if articles.is_empty() {
        return;
    }
    let options = Options::default();
    let mut pairs = TargetPairs::new(session, &options);
    let targets = session.plan.targets.iter();
    let targets: Vec<Standing> = targets.map(|target| Standing::of(target, session)).collect();
    for row in &mut findings.rows {
        let Some(at) = session.plan.cases.iter().position(|case| case.id == row.case) else { continue };
        let case = &session.plan.cases[at];
        let Some(metric) = case.metrics.iter().position(|metric| metric.name == row.metric.name) else {
            continue;
        };
        let mut place = Place { row, targets: &targets, pairs: &mut pairs, case: at, metric };
        let published =
            articles.iter().flat_map(|article| article_beside(article, &mut place, case)).collect();
        row.published = published;
    }
}

/// A row of a session, and what its environments stand for.
struct Place<'p, 's> {
    row: &'p Row,
    targets: &'p [Standing<'s>],
    pairs: &'p mut TargetPairs<'s>,
    /// Indices in the plan.
    case: usize,
    metric: usize,
}

impl Place<'_, '_> {
    /// The environment of a role that stands for what an article measured in.
    fn standing(&self, role: Role, kind: EnvironmentKind) -> Option<usize> {
        self.targets.iter().position(|s| s.target.role == role && s.kind == Some(kind))
    }

    /// A subject's comparison with the session's reference, by its index in the plan.
    fn comparison(&self, target: usize) -> Option<&Comparison> {
        let before = self.targets[..target].iter().filter(|s| s.target.role == Role::Subject).count();
        match self.row.cells.get(before) {
            Some(Cell::Compared(comparison)) => Some(comparison),
            _ => None,
        }
    }

    /// A subject over the environment that stands for the article's reference, and that environment.
    fn ratio(&mut self, target: usize, against: EnvironmentKind) -> Option<(usize, Ratio)> {
        // What may not be compared with the session's reference is not compared with others either.
        let comparison = self.comparison(target)?;
        if let Some(reference) = self.standing(Role::Baseline, against) {
            let Comparison { ratio, low, high, .. } = *comparison;
            return Some((reference, Ratio { ratio, low, high }));
        }
        let other = self.standing(Role::Subject, against).filter(|other| *other != target)?;
        self.comparison(other)?;
        Some((other, self.pairs.ratio(self.case, self.metric, target, other)?))
    }
}

/// An environment and what it stands for.
struct Standing<'a> {
    target: &'a Target,
    kind: Option<EnvironmentKind>,
}

impl<'a> Standing<'a> {
    fn of(target: &'a Target, session: &Session) -> Self {
        let facts = session.facts.iter().find(|facts| facts.target == target.name);
        Standing { target, kind: stands_for(target, facts) }
    }
}

/// The presets that stand for what articles measured in.
const PRESETS: [(&str, EnvironmentKind); 4] = [
    ("wsl1-like", EnvironmentKind::Wsl1),
    ("wsl2-like", EnvironmentKind::Wsl2),
    ("guest", EnvironmentKind::Vm),
    ("native", EnvironmentKind::Native),
];

/// What an environment stands for: the presets by their names, a distribution of WSL by its kernel.
fn stands_for(target: &Target, facts: Option<&TargetFacts>) -> Option<EnvironmentKind> {
    // An environment of a preset with options goes by its name and theirs: `wsl2-like-512`.
    let called = |name: &str| {
        target.name.strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with('-'))
    };
    if let Some((_, kind)) = PRESETS.iter().find(|(name, _)| called(name)) {
        return Some(*kind);
    }
    if target.specification.split([':', '?']).next() != Some("wsl") {
        return None;
    }
    // Microsoft's kernel of WSL2 calls itself so; that of WSL1 is called after Microsoft alone.
    let second = facts.is_some_and(|facts| facts.inside.0.values().any(|text| text.contains("WSL2")));
    Some(if second { EnvironmentKind::Wsl2 } else { EnvironmentKind::Wsl1 })
}

fn article_beside(article: &Published, place: &mut Place<'_, '_>, case: &PlannedCase) -> Vec<Beside> {
    let row = place.row;
    let session_reference =
        place.targets.iter().find(|s| s.target.role == Role::Baseline).and_then(|s| s.kind);
    // The article's environment that the session's reference stands for, or else its own reference.
    let mut environments = article.environments.iter();
    let shared = session_reference.and_then(|kind| environments.find(|e| e.kind == kind));
    let mut beside = Vec::new();
    for figure in &article.figures {
        if !figure.subject().is_some_and(|subject| speaks_of(subject, row, case)) {
            continue;
        }
        let shared = shared.filter(|shared| figure.values.contains_key(&shared.id));
        let against = shared.map(|shared| shared.id.as_str()).or(article.reference.as_deref());
        let against = against.filter(|against| figure.values.contains_key(*against));
        for environment in &article.environments {
            if Some(environment.id.as_str()) == against || !figure.values.contains_key(&environment.id) {
                continue;
            }
            let ratio = against.and_then(|against| figure.cost_ratio(&environment.id, against));
            let mut entry = Beside::new(article, &environment.id, against, ratio);
            entry.value = figure.mean(&environment.id);
            entry.reference_value = against.and_then(|against| figure.mean(against));
            entry.unit = Some(figure.unit.name().into());
            let reference = against.and_then(|against| article.environment(against));
            entry.compare(environment.kind, reference.map(|reference| reference.kind), place);
            beside.push(entry);
        }
    }
    for stated in article.ratios.iter().filter(|ratio| speaks_of(ratio.subject(), row, case)) {
        let Some(environment) = article.environment(&stated.environment) else { continue };
        let mut entry = Beside::new(article, &stated.environment, Some(&stated.against), stated.cost_ratio());
        let reference = article.environment(&stated.against);
        entry.compare(environment.kind, reference.map(|reference| reference.kind), place);
        beside.push(entry);
    }
    beside
}

impl Beside {
    fn new(article: &Published, environment: &str, reference: Option<&str>, ratio: Option<f64>) -> Self {
        Beside {
            source: article.id.clone(),
            title: article.title.clone(),
            environment: Some(environment.to_owned()),
            reference: reference.map(str::to_owned),
            value: None,
            reference_value: None,
            unit: None,
            ratio,
            target: None,
            against_target: None,
            session_ratio: None,
            session_ratio_low: None,
            session_ratio_high: None,
            contained: None,
        }
    }

    /// Names the environments of the session that stand for the article's two, and sets their ratio beside the article's.
    fn compare(
        &mut self,
        kind: EnvironmentKind,
        against: Option<EnvironmentKind>,
        place: &mut Place<'_, '_>,
    ) {
        let Some(target) = place.standing(Role::Subject, kind) else { return };
        self.target = Some(place.targets[target].target.name.clone());
        let Some((other, Ratio { ratio, low, high })) =
            against.and_then(|against| place.ratio(target, against))
        else {
            return;
        };
        self.against_target = Some(place.targets[other].target.name.clone());
        self.session_ratio = Some(ratio);
        // Too few rounds leave the interval open: it would hold anything.
        if low > 0.0 && high.is_finite() {
            self.session_ratio_low = Some(low);
            self.session_ratio_high = Some(high);
            self.contained = self.ratio.map(|ratio| low <= ratio && ratio <= high);
        }
    }
}

/// Whether a figure and a row have the same probe and metric, place, and every parameter that the figure names.
fn speaks_of(subject: Subject<'_>, row: &Row, case: &PlannedCase) -> bool {
    subject.probe == row.probe
        && subject.metric == row.metric.name
        && subject.place.is_none_or(|place| row.place.as_deref() == Some(place))
        && subject.parameters.iter().all(|(key, wanted)| {
            case.case.parameters.0.get(key).is_some_and(|value| is_same_value(value, wanted))
        })
}

/// `512` and `512B` are one size.
fn is_same_value(value: &str, wanted: &str) -> bool {
    value == wanted || parse_size(value).is_some_and(|size| parse_size(wanted) == Some(size))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_stand_for_what_articles_measured_in() {
        let kind = |name: &str, specification: &str, kernel: &str| {
            let target =
                Target { name: name.into(), specification: specification.into(), role: Role::Subject };
            let mut facts = TargetFacts {
                target: name.into(),
                inside: Default::default(),
                outside: Default::default(),
                places: Default::default(),
            };
            facts.inside.note("kernel.release", kernel);
            stands_for(&target, Some(&facts))
        };
        assert_eq!(kind("wsl1-like", "gvisor?platform=systrap", "4.4.0"), Some(EnvironmentKind::Wsl1));
        assert_eq!(kind("wsl2-like-512", "qemu?memory=512", "6.1"), Some(EnvironmentKind::Wsl2));
        assert_eq!(kind("guest", "qemu", "6.1"), Some(EnvironmentKind::Vm));
        assert_eq!(kind("native", "native", "6.1"), Some(EnvironmentKind::Native));
        assert_eq!(kind("gvisor", "gvisor", "4.4.0"), None, "a sandbox stands for itself");
        let second = "5.15.153.1-microsoft-standard-WSL2";
        assert_eq!(kind("wsl-Ubuntu", "wsl:Ubuntu", second), Some(EnvironmentKind::Wsl2));
        assert_eq!(kind("wsl-Ubuntu", "wsl:Ubuntu", "4.4.0-19041-Microsoft"), Some(EnvironmentKind::Wsl1));
    }
}
