//! From a session to its findings, and from a session under way to the environments that are decided.

use std::collections::BTreeMap;

use tare_data::session::{Ending, Plan, PlannedCase, Role, Session};
use tare_data::warning::Warning;

use crate::attribution::layer_cost;
use crate::findings::{Cell, Certificate, Comparison, Findings, Missing, Row};
use crate::index::{Index, Part, index};
use crate::statistics::binomial::at_least;
use crate::statistics::multiplicity::{FALSE_SHARE, benjamini_hochberg, e_benjamini_hochberg, holm};
use crate::statistics::signed_ranks::{Nulls, median, sorted};
use crate::verdicts::rows::{Judge, Judged, JudgedRow, MARGIN, Options, Progress, target_warnings};
use crate::verdicts::stopping::{ALPHA, Engine, FEWEST_TO_TELL};
use crate::verdicts::verdict::{is_decided, names_direction, smallest_effect};

/// Which environments need no more rounds of a case, in the order of `plan.environments`, after `rounds` rounds of it.
///
/// All false between looks: the rule looks only when it was planned to. At a look, a subject or control environment is done
/// when its headline's verdict is decided, exactly as [`findings`] would give it from the same trials, or when it has
/// a gap that more rounds will not fill. The baseline is done when every other environment is.
pub fn decide(progress: Progress<'_>, case: &str, rounds: u32, options: &Options) -> Vec<bool> {
    let targets = progress.plan.targets.len();
    let planned = progress.plan.cases.iter().position(|planned| planned.id == case);
    let mut judge = Judge::new(progress, options, |t| t.case == case && t.round < rounds);
    let Some(planned) = planned.filter(|_| judge.schedule.is_look(rounds)) else {
        return vec![false; targets];
    };
    let metrics = deciding(&progress.plan.cases[planned]);
    let rows = judge.rows(planned, metrics.last().map_or(0, |last| last + 1), &BTreeMap::new());
    let is_look = |rounds| judge.schedule.is_look(rounds);
    let is_done = |judged: &Judged| match &judged.cell {
        // An environment that missed rounds is judged where it stands, but a verdict between looks stops nothing.
        Cell::Compared(comparison) => comparison.decided_at.is_some_and(is_look),
        Cell::Missing(Missing::NotReached) => false,
        Cell::Observed(_) | Cell::Missing(_) => true,
    };
    let done_in = |target: usize| -> Option<bool> {
        let cells = metrics.iter().map(|metric| rows[*metric].targets[target].as_ref().map(is_done));
        cells.collect::<Option<Vec<bool>>>().map(|done| done.into_iter().all(|done| done))
    };
    // A case without a metric has nothing to wait for.
    let done: Vec<Option<bool>> = (0..targets).map(done_in).collect();
    let others = done.iter().flatten().all(|done| *done);
    done.into_iter().map(|done| done.unwrap_or(others)).collect()
}

/// The metrics of a case that say when an environment leaves it, in their order: those that the plan names, or the headline.
fn deciding(case: &PlannedCase) -> Vec<usize> {
    let named = |at: &usize| case.decide.contains(&case.metrics[*at].name);
    let metrics: Vec<usize> = (0..case.metrics.len()).filter(named).collect();
    if metrics.is_empty() { (0..case.metrics.len().min(1)).collect() } else { metrics }
}

