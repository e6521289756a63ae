//! Ends of runs: a command's runs are compared where both of a pair ended alike, and nothing is where too few did.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use tare_data::batch::{Batch, ENDED, Phase, RunEnd, Sample};
use tare_data::metric::Metric;
use tare_data::names::USER;
use tare_data::session::{PlannedCase, Session, Trial};
use tare_data::warning::Warning;

use crate::statistics::binomial::at_least;
use crate::statistics::binomial::fisher::compute_share_p;
use crate::verdicts::summary::{RoundValue, Series, list_counted_trials, read_series_against};

/// Share of pairs that may end differently: their runs did other work, and those that are left are a choice.
const MOST_UNLIKE: f64 = 0.05;
/// Chance below which too many pairs that end differently are not there by accident, so that no look waits for more, and records differ.
const CHANCE: f64 = 0.01;
/// Limit on the ends that are reported of a command in an environment.
const MOST_REPORTED: usize = 3;

/// Counts of each end among the runs of a command in an environment that are timed.
pub(crate) type Ends = BTreeMap<RunEnd, u32>;

/// Runs of a command in an environment, with those that they are compared with.
pub(crate) struct RunPairs {
    /// Ends of all runs in the environment that is compared with, and in the one that is judged.
    sides: [Ends; 2],
    pairs: u32,
    unlike: u32,
    /// The exit code of a run that did its work; none where any will do.
    expected: Option<i32>,
    /// Values of the runs that ended alike, metric by metric, on both sides; none where all did.
    alike: Option<[Vec<Vec<RoundValue>>; 2]>,
}

/// Why runs of a command are not compared.
pub(crate) struct Objection {
    pub reason: String,
    /// True where more runs will not take it away.
    pub is_final: bool,
}

impl RunPairs {
    /// Returns why times are not compared, where too many pairs did not end alike.
    pub fn find_objection(&self) -> Option<Objection> {
        let is_too_many = f64::from(self.unlike) > MOST_UNLIKE * f64::from(self.pairs);
        let reason = self.describe_failed().filter(|_| is_too_many)?;
        let is_final = at_least(self.pairs.into(), self.unlike.into(), MOST_UNLIKE) < CHANCE;
        Some(Objection { reason, is_final })
    }

    /// Describes the runs that failed in both environments; none where none did.
    pub fn describe_failed(&self) -> Option<String> {
        let ([of_baseline, here], [baseline, runs], end) = self.most_telling()?;
        Some(format!("{here} of {runs} runs ended with {end}, in the baseline {of_baseline} of {baseline}"))
    }

    /// Adds the doubt about an answer that leaves out pairs, in place of a count of trials.
    pub fn add_doubt(&self, warnings: &mut Vec<Warning>) {
        if let Some(doubt) = self.find_doubt() {
            warnings.retain(|warning| !matches!(warning, Warning::TrialsFailed { .. }));
            warnings.push(doubt);
        }
    }

    fn find_doubt(&self) -> Option<Warning> {
        let ([of_baseline, here], [baseline_runs, runs], end) =
            self.most_telling().filter(|_| self.unlike > 0)?;
        Some(Warning::RunsLeftOut { end, here, runs, of_baseline, baseline_runs })
    }

    /// Replaces the values of a row by those of the runs that ended alike.
    pub fn keep_alike<'s>(&self, metric: usize, raw: [&'s Series; 2]) -> [Cow<'s, Series>; 2] {
        let Some(alike) = &self.alike else { return raw.map(Cow::Borrowed) };
        let mut values = alike.iter().map(|side| side[metric].clone());
        raw.map(|series| Cow::Owned(Series { values: values.next().unwrap_or_default(), ..series.clone() }))
    }

    fn list_ends(&self) -> impl Iterator<Item = RunEnd> + '_ {
        let [of_baseline, here] = &self.sides;
        of_baseline.keys().chain(here.keys()).copied()
    }

    /// Returns the runs of both sides that ended so, and all.
    fn counts_of(&self, end: RunEnd) -> [[u32; 2]; 2] {
        let so = |ends: &Ends| ends.get(&end).copied().unwrap_or(0);
        [self.sides.each_ref().map(so), self.sides.each_ref().map(count_all)]
    }

    /// Finds the end whose shares differ most, or that is most frequent among equals: never that of a run that did its work.
    fn most_telling(&self) -> Option<([u32; 2], [u32; 2], RunEnd)> {
        let failed = self.list_ends().filter(|end| *end != good_end(self.expected));
        let rank = |end: RunEnd| {
            let [counts, runs] = self.counts_of(end);
            let share = |side: usize| f64::from(counts[side]) / f64::from(runs[side].max(1));
            ((share(0) - share(1)).abs(), counts.iter().sum::<u32>())
        };
        let end = failed.max_by(|a, b| {
            let (a, b) = (rank(*a), rank(*b));
            a.0.total_cmp(&b.0).then(a.1.cmp(&b.1))
        })?;
        let [counts, runs] = self.counts_of(end);
        Some((counts, runs, end))
    }
}

