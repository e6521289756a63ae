//! Advice: which environment is best for a kind of work.
//!
//! A kind of work is a mix of cases, by the share of its time that each part takes in the baseline. In an
//! environment its time is the sum of shares times slowdowns. Environments are compared with the one of least time,
//! part by part over the same rounds; the bounds of the parts are added up, so that the interval of the whole holds
//! even where all parts err together.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use tare_data::session::{PlannedCase, Session};

use crate::findings::{Cell, Findings, Missing, Row};
use crate::target_pairs::{Ratio, Seat, TargetPairs};
use crate::verdicts::rows::Options;
use crate::verdicts::stopping::FEWEST_STARTS;

/// Upper limits on the kinds of work, and on the parts of each.
const MOST_KINDS: usize = 100;
const MOST_PARTS: usize = 20;
/// Error that rounding may leave in the sum of a kind's shares.
const ROUNDING: f64 = 1e-6;

/// Kinds of work, as a file has them.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Kinds {
    #[serde(rename = "kind")]
    pub kinds: Vec<Kind>,
}

#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Kind {
    /// Short name, by which it is selected.
    pub name: String,
    pub title: String,
    /// The source of the shares.
    pub basis: String,
    #[serde(rename = "part")]
    pub parts: Vec<Part>,
}

/// A part of a kind of work.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Part {
    /// Share of the work's time in the baseline.
    pub share: f64,
    pub probe: String,
    /// Parameters that are not named may have any value.
    #[serde(default)]
    pub parameters: BTreeMap<String, String>,
    /// Place of its files; any place if none is named.
    pub place: Option<String>,
}

impl Kinds {
    /// Explains in words the first mistake in the file.
    pub fn check_kinds(&self) -> Result<(), String> {
        if self.kinds.len() > MOST_KINDS {
            return Err(format!("it has {} kinds of work; the most is {MOST_KINDS}", self.kinds.len()));
        }
        for (at, kind) in self.kinds.iter().enumerate() {
            let name = &kind.name;
            if self.kinds[..at].iter().any(|other| other.name == *name) {
                return Err(format!("two kinds of work are called '{name}'"));
            }
            if kind.parts.len() > MOST_PARTS {
                return Err(format!("'{name}' has {} parts; the most is {MOST_PARTS}", kind.parts.len()));
            }
            if !kind.parts.iter().all(|part| part.share > 0.0) {
                return Err(format!("'{name}' has a share that is not above 0"));
            }
            let sum: f64 = kind.parts.iter().map(|part| part.share).sum();
            if (sum - 1.0).abs() > ROUNDING {
                return Err(format!("the shares of '{name}' add up to {sum:.3}, and not to 1"));
            }
        }
        Ok(())
    }
}

impl Part {
    fn is(&self, planned: &PlannedCase) -> bool {
        let case = &planned.case;
        let has = |(key, value): (&String, &String)| case.parameters.0.get(key) == Some(value);
        let is_there = self.place.is_none() || self.place == case.place;
        case.probe == self.probe && is_there && self.parameters.iter().all(has)
    }
}

/// Which environment to take for which kind of work.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Advice {
    /// The baseline first; the choices of every kind are in this order.
    pub environments: Vec<String>,
    /// Environments that are at most this much slower than the best are as good: 0.05 for 5 %.
    pub margin: f64,
    pub kinds: Vec<OfKind>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct OfKind {
    pub name: String,
    pub title: String,
    pub basis: String,
    pub parts: Vec<OfPart>,
    pub choices: Vec<Choice>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct OfPart {
    pub share: f64,
    pub probe: String,
    /// `PlannedCase::id` and label; none where the session does not measure it.
    pub case: Option<String>,
    pub label: Option<String>,
    pub place: Option<String>,
}

/// An environment's standing at a kind of work against the one of least time.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Choice {
    /// Least time, and every other is shown to be as good or slower.
    Best { ratio_to_baseline: f64 },
    /// Least time in this session, and another may be faster.
    BestSoFar { ratio_to_baseline: f64 },
    /// Within the margin of the best.
    AsGood(Against),
    /// Slower than the best by more than the margin.
    Slower(Against),
    /// The interval reaches to both sides of the margin, or there are too few starts.
    NotSure(Against),
    /// A part of the work has no comparison there.
    NotCompared { part: usize, reason: Unjudged },
}