/// What a session found.
pub fn findings(session: &Session, options: &Options) -> Findings {
    let plan = &session.plan;
    let mut judge = Judge::new(Progress::of(session), options, |_| true);
    let (of_targets, canaries) = target_warnings(&judge);
    let mut judged: Vec<JudgedRow> = Vec::new();
    for (at, case) in plan.cases.iter().enumerate() {
        judged.extend(judge.rows(at, case.metrics.len(), &canaries));
    }
    colour(&mut judged, plan, options);
    let smallest = smallest_ratio(&judged);
    let kept = judge.rounds_kept();
    let rows: Vec<Row> = judged.into_iter().map(|row| into_row(row, plan)).collect();
    let certificate = certify(&rows, smallest, session.repeated.len() as u32);
    let mut warnings = session_warnings(session, &certificate, kept);
    warnings.extend(
        of_targets.into_iter().map(|(target, warning)| (Some(plan.targets[target].name.clone()), warning)),
    );
    let of_role = |role: Role| plan.targets.iter().filter(move |target| target.role == role);
    let subjects: Vec<String> = of_role(Role::Subject).map(|target| target.name.clone()).collect();
    warnings.extend(subjects.iter().enumerate().filter_map(|(at, target)| {
        Some((
            Some(target.clone()),
            shared_starts(rows.iter().filter_map(|row| compared(row.cells.get(at)?)))?,
        ))
    }));
    Findings {
        baseline: session.baseline().map(|target| target.name.clone()).unwrap_or_default(),
        costs: subjects.iter().enumerate().map(|(at, target)| layer_cost(target, at, &rows)).collect(),
        subjects,
        rows,
        certificate,
        warnings,
        ending: session.ending,
    }
}

/// The index of every subject environment, in the order of the plan: the geometric mean of its headline ratios.
///
/// `weights` holds the study's weight of each case that is part of the index, by id; other cases stay out of it.
pub fn indices(
    session: &Session,
    options: &Options,
    weights: &BTreeMap<String, f64>,
) -> Vec<(String, Index)> {
    let plan = &session.plan;
    let mut judge = Judge::new(Progress::of(session), options, |trial| weights.contains_key(&trial.case));
    let mut headlines: Vec<(&str, f64, JudgedRow)> = Vec::new();
    for (at, case) in plan.cases.iter().enumerate() {
        let Some(weight) = weights.get(&case.id) else { continue };
        headlines
            .extend(judge.rows(at, 1, &BTreeMap::new()).into_iter().map(|row| (&*case.id, *weight, row)));
    }
    let margin = options.margin.filter(|margin| margin.is_finite() && *margin > 0.0).unwrap_or(MARGIN);
    let of_target = |at: usize| {
        let pairs = |row: &'_ JudgedRow| row.targets[at].as_ref().and_then(|judged| judged.pairs.clone());
        let parts: Vec<Part<'_>> = headlines
            .iter()
            .map(|(case, weight, row)| Part { case, weight: *weight, pairs: pairs(row) })
            .collect();
        index(&parts, &judge.schedule, options.engine, margin, &mut Nulls::default())
    };
    let subjects = plan.targets.iter().enumerate().filter(|(_, target)| target.role == Role::Subject);
    subjects.map(|(at, target)| (target.name.clone(), of_target(at))).collect()
}

fn compared(cell: &Cell) -> Option<&Comparison> {
    match cell {
        Cell::Compared(comparison) => Some(comparison),
        Cell::Observed(_) | Cell::Missing(_) => None,
    }
}

