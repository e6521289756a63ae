//! Rows: every metric of a case judged in every environment, or the reason why it is not.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, HashMap};

use tare_data::failure::{Failure, FailureKind};
use tare_data::metric::{Metric, Reading};
use tare_data::session::limits::LimitCounts;
use tare_data::session::{
    Ending, MOST_REST, Plan, PlannedCase, RepeatedRound, Role, Session, TargetFacts, Trial,
};
use tare_data::unit::Unit;
use tare_data::warning::Warning;

use crate::findings::sameness::{FEWEST_FOR_BOUND, MARGIN};
use crate::findings::{Cell, Comparison, Family, Interval, Level, Missing, Reach, SlowSeen};
use crate::statistics::signed_ranks::{Nulls, compute_median, sort_values};
use crate::verdicts::doubts::ends::{self, Objection, RunPairs};
use crate::verdicts::doubts::failures::FailedTrials;
use crate::verdicts::doubts::stops::find_reach;
use crate::verdicts::doubts::ticks::{Ticks, find_ticks};
use crate::verdicts::doubts::{comparable, stability};
use crate::verdicts::judge::{
    Judgement, is_off, judge_pairs, mean_cost, raise_margin, ratio_in_total, smallest_ratios,
};
use crate::verdicts::leaving::{may_leave, safe_p};
use crate::verdicts::pairs::{Pairs, RowSeries, common_rounds, pair_rounds, read_against, select_trials};
use crate::verdicts::stopping::Schedule;
use crate::verdicts::summary::{Series, collect_disturbed, compute_level, keep_counted, read_times};
use crate::verdicts::verdict::Margin;

/// Part of the margin that is worth a word where the ticks of the clocks take it.
const COARSE_MARGINS: f64 = 0.5;

/// Operations of a trial beyond a quantile from which its value is that of all trials together, or nearly.
const FEWEST_BEYOND: f64 = 30.0;

/// Choices of the reader of a record.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Options {
    /// Holm instead of Benjamini-Hochberg: the chance of any false direction, not the share of them, is at most 5 %.
    pub strict: bool,
    /// Instead of every case's own margin: ln of the largest ratio that still counts as the same.
    pub margin: Option<f64>,
}

/// A session, finished or under way, as far as the analysis cares.
#[derive(Clone, Copy, Debug)]
pub struct Progress<'a> {
    pub plan: &'a Plan,
    pub facts: &'a [TargetFacts],
    pub trials: &'a [Trial],
    pub repeated: &'a [RepeatedRound],
    pub limits: &'a [LimitCounts],
}

impl<'a> Progress<'a> {
    pub fn from_session(session: &'a Session) -> Self {
        let Session { plan, facts, trials, repeated, limits, .. } = session;
        Progress { plan, facts, trials, repeated, limits }
    }
}

/// A cell, and the judgement that the correction needs where it was compared.
#[derive(Clone, Debug)]
pub(crate) struct Judged {
    pub cell: Cell,
    pub judgement: Option<Judgement>,
    /// True where nothing is compared so far, and more rounds may change that.
    pub may_change: bool,
}

impl From<Cell> for Judged {
    fn from(cell: Cell) -> Self {
        Judged { cell, judgement: None, may_change: false }
    }
}

/// A row before its environments are sorted into columns.
#[derive(Clone, Debug)]
pub(crate) struct JudgedRow {
    /// Index of the case in the plan, and of the metric in the case.
    pub case: usize,
    pub metric: usize,
    pub baseline: Option<Level>,
    /// Rounds of the case that the baseline ran.
    pub reached: u32,
    /// In the order of `plan.targets`; none for the baseline.
    pub targets: Vec<Option<Judged>>,
}

