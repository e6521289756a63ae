//! Advice: which environment is as good as the baseline for a kind of work.
//!
//! A kind of work is a mix of cases, by the share of its time that each part takes in the baseline. In an
//! environment its time is the sum of shares times the factors that the session shows, and so are the ends of its interval,
//! which holds even where all parts err together.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use tare_data::session::{PlannedCase, Session};

use crate::findings::{Answer, Cell, Findings, Interval, Missing, Reach, Row, Verdict, Why};
use crate::verdicts::verdict::{Margin, decide_verdict};

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
    /// Describes its cases: `proc.exec?target=static`, for a session may have the probe with other parameters.
    fn describe(&self) -> String {
        let pairs: Vec<String> =
            self.parameters.iter().map(|(key, value)| format!("{key}={value}")).collect();
        if pairs.is_empty() { self.probe.clone() } else { format!("{}?{}", self.probe, pairs.join("&")) }
    }

    fn is(&self, planned: &PlannedCase) -> bool {
        let case = &planned.case;
        let has = |(key, value): (&String, &String)| case.parameters.0.get(key) == Some(value);
        let is_there = self.place.is_none() || self.place == case.place;
        case.probe == self.probe && is_there && self.parameters.iter().all(has)
    }
}

/// Which environment is as good as the baseline for which kind of work.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Advice {
    pub baseline: String,
    /// Without the baseline; the choices of every kind are in this order.
    pub environments: Vec<String>,
    /// Environments that are at most this much slower are as good: 0.05 for 5 %.
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
    /// The probe with its parameters: `proc.exec?target=static`.
    pub probe: String,
    /// `PlannedCase::id` and label; none where the session does not measure it.
    pub case: Option<String>,
    pub label: Option<String>,
    pub place: Option<String>,
}

/// An environment's standing at a kind of work against the baseline.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Choice {
    Compared(Against),
    /// A part of the work has no comparison there.
    NotCompared {
        part: usize,
        reason: Unjudged,
    },
}

/// Time of a kind of work over its time in the baseline.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Against {
    pub answer: Answer,
    pub ratio: f64,
    #[serde(flatten)]
    pub interval: Interval,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Unjudged {
    /// The session has no such case.
    NotInSession,
    Missing(Missing),
}

/// Advises from the findings of a session.
pub fn compute_advice(session: &Session, findings: &Findings, kinds: &[Kind], margin: f64) -> Advice {
    let advise = |kind: &Kind| {
        let rows: Vec<Option<&Row>> =
            kind.parts.iter().map(|part| find_row(session, findings, part)).collect();
        let choose = |at: usize| {
            let cells: Vec<Option<&Cell>> =
                rows.iter().map(|row| row.and_then(|row| row.cells.get(at))).collect();
            choose(kind, &cells, margin)
        };
        let parts = kind.parts.iter().zip(&rows).map(|(part, row)| of_part(part, *row)).collect();
        let choices = (0..findings.subjects.len()).map(choose).collect();
        let Kind { name, title, basis, .. } = kind.clone();
        OfKind { name, title, basis, parts, choices }
    };
    Advice {
        baseline: findings.baseline.clone(),
        environments: findings.subjects.clone(),
        margin,
        kinds: kinds.iter().map(advise).collect(),
    }
}

/// Finds the row of a part's headline.
fn find_row<'a>(session: &Session, findings: &'a Findings, part: &Part) -> Option<&'a Row> {
    let id = &session.plan.cases.iter().find(|planned| part.is(planned))?.id;
    findings.rows.iter().find(|row| row.headline && row.case == *id)
}

fn of_part(part: &Part, row: Option<&Row>) -> OfPart {
    OfPart {
        share: part.share,
        probe: part.describe(),
        case: row.map(|row| row.case.clone()),
        label: row.map(|row| row.label.clone()),
        place: row.and_then(|row| row.place.clone()),
    }
}

