//! A session's findings on costs that were put into it: environments that are slower on purpose, and the
//! baseline once more.

use std::collections::BTreeMap;

use serde::Serialize;
use tare_data::session::{Session, Side};

use crate::findings::{Comparison, Findings, Kind, Trend};
use crate::statistics::binomial::share_interval;

/// Findings of a session on one share by which an environment worked longer; at a share of 0 any difference
/// is false.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Injected {
    pub environment: String,
    /// 0.05 for trials that worked 5 % longer.
    pub share: f64,
    /// Headline cells that were compared.
    pub cells: usize,
    /// Cells with the direction slower, by whatever size, and its share with a 95 % interval.
    pub slower: Proportion,
    /// Cells with the direction faster: false at every share.
    pub faster: Proportion,
    /// Cells whose interval holds the cost that was put in.
    pub covered: Proportion,
    /// Median over the cells that say slower of the seconds that trials of both sides took until they did.
    pub seconds: Option<f64>,
    /// Cells by their answers.
    pub answers: BTreeMap<&'static str, usize>,
}

/// A count among cells, and the 95 % interval of its share (Clopper and Pearson 1934).
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Proportion {
    pub count: usize,
    pub low: f64,
    pub high: f64,
}

impl Proportion {
    fn of(count: usize, all: usize) -> Self {
        let (low, high) = share_interval(all as u64, count as u64);
        Proportion { count, low, high }
    }
}

/// Counts the findings on each cost put into a session, the smallest first; empty where no environment was
/// slower on purpose.
pub fn count_injected_findings(session: &Session, findings: &Findings) -> Vec<Injected> {
    let of_share = |target: &Side| {
        Some((findings.subjects.iter().position(|name| *name == target.name)?, target.slower_share()?))
    };
    let targets = session.plan.targets.iter().filter_map(of_share);
    let mut all: Vec<Injected> = targets.map(|(at, share)| of_target(session, findings, at, share)).collect();
    all.sort_by(|a, b| a.share.total_cmp(&b.share));
    all
}

fn of_target(session: &Session, findings: &Findings, at: usize, share: f64) -> Injected {
    let environment = findings.subjects[at].clone();
    let headlines = findings.rows.iter().filter(|row| row.headline);
    let cells: Vec<(&str, &Comparison)> =
        headlines.filter_map(|row| Some((row.case.as_str(), row.cells.get(at)?.comparison()?))).collect();
    let proportion = |holds: &dyn Fn(&Comparison) -> bool| {
        Proportion::of(cells.iter().filter(|(_, comparison)| holds(comparison)).count(), cells.len())
    };
    let says_slower = |comparison: &Comparison| comparison.verdict.trend() == Some(Trend::Slower);
    let found = cells.iter().filter(|(_, comparison)| says_slower(comparison));
    let mut seconds: Vec<f64> =
        found.map(|(case, comparison)| seconds(session, findings, case, at, comparison)).collect();
    seconds.sort_unstable_by(f64::total_cmp);
    let answered = |kind: Kind| cells.iter().filter(|(_, cell)| cell.answer().kind() == kind).count();
    let answers = Kind::ALL.map(|kind| (kind.name(), answered(kind)));
    let truth = 1.0 + share;
    Injected {
        share,
        cells: cells.len(),
        slower: proportion(&says_slower),
        faster: proportion(&|comparison| comparison.verdict.trend() == Some(Trend::Faster)),
        covered: proportion(&|comparison| comparison.interval.contains(truth)),
        seconds: seconds.get(seconds.len() / 2).copied(),
        answers: answers.into_iter().filter(|(_, count)| *count > 0).collect(),
        environment,
    }
}

/// Adds up the trials of the environment and the baseline until the verdict was decided, or to the end if it
/// never was.
fn seconds(session: &Session, findings: &Findings, case: &str, at: usize, comparison: &Comparison) -> f64 {
    let until = comparison.decided_at.unwrap_or(u32::MAX);
    let is_either = |name: &str| name == findings.baseline || name == findings.subjects[at];
    let trials = session.trials.iter().filter(|t| t.case == case && t.round < until && is_either(&t.target));
    trials.map(|trial| trial.host_elapsed_ns as f64 / 1e9).sum()
}