/// Returns the end of a run that did its work.
fn good_end(expected: Option<i32>) -> RunEnd {
    RunEnd::ExitCode(expected.unwrap_or(0))
}

/// Reads the exit code that a case expects; none where any will do.
fn expected_code(planned: &PlannedCase) -> Option<i32> {
    planned.case.parameters.get_integer("expect_exit").ok().and_then(|code| code.try_into().ok())
}

/// Reads the ends of a trial's runs, the first of which may be cold.
fn read_ends(trial: &Trial) -> Vec<(Phase, RunEnd)> {
    let ends = trial.batches.iter_series(ENDED);
    ends.filter_map(|batch| Some((batch.phase, RunEnd::from_batch(&batch)?))).collect()
}

/// Counts the runs of a command that are timed, for every sentence that has their number.
fn count_runs(trials: &[&Trial]) -> Ends {
    let mut counts = Ends::new();
    for (phase, end) in trials.iter().flat_map(|trial| read_ends(trial)) {
        if phase == Phase::Warm {
            *counts.entry(end).or_default() += 1;
        }
    }
    counts
}

fn count_all(ends: &Ends) -> u32 {
    ends.values().sum()
}

/// Tells whether a trial has no value because a run of its command failed, on this side of a pair or the other: it is counted by its
/// runs.
pub(crate) fn is_counted_by_runs(planned: &PlannedCase, trial: &Trial) -> bool {
    let Some(expected) = expected_code(planned) else { return false };
    let fails = |(_, end): &(Phase, RunEnd)| *end != good_end(Some(expected));
    let is_of_partner = trial.failure.as_ref().is_some_and(|failure| !failure.is_own());
    planned.case.probe.starts_with(USER) && (is_of_partner || read_ends(trial).iter().any(fails))
}

/// Pairs the runs of a command in two environments: the one that is compared with, and the one that is judged. `names` are those of
/// environments whose trials took turns, `all` the trials by which runs are counted. None where the record does not state how runs
/// ended.
pub(crate) fn pair_runs(
    planned: &PlannedCase,
    [others, own]: [Vec<&Trial>; 2],
    all: [&[&Trial]; 2],
    metrics: &[Metric],
    names: Option<[&str; 2]>,
) -> Option<RunPairs> {
    if !planned.case.probe.starts_with(USER) {
        return None;
    }
    let mut found = Pairing { expected: expected_code(planned), ..Pairing::default() };
    let mut others = others.into_iter().peekable();
    for own in own {
        while others.next_if(|other| other.round < own.round).is_some() {}
        if let Some(other) = others.peek().filter(|other| other.round == own.round) {
            found.add_round([other, own]);
        }
    }
    let Pairing { pairs, unlike, expected, rounds } = found;
    let sides = all.map(count_runs);
    if pairs == 0 {
        return None;
    }
    let alike = (unlike > 0).then(|| {
        [0, 1].map(|side| {
            let trials: Vec<Trial> = rounds.iter().filter_map(|round| round.copy_alike(side)).collect();
            let trials: Vec<&Trial> = trials.iter().collect();
            let partner = names.map(|names| names[1 - side]);
            let series = read_series_against(&trials, metrics, partner);
            series.into_iter().map(|series| series.values).collect()
        })
    });
    Some(RunPairs { sides, pairs, unlike, expected, alike })
}