/// Marks the verdicts that may be coloured: headline cells of subjects by the correction for many cells, control
/// cells by their own verdict, because they are counted against chance as a whole.
fn colour(rows: &mut [JudgedRow], plan: &Plan, options: &Options) {
    let mut family: Vec<(&mut Comparison, f64, f64)> = Vec::new();
    for row in rows.iter_mut().filter(|row| row.metric == 0) {
        for (target, judged) in plan.targets.iter().zip(&mut row.targets) {
            let Some(Judged { cell: Cell::Compared(comparison), judgement: Some(judgement), .. }) = judged
            else {
                continue;
            };
            match target.role {
                Role::Subject => family.push((comparison, judgement.p, judgement.e)),
                Role::Control => comparison.coloured = names_direction(comparison.verdict),
                Role::Baseline => {}
            }
        }
    }
    let p: Vec<f64> = family.iter().map(|(_, p, _)| *p).collect();
    let e: Vec<f64> = family.iter().map(|(_, _, e)| *e).collect();
    let kept = match (options.strict, options.engine) {
        (true, _) => holm(&p, ALPHA),
        (false, Engine::GroupSequential) => benjamini_hochberg(&p, FALSE_SHARE),
        (false, Engine::AnytimeValid) => e_benjamini_hochberg(&e, FALSE_SHARE),
    };
    for ((comparison, ..), kept) in family.into_iter().zip(kept) {
        comparison.coloured = kept && names_direction(comparison.verdict);
    }
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

/// The smallest ratio that the session could have told from 1 in the median headline cell, had every environment run as many
/// rounds as the baseline did.
fn smallest_ratio(rows: &[JudgedRow]) -> Option<f64> {
    let effect = |row: &JudgedRow, judged: &Judged| {
        let judgement = judged.judgement.as_ref()?;
        // Starts shared by rounds leave fewer units than rounds, in the same proportion to the end.
        let a_round = judgement.units as f64 / judgement.rounds.max(1) as f64;
        let units = (f64::from(row.reached) * a_round) as usize;
        (units >= FEWEST_TO_TELL as usize).then(|| smallest_effect(units, judgement.deviation))
    };
    let headlines = rows.iter().filter(|row| row.metric == 0);
    let effects: Vec<f64> = headlines
        .flat_map(|row| row.targets.iter().flatten().filter_map(|judged| effect(row, judged)))
        .collect();
    (!effects.is_empty()).then(|| median(&sorted(&effects)).exp())
}

fn certify(rows: &[Row], smallest_effect: Option<f64>, repeated: u32) -> Certificate {
    let headlines = || rows.iter().filter(|row| row.headline);
    let control: Vec<&Comparison> = headlines().filter_map(|row| compared(row.control.as_ref()?)).collect();
    let subjects: Vec<&Comparison> =
        headlines().flat_map(|row| row.cells.iter().filter_map(compared)).collect();
    let control_coloured = control.iter().filter(|c| c.coloured).count();
    Certificate {
        control_cells: control.len(),
        control_coloured,
        banner: is_more_than_chance(control.len(), control_coloured),
        smallest_effect,
        decided: subjects.iter().filter(|c| is_decided(c.verdict)).count(),
        compared: subjects.len(),
        repeated,
    }
}

/// Whether so many false differences among so many cells come by chance in no more than one session in twenty.
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
    let mut warnings = Vec::new();
    if certificate.banner {
        let Certificate { control_coloured: coloured, control_cells: cells, .. } = *certificate;
        warnings.push((None, Warning::ControlColoured { coloured, cells }));
    }
    if certificate.repeated > 0 {
        warnings.push((None, Warning::RoundsRepeated { repeated: certificate.repeated, kept }));
    }
    if session.ending != Ending::Complete {
        let rounds = session.trials.iter().map(|trial| trial.round.saturating_add(1)).max().unwrap_or(0);
        warnings.push((None, Warning::BrokenOff { rounds, planned: session.plan.rounds }));
    }
    warnings
}

/// The case of an environment whose rounds share the fewest starts, said once for the environment.
fn shared_starts<'a>(cells: impl Iterator<Item = &'a Comparison>) -> Option<Warning> {
    let shared = cells.filter_map(|c| Some((c.starts?.starts, c.rounds)));
    shared
        .min_by_key(|(starts, rounds)| (*starts, std::cmp::Reverse(*rounds)))
        .map(|(starts, rounds)| Warning::SharedStarts { starts, rounds })
}

impl Judge<'_> {
    /// Rounds of cases that count.
    fn rounds_kept(&self) -> u32 {
        let Some(baseline) = self.baseline else {
            return 0;
        };
        let cases = 0..self.progress.plan.cases.len();
        cases.map(|case| self.trials(case, baseline).len() as u32).sum()
    }
}