/// Time of a kind of work over that in the best environment, and its interval; 0 and infinity where there is
/// none.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Against {
    pub ratio: f64,
    pub low: f64,
    pub high: f64,
    pub ratio_to_baseline: f64,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Unjudged {
    /// The session has no such case.
    NotInSession,
    Missing(Missing),
}

/// A slowdown of one environment over another, and whether it rests on starts enough.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Slowdown {
    pub ratio: f64,
    pub low: f64,
    pub high: f64,
    pub is_decidable: bool,
}

impl Slowdown {
    /// The slowdown of an environment over itself.
    const NONE: Slowdown = Slowdown { ratio: 1.0, low: 1.0, high: 1.0, is_decidable: true };
}

/// Advises from a session; `findings` are those of `session`.
pub fn compute_advice(session: &Session, findings: &Findings, kinds: &[Kind], margin: f64) -> Advice {
    let options = Options::default();
    let mut pairs = TargetPairs::new(session, &options);
    let environments: Vec<String> =
        std::iter::once(&findings.baseline).chain(&findings.subjects).cloned().collect();
    let targets: Vec<Option<usize>> = environments
        .iter()
        .map(|name| session.plan.targets.iter().position(|target| target.name == *name))
        .collect();
    let mut of_kind = |kind: &Kind| {
        let rows: Vec<Option<(usize, &Row)>> =
            kind.parts.iter().map(|part| row(session, findings, part)).collect();
        let slowdown = |part: usize, one: usize, other: usize| -> Result<Slowdown, Unjudged> {
            let (case, row) = rows[part].ok_or(Unjudged::NotInSession)?;
            has_value(row, one)?;
            if one == other {
                return Ok(Slowdown::NONE);
            }
            let seat = |at: usize| targets[at].map(|target| Seat { case, metric: 0, target });
            let judged = seat(one).zip(seat(other)).and_then(|(one, other)| pairs.judge_costs(one, other));
            let judged = judged.ok_or(Unjudged::Missing(Missing::NotReached))?;
            let are_enough =
                judged.units >= FEWEST_STARTS || (judged.starts.is_none() && !judged.has_blocks());
            let Ratio { ratio, low, high } = Ratio::from_judgement(&judged);
            Ok(Slowdown { ratio, low, high, is_decidable: are_enough })
        };
        let choices = choices(kind, environments.len(), margin, slowdown);
        let parts = kind.parts.iter().zip(&rows).map(|(part, row)| of_part(part, *row)).collect();
        let Kind { name, title, basis, .. } = kind.clone();
        OfKind { name, title, basis, parts, choices }
    };
    Advice { kinds: kinds.iter().map(&mut of_kind).collect(), environments, margin }
}

/// Finds a part's case, by its place in the plan, with the row of its headline.
fn row<'a>(session: &Session, findings: &'a Findings, part: &Part) -> Option<(usize, &'a Row)> {
    let at = session.plan.cases.iter().position(|planned| part.is(planned))?;
    let id = &session.plan.cases[at].id;
    findings.rows.iter().find(|row| row.headline && row.case == *id).map(|row| (at, row))
}

fn of_part(part: &Part, row: Option<(usize, &Row)>) -> OfPart {
    let row = row.map(|(_, row)| row);
    OfPart {
        share: part.share,
        probe: part.probe.clone(),
        case: row.map(|row| row.case.clone()),
        label: row.map(|row| row.label.clone()),
        place: row.and_then(|row| row.place.clone()),
    }
}

