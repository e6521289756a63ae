//! From a session to its findings, and from a session under way to the environments that may leave.

use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZero;
use std::panic::resume_unwind;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use tare_data::encoding::clip_text;
use tare_data::failure::{BROKE_OFF, FailureKind};
use tare_data::session::{Ending, Plan, PlannedCase, Role, Session};
use tare_data::warning::Warning;

use crate::findings::{Cell, Certificate, Comparison, Findings, Missing, Needed, Row, Verdict};
use crate::statistics::binomial::at_least;
use crate::statistics::level::ALPHA;
use crate::statistics::signed_ranks::{Nulls, compute_median, sort_values};
use crate::verdicts::correction::confirm_directions;
use crate::verdicts::leaving::{is_beyond_reach, may_leave, safe_p};
use crate::verdicts::planted::judge_planted_cost;
use crate::verdicts::rows::{Judge, Judged, JudgedRow, Options, Progress};
use crate::verdicts::stopping::{FEWEST_UNITS, Schedule};
use crate::verdicts::target_warnings::target_warnings;
use crate::verdicts::verdict::smallest_effect;

/// Bytes of a reason in a warning.
const LONGEST_SHOWN: usize = 200;

/// Decides which environments need no more rounds of a case, in the order of `plan.targets`, after `rounds`
/// rounds of it.
///
/// All false between looks: the rule looks only when it was planned to. At a look, a subject or control
/// environment is done when its headline's verdict is decided and would be so in [`compute_findings`] whatever the
/// other cells show, or when it misses something that more rounds will not bring. The baseline is done when
/// every other environment is.
pub fn find_finished_targets(
    progress: Progress<'_>,
    case: &str,
    rounds: u32,
    options: &Options,
) -> Vec<bool> {
    let targets = progress.plan.targets.len();
    let Some(look) = LookAt::case(progress, case, rounds, options) else {
        return vec![false; targets];
    };
    // A case without a metric has nothing to wait for.
    let done: Vec<Option<bool>> =
        (0..targets).map(|target| look.all(target, |at| look.is_done(at))).collect();
    let others = done.iter().flatten().all(|done| *done);
    done.into_iter().map(|done| done.unwrap_or(others)).collect()
}

/// Finds the subjects of a case, in the order of `plan.targets`, that are not decided after `rounds` rounds
/// of it and will most likely not be when they have run as many in all as they can reach; none where the
/// number has no end. All false between looks.
pub fn beyond_reach(
    progress: Progress<'_>,
    case: &str,
    rounds: u32,
    options: &Options,
    reachable: impl Fn(usize) -> Option<u32>,
) -> Vec<bool> {
    let targets = &progress.plan.targets;
    let Some(look) = LookAt::case(progress, case, rounds, options) else {
        return vec![false; targets.len()];
    };
    let is_lost = |(target, judged): (usize, &Judged)| {
        let is_lost = |judgement| reachable(target).is_some_and(|rounds| is_beyond_reach(judgement, rounds));
        look.is_done((target, judged)) || judged.judgement.as_ref().is_some_and(is_lost)
    };
    let lost = |target: usize| {
        targets[target].role == Role::Subject
            && look.all(target, |at| look.is_done(at)) == Some(false)
            && look.all(target, is_lost) == Some(true)
    };
    (0..targets.len()).map(lost).collect()
}

/// Estimates the rounds in all that decide each environment of a case, in the order of `plan.targets`, after `rounds` rounds of it;
/// none where that is decided, or not known. All none between looks.
pub fn estimate_needed_rounds(
    progress: Progress<'_>,
    case: &str,
    rounds: u32,
    options: &Options,
) -> Vec<Option<u32>> {
    let targets = progress.plan.targets.len();
    let Some(look) = LookAt::case(progress, case, rounds, options) else { return vec![None; targets] };
    let needed = |target: usize| {
        let judged = look.metrics.iter().filter_map(|metric| look.rows[*metric].targets[target].as_ref());
        let needed = judged.filter_map(|judged| {
            let judgement = judged.judgement.as_ref()?;
            match judgement.needed? {
                Needed::Rounds(rounds) => Some(rounds),
                // As many rounds a start as until now.
                Needed::Starts(starts) => {
                    Some(starts.saturating_mul(judgement.reached.div_ceil(judgement.units.max(1) as u32)))
                }
                Needed::LessNoise => None,
            }
        });
        needed.max()
    };
    (0..targets).map(needed).collect()
}

/// A case as it is known at a planned look.
struct LookAt<'a> {
    plan: &'a Plan,
    schedule: Schedule,
    safe_p: f64,
    rows: Vec<JudgedRow>,
    /// Rows that decide when an environment leaves.
    metrics: Vec<usize>,
}