/// A session laid out for judging.
pub(crate) struct Judge<'a> {
    pub progress: Progress<'a>,
    options: &'a Options,
    pub schedule: Schedule,
    /// Trials that count, by case and environment of the plan, in order of rounds.
    trials: Vec<Vec<Vec<&'a Trial>>>,
    pub baseline: Option<usize>,
    /// The side that all are compared with, in place of the first ones of the plan's comparisons.
    compared_with: Option<usize>,
    /// The only environment that is compared; all where none is named.
    second: Option<usize>,
    /// Reach of each environment's answers beside the one that it is compared with, and of that one's beside it.
    reaches: Vec<[Reach; 2]>,
    /// Rounds that were begun, case by case.
    pub begun: Vec<u32>,
    /// True where the session's plan or its time has ended it.
    is_over: bool,
    /// True where it is judged for a report, and not to decide which cells go on.
    is_report: bool,
}

impl<'a> Judge<'a> {
    /// Lays out the trials that are wanted and count. A trial of a case or environment that is not planned is not judged.
    pub fn new(progress: Progress<'a>, options: &'a Options, wanted: impl Fn(&Trial) -> bool) -> Self {
        let Plan { cases, targets, .. } = progress.plan;
        let case_at = places(cases.iter().map(|case| case.id.as_str()));
        let target_at = places(targets.iter().map(|target| target.name.as_str()));
        let mut trials = vec![vec![Vec::new(); targets.len()]; cases.len()];
        let mut begun = vec![0; cases.len()];
        for trial in progress.trials {
            if let Some(case) = case_at.get(trial.case.as_str()) {
                begun[*case] = trial.round.saturating_add(1).max(begun[*case]);
            }
        }
        let disturbed = collect_disturbed(progress.repeated);
        for trial in progress.trials.iter().filter(|trial| wanted(trial)) {
            let case = case_at.get(trial.case.as_str());
            if let (Some(case), Some(target)) = (case, target_at.get(trial.target.as_str())) {
                trials[*case][*target].push(trial);
            }
        }
        trials.iter_mut().flatten().for_each(|of_cell| keep_counted(of_cell, &disturbed));
        Judge {
            progress,
            options,
            schedule: Schedule::from_plan(progress.plan),
            trials,
            baseline: targets.baseline_at(),
            compared_with: None,
            second: None,
            reaches: find_reaches(progress, None),
            begun,
            is_over: false,
            is_report: false,
        }
    }

    /// Lays out a session that will have no more rounds.
    pub fn of_session(session: &'a Session, options: &'a Options) -> Self {
        let is_over = session.ending == Ending::Complete;
        let mut judge = Judge::new(Progress::from_session(session), options, |_| true);
        if session.ending == Ending::Early {
            // Its cells chose the moment: none has a look there.
            judge.schedule = judge.schedule.with_planned_looks_only();
        }
        Judge { is_over, is_report: true, ..judge }
    }

    /// Returns what an environment's answers hold for.
    pub fn reach(&self, target: usize) -> Reach {
        self.reaches[target][0]
    }

    /// Compares one environment alone, and with another one than the plan does.
    pub fn compare_one(&mut self, second: usize, target: usize) {
        self.second = Some(second);
        self.compared_with = Some(target);
        self.reaches = find_reaches(self.progress, self.compared_with);
    }

    /// Finds the side that another is compared with.
    fn find_first(&self, second: usize) -> Option<usize> {
        self.compared_with.or_else(|| self.progress.plan.targets.partner_of(second))
    }

    /// Judges the pairs of a cell.
    pub fn judge(
        &self,
        pairs: &Pairs,
        (case, target): (usize, usize),
        margin: Margin,
        nulls: &mut Nulls,
    ) -> Option<Judgement> {
        let reached = pairs.reached;
        let corrected = self.progress.plan.targets.role(target) != Role::Control;
        let schedule = if corrected { self.schedule.clone() } else { self.schedule.without_correction() };
        // Time may be up in the middle of a round. A cell that a look decided in the last one may have left at it.
        let rest = if self.progress.plan.every.is_empty() { 1 } else { MOST_REST };
        let to_the_end = self.is_over && reached.saturating_add(rest) >= self.begun[case];
        if !to_the_end || self.schedule.is_look(reached) {
            let judgement = judge_pairs(pairs, &schedule, margin, nulls)?;
            let safe_p = corrected.then(|| safe_p(self.progress.plan));
            if !self.is_report || may_leave(&judgement, safe_p) {
                return Some(judgement);
            }
        }
        let schedule = if to_the_end { schedule.with_time_over() } else { schedule.with_rounds_ended() };
        judge_pairs(pairs, &schedule, margin, nulls)
    }

