//! From a session to its findings.

use std::collections::BTreeMap;
use std::num::NonZero;
use std::panic::resume_unwind;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use tare_data::encoding::clip_text;
use tare_data::failure::{BROKE_OFF, Failure, FailureKind};
use tare_data::metric::{Metric, Reading};
use tare_data::session::{Ending, Plan, PlannedCase, Role, Session, Trial};
use tare_data::warning::Warning;

use crate::findings::{Cell, Certificate, Comparison, Findings, Missing, Row, Verdict};
use crate::outcome::{Word, compare_outcomes};
use crate::statistics::binomial::at_least;
use crate::statistics::level::ALPHA;
use crate::statistics::signed_ranks::{Nulls, compute_median, sort_values};
use crate::verdicts::apart::commands::compare_commands;
use crate::verdicts::apart::planted::judge_planted_cost;
use crate::verdicts::correction::confirm_directions;
use crate::verdicts::doubts::ends::is_counted_by_runs;
use crate::verdicts::doubts::idle;
use crate::verdicts::doubts::lasting::add_lasting_work;
use crate::verdicts::rows::{Judge, Judged, JudgedRow, Options};
use crate::verdicts::stopping::FEWEST_UNITS;
use crate::verdicts::target_warnings::{list_own_limits, target_warnings};
use crate::verdicts::verdict::smallest_effect;

/// Bytes of a reason in a warning.
const LONGEST_SHOWN: usize = 200;

/// Computes the findings of a session.
pub fn compute_findings(session: &Session, options: &Options) -> Findings {
    let mut findings = of_rows(session, options, |_, _| {});
    add_lasting_work(&mut findings, session, options.margin);
    add_outcomes(&mut findings, session);
    findings.across_commands = compare_commands(session, options);
    findings
}

/// Adds the outcomes of commands, and that no pair of runs ended alike where their times were not measured for that.
fn add_outcomes(findings: &mut Findings, session: &Session) {
    findings.outcomes = compare_outcomes(session);
    for outcome in &findings.outcomes {
        let fails = matches!(outcome.word, Word::FailsOnly | Word::FailsEverywhere);
        let Some(at) = findings.subjects.iter().position(|name| *name == outcome.target).filter(|_| fails)
        else {
            continue;
        };
        for row in findings.rows.iter_mut().filter(|row| row.case == outcome.case) {
            if let Some(cell @ Cell::Missing(Missing::NotReached | Missing::Failed(_))) =
                row.cells.get_mut(at)
            {
                let reason = "no pair of runs ended alike and well";
                *cell = Cell::Missing(Missing::Failed(Failure::new(FailureKind::NotComparable, reason)));
            }
        }
    }
}

