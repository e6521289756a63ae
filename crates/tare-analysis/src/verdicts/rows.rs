//! Rows: every metric of a case judged in every lane, or given its gap.

use std::collections::{BTreeMap, HashMap};

use tare_data::batch::{ASTRAY, Batch, Sample};
use tare_data::caveat::Caveat;
use tare_data::failure::{Failure, FailureKind};
use tare_data::metric::{Metric, Reading};
use tare_data::session::{LaneFacts, Plan, PlannedCase, RepeatedRound, Role, Session, Trial};
use tare_data::unit::Unit;

use crate::findings::{Cell, Comparison, Family, Gap, Level};
use crate::statistics::signed_ranks::{Nulls, median, sorted};
use crate::verdicts::comparable;
use crate::verdicts::judge::{Judgement, NoPairs, Pairs, judge, pair};
use crate::verdicts::stability;
use crate::verdicts::stopping::{Engine, Schedule};
use crate::verdicts::summary::{Series, counted, level, series};
use crate::verdicts::verdict::Margin;

/// The margin where none is stated that can be used: ln 1.02.
pub const MARGIN: f64 = 0.019_802_627_296_179_71;

/// What the reader of a record may choose.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Options {
    /// Holm instead of Benjamini-Hochberg: the chance of any false colour, not the share of them, is at most 5 %.
    pub strict: bool,
    /// Instead of every case's own margin: ln of the largest ratio that still counts as the same.
    pub margin: Option<f64>,
    pub engine: Engine,
}

/// A session, finished or under way, as far as the analysis cares.
#[derive(Clone, Copy, Debug)]
pub struct Progress<'a> {
    pub plan: &'a Plan,
    pub facts: &'a [LaneFacts],
    pub trials: &'a [Trial],
    pub repeated: &'a [RepeatedRound],
}

impl<'a> Progress<'a> {
    pub fn of(session: &'a Session) -> Self {
        let Session { plan, facts, trials, repeated, .. } = session;
        Progress { plan, facts, trials, repeated }
    }
}

/// A cell, and what the corrections and the index need to know of it.
#[derive(Clone, Debug)]
pub struct Judged {
    pub cell: Cell,
    pub judgement: Option<Judgement>,
    /// Where it was compared.
    pub pairs: Option<Pairs>,
}

impl From<Cell> for Judged {
    fn from(cell: Cell) -> Self {
        Judged { cell, judgement: None, pairs: None }
    }
}

/// A row before its lanes are sorted into columns.
#[derive(Clone, Debug)]
pub struct JudgedRow {
    /// Index of the case in the plan, and of the metric in the case.
    pub case: usize,
    pub metric: usize,
    pub reference: Option<Level>,
    /// Rounds of the case that the reference ran.
    pub reached: u32,
    /// In the order of `plan.lanes`; none for the reference.
    pub lanes: Vec<Option<Judged>>,
}

/// A session laid out for judging.
pub struct Judge<'a> {
    pub progress: Progress<'a>,
    options: &'a Options,
    pub schedule: Schedule,
    /// Trials that count, by case and lane of the plan, in order of rounds.
    trials: Vec<Vec<Vec<&'a Trial>>>,
    pub reference: Option<usize>,
    control: Option<usize>,
    nulls: Nulls,
}

impl<'a> Judge<'a> {
    /// Lays out the trials that are wanted and count. A trial of a case or lane that is not planned is not judged.
    pub fn new(progress: Progress<'a>, options: &'a Options, wanted: impl Fn(&Trial) -> bool) -> Self {
        let Plan { cases, lanes, .. } = progress.plan;
        let case_at = places(cases.iter().map(|case| case.id.as_str()));
        let lane_at = places(lanes.iter().map(|lane| lane.name.as_str()));
        let mut trials = vec![vec![Vec::new(); lanes.len()]; cases.len()];
        for trial in counted(progress.trials, progress.repeated, wanted) {
            let case = case_at.get(trial.case.as_str());
            if let (Some(case), Some(lane)) = (case, lane_at.get(trial.lane.as_str())) {
                trials[*case][*lane].push(trial);
            }
        }
        let role = |role| progress.plan.lanes.iter().position(|lane| lane.role == role);
        Judge {
            progress,
            options,
            schedule: Schedule::of(progress.plan),
            trials,
            reference: role(Role::Reference),
            control: role(Role::Control),
            nulls: Nulls::default(),
        }
    }

    /// The trials of a lane that count, of one case.
    pub fn trials(&self, case: usize, lane: usize) -> &[&'a Trial] {
        &self.trials[case][lane]
    }