/// Checks that an environment (0 is the baseline) has a value that may be compared.
fn has_value(row: &Row, environment: usize) -> Result<(), Unjudged> {
    let missing = |missing: &Missing| Unjudged::Missing(missing.clone());
    match environment.checked_sub(1) {
        None if row.baseline.is_some() => Ok(()),
        None => Err(Unjudged::Missing(Missing::NotReached)),
        Some(at) => match row.cells.get(at) {
            Some(Cell::Compared(_)) => Ok(()),
            Some(Cell::Missing(reason)) => Err(missing(reason)),
            Some(Cell::Observed(_)) | None => Err(Unjudged::Missing(Missing::NotReached)),
        },
    }
}

/// Chooses among environments. `slowdown` gives that of a part in one environment over another, or the reason
/// why there is none; environment 0 is the baseline.
fn choices(
    kind: &Kind,
    environments: usize,
    margin: f64,
    mut slowdown: impl FnMut(usize, usize, usize) -> Result<Slowdown, Unjudged>,
) -> Vec<Choice> {
    let mut times: Vec<Result<f64, Choice>> = Vec::with_capacity(environments);
    for environment in 0..environments {
        times.push(time(kind, |part| slowdown(part, environment, 0)));
    }
    let least = |(a, x): (usize, f64), (b, y): (usize, f64)| if y < x { (b, y) } else { (a, x) };
    let known = times.iter().enumerate().filter_map(|(at, time)| Some((at, *time.as_ref().ok()?)));
    let Some((best, least_time)) = known.reduce(least) else {
        return times.into_iter().filter_map(Result::err).collect();
    };
    let shares: Vec<f64> = kind
        .parts
        .iter()
        .enumerate()
        .map(|(at, part)| part.share * slowdown(at, best, 0).map_or(1.0, |here| here.ratio) / least_time)
        .collect();
    let mut all: Vec<Choice> = Vec::with_capacity(environments);
    for (environment, time) in times.into_iter().enumerate() {
        all.push(match time {
            Err(not_compared) => not_compared,
            Ok(_) if environment == best => Choice::Best { ratio_to_baseline: least_time },
            Ok(ratio_to_baseline) => {
                against(&shares, ratio_to_baseline, margin, |part| slowdown(part, environment, best))
            }
        });
    }
    if all.iter().any(|standing| matches!(standing, Choice::NotSure(_))) {
        all[best] = Choice::BestSoFar { ratio_to_baseline: least_time };
    }
    all
}

/// Adds up the time of a kind of work, relative to the baseline's.
fn time(kind: &Kind, mut slowdown: impl FnMut(usize) -> Result<Slowdown, Unjudged>) -> Result<f64, Choice> {
    let mut sum = 0.0;
    for (at, part) in kind.parts.iter().enumerate() {
        match slowdown(at) {
            Ok(here) => sum += part.share * here.ratio,
            Err(reason) => return Err(Choice::NotCompared { part: at, reason }),
        }
    }
    Ok(sum)
}