    /// Pairs the trials of two environments in the same round of the same case.
    pub fn trials_by_round(
        &self,
        first: usize,
        second: usize,
    ) -> impl Iterator<Item = (&'a Trial, &'a Trial)> {
        let cases = self.trials.iter();
        cases.flat_map(move |targets| {
            let mut of_first = targets[first].iter().copied().peekable();
            targets[second].iter().copied().filter_map(move |second| {
                while of_first.next_if(|trial| trial.round < second.round).is_some() {}
                of_first.peek().filter(|trial| trial.round == second.round).map(|trial| (*trial, second))
            })
        })
    }

    /// Lists the trials of an environment that count, of one case.
    pub fn trials(&self, case: usize, target: usize) -> &[&'a Trial] {
        &self.trials[case][target]
    }

    pub fn find_facts(&self, target: usize) -> Option<&'a TargetFacts> {
        let name = &self.progress.plan.targets[target].name;
        self.progress.facts.iter().find(|facts| facts.target == *name)
    }

    /// Judges the rows of a case, one for each of its first `metrics` metrics. `canaries` holds, by
    /// environment, the canary ratios that processor cells are warned of.
    pub fn judge_rows(
        &self,
        case: usize,
        metrics: usize,
        canaries: &BTreeMap<usize, f64>,
        nulls: &mut Nulls,
    ) -> Vec<JudgedRow> {
        let planned: &'a PlannedCase = &self.progress.plan.cases[case];
        let metrics = &planned.metrics[..metrics.min(planned.metrics.len())];
        let read = self.read_rows(case, metrics);
        let targets = 0..self.progress.plan.targets.len();
        let runs: Vec<_> = targets.map(|target| self.pair_runs(case, target, metrics)).collect();
        let rows = read.iter().enumerate();
        let mut rows: Vec<JudgedRow> =
            rows.map(|(at, series)| self.row((case, at), series, &runs, nulls)).collect();
        self.warn(case, &mut rows, canaries);
        rows
    }

    /// Reads the rows of a case, one for each metric.
    pub fn read_rows(&self, case: usize, metrics: &[Metric]) -> Vec<RowSeries> {
        let targets = 0..self.progress.plan.targets.len();
        let name = |target: usize| self.progress.plan.targets[target].name.as_str();
        let read = |target: usize, other: Option<usize>, reach: Reach| {
            let mut all = read_against(self.trials(case, target), metrics, other.map(name));
            if reach.stop().is_some() {
                // The kernel counts a stop by a limit that the other side does not have as an interruption, and it is none of the machine's.
                all.iter_mut().flat_map(|series| &mut series.values).for_each(|value| value.interrupted = 0);
            }
            if !self.progress.plan.every.is_empty() {
                for series in all.iter_mut().filter(|series| series.trials > 0) {
                    series.reached = self.schedule.with_rests(series.reached, self.begun[case]);
                }
            }
            all
        };
        let partner = |target: usize| self.find_turn_partner(case, target);
        let own = targets.clone().map(|target| read(target, partner(target), self.reaches[target][0]));
        let mut own: Vec<_> = own.collect();
        let partners = targets.map(|target| {
            partner(target).map(|partner| read(partner, Some(target), self.reaches[target][1]))
        });
        let mut partners: Vec<_> = partners.collect();
        let row = |at: usize| RowSeries {
            own: own.iter_mut().map(|series| std::mem::take(&mut series[at])).collect(),
            partner: partners.iter_mut().map(|all| Some(std::mem::take(&mut all.as_mut()?[at]))).collect(),
        };
        (0..metrics.len()).map(row).collect()
    }

    fn row(
        &self,
        (case, at): (usize, usize),
        read: &RowSeries,
        runs: &[Option<RunPairs>],
        nulls: &mut Nulls,
    ) -> JudgedRow {
        let planned: &'a PlannedCase = &self.progress.plan.cases[case];
        let nothing = Series::default();
        let targets = &read.own;
        let baseline = self.baseline.map_or(&nothing, |target| &targets[target]);
        let plan = self.progress.plan;
        let planned_margin = self.options.margin.unwrap_or(planned.margin);
        let usable = planned_margin.is_finite() && planned_margin > 0.0;
        let margin = Margin::from_planned(if usable { planned_margin } else { MARGIN });
        let mut cells: Vec<Option<Judged>> = vec![None; targets.len()];
        let is_second = |target: &usize| match plan.targets.role(*target) {
            Role::Subject => self.second.is_none_or(|second| second == *target),
            Role::Planted => plan.is_measured(case, *target),
            Role::Baseline | Role::Control => false,
        };
        let seconds = (0..targets.len()).filter(is_second);
        let seconds: Vec<(usize, Option<usize>)> = seconds.map(|at| (at, self.find_first(at))).collect();
        // Controls first: where a first side differs from itself, nothing smaller than that is a finding.
        let firsts: BTreeSet<usize> =
            seconds.iter().filter_map(|(_, first)| *first).chain(self.baseline).collect();
        let controls =
            firsts.into_iter().filter_map(|first| Some((plan.targets.find_control(first)?, Some(first))));
        let mut margins: BTreeMap<usize, Margin> = BTreeMap::new();
        for (target, first) in controls.chain(seconds) {
            let of_first = first.map_or(&nothing, |first| &targets[first]);
            let margin = first.and_then(|first| margins.get(&first)).copied().unwrap_or(margin);
            let series = [read.against(target, of_first), &targets[target]];
            let runs = runs[target].as_ref();
            let own = self.own_control(planned, at, read, target, nulls);
            let own_margin = own.as_ref().map_or(margin, |own| raise_margin(margin, own));
            let mut judged = self.cell(planned, (at, series, runs), (case, target), own_margin, nulls);
            judged.cell.compared_mut().into_iter().for_each(|found| found.reach = self.reach(target));
            if let (Cell::Compared(comparison), Some(own)) = (&mut judged.cell, own.filter(is_off)) {
                comparison.warnings.push(Warning::OwnControlDiffers { ratio: libm::exp(own.estimate) });
            }
            if let (Some(judgement), Some(first), Role::Control) =
                (&judged.judgement, first, plan.targets.role(target))
            {
                margins.insert(first, raise_margin(margin, judgement));
            }
            cells[target] = Some(judged);
        }
        JudgedRow {
            case,
            metric: at,
            baseline: compute_level(baseline),
            reached: baseline.reached,
            targets: cells,
        }
    }

    /// Adds to every compared cell of a case the warnings that concern all metrics in its environment.
    fn warn(&self, case: usize, rows: &mut [JudgedRow], canaries: &BTreeMap<usize, f64>) {
        let family = Family::from_probe(&self.progress.plan.cases[case].case.probe);
        for target in 0..self.progress.plan.targets.len() {
            let astray = stability::count_astray_datagrams(self.trials(case, target));
            let canary = canaries.get(&target).filter(|_| family == Family::Cpu);
            let canary = canary.map(|ratio| Warning::CanaryOutside { ratio: *ratio });
            let facts = self.find_first(target).map(|first| [target, first].map(|at| self.find_facts(at)));
            let filtered =
                facts.filter(|_| family == Family::Network).and_then(comparable::filtered_baseline);
            let all: Vec<Warning> = astray.into_iter().chain(canary).chain(filtered).collect();
            for row in rows.iter_mut() {
                if let Some(Judged { cell: Cell::Compared(comparison), .. }) = &mut row.targets[target] {
                    comparison.warnings.extend(all.iter().cloned());
                }
            }
        }
    }

    /// Judges a subject's own control against the subject, where it has one.
    fn own_control(
        &self,
        planned: &PlannedCase,
        at: usize,
        read: &RowSeries,
        subject: usize,
        nulls: &mut Nulls,
    ) -> Option<Judgement> {
        let plan = self.progress.plan;
        let control = plan.targets.find_control(subject)?;
        let of_subject = read.against(control, &read.own[subject]);
        let pairs = pair_rounds(of_subject, &read.own[control], planned.metrics[at].direction).ok()?;
        judge_pairs(&pairs, &self.schedule.without_correction(), Margin::from_planned(MARGIN), nulls)
    }

    fn cell(
        &self,
        planned: &PlannedCase,
        (metric_at, [baseline, series], runs): (usize, [&Series; 2], Option<&RunPairs>),
        (case, target): (usize, usize),
        margin: Margin,
        nulls: &mut Nulls,
    ) -> Judged {
        let metric = &planned.metrics[metric_at];
        let Some(level) = compute_level(series) else {
            return Cell::Missing(self.missing(planned, series, target)).into();
        };
        // Counts of errors are mostly zero, and have no ratio.
        let is_count = metric.reading == Reading::Gauge && metric.unit == Unit::Count;
        if metric.reading == Reading::Maximum || is_count {
            return Cell::Observed(level).into();
        }
        let not_comparable = |reason: String, level: Level| -> Judged {
            Cell::Missing(Missing::NotComparable { reason, level }).into()
        };
        // Before the baseline: a value that misleads does so without one as well.
        let of_baseline = self.find_first(target).and_then(|first| self.find_facts(first));
        if let Some(reason) =
            comparable::find_comparison_objection(planned, metric, self.find_facts(target), of_baseline)
        {
            return not_comparable(reason, level);
        }
        if baseline.values.is_empty() {
            return Cell::Missing(Missing::NoBaseline(level)).into();
        }
        if let Some(Objection { reason, is_final }) = runs.and_then(RunPairs::find_objection) {
            return Judged { may_change: !is_final, ..not_comparable(reason, level) };
        }
        let [baseline, series] = match runs {
            Some(runs) => runs.keep_alike(metric_at, [baseline, series]),
            None => [baseline, series].map(Cow::Borrowed),
        };
        let (baseline, series) = (&*baseline, &*series);
        let operations = series.least_operations.min(baseline.least_operations);
        if let Some(reason) = comparable::too_few(metric, operations) {
            return not_comparable(reason, level);
        }
        let ticks = self.find_ticks((case, target), metric);
        let resolution = ticks.iter().flatten().map(|ticks| ticks.share).sum();
        let pairs = match pair_rounds(baseline, series, metric.direction) {
            Ok(pairs) => Pairs { resolution, ..pairs },
            Err(no_pairs) => return not_comparable(no_pairs.describe().into(), level),
        };
        let Some(judgement) = self.judge(&pairs, (case, target), margin, nulls) else {
            return not_comparable("no round within the plan".into(), level);
        };
        let judgement = self.limit_to_quantiles(judgement, (case, target), metric, operations);
        let mut comparison = Comparison {
            rounds: pairs.pairs.len() as u32,
            total: judgement.total.map(ratio_in_total),
            smallest: smallest_ratios(&judgement, margin),
            ..make_comparison(level, &judgement, baseline, series)
        };
        if let Some(reason) = self.find_failure_objection((case, target), &comparison) {
            let reason = runs.and_then(RunPairs::describe_failed).unwrap_or(reason);
            return Judged { may_change: true, ..not_comparable(reason, comparison.level) };
        }
        let coarse = ticks[1].filter(|_| resolution >= COARSE_MARGINS * margin.planned);
        comparison.warnings.extend(coarse.map(Ticks::warn));
        comparison.warnings.extend(mean_cost(&pairs, &judgement));
        if let Some(runs) = runs {
            runs.add_doubt(&mut comparison.warnings);
        }
        Judged { cell: Cell::Compared(Box::new(comparison)), judgement: Some(judgement), may_change: false }
    }

    /// Counts the rounds of cases that count.
    pub fn rounds_kept(&self) -> u32 {
        let Some(baseline) = self.baseline else { return 0 };
        let cases = 0..self.progress.plan.cases.len();
        cases.map(|case| self.trials(case, baseline).len() as u32).sum()
    }

    /// Explains why an environment has no value at all.
    fn missing(&self, planned: &PlannedCase, series: &Series, target: usize) -> Missing {
        let name = &self.progress.plan.targets[target].name;
        match (planned.missing.get(name), &series.failure) {
            (Some(failure), _) | (None, Some(failure)) => Missing::Failed(failure.clone()),
            (None, None) if series.trials > 0 => {
                Missing::Failed(Failure::new(FailureKind::WrongWork, "its trials gave no value"))
            }
            (None, None) => Missing::NotReached,
        }
    }

    /// Finds the environment whose trials of a case took turns with another's. Against another baseline than the plan's there are none.
    pub(crate) fn find_turn_partner(&self, case: usize, target: usize) -> Option<usize> {
        let plan = self.progress.plan;
        let partner = plan.targets.partner_of(target).filter(|_| self.compared_with.is_none())?;
        let name = Some(plan.targets[partner].name.as_str());
        self.trials(case, target).iter().any(|trial| trial.partner.as_deref() == name).then_some(partner)
    }

    /// Selects the trials of a case that are compared: of the other side, and of the environment that is judged.
    pub(crate) fn select_sides(&self, case: usize, target: usize) -> Option<[Vec<&'a Trial>; 2]> {
        let name = |target: usize| self.progress.plan.targets[target].name.as_str();
        let first = self.find_first(target).filter(|first| *first != target)?;
        let partner = self.find_turn_partner(case, target);
        let own = select_trials(self.trials(case, target), partner.map(name));
        let others = match partner {
            Some(partner) => select_trials(self.trials(case, partner), Some(name(target))),
            None => self.trials(case, first).to_vec(),
        };
        Some([others, own])
    }

    /// Pairs the runs of a command in an environment with those that they are compared with.
    fn pair_runs(&self, case: usize, target: usize, metrics: &[Metric]) -> Option<RunPairs> {
        let name = |target: usize| self.progress.plan.targets[target].name.as_str();
        let partner = self.find_turn_partner(case, target);
        let [others, own] = self.select_sides(case, target)?;
        let names = partner.map(|partner| [name(partner), name(target)]);
        let all = [partner.or(self.find_first(target))?, target].map(|target| self.trials(case, target));
        ends::pair_runs(&self.progress.plan.cases[case], [others, own], all, metrics, names)
    }

    /// Finds the ticks of both clocks in what is compared: the other side's, and those of the environment that is judged.
    fn find_ticks(&self, (case, target): (usize, usize), metric: &Metric) -> [Option<Ticks>; 2] {
        let Some([others, own]) = self.select_sides(case, target) else { return [None; 2] };
        let other = self.find_first(target);
        let of_other = other.and_then(|other| find_ticks(&others, metric, self.find_facts(other)));
        [of_other, find_ticks(&own, metric, self.find_facts(target))]
    }

    /// Returns why an answer cannot stand where trials fail more often on one side.
    fn find_failure_objection(
        &self,
        (case, target): (usize, usize),
        comparison: &Comparison,
    ) -> Option<String> {
        let [others, own] = self.select_sides(case, target)?;
        FailedTrials::count_failed([&others, &own]).find_objection(comparison.verdict, comparison.answer())
    }

    /// Widens the interval of a quantile that few of a trial's operations exceed to what the operations of all trials hold.
    fn limit_to_quantiles(
        &self,
        judgement: Judgement,
        (case, target): (usize, usize),
        metric: &Metric,
        operations: u64,
    ) -> Judgement {
        let Reading::Quantile(q) = metric.reading else { return judgement };
        let are_few = operations as f64 * (1.0 - q).min(q) < FEWEST_BEYOND;
        match self.select_sides(case, target).filter(|_| are_few) {
            Some(sides) => judgement.limit_to_quantiles(q, &sides.map(|trials| read_times(&trials, metric))),
            None => judgement,
        }
    }
}