/// Adds up the parts of a kind of work in an environment, whose cells are in the order of the parts.
fn choose(kind: &Kind, cells: &[Option<&Cell>], margin: f64) -> Choice {
    let (mut ratio, mut low, mut high) = (0.0, 0.0, 0.0);
    let (mut is_seen_in_few_starts, mut reach) = (false, Reach::Lasting);
    for (at, (part, cell)) in kind.parts.iter().zip(cells).enumerate() {
        let missing = |missing: Missing| Unjudged::Missing(missing);
        let found = match cell {
            None => Err(Unjudged::NotInSession),
            Some(Cell::Compared(found)) => Ok(found),
            Some(Cell::Missing(reason)) => Err(missing(reason.clone())),
            Some(Cell::Observed(_)) => Err(missing(Missing::NotReached)),
        };
        let found = match found {
            Ok(found) => found,
            Err(reason) => return Choice::NotCompared { part: at, reason },
        };
        let [least, most] = found.interval.bounds();
        ratio += part.share * found.ratio;
        low += part.share * least;
        high += part.share * most;
        is_seen_in_few_starts |= found.answer().why() == Some(Why::Starts);
        reach = reach.join(found.reach);
    }
    let (interval, edge) = (Interval::new(low, high), 1.0 + margin);
    let verdict = match is_seen_in_few_starts {
        // Another start may move a part by more than its interval.
        true if ratio < 1.0 => Verdict::FasterInFewStarts,
        true => Verdict::SlowerInFewStarts,
        false => decide_verdict(interval.logarithms(), Margin::from_planned(libm::log(edge))),
    };
    let answer = Answer::from_verdict(verdict, interval, edge).with_reach(reach);
    Choice::Compared(Against { answer, ratio, interval })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::findings::{Comparison, Leading, Level, Span, Stop};

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

    fn cell(verdict: Verdict, low: f64, high: f64) -> Cell {
        let interval = Interval::new(low, high);
        Cell::Compared(Box::new(Comparison {
            level: Level { median: 1.0, low: 1.0, high: 1.0, rounds: 12, values: vec![1.0; 12] },
            rounds: 12,
            ratio: (low * high).sqrt(),
            interval,
            interval_alone: interval,
            total: None,
            signs: interval,
            leading: Leading::HodgesLehmann,
            p: 0.01,
            margin: 1.02,
            verdict,
            reach: Reach::Short,
            seen: Span { rounds: 60, seconds: 60.0, is_lasting: true },
            slow: None,
            lacks: Why::Rounds,
            decided_at: None,
            needed: None,
            smallest: None,
            difference: 0.0,
            starts: None,
            warnings: vec![],
        }))
    }

    fn of(shares: &[f64], cells: &[Cell]) -> Choice {
        choose(&kind(shares), &cells.iter().map(Some).collect::<Vec<_>>(), 0.05)
    }

    fn answer(choice: &Choice) -> &'static str {
        match choice {
            Choice::Compared(against) => against.answer.kind().name(),
            Choice::NotCompared { .. } => "not compared",
        }
    }

    #[test]
    fn advice_reaches_no_further_than_the_cells_that_it_rests_on() {
        let Cell::Compared(found) = cell(Verdict::Same, 0.99, 1.01) else { panic!("it is compared") };
        let stop = Stop::from_periods(9, 10, None).unwrap();
        let stopped = Cell::Compared(Box::new(Comparison { reach: Reach::Stopped(stop), ..*found }));
        let Choice::Compared(against) = of(&[1.0], &[stopped]) else { panic!("it is compared") };
        assert_eq!((against.answer.kind().name(), against.answer.reach().stop()), ("same", Some(stop)));
    }

    #[test]
    fn a_mix_takes_the_sum_of_its_parts() {
        let mix = of(&[0.75, 0.25], &[cell(Verdict::Same, 0.99, 1.01), cell(Verdict::Slower, 8.0, 10.0)]);
        let Choice::Compared(found) = mix else { panic!("{mix:?}") };
        // Every part errs in the same direction: so does the whole.
        let [low, high] = found.interval.bounds();
        assert!((low - 2.7425).abs() < 1e-9 && (high - 3.2575).abs() < 1e-9, "{found:?}");
        assert!(found.interval.contains(found.ratio) && answer(&mix) == "slower", "{found:?}");
    }

    #[test]
    fn a_kind_of_one_part_has_the_interval_of_the_table_and_the_word_for_it() {
        let of = |verdict, low, high| answer(&of(&[1.0], &[cell(verdict, low, high)]));
        assert_eq!(of(Verdict::Same, 0.99, 1.01), "same");
        assert_eq!(of(Verdict::SlowerUnclear, 1.01, 1.04), "same", "the margin of advice is 5 %");
        assert_eq!(of(Verdict::Inconclusive, 0.9, 1.08), "at_most");
        assert_eq!(of(Verdict::Inconclusive, 0.9, 1.3), "not_sure");
        assert_eq!(of(Verdict::Faster, 0.5, 0.6), "faster");
        assert_eq!(of(Verdict::Slower, 40.0, f64::INFINITY), "at_least");
        assert_eq!(of(Verdict::Inconclusive, 0.0, f64::INFINITY), "not_sure");
    }

    #[test]
    fn few_starts_decide_nothing() {
        let few =
            of(&[0.5, 0.5], &[cell(Verdict::Same, 0.99, 1.01), cell(Verdict::SlowerInFewStarts, 8.0, 10.0)]);
        let Choice::Compared(found) = &few else { panic!("{few:?}") };
        assert_eq!((answer(&few), found.answer.why()), ("not_sure", Some(Why::Starts)));
        // A small part of it may be expensive in the next start.
        let small =
            of(&[0.97, 0.03], &[cell(Verdict::Same, 0.99, 1.01), cell(Verdict::SlowerInFewStarts, 1.1, 1.2)]);
        assert_ne!(answer(&small), "same");
    }

    #[test]
    fn a_part_without_a_value_is_named_and_the_environment_is_not_compared() {
        let missing = Cell::Missing(Missing::NotReached);
        let reason = Unjudged::Missing(Missing::NotReached);
        let all = of(&[0.5, 0.5], &[cell(Verdict::Same, 0.99, 1.01), missing]);
        assert_eq!(all, Choice::NotCompared { part: 1, reason });
        let nothing = choose(&kind(&[1.0]), &[None], 0.05);
        assert_eq!(nothing, Choice::NotCompared { part: 0, reason: Unjudged::NotInSession });
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
