//! One subject of a session against another, where an article compares what the two stand for.

use tare_data::session::Session;

use crate::statistics::signed_ranks::Nulls;
use crate::verdicts::judge::judge;
use crate::verdicts::pairs::pair;
use crate::verdicts::rows::{Judge, MARGIN, Options, Progress};
use crate::verdicts::summary::series;
use crate::verdicts::verdict::Margin;

/// A cost ratio and its interval; 0 and infinity while there are too few rounds for one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ratio {
    pub ratio: f64,
    pub low: f64,
    pub high: f64,
}

/// A session whose environments can be compared with each other.
pub(crate) struct TargetPairs<'a> {
    judge: Judge<'a>,
    nulls: Nulls,
}

impl<'a> TargetPairs<'a> {
    pub fn new(session: &'a Session, options: &'a Options) -> Self {
        TargetPairs { judge: Judge::new(Progress::of(session), options, |_| true), nulls: Nulls::default() }
    }

    /// The cost of `environment` over that of `against`, by the rounds that both have. All are indices in the plan.
    pub fn ratio(&mut self, case: usize, metric: usize, target: usize, against: usize) -> Option<Ratio> {
        let metrics = &self.judge.progress.plan.cases.get(case)?.metrics;
        let of = |target| series(self.judge.trials(case, target), metrics);
        let pairs =
            pair(of(against).get(metric)?, of(target).get(metric)?, metrics.get(metric)?.direction).ok()?;
        let schedule = &self.judge.schedule;
        let judgement = judge(&pairs, schedule, Margin::plain(MARGIN), &mut self.nulls)?;
        let interval = judgement.interval;
        Some(Ratio { ratio: judgement.estimate.exp(), low: interval.low.exp(), high: interval.high.exp() })
    }
}