/// Makes the comparison of a cell from its judgement and its series, without what needs its pairs.
fn make_comparison(level: Level, judgement: &Judgement, baseline: &Series, target: &Series) -> Comparison {
    let mut warnings = Vec::new();
    if judgement.skewed {
        let Judgement { hodges_lehmann, median, .. } = *judgement;
        warnings.push(Warning::SkewedTail { hodges_lehmann, median });
    }
    if judgement.groups.len() > 1 {
        warnings.push(Warning::Modal { groups: judgement.groups.clone() });
    }
    if judgement.has_blocks() {
        // Not those in which the environment rested.
        let rounds = (target.values.len() as f64 / judgement.units as f64).round() as u32;
        warnings.push(Warning::RoundsAlike {
            rounds,
            blocks: judgement.units as u32,
            state_s: judgement.state_s(),
        });
    }
    if target.failed > 0 {
        warnings.push(Warning::TrialsFailed { failed: target.failed, of: target.trials });
    }
    Comparison {
        level,
        rounds: 0,
        ratio: libm::exp(judgement.estimate),
        interval: Interval::from_logarithms(judgement.interval),
        interval_alone: Interval::from_logarithms(judgement.interval),
        total: None,
        signs: Interval::from_logarithms(judgement.signs),
        leading: judgement.leading,
        p: judgement.p,
        margin: libm::exp(judgement.margin.planned),
        verdict: judgement.verdict,
        reach: Reach::Short,
        seen: judgement.seen,
        slow: judgement.tail.map(|tail| SlowSeen {
            slow: tail.slow.0,
            batches: tail.slow.1,
            most: tail.most(FEWEST_FOR_BOUND),
        }),
        lacks: judgement.lack(),
        decided_at: judgement.decided_at,
        needed: judgement.needed,
        smallest: None,
        difference: difference(baseline, target),
        starts: judgement.starts,
        warnings,
    }
}