/// Counts the ends of a command's runs in an environment; empty where the record does not state them.
pub(crate) fn count_ends(session: &Session, case: &str, target: &str) -> Ends {
    let wanted = |trial: &Trial| trial.case == case && trial.target == target;
    let trials = list_counted_trials(&session.trials, &session.repeated, wanted);
    let is_command = case.starts_with(USER);
    if is_command { count_runs(&trials) } else { Ends::new() }
}

/// Explains why older runs and newer ones are not compared: an end has another share among them, so that they did other work.
pub(crate) fn explain_other_ends([old, new]: [&Ends; 2]) -> Option<String> {
    let sizes = [old, new].map(count_all);
    let ends: BTreeSet<RunEnd> = old.keys().chain(new.keys()).copied().collect();
    let mut others = ends.into_iter().filter_map(|end| {
        let counts = [old, new].map(|counts| counts.get(&end).copied().unwrap_or(0));
        let share = |side: usize| f64::from(counts[side]) / f64::from(sizes[side]);
        let differs = (share(0) - share(1)).abs() > MOST_UNLIKE
            || compute_share_p(counts.map(u64::from), sizes.map(u64::from)) < CHANCE;
        (differs && !sizes.contains(&0)).then_some((end, counts))
    });
    // Runs that did their work are the others of those that did not.
    let first = others.next()?;
    let (end, [before, now]) = others.next().filter(|_| first.0 == good_end(None)).unwrap_or(first);
    let [were, are] = sizes;
    Some(format!("{now} of {are} runs ended with {end}, and {before} of {were} before"))
}

/// Reports the ends of a command's runs in an environment that are not those of a run that did its work.
pub(crate) fn list_failed_runs(planned: &PlannedCase, trials: &[&Trial]) -> Vec<Warning> {
    if !planned.case.probe.starts_with(USER) {
        return Vec::new();
    }
    let counts = count_runs(trials);
    let is_failed = |(end, _): &(&RunEnd, &u32)| **end != good_end(expected_code(planned));
    let mut failed: Vec<(&RunEnd, &u32)> = counts.iter().filter(is_failed).collect();
    failed.sort_by_key(|(_, count)| std::cmp::Reverse(**count));
    let runs = count_all(&counts);
    let warning = |(end, count): (&RunEnd, &u32)| Warning::RunsEnded {
        command: planned.label.clone(),
        end: *end,
        count: *count,
        runs,
    };
    failed.into_iter().take(MOST_REPORTED).map(warning).collect()
}

/// Pairs of runs while they are counted.
#[derive(Default)]
struct Pairing<'a> {
    pairs: u32,
    unlike: u32,
    expected: Option<i32>,
    rounds: Vec<PairedRound<'a>>,
}

/// A round of both, with the runs of it that ended alike.
struct PairedRound<'a> {
    trials: [&'a Trial; 2],
    keeps_cold: bool,
    keeps_warm: Vec<bool>,
}

impl<'a> Pairing<'a> {
    fn add_round(&mut self, trials: [&'a Trial; 2]) {
        let ends = trials.map(read_ends);
        let (mut keeps_cold, mut keeps_warm) = (true, Vec::new());
        for at in 0..ends[0].len().max(ends[1].len()) {
            let pair = [ends[0].get(at), ends[1].get(at)];
            let is_alike = match pair.map(|run| run.map(|(_, end)| *end)) {
                [Some(one), Some(other)] => one == other && self.expected.is_none_or(|_| self.is_good(one)),
                // A run that failed ends its trial, and the other side may have had no chance to run.
                [Some(one), None] | [None, Some(one)] if !self.is_good(one) => false,
                _ => continue,
            };
            let is_cold = matches!(pair.into_iter().flatten().next(), Some((Phase::Cold, _)));
            match is_cold {
                true if at == 0 => keeps_cold = is_alike,
                true => {}
                false => keeps_warm.push(is_alike),
            }
            if !is_cold {
                self.pairs += 1;
                self.unlike += u32::from(!is_alike);
            }
        }
        self.rounds.push(PairedRound { trials, keeps_cold, keeps_warm });
    }

    fn is_good(&self, end: RunEnd) -> bool {
        end == good_end(self.expected)
    }
}

impl PairedRound<'_> {
    /// Copies a trial with the runs that ended alike; none where there is none.
    fn copy_alike(&self, side: usize) -> Option<Trial> {
        let trial = self.trials[side];
        if !self.keeps_warm.contains(&true) {
            return None;
        }
        // Each run has a batch of every series.
        let mut warm: BTreeMap<String, usize> = BTreeMap::new();
        let mut is_kept = |batch: &Batch| match batch.phase {
            Phase::Cold => self.keeps_cold,
            Phase::Warm => {
                let at = warm.entry(batch.series.clone()).or_default();
                *at += 1;
                self.keeps_warm.get(*at - 1).copied().unwrap_or(false)
            }
        };
        let batches = trial.batches.iter().map(Cow::into_owned).filter(|batch| is_kept(batch));
        let batches: Vec<Batch> = batches.collect();
        Some(Trial { batches: batches.into(), ..trial.clone() })
    }
}

