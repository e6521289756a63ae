//! What a page holds beside the JSON document: the trials in time, and the tails.

use std::collections::HashMap;

use serde::Serialize;
use tare_analysis::curve::{TailCurve, tail_curves};
use tare_analysis::findings::Findings;
use tare_data::session::{Session, Trial};

use super::Options;
use crate::json::{Document, Level};

/// Trials beyond this many are thinned out evenly: a timeline has fewer pixels, and a page a bound of 1 MB.
const MOST_TRIALS: usize = 3_000;
/// Rounds are written as parts of this apart from their lane's median: half the letters of the figure itself.
const PARTS: f64 = 100_000.0;

/// The data of a page.
#[derive(Debug, Serialize)]
pub struct Page<'a> {
    report: Document<'a>,
    record: Option<&'a str>,
    again: Option<&'a str>,
    /// The rounds of every row: of the reference, then of each cell; they stand here instead of in the report.
    rounds: Vec<Vec<Rounds>>,
    timeline: Timeline,
    tails: Vec<Tail>,
}

/// Rounds of a level in hundred-thousandths apart from its median; null for what is no number.
type Rounds = Vec<Option<i64>>;

impl<'a> Page<'a> {
    pub fn of(session: &'a Session, findings: &'a Findings, options: &Options<'a>) -> Self {
        let mut report = Document::of(session, findings);
        let rounds = report.rows.iter_mut().map(|row| row.levels().map(take_rounds).collect()).collect();
        Page {
            rounds,
            report,
            record: options.record,
            again: options.again,
            timeline: Timeline::of(session),
            tails: tail_curves(session).into_iter().map(Tail::from).collect(),
        }
    }
}

/// Takes the rounds out of a level. Nothing is lost that six digits would show.
fn take_rounds(level: Option<&mut Level>) -> Rounds {
    let Some(level) = level else { return Vec::new() };
    let values = std::mem::take(&mut level.values);
    let apart = |value: &f64| (value / level.median - 1.0) * PARTS;
    // Beyond what a JSON number holds exactly a value is no figure of a session.
    let part = |apart: f64| (apart.abs() < 9e15).then(|| apart.round() as i64);
    values.iter().map(|value| part(apart(value))).collect()
}

/// Trials in the order in which they ran, a column a field; a trial whose case or lane is unknown is left out.
#[derive(Debug, Default, Serialize)]
struct Timeline {
    /// Trials of the session, of which every so many are here.
    of: usize,
    cases: Vec<String>,
    /// Place in `cases`.
    case: Vec<usize>,
    /// Place in the plan's lanes.
    lane: Vec<usize>,
    round: Vec<u32>,
    started_ms: Vec<u64>,
    elapsed_ms: Vec<u64>,
    /// 0: counts; 1: disturbed and run again; 2: failed.
    outcome: Vec<u8>,
    /// Processor time taken by the hypervisor while it ran, in microseconds; null where no kernel tells.
    steal_us: Vec<Option<u64>>,
    /// Time of the fixed arithmetic just before it, in nanoseconds, inside the lane.
    canary_ns: Vec<Option<u64>>,
}

impl Timeline {
    fn of(session: &Session) -> Self {
        let place = |names: Vec<&str>| -> HashMap<String, usize> {
            names.into_iter().enumerate().map(|(i, name)| (name.to_owned(), i)).collect()
        };
        let cases = place(session.plan.cases.iter().map(|case| case.id.as_str()).collect());
        let lanes = place(session.plan.lanes.iter().map(|lane| lane.name.as_str()).collect());
        let mut timeline = Timeline {
            of: session.trials.len(),
            cases: session.plan.cases.iter().map(|case| case.id.clone()).collect(),
            ..Timeline::default()
        };
        let every = session.trials.len().div_ceil(MOST_TRIALS).max(1);
        for trial in session.trials.iter().step_by(every) {
            if let (Some(case), Some(lane)) = (cases.get(&trial.case), lanes.get(&trial.lane)) {
                timeline.push(trial, *case, *lane, session.counts(trial));
            }
        }
        timeline
    }

    fn push(&mut self, trial: &Trial, case: usize, lane: usize, counts: bool) {
        self.case.push(case);
        self.lane.push(lane);
        self.round.push(trial.round);
        self.started_ms.push(trial.started_ns / 1_000_000);
        self.elapsed_ms.push(trial.host_elapsed_ns / 1_000_000);
        self.outcome.push(match (trial.failure.is_some(), counts) {
            (true, _) => 2,
            (false, false) => 1,
            (false, true) => 0,
        });
        let steal_ns = trial.outside.steal_ns.or(trial.inside.steal_ns);
        self.steal_us.push(steal_ns.map(|ns| ns / 1_000));
        self.canary_ns.push(trial.inside.canary_ns);
    }
}

/// Quantiles of one kind of operation in one lane.
#[derive(Debug, Serialize)]
struct Tail {
    case: String,
    series: String,
    lane: String,
    operations: u64,
    /// Quantile and nanoseconds.
    points: Vec<(f64, u64)>,
    longest_ns: u64,
}

impl From<TailCurve> for Tail {
    fn from(curve: TailCurve) -> Self {
        Tail {
            case: curve.case,
            series: curve.series,
            lane: curve.lane,
            operations: curve.operations,
            points: curve.points,
            longest_ns: curve.longest_ns,
        }
    }
}