/// Compares each environment with the one that it was built upon: the findings of a session whose environments are built up
/// step by step. `below` has their places among the subjects; none is the baseline. The family that verdicts are corrected
/// for is that of all steps.
pub fn compute_step_findings(session: &Session, options: &Options, below: &[Option<usize>]) -> Findings {
    let targets = &session.plan.targets;
    let subjects: Vec<usize> = targets.list_role(Role::Subject).collect();
    let mut nulls = Nulls::default();
    of_rows(session, options, |judge, rows| {
        for (step, below) in subjects.iter().copied().zip(below) {
            let Some(below) = below.and_then(|below| subjects.get(below).copied()) else { continue };
            judge.compare_one(step, below);
            let mut of_cases: BTreeMap<usize, Vec<JudgedRow>> = BTreeMap::new();
            for row in rows.iter_mut() {
                let metrics = session.plan.cases[row.case].metrics.len();
                let judge_case = || judge.judge_rows(row.case, metrics, &BTreeMap::new(), &mut nulls);
                let against_below = of_cases.entry(row.case).or_insert_with(judge_case).get_mut(row.metric);
                row.targets[step] = against_below.and_then(|row| row.targets[step].take());
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
    let limits = list_own_limits(&judge);
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
    let subjects: Vec<String> =
        plan.targets.of_role(Role::Subject).map(|target| target.name.clone()).collect();
    warnings.extend(subjects.iter().enumerate().filter_map(|(at, target)| {
        Some((
            Some(target.clone()),
            shared_starts(rows.iter().filter_map(|row| row.cells.get(at)?.comparison()))?,
        ))
    }));
    rows.extend(idle::make_helpers_row(session));
    let compares_commands = plan.targets.compare_commands();
    Findings {
        baseline: session.baseline().map(|target| target.name.clone()).unwrap_or_default(),
        commands_in: session
            .baseline()
            .filter(|_| compares_commands)
            .map(|target| target.specification.to_string()),
        subjects,
        rows,
        lasting: Vec::new(),
        outcomes: Vec::new(),
        across_commands: Vec::new(),
        certificate,
        warnings,
        limits,
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

/// Leaves out further metrics for which no trial of a case that was measured has a sample, in any environment that was measured: a
/// read has no time of syncing and no request to write, and nothing is wrong with it.
fn leave_out_absent(rows: &mut Vec<Row>) {
    let is_missing = |cell: &Cell| matches!(cell, Cell::Missing(_));
    let measured = rows.iter().filter(|row| row.headline && row.baseline.is_some());
    let missing: BTreeMap<String, Vec<bool>> =
        measured.map(|row| (row.case.clone(), row.cells.iter().map(is_missing).collect())).collect();
    let gives_nothing = |metric: &Metric, cell: &Cell| match cell {
        Cell::Missing(Missing::Failed(failure)) => match failure.kind {
            FailureKind::NotSupported => metric.reading == Reading::Gauge,
            kind => kind == FailureKind::WrongWork,
        },
        _ => false,
    };
    rows.retain(|row| {
        let Some(missing) = missing.get(&row.case).filter(|_| !row.headline && row.baseline.is_none()) else {
            return true;
        };
        let mut cells = row.cells.iter().zip(missing);
        !cells.all(|(cell, is_missing)| *is_missing || gives_nothing(&row.metric, cell))
    });
}

fn into_row(judged: JudgedRow, plan: &Plan) -> Row {
    let case = &plan.cases[judged.case];
    let (mut cells, mut control) = (Vec::new(), None);
    for (target, judged) in judged.targets.into_iter().enumerate() {
        match (plan.targets.role(target), judged) {
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
        Verdict::TypicallySame => !control.interval.contains(1.0),
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
    // A chance of exactly one in twenty counts, whichever way its logarithm was rounded.
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
    if !matches!(session.ending, Ending::Complete | Ending::Early) {
        let rounds = session.trials.iter().map(|trial| trial.round.saturating_add(1)).max().unwrap_or(0);
        let planned = Some(session.plan.rounds)
            .filter(|_| session.plan.budget_s.is_none() && !session.plan.until_decided);
        warnings.push((None, Warning::BrokenOff { rounds, planned }));
    }
    warnings
}

/// Counts the trials that failed, and finds their most frequent reason: one of trials that failed by themselves, where there is one,
/// and not because the other side of their pair did. The one that ran when a session was stopped is not counted, nor are those of
/// commands whose runs are.
fn failed_trials(session: &Session) -> Option<Warning> {
    let cases: BTreeMap<&str, &PlannedCase> =
        session.plan.cases.iter().map(|planned| (planned.id.as_str(), planned)).collect();
    let by_runs = |trial: &&Trial| {
        cases.get(trial.case.as_str()).is_some_and(|planned| is_counted_by_runs(planned, trial))
    };
    let failed = session.trials.iter().filter(|trial| trial.failure.is_some());
    let failures = failed.filter(|trial| !by_runs(trial)).filter_map(|trial| trial.failure.as_ref());
    let mut reasons: BTreeMap<(bool, String), usize> = BTreeMap::new();
    for failure in failures.filter(|failure| failure.reason != BROKE_OFF) {
        *reasons.entry((failure.kind != FailureKind::Partner, failure.to_string())).or_default() += 1;
    }
    let ((_, mostly), _) = reasons.iter().max_by_key(|((is_own, _), count)| (*is_own, **count))?;
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