/// A run of a command: its times in nanoseconds, and its end.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Run {
    pub elapsed_ns: f64,
    pub user_ns: f64,
    pub system_ns: f64,
    pub end: RunEnd,
}

/// Lists the runs of a case in an environment that are values, in order; empty where the record does not state how they ended.
pub fn list_runs(session: &Session, case: &str, target: &str) -> Vec<Run> {
    let wanted = |trial: &Trial| trial.case == case && trial.target == target && trial.failure.is_none();
    let trials = list_counted_trials(&session.trials, &session.repeated, wanted);
    trials.into_iter().flat_map(runs_of).collect()
}

/// Reads the runs of a trial; none where its series do not have a value for each.
fn runs_of(trial: &Trial) -> Vec<Run> {
    let [elapsed, user, system] = ["run", "user", "system"].map(|series| warm_values(trial, series));
    let ends = read_ends(trial).into_iter().filter(|(phase, _)| *phase == Phase::Warm);
    let ends: Vec<RunEnd> = ends.map(|(_, end)| end).collect();
    if [&elapsed, &user, &system].iter().any(|values| values.len() != ends.len()) {
        return Vec::new();
    }
    let runs = elapsed.into_iter().zip(user).zip(system).zip(ends);
    runs.map(|(((elapsed_ns, user_ns), system_ns), end)| Run { elapsed_ns, user_ns, system_ns, end })
        .collect()
}

/// Reads the value of each warm batch of a series.
fn warm_values(trial: &Trial, series: &str) -> Vec<f64> {
    let warm = trial.batches.iter_series(series).filter(|batch| batch.phase == Phase::Warm);
    let values = warm.flat_map(|batch| match &batch.sample {
        Sample::Gauge { value } => vec![*value],
        timed => {
            timed.iter_timed().map(|timed| timed.elapsed_ns as f64 / timed.operations.max(1) as f64).collect()
        }
    });
    values.filter(|value| value.is_finite()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_that_end_otherwise_than_before_are_not_compared() {
        let ends = |good: u32, seven: u32| {
            let counts = [(RunEnd::ExitCode(0), good), (RunEnd::ExitCode(7), seven)];
            counts.into_iter().filter(|(_, count)| *count > 0).collect::<Ends>()
        };
        let explain = |old, new| explain_other_ends([&old, &new]);
        let wanted = "2 of 2 runs ended with exit code 7, and 0 of 2 before".to_owned();
        assert_eq!(explain(ends(2, 0), ends(0, 2)), Some(wanted));
        assert_eq!(
            explain(ends(0, 20), ends(10, 10)).as_deref(),
            Some("10 of 20 runs ended with exit code 7, and 20 of 20 before")
        );
        // Always failing is alike, and so is a rare failure on both sides; a rare one on one side alone is not, once it is sure.
        assert_eq!(explain(ends(0, 20), ends(0, 30)), None);
        assert_eq!(explain(ends(99, 1), ends(98, 2)), None);
        assert!(explain(ends(1_000, 0), ends(970, 30)).is_some());
        assert_eq!(explain(ends(0, 0), ends(10, 0)), None, "a record that does not state them");
    }
}