impl<'a> LookAt<'a> {
    /// Judges a case at a look; none where no look is planned.
    fn case(progress: Progress<'a>, case: &str, rounds: u32, options: &Options) -> Option<Self> {
        let planned = progress.plan.cases.iter().position(|planned| planned.id == case)?;
        let mut judge = Judge::new(progress, options, |t| t.case == case && t.round < rounds);
        judge.begun[planned] = judge.begun[planned].min(rounds);
        if !judge.schedule.is_look(rounds) {
            return None;
        }
        let metrics = deciding(&progress.plan.cases[planned]);
        let rows = judge.judge_rows(
            planned,
            metrics.last().map_or(0, |last| last + 1),
            &BTreeMap::new(),
            &mut Nulls::default(),
        );
        Some(LookAt {
            plan: progress.plan,
            schedule: judge.schedule.clone(),
            safe_p: safe_p(progress.plan),
            rows,
            metrics,
        })
    }

    /// Tells whether something holds of every metric that counts; none where there is none.
    fn all(&self, target: usize, holds: impl Fn((usize, &Judged)) -> bool) -> Option<bool> {
        let cells = self.metrics.iter().map(|metric| self.rows[*metric].targets[target].as_ref());
        let held = cells.map(|judged| judged.map(|judged| holds((target, judged))));
        held.collect::<Option<Vec<bool>>>().map(|held| held.into_iter().all(|held| held))
    }

    fn is_done(&self, (target, judged): (usize, &Judged)) -> bool {
        let corrected = self.plan.targets[target].role != Role::Control;
        match (&judged.cell, &judged.judgement) {
            // An environment that missed rounds is judged by the rounds it has, but a verdict between looks
            // stops nothing.
            (Cell::Compared(comparison), Some(judgement)) => {
                comparison.decided_at.is_some_and(|rounds| self.schedule.is_look(rounds))
                    && may_leave(judgement, corrected.then_some(self.safe_p))
            }
            (Cell::Missing(Missing::NotReached), _) => false,
            _ if judged.may_change => false,
            (Cell::Compared(_) | Cell::Observed(_) | Cell::Missing(_), _) => true,
        }
    }
}

/// Lists the metrics of a case that decide when an environment leaves it, in their order: those that the plan
/// names, or the headline.
fn deciding(case: &PlannedCase) -> Vec<usize> {
    let named = |at: &usize| case.decide.contains(&case.metrics[*at].name);
    let metrics: Vec<usize> = (0..case.metrics.len()).filter(named).collect();
    if metrics.is_empty() { (0..case.metrics.len().min(1)).collect() } else { metrics }
}

/// Computes the findings of a session.
pub fn compute_findings(session: &Session, options: &Options) -> Findings {
    of_rows(session, options, |_, _| {})
}

/// Compares each environment with the one that it was built upon: the findings of a session whose environments are built up
/// step by step. `below` has their places among the subjects; none is the baseline. The family that verdicts are corrected
/// for is that of all steps.
pub fn compute_step_findings(session: &Session, options: &Options, below: &[Option<usize>]) -> Findings {
    let targets = &session.plan.targets;
    let subjects: Vec<usize> = (0..targets.len()).filter(|at| targets[*at].role == Role::Subject).collect();
    let mut nulls = Nulls::default();
    of_rows(session, options, |judge, rows| {
        for (step, below) in subjects.iter().copied().zip(below) {
            let Some(below) = below.and_then(|below| subjects.get(below).copied()) else { continue };
            judge.compare_with(below);
            for row in rows.iter_mut() {
                let against_below =
                    judge.judge_rows(row.case, row.metric + 1, &BTreeMap::new(), &mut nulls).pop();
                row.targets[step] = against_below.and_then(|mut row| row.targets[step].take());
            }
        }
    })
}

