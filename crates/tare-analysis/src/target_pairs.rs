//! Comparison of two subjects of a session: for an article that compares their like, and for advice on which
//! to choose.

pub mod orders;

use std::borrow::Cow;

use tare_data::session::Session;

use crate::findings::Interval;
use crate::findings::sameness::MARGIN;
use crate::statistics::signed_ranks::Nulls;
use crate::verdicts::doubts::ends::pair_runs;
use crate::verdicts::judge::{Judgement, judge_pairs};
use crate::verdicts::pairs::pair_rounds;
use crate::verdicts::rows::{Judge, Options, Progress};
use crate::verdicts::summary::read_series;
use crate::verdicts::verdict::Margin;

/// A cost ratio and its interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ratio {
    pub ratio: f64,
    pub interval: Interval,
}

impl Ratio {
    pub fn from_judgement(judgement: &Judgement) -> Ratio {
        Ratio {
            ratio: libm::exp(judgement.estimate),
            interval: Interval::from_logarithms(judgement.interval),
        }
    }

    /// Exchanges the two.
    pub fn inverse(self) -> Ratio {
        Ratio { ratio: 1.0 / self.ratio, interval: self.interval.inverse() }
    }
}

/// A metric of a case in an environment, all as indices in the plan.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Seat {
    pub case: usize,
    pub metric: usize,
    pub target: usize,
}

/// A session whose environments can be compared with each other.
pub(crate) struct TargetPairs<'a> {
    judge: Judge<'a>,
    nulls: Nulls,
}

impl<'a> TargetPairs<'a> {
    pub fn new(session: &'a Session, options: &'a Options) -> Self {
        TargetPairs {
            judge: Judge::new(Progress::from_session(session), options, |_| true),
            nulls: Nulls::default(),
        }
    }

    /// Compares the cost of one with that of the other, by the rounds that both have.
    pub fn compare_costs(&mut self, one: Seat, other: Seat) -> Option<Ratio> {
        self.judge_costs(one, other).map(|judgement| Ratio::from_judgement(&judgement))
    }

    pub fn judge_costs(&mut self, one: Seat, other: Seat) -> Option<Judgement> {
        let plan = self.judge.progress.plan;
        let of = |seat: Seat| {
            let metrics = &plan.cases.get(seat.case)?.metrics;
            read_series(self.judge.trials(seat.case, seat.target), metrics).into_iter().nth(seat.metric)
        };
        let planned = plan.cases.get(one.case)?;
        let direction = planned.metrics.get(one.metric)?.direction;
        let values = [of(other)?, of(one)?];
        let all = [other, one].map(|seat| self.judge.trials(seat.case, seat.target));
        // Runs of a command that ended otherwise did other work.
        let runs = pair_runs(planned, all.map(<[_]>::to_vec), all, &planned.metrics, None);
        let runs = runs.filter(|_| one.case == other.case);
        if runs.as_ref().is_some_and(|runs| runs.find_objection().is_some()) {
            return None;
        }
        let raw = [&values[0], &values[1]];
        let [of_other, of_one] = match &runs {
            Some(runs) => runs.keep_alike(one.metric, raw),
            None => raw.map(Cow::Borrowed),
        };
        let pairs = pair_rounds(&of_other, &of_one, direction).ok()?;
        judge_pairs(
            &pairs,
            &self.judge.schedule.with_rounds_ended(),
            Margin::from_planned(MARGIN),
            &mut self.nulls,
        )
    }
}
