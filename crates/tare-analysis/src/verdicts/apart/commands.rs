//! Commands beside each other in one environment, where environments take turns: an interval, and no verdict.
//!
//! Each command has rounds of its own there, and how long one waits for the other depends on what is decided. Trials that follow each
//! other are paired, so that drift favours none; if there are few, there is no interval. But starts are shared, so that a command may find
//! what another left, and no control shows what that makes of two that are alike.

use std::slice;

use tare_data::batch::{ENDED, RunEnd};
use tare_data::names::USER;
use tare_data::session::{PlannedCase, Role, Session, Trial};

use crate::findings::{CommandFactor, Interval};
use crate::outcome::fails;
use crate::statistics::signed_ranks::Nulls;
use crate::verdicts::doubts::ticks::find_ticks;
use crate::verdicts::judge::judge_pairs;
use crate::verdicts::pairs::{Pairs, pair_rounds};
use crate::verdicts::rows::{Judge, Options};
use crate::verdicts::summary::{RoundValue, Series, read_series};
use crate::verdicts::verdict::Margin;

/// Compares commands with the first one in every environment; none where commands are sides, and are judged.
pub(crate) fn compare_commands(session: &Session, options: &Options) -> Vec<CommandFactor> {
    let plan = &session.plan;
    // Commands are compared under the same load alone.
    let load = |at: usize| ["copies", "neighbour"].map(|name| plan.cases[at].case.parameters.0.get(name));
    let commands = 0..plan.cases.len();
    let commands: Vec<usize> = commands.filter(|at| plan.cases[*at].case.probe.starts_with(USER)).collect();
    if commands.len() < 2 || plan.targets.compare_commands() {
        return Vec::new();
    }
    let (judge, mut nulls) = (Judge::of_session(session, options), Nulls::default());
    let sides =
        (0..plan.targets.len()).filter(|at| matches!(plan.targets.role(*at), Role::Baseline | Role::Subject));
    let mut all = Vec::new();
    for target in sides {
        for case in &commands {
            let first = commands.iter().find(|first| load(**first) == load(*case)).filter(|at| *at != case);
            all.extend(first.and_then(|first| compare(&judge, [*first, *case], target, &mut nulls)));
        }
    }
    all
}

/// Compares a command with the first one; none where a run of either failed, and where there is no interval.
fn compare(judge: &Judge<'_>, cases: [usize; 2], target: usize, nulls: &mut Nulls) -> Option<CommandFactor> {
    let plan = judge.progress.plan;
    let [first, other] = cases.map(|at| &plan.cases[at]);
    let (metric, facts) = (first.metrics.first()?, judge.find_facts(target));
    let sides = cases.map(|at| {
        // A round of the baseline has a pair with each environment.
        let mut trials = judge.trials(at, target).to_vec();
        trials.dedup_by_key(|trial| trial.round);
        trials
    });
    // A run that failed did other work.
    let is_vain = |(of, trials): (&PlannedCase, &Vec<&Trial>)| {
        let ends = trials.iter().flat_map(|trial| trial.batches.iter_series(ENDED));
        let mut ends = ends.filter_map(|batch| RunEnd::from_batch(&batch));
        trials.iter().any(|trial| trial.failure.is_some()) || ends.any(|end| fails(of, end))
    };
    if [first, other].into_iter().zip(&sides).any(is_vain) {
        return None;
    }
    let ticks = sides.iter().filter_map(|trials| find_ticks(trials, metric, facts));
    let resolution = ticks.map(|ticks| ticks.share).sum();
    let series = sides.each_ref().map(|trials| read_series(trials, slice::from_ref(metric)));
    let [first_values, others] = pair_neighbours([&series[0][0], &series[1][0]]);
    let pairs = pair_rounds(&first_values, &others, metric.direction).ok()?;
    let pairs = Pairs { resolution, ..pairs };
    let schedule = judge.schedule.without_correction().with_rounds_ended();
    let judgement = judge_pairs(&pairs, &schedule, Margin::from_planned(other.margin), nulls)?;
    let interval = Interval::from_logarithms(judgement.interval);
    interval.is_bounded().then(|| CommandFactor {
        target: plan.targets[target].name.clone(),
        case: other.id.clone(),
        against: first.id.clone(),
        rounds: pairs.pairs.len() as u32,
        ratio: libm::exp(judgement.estimate),
        interval,
    })
}

/// Pairs the values of two commands that follow each other, each once; a value that has none of the other command beside it is left out.
fn pair_neighbours(sides: [&Series; 2]) -> [Series; 2] {
    let of_side = |side: usize| sides[side].values.iter().map(move |value| (side, value));
    let mut all: Vec<(usize, &RoundValue)> = of_side(0).chain(of_side(1)).collect();
    all.sort_by_key(|(_, value)| value.started_ns);
    let (mut paired, mut rest) = ([Series::default(), Series::default()], &all[..]);
    while let [one, other, after @ ..] = rest {
        rest = if one.0 == other.0 { &rest[1..] } else { after };
        for (side, value) in [one, other].into_iter().filter(|_| one.0 != other.0) {
            let Series { values, reached, .. } = &mut paired[*side];
            values.push(RoundValue { round: *reached, ..RoundValue::clone(value) });
            *reached += 1;
        }
    }
    paired
}