fn of_rows(
    session: &Session,
    options: &Options,
    change: impl FnOnce(&mut Judge<'_>, &mut [JudgedRow]),
) -> Findings {
    let plan = &session.plan;
    let mut judge = Judge::of_session(session, options);
    let (of_targets, canaries) = target_warnings(&judge);
    let mut judged = judged(&judge, &canaries);
    let kept = judge.rounds_kept();
    change(&mut judge, &mut judged);
    let planted = judge_planted_cost(&judged, plan, options);
    confirm_directions(&mut judged, plan, options);
    let smallest = smallest_ratio(&judged);
    let mut rows: Vec<Row> = judged.into_iter().map(|row| into_row(row, plan)).collect();
    leave_out_absent(&mut rows);
    let certificate = Certificate { planted, ..certify(&rows, smallest, session.repeated.len() as u32) };
    let mut warnings = session_warnings(session, &certificate, kept);
    warnings.extend(
        of_targets.into_iter().map(|(target, warning)| (Some(plan.targets[target].name.clone()), warning)),
    );
    let of_role = |role: Role| plan.targets.iter().filter(move |target| target.role == role);
    let subjects: Vec<String> = of_role(Role::Subject).map(|target| target.name.clone()).collect();
    warnings.extend(subjects.iter().enumerate().filter_map(|(at, target)| {
        Some((
            Some(target.clone()),
            shared_starts(rows.iter().filter_map(|row| row.cells.get(at)?.comparison()))?,
        ))
    }));
    Findings {
        baseline: session.baseline().map(|target| target.name.clone()).unwrap_or_default(),
        subjects,
        rows,
        certificate,
        warnings,
        ending: session.ending,
        articles: Vec::new(),
    }
}

/// Judges the rows of all cases, in their order. Each processor judges the next case that none has begun.
fn judged(judge: &Judge<'_>, canaries: &BTreeMap<usize, f64>) -> Vec<JudgedRow> {
    let cases = &judge.progress.plan.cases;
    let next = AtomicUsize::new(0);
    let work = || {
        let mut nulls = Nulls::default();
        let mut judged = Vec::new();
        while let at = next.fetch_add(1, Ordering::Relaxed)
            && let Some(case) = cases.get(at)
        {
            judged.extend(judge.judge_rows(at, case.metrics.len(), canaries, &mut nulls));
        }
        judged
    };
    let processors = thread::available_parallelism().map_or(1, NonZero::get).min(cases.len());
    let mut judged: Vec<JudgedRow> = thread::scope(|scope| {
        // A thread that a limit refuses leaves its work to the others.
        let start = |_| thread::Builder::new().spawn_scoped(scope, work).ok();
        let others: Vec<_> = (1..processors).filter_map(start).collect();
        let mut judged = work();
        judged.extend(
            others.into_iter().flat_map(|other| other.join().unwrap_or_else(|panic| resume_unwind(panic))),
        );
        judged
    });
    judged.sort_by_key(|row| (row.case, row.metric));
    judged
}

/// Leaves out further metrics of which no trial of a case that was measured has a sample, in any environment: a read has
/// no time of syncing, and nothing is wrong with it.
fn leave_out_absent(rows: &mut Vec<Row>) {
    let measured = |row: &&Row| row.headline && row.baseline.is_some();
    let measured: BTreeSet<String> = rows.iter().filter(measured).map(|row| row.case.clone()).collect();
    let gives_nothing = |cell: &Cell| matches!(cell, Cell::Missing(Missing::Failed(failure)) if failure.kind == FailureKind::WrongWork);
    rows.retain(|row| {
        let is_absent = row.baseline.is_none() && row.cells.iter().all(gives_nothing);
        row.headline || !measured.contains(&row.case) || !is_absent
    });
}

fn into_row(judged: JudgedRow, plan: &Plan) -> Row {
    let case = &plan.cases[judged.case];
    let (mut cells, mut control) = (Vec::new(), None);
    for (target, judged) in plan.targets.iter().zip(judged.targets) {
        match (target.role, judged) {
            (Role::Subject, Some(Judged { cell, .. })) => cells.push(cell),
            (Role::Control, Some(Judged { cell, .. })) if control.is_none() => control = Some(cell),
            _ => {}
        }
    }
    Row {
        case: case.id.clone(),
        probe: case.case.probe.clone(),
        label: case.label.clone(),
        place: case.case.place.clone(),
        peer: case.case.peer.clone(),
        metric: case.metrics[judged.metric].clone(),
        headline: judged.metric == 0,
        baseline: judged.baseline,
        cells,
        control,
        published: Vec::new(),
    }
}

/// Computes the smallest ratio that the session could have found to differ from 1 in the median headline
/// cell, had every environment run as many rounds as the baseline did.
fn smallest_ratio(rows: &[JudgedRow]) -> Option<f64> {
    let effect = |row: &JudgedRow, judged: &Judged| {
        let judgement = judged.judgement.as_ref()?;
        // Starts that rounds share leave fewer units than rounds, in the same proportion to the end.
        let units = judgement.units as f64 / f64::from(judgement.reached.max(1)) * f64::from(row.reached);
        (units >= f64::from(FEWEST_UNITS)).then(|| smallest_effect(units as usize, judgement.deviation))
    };
    let headlines = rows.iter().filter(|row| row.metric == 0);
    let effects: Vec<f64> = headlines
        .flat_map(|row| row.targets.iter().flatten().filter_map(|judged| effect(row, judged)))
        .collect();
    (!effects.is_empty()).then(|| libm::exp(compute_median(&sort_values(&effects))))
}

fn certify(rows: &[Row], smallest_effect: Option<f64>, repeated: u32) -> Certificate {
    let headlines = || rows.iter().filter(|row| row.headline);
    let control: Vec<&Comparison> =
        headlines().filter_map(|row| row.control.as_ref()?.comparison()).collect();
    let subjects: Vec<&Comparison> =
        headlines().flat_map(|row| row.cells.iter().filter_map(Cell::comparison)).collect();
    let control_coloured = control.iter().filter(|c| differs(c)).count();
    Certificate {
        control_cells: control.len(),
        control_coloured,
        banner: is_more_than_chance(control.len(), control_coloured),
        smallest_effect,
        decided: subjects.iter().filter(|c| c.answer().is_decided()).count(),
        compared: subjects.len(),
        repeated,
        planted: None,
    }
}

/// Checks if a comparison of the control is a false difference that matters: not one that is known to be within the
/// margin, in typical and in mean costs.
fn differs(control: &Comparison) -> bool {
    match control.verdict {
        Verdict::Slower | Verdict::Faster | Verdict::SlowerUnclear | Verdict::FasterUnclear => true,
        Verdict::TypicallySame => control.low > 1.0 || control.high < 1.0,
        Verdict::SlightlySlower
        | Verdict::SlightlyFaster
        | Verdict::Same
        | Verdict::SlowerInFewStarts
        | Verdict::FasterInFewStarts
        | Verdict::SlowerUnconfirmed
        | Verdict::FasterUnconfirmed
        | Verdict::Inconclusive => false,
    }
}

/// Tells whether this many false differences or more come by chance in no more than one session in twenty.
fn is_more_than_chance(cells: usize, coloured: usize) -> bool {
    // One of one is one in twenty exactly, whichever way its logarithm was rounded.
    let rounding = 1e-9;
    coloured > 0 && at_least(cells as u64, coloured as u64, ALPHA) <= ALPHA + rounding
}

fn session_warnings(
    session: &Session,
    certificate: &Certificate,
    kept: u32,
) -> Vec<(Option<String>, Warning)> {
    let mut warnings: Vec<_> = session.warnings.iter().map(|warning| (None, warning.clone())).collect();
    if certificate.banner {
        let Certificate { control_coloured: coloured, control_cells: cells, .. } = *certificate;
        warnings.push((None, Warning::ControlColoured { coloured, cells }));
    }
    if certificate.repeated > 0 {
        warnings.push((None, Warning::RoundsRepeated { repeated: certificate.repeated, kept }));
    }
    if let Some(failed) = failed_trials(session) {
        warnings.push((None, failed));
    }
    if session.ending != Ending::Complete {
        let rounds = session.trials.iter().map(|trial| trial.round.saturating_add(1)).max().unwrap_or(0);
        let planned = Some(session.plan.rounds)
            .filter(|_| session.plan.budget_s.is_none() && !session.plan.until_decided);
        warnings.push((None, Warning::BrokenOff { rounds, planned }));
    }
    warnings
}

/// Counts the trials that failed, and finds their most frequent reason. The one that ran when a session was
/// stopped is not counted.
fn failed_trials(session: &Session) -> Option<Warning> {
    let failures = session.trials.iter().filter_map(|trial| trial.failure.as_ref());
    let mut reasons: BTreeMap<String, usize> = BTreeMap::new();
    for failure in failures.filter(|failure| failure.reason != BROKE_OFF) {
        *reasons.entry(failure.to_string()).or_default() += 1;
    }
    let (mostly, _) = reasons.iter().max_by_key(|(_, count)| **count)?;
    let mostly = clip_text(mostly.clone(), LONGEST_SHOWN);
    Some(Warning::SessionFailed { failed: reasons.values().sum(), of: session.trials.len(), mostly })
}

/// Finds the case of an environment whose rounds share the fewest starts, to warn once for the environment;
/// none where most rounds have a start for themselves.
fn shared_starts<'a>(cells: impl Iterator<Item = &'a Comparison>) -> Option<Warning> {
    let shared = cells.filter_map(|c| Some((c.starts?.starts, c.rounds)));
    shared
        .min_by_key(|(starts, rounds)| (*starts, std::cmp::Reverse(*rounds)))
        .filter(|(starts, rounds)| *rounds >= 2 * *starts)
        .map(|(starts, rounds)| Warning::SharedStarts { starts, rounds })
}

impl Judge<'_> {
    /// Counts the rounds of cases that count.
    fn rounds_kept(&self) -> u32 {
        let Some(baseline) = self.baseline else {
            return 0;
        };
        let cases = 0..self.progress.plan.cases.len();
        cases.map(|case| self.trials(case, baseline).len() as u32).sum()
    }
}