/// Compares an environment with the best, whose time has these shares.
fn against(
    shares: &[f64],
    ratio_to_baseline: f64,
    margin: f64,
    mut slowdown: impl FnMut(usize) -> Result<Slowdown, Unjudged>,
) -> Choice {
    let mut sum = Against { ratio: 0.0, low: 0.0, high: 0.0, ratio_to_baseline };
    let mut is_decidable = true;
    for (part, share) in shares.iter().enumerate() {
        let over_best = match slowdown(part) {
            Ok(over_best) => over_best,
            Err(reason) => return Choice::NotCompared { part, reason },
        };
        sum.ratio += share * over_best.ratio;
        sum.low += share * over_best.low;
        sum.high += share * over_best.high;
        is_decidable &= over_best.is_decidable;
    }
    let edge = 1.0 + margin;
    if is_decidable && sum.low > edge {
        Choice::Slower(sum)
    } else if is_decidable && sum.low >= 1.0 / edge && sum.high <= edge {
        Choice::AsGood(sum)
    } else {
        Choice::NotSure(sum)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use tare_data::unit::Direction;

    use crate::published::{Expectation, Expected, Published, StatedRatio, Subject};

    fn kind(shares: &[f64]) -> Kind {
        let part = |share: &f64| Part {
            share: *share,
            probe: "sys.getppid".into(),
            parameters: BTreeMap::new(),
            place: None,
        };
        let parts = shares.iter().map(part).collect();
        Kind { name: "git".into(), title: "git".into(), basis: "a test".into(), parts }
    }

    /// Standings where a part takes `times[part][environment]`, each known to 1 %.
    fn of(shares: &[f64], times: &[&[f64]]) -> Vec<Choice> {
        choices(&kind(shares), times[0].len(), 0.05, |part, one, other| {
            let ratio = times[part][one] / times[part][other];
            Ok(Slowdown { ratio, low: ratio * 0.99, high: ratio * 1.01, is_decidable: true })
        })
    }

    fn is_near(value: f64, expected: f64) -> bool {
        (value - expected).abs() < 1e-9
    }

    #[test]
    fn a_mix_takes_the_sum_of_its_parts() {
        let all = of(&[0.75, 0.25], &[&[1.0, 1.0], &[1.0, 9.0]]);
        let Choice::Slower(other) = &all[1] else { panic!("{all:?}") };
        assert!(is_near(other.ratio, 0.75 + 0.25 * 9.0) && is_near(other.ratio, other.ratio_to_baseline));
        // Every part errs by 1 % in the same direction: so does the whole.
        assert!(is_near(other.low, other.ratio * 0.99) && is_near(other.high, other.ratio * 1.01));
        assert_eq!(all[0], Choice::Best { ratio_to_baseline: 1.0 });
    }

    #[test]
    fn environments_are_compared_with_the_one_of_least_time_and_not_with_the_baseline() {
        let all = of(&[1.0], &[&[3.0, 1.5, 1.53, 2.0]]);
        assert!(matches!(all[0], Choice::Slower(against) if is_near(against.ratio, 2.0)), "{all:?}");
        assert!(
            matches!(all[1], Choice::Best { ratio_to_baseline } if is_near(ratio_to_baseline, 0.5)),
            "{all:?}"
        );
        assert!(matches!(all[2], Choice::AsGood(against) if is_near(against.ratio, 1.02)), "{all:?}");
        assert!(
            matches!(all[3], Choice::Slower(against) if is_near(against.ratio_to_baseline, 2.0 / 3.0)),
            "{all:?}"
        );
    }

    #[test]
    fn nothing_is_best_while_another_may_be() {
        let all = of(&[1.0], &[&[1.0, 1.045]]);
        assert!(matches!(all[1], Choice::NotSure(_)), "{all:?}");
        assert_eq!(all[0], Choice::BestSoFar { ratio_to_baseline: 1.0 });
    }

    #[test]
    fn few_starts_decide_nothing() {
        let all = choices(&kind(&[1.0]), 2, 0.05, |_, one, other| {
            let ratio = if one == other { 1.0 } else { 9.0f64.powi(one as i32 - other as i32) };
            Ok(Slowdown { ratio, low: ratio, high: ratio, is_decidable: one == other })
        });
        assert!(matches!(all[1], Choice::NotSure(_)), "{all:?}");
    }

    #[test]
    fn a_part_without_a_value_is_named_and_the_environment_is_not_compared() {
        let all = choices(&kind(&[0.5, 0.5]), 3, 0.05, |part, one, other| match (part, one) {
            (1, 2) => Err(Unjudged::Missing(Missing::NotReached)),
            _ => {
                let ratio = (one as f64 + 1.0) / (other as f64 + 1.0);
                Ok(Slowdown { ratio, low: ratio, high: ratio, is_decidable: true })
            }
        });
        let not_compared = Choice::NotCompared { part: 1, reason: Unjudged::Missing(Missing::NotReached) };
        assert_eq!(all[2], not_compared);
        assert!(matches!(all[0], Choice::Best { .. }) && matches!(all[1], Choice::Slower(_)));
    }

    #[test]
    fn nothing_is_judged_where_the_session_has_no_such_case() {
        let all = choices(&kind(&[1.0]), 2, 0.05, |_, _, _| Err(Unjudged::NotInSession));
        assert_eq!(all.len(), 2);
        assert!(all.iter().all(|standing| matches!(standing, Choice::NotCompared { .. })), "{all:?}");
    }

    /// An article's recommendation follows from its own figures in this form, where it printed both sides.
    #[test]
    fn articles_are_advised_by_their_own_figures_as_they_recommend() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../published");
        let mut checked = Vec::new();
        for file in std::fs::read_dir(folder).unwrap() {
            let text = std::fs::read_to_string(file.unwrap().path()).unwrap();
            let article: Published = toml::from_str(&text).unwrap();
            for claim in article.claims.iter().filter(|claim| claim.recommends) {
                for expected in &claim.expectations {
                    checked.extend(least_of(&article, expected).map(|least| (article.id.clone(), least)));
                }
            }
        }
        let articles: BTreeSet<&str> = checked.iter().map(|(article, _)| article.as_str()).collect();
        assert!(checked.iter().all(|(_, is_as_recommended)| *is_as_recommended), "{checked:?}");
        assert!(articles.len() >= 2 && checked.len() >= 4, "{checked:?}");
    }

    /// Whether the environment of least time is the one that a claim expects; none without a figure or a ratio of both.
    fn least_of(article: &Published, expected: &Expectation) -> Option<bool> {
        let environments = [expected.environment.as_str(), expected.against.as_str()];
        let wanted = expected.subject();
        let is_of = |one: Subject<'_>| {
            (one.probe, one.place, one.peer, one.metric)
                == (wanted.probe, wanted.place, wanted.peer, wanted.metric)
                && one
                    .parameters
                    .iter()
                    .all(|(key, value)| wanted.parameters.get(key).is_none_or(|w| w == value))
        };
        let cost = |ratio: f64, better: Direction| match better {
            Direction::Lower => Some(ratio),
            Direction::Higher => Some(1.0 / ratio),
        };
        let figures = article.figures.iter().filter(|figure| figure.subject().is_some_and(is_of));
        let printed = figures
            .filter_map(|figure| cost(figure.value_ratio(environments[0], environments[1])?, figure.better));
        let names =
            |ratio: &&StatedRatio| [ratio.environment.as_str(), ratio.against.as_str()] == environments;
        let stated = article.ratios.iter().filter(|ratio| is_of(ratio.subject())).filter(names);
        let over = printed.chain(stated.filter_map(|stated| cost(stated.value, stated.better))).next()?;
        let all = choices(&kind(&[1.0]), 2, 0.1, |_, one, other| {
            let ratio = over.powi(other as i32 - one as i32);
            Ok(Slowdown { ratio, low: 0.0, high: f64::INFINITY, is_decidable: false })
        });
        let least = all.iter().position(|choice| matches!(choice, Choice::BestSoFar { .. }))?;
        match expected.is {
            Expected::Faster => Some(least == 0),
            Expected::Slower => Some(least == 1),
            Expected::Same | Expected::Different => None,
        }
    }

    #[test]
    fn shares_add_up_to_one() {
        let check = |shares: &[f64]| Kinds { kinds: vec![kind(shares)] }.check_kinds();
        assert_eq!(check(&[0.6, 0.3, 0.1]), Ok(()));
        assert_eq!(check(&[0.6, 0.3]).unwrap_err(), "the shares of 'git' add up to 0.900, and not to 1");
        assert!(check(&[1.5, -0.5]).unwrap_err().contains("not above 0"));
        assert!(check(&[f64::NAN]).is_err());
        let twice = Kinds { kinds: vec![kind(&[1.0]), kind(&[1.0])] };
        assert_eq!(twice.check_kinds().unwrap_err(), "two kinds of work are called 'git'");
    }
}
