//! Sessions joined: an environment's slowdown over several records, how it varies from one session to the
//! next, and the ratio that a further session would have.
//!
//! A session's interval holds for that session: another day, another state of the machine may move all of it.
//! Here each session is one value, the logarithm of its ratio, and the intervals are Student's t over
//! sessions, which is right whatever the spread between them is. The interval of a further session is the t
//! interval of one more value.

use serde::Serialize;

use crate::change::{
    Judged, Target, Value, find_cost, find_objection, find_rows, list_subjects, widest_margin,
};
use crate::findings::{Answer, Interval, Row, Verdict};
use crate::statistics::multiplicity::{FALSE_SHARE, benjamini_hochberg};
use crate::statistics::{signed_ranks, student};
use crate::verdicts::verdict::{Margin, decide_verdict};

/// Fewest sessions that are joined: of two, the spread between sessions is hardly known.
pub const FEWEST_SESSIONS: usize = 3;

/// Chance that an interval holds the true value.
const CHANCE: f64 = 0.95;

/// Several records joined.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Joined {
    /// Environments of any record; the cells of every row are in this order.
    #[serde(rename = "environments")]
    pub targets: Vec<Target>,
    pub rows: Vec<JoinedRow>,
}

/// A case and metric of any record.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct JoinedRow {
    pub case: String,
    pub probe: String,
    pub label: String,
    pub metric: String,
    pub headline: bool,
    pub cells: Vec<JoinedCell>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum JoinedCell {
    Joined(Slowdown),
    /// Too few records have a ratio, or theirs do not mean the same.
    NotJoined {
        reason: String,
    },
}

/// A slowdown over sessions.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Slowdown {
    /// Ratio in each record, in their order; none where it has none.
    pub ratios: Vec<Option<f64>>,
    pub sessions: usize,
    /// The mean over sessions, of logarithms, and its 95 % interval.
    pub ratio: f64,
    #[serde(flatten)]
    pub interval: Interval,
    /// Interval that holds the ratio of a further session with a chance of 95 %.
    pub next_low: f64,
    pub next_high: f64,
    /// Standard deviation between sessions of the logarithm of the ratio, beyond the spread that their own
    /// intervals explain.
    pub between: f64,
    pub p: f64,
    #[serde(skip)]
    pub verdict: Verdict,
    pub answer: Answer,
}

impl Slowdown {
    /// Joins values of sessions, none where a record has none. None where fewer than two have one.
    pub fn from_values(values: &[Option<Value>], margin: Margin) -> Option<Slowdown> {
        let known: Vec<Value> = values.iter().copied().flatten().collect();
        let sessions = known.len();
        let degrees = sessions.checked_sub(1).filter(|degrees| *degrees > 0)? as u32;
        let count = sessions as f64;
        let mean = known.iter().map(|value| value.ln).sum::<f64>() / count;
        let variance = known.iter().map(|value| (value.ln - mean).powi(2)).sum::<f64>() / f64::from(degrees);
        let within = known.iter().map(|value| value.error.powi(2)).sum::<f64>() / count;
        let t = student::find_two_sided_quantile(CHANCE, degrees);
        let half = t * (variance / count).sqrt();
        let next = t * (variance * (1.0 + 1.0 / count)).sqrt();
        let of_logarithms = signed_ranks::Interval { low: mean - half, high: mean + half };
        let verdict = decide_verdict(of_logarithms, margin);
        let interval = Interval::from_logarithms(of_logarithms);
        Some(Slowdown {
            ratios: values.iter().map(|value| value.map(|value| libm::exp(value.ln))).collect(),
            sessions,
            ratio: libm::exp(mean),
            interval,
            next_low: libm::exp(mean - next),
            next_high: libm::exp(mean + next),
            between: (variance - within).max(0.0).sqrt(),
            p: 1.0 - student::compute_two_sided_chance(mean / (variance / count).sqrt(), degrees),
            verdict,
            answer: answer(verdict, interval),
        })
    }
}

/// Returns the answer over sessions. The margin has shaped the verdict; a bound is the usual one.
fn answer(verdict: Verdict, interval: Interval) -> Answer {
    Answer::from_verdict(verdict, interval, 1.0)
}

/// Joins records, at least [`FEWEST_SESSIONS`] for any cell to have a slowdown.
pub fn join_records(sides: &[&Judged]) -> Joined {
    let targets = list_subjects(sides);
    let mut rows: Vec<JoinedRow> = Vec::new();
    for side in sides {
        for row in &side.findings.rows {
            if rows.iter().all(|known| (&known.case, &known.metric) != (&row.case, &row.metric.name)) {
                rows.push(joined_row(sides, row, &targets));
            }
        }
    }
    confirm(&mut rows);
    Joined { targets, rows }
}

fn joined_row(sides: &[&Judged], row: &Row, targets: &[Target]) -> JoinedRow {
    let rows = find_rows(sides, row);
    let objection = find_objection(&rows);
    let margin = widest_margin(&rows);
    let cells = targets.iter().map(|target| match &objection {
        Some(reason) => JoinedCell::NotJoined { reason: reason.clone() },
        None => joined_cell(&rows, target, margin),
    });
    JoinedRow {
        case: row.case.clone(),
        probe: row.probe.clone(),
        label: row.label.clone(),
        metric: row.metric.name.clone(),
        headline: row.headline,
        cells: cells.collect(),
    }
}

fn joined_cell(rows: &[(&Judged, Option<&Row>)], target: &Target, margin: Margin) -> JoinedCell {
    let values: Vec<Option<Value>> = rows.iter().map(|(side, row)| value(side, *row, target)).collect();
    let sessions = values.iter().flatten().count();
    let enough = Slowdown::from_values(&values, margin).filter(|_| sessions >= FEWEST_SESSIONS);
    enough.map_or_else(
        || JoinedCell::NotJoined {
            reason: format!(
                "{sessions} of {} records have a slowdown, and {FEWEST_SESSIONS} are needed",
                rows.len()
            ),
        },
        JoinedCell::Joined,
    )
}

/// Reads the value of a cell from a record; none where it has no ratio, or no interval yet.
fn value(side: &Judged, row: Option<&Row>, target: &Target) -> Option<Value> {
    find_cost((side, row), target)?.value()
}

/// Leaves the directions that their family bears out, headline cells and further metrics each by themselves.
fn confirm(rows: &mut [JoinedRow]) {
    for headline in [true, false] {
        let cells = rows.iter_mut().filter(|row| row.headline == headline).flat_map(|row| &mut row.cells);
        let mut family: Vec<&mut Slowdown> = cells
            .filter_map(|cell| match cell {
                JoinedCell::Joined(slowdown) => Some(slowdown),
                JoinedCell::NotJoined { .. } => None,
            })
            .collect();
        let p: Vec<f64> = family.iter().map(|slowdown| slowdown.p).collect();
        for (slowdown, kept) in family.iter_mut().zip(benjamini_hochberg(&p, FALSE_SHARE)) {
            if !kept && slowdown.verdict.trend().is_some() {
                slowdown.verdict = slowdown.verdict.to_unconfirmed();
                slowdown.answer = answer(slowdown.verdict, slowdown.interval);
            }
        }
    }
}