    pub fn facts(&self, lane: usize) -> Option<&'a LaneFacts> {
        let name = &self.progress.plan.lanes[lane].name;
        self.progress.facts.iter().find(|facts| facts.lane == *name)
    }

    /// The rows of a case, one for each of its first `metrics` metrics. `canaries` holds, by lane, the canary ratios
    /// that processor cells are warned of.
    pub fn rows(&mut self, case: usize, metrics: usize, canaries: &BTreeMap<usize, f64>) -> Vec<JudgedRow> {
        let planned: &'a PlannedCase = &self.progress.plan.cases[case];
        let metrics = &planned.metrics[..metrics.min(planned.metrics.len())];
        let lanes = self.progress.plan.lanes.len();
        let read = |lane: usize| series(self.trials(case, lane), metrics);
        let mut by_lane: Vec<Vec<Series>> = (0..lanes).map(read).collect();
        let mut rows = Vec::with_capacity(metrics.len());
        for (at, metric) in metrics.iter().enumerate() {
            let row: Vec<Series> = by_lane.iter_mut().map(|lane| std::mem::take(&mut lane[at])).collect();
            rows.push(self.row(case, at, metric, &row, canaries));
        }
        rows
    }

    fn row(
        &mut self,
        case: usize,
        at: usize,
        metric: &Metric,
        lanes: &[Series],
        canaries: &BTreeMap<usize, f64>,
    ) -> JudgedRow {
        let planned: &'a PlannedCase = &self.progress.plan.cases[case];
        let nothing = Series::default();
        let reference = self.reference.map_or(&nothing, |lane| &lanes[lane]);
        let planned_margin = self.options.margin.unwrap_or(planned.margin);
        let usable = planned_margin.is_finite() && planned_margin > 0.0;
        let mut margin = Margin::plain(if usable { planned_margin } else { MARGIN });
        let mut cells: Vec<Option<Judged>> = vec![None; lanes.len()];
        // The control first: where the reference differs from itself, nothing smaller than that is a finding.
        let (of_reference, of_control) = (self.reference, self.control);
        let subjects = (0..lanes.len()).filter(|lane| ![of_reference, of_control].contains(&Some(*lane)));
        for lane in of_control.into_iter().chain(subjects) {
            let mut judged = self.cell(planned, metric, reference, &lanes[lane], lane, margin);
            if let Some(judgement) = judged.judgement.as_ref().filter(|_| Some(lane) == of_control) {
                margin = floor(margin, judgement);
            }
            if let (Cell::Compared(comparison), Some(astray)) =
                (&mut judged.cell, astray(self.trials(case, lane)))
            {
                comparison.caveats.push(astray);
            }
            if let (Cell::Compared(comparison), Some(ratio)) = (&mut judged.cell, canaries.get(&lane))
                && Family::of(&planned.case.probe) == Family::Cpu
            {
                comparison.caveats.push(Caveat::CanaryOutside { ratio: *ratio });
            }
            cells[lane] = Some(judged);
        }
        JudgedRow { case, metric: at, reference: level(reference), reached: reference.reached, lanes: cells }
    }

    fn cell(
        &mut self,
        planned: &PlannedCase,
        metric: &Metric,
        reference: &Series,
        series: &Series,
        lane: usize,
        margin: Margin,
    ) -> Judged {
        let Some(level) = level(series) else {
            return Cell::Gap(self.gap(planned, series, lane)).into();
        };
        // Counts of what went wrong are mostly zero, and have no ratio.
        let is_count = metric.reading == Reading::Gauge && metric.unit == Unit::Count;
        if metric.reading == Reading::Maximum || is_count {
            return Cell::Observed(level).into();
        }
        let not_comparable =
            |reason: String, level: Level| Cell::Gap(Gap::NotComparable { reason, level }).into();
        // Before the reference is looked at: a figure that misleads does so beside nothing as well.
        let of_reference = self.reference.and_then(|reference| self.facts(reference));
        if let Some(reason) = comparable::objection(&planned.case, metric, self.facts(lane), of_reference) {
            return not_comparable(reason, level);
        }
        if reference.values.is_empty() {
            return Cell::Gap(Gap::NoReference(level)).into();
        }
        let operations = series.least_operations.min(reference.least_operations);
        if let Some(reason) = comparable::too_few(metric, operations) {
            return not_comparable(reason, level);
        }
        let pairs = match pair(reference, series, metric.direction) {
            Ok(pairs) => pairs,
            Err(NoPairs::NoCommonRound) => {
                return not_comparable("no round gave a figure both here and in the reference".into(), level);
            }
            Err(NoPairs::NotPositive) => {
                return not_comparable("a figure of zero or less has no ratio".into(), level);
            }
        };
        let Some(judgement) = judge(&pairs, &self.schedule, self.options.engine, margin, &mut self.nulls)
        else {
            return not_comparable("no round within the plan".into(), level);
        };
        let comparison = comparison(level, &judgement, reference, series, pairs.pairs.len() as u32);
        Judged { cell: Cell::Compared(Box::new(comparison)), judgement: Some(judgement), pairs: Some(pairs) }
    }

    /// Why a lane has no figure at all.
    fn gap(&self, planned: &PlannedCase, series: &Series, lane: usize) -> Gap {
        let name = &self.progress.plan.lanes[lane].name;
        match (planned.gaps.get(name), &series.failure) {
            (Some(failure), _) | (None, Some(failure)) => Gap::Failed(failure.clone()),
            (None, None) if series.trials > 0 => {
                Gap::Failed(Failure::new(FailureKind::WrongWork, "its trials gave no figure"))
            }
            (None, None) => Gap::NotReached,
        }
    }
}