/// Computes the median over paired rounds of environment minus baseline, in the metric's unit.
fn difference(baseline: &Series, target: &Series) -> f64 {
    let minus = common_rounds(baseline, target).map(|(baseline, target)| target.value - baseline.value);
    compute_median(&sort_values(&minus.collect::<Vec<_>>()))
}

/// Finds what each environment's answers hold for beside the one that it is compared with by plan, or all are, and that one's beside
/// it. Nobody counts for a copy, which is held against its original alone.
fn find_reaches(progress: Progress<'_>, compared_with: Option<usize>) -> Vec<[Reach; 2]> {
    let targets = &progress.plan.targets;
    let of = |at: usize| {
        let first = compared_with.or_else(|| targets.partner_of(at));
        let first = first.filter(|_| targets.role(at) == Role::Subject);
        let reach =
            |[of, beside]: [usize; 2]| find_reach(progress.limits, &targets[of].name, &targets[beside].name);
        first.map_or([Reach::Short; 2], |first| [[at, first], [first, at]].map(reach))
    };
    (0..targets.len()).map(of).collect()
}

/// Finds the first position of each name.
fn places<'a>(names: impl Iterator<Item = &'a str>) -> HashMap<&'a str, usize> {
    let mut places = HashMap::new();
    for (place, name) in names.enumerate() {
        places.entry(name).or_insert(place);
    }
    places
}