/// What went astray of the datagrams of these trials, if anything did.
fn astray(trials: &[&Trial]) -> Option<Caveat> {
    let total = |series: &str| -> u64 {
        let batches = trials.iter().flat_map(|trial| &trial.batches).filter(|batch| batch.series == series);
        let count = |batch: &Batch| match batch.sample {
            // A cast of what is no count gives 0 or the largest one.
            Sample::Gauge { value } => value as u64,
            _ => 0,
        };
        batches.map(count).fold(0, u64::saturating_add)
    };
    let [lost, late, duplicated, reordered] = ASTRAY.map(total);
    let any = [lost, late, duplicated, reordered].iter().any(|count| *count > 0);
    any.then_some(Caveat::DatagramsAstray { lost, late, duplicated, reordered })
}

/// Where each name stands first.
fn places<'a>(names: impl Iterator<Item = &'a str>) -> HashMap<&'a str, usize> {
    let mut places = HashMap::new();
    for (place, name) in names.enumerate() {
        places.entry(name).or_insert(place);
    }
    places
}

/// The margin, raised for differences to what the session calls one where there is none.
fn floor(margin: Margin, control: &Judgement) -> Margin {
    if control.interval.holds(0.0) { margin } else { margin.raised(control.estimate.abs()) }
}

fn comparison(
    level: Level,
    judgement: &Judgement,
    reference: &Series,
    lane: &Series,
    rounds: u32,
) -> Comparison {
    let mut caveats = Vec::new();
    if judgement.skewed {
        let Judgement { hodges_lehmann, median, .. } = *judgement;
        caveats.push(Caveat::SkewedTail { hodges_lehmann, median });
    }
    if judgement.modes > 1 {
        caveats.push(Caveat::Modal { modes: judgement.modes });
    }
    if lane.failed > 0 {
        caveats.push(Caveat::TrialsFailed { failed: lane.failed, of: lane.trials });
    }
    Comparison {
        level,
        rounds,
        ratio: judgement.estimate.exp(),
        low: judgement.interval.low.exp(),
        high: judgement.interval.high.exp(),
        sign_low: judgement.signs.low.exp(),
        sign_high: judgement.signs.high.exp(),
        leading: judgement.leading,
        p: judgement.p,
        verdict: judgement.verdict,
        coloured: false,
        decided_at: judgement.decided_at,
        rounds_to_tell: judgement.rounds_to_tell,
        difference: difference(reference, lane),
        starts: judgement.starts,
        caveats,
    }
}

/// Median over paired rounds of lane minus reference, in the metric's unit.
fn difference(reference: &Series, lane: &Series) -> f64 {
    let known: BTreeMap<u32, f64> = reference.values.iter().map(|v| (v.round, v.value)).collect();
    let minus =
        |of_lane: &crate::verdicts::summary::RoundValue| Some(of_lane.value - known.get(&of_lane.round)?);
    median(&sorted(&lane.values.iter().filter_map(minus).collect::<Vec<_>>()))
}

/// Doubts about lanes as a whole: clocks, emulation, shared starts; and the canary ratios that rows need.
pub fn lane_caveats(judge: &Judge<'_>) -> (Vec<(usize, Caveat)>, BTreeMap<usize, f64>) {
    let lanes = judge.progress.plan.lanes.len();
    let (mut caveats, mut canaries) = (Vec::new(), BTreeMap::new());
    let of_lane = |lane: usize| -> Vec<&Trial> {
        let cases = 0..judge.progress.plan.cases.len();
        cases.flat_map(|case| judge.trials(case, lane)).copied().collect()
    };
    let of_reference = judge.reference.map(of_lane).unwrap_or_default();
    for lane in 0..lanes {
        let trials = of_lane(lane);
        let facts = judge.facts(lane);
        if comparable::is_emulated(facts) {
            caveats.push((lane, Caveat::EmulatedProcessor));
        }
        if let Some(step_ns) = comparable::coarse_step(facts) {
            caveats.push((lane, Caveat::CoarseClock { step_ns }));
        }
        if let Some(parts_per_million) = stability::clock_disagreement(&trials) {
            caveats.push((lane, Caveat::ClockDisagrees { parts_per_million }));
        }
        // Said of a subject beside its figures; the reference has no cells.
        if Some(lane) == judge.reference
            && let Some(astray) = astray(&trials)
        {
            caveats.push((lane, astray));
        }
        if Some(lane) != judge.reference
            && let Some(ratio) = stability::canary_outside(&of_reference, &trials, MARGIN)
        {
            caveats.push((lane, Caveat::CanaryOutside { ratio }));
            canaries.insert(lane, ratio);
        }
    }
    (caveats, canaries)
}
