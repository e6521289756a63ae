//! Preparing a session: every environment entered and described, every case calibrated, the plan written down.

use std::collections::BTreeMap;

use tare_analysis::verdicts::stopping::planned_looks;
use tare_data::budget::name_budget;
use tare_data::facts::Facts;
use tare_data::failure::{Failure, FailureKind};
use tare_data::session::demand::Counted;
use tare_data::session::{Inside, Plan, PlannedCase, Planted, Role, Session, Side, Sides, TargetFacts};
use tare_record::{Entry, Writer};

use crate::asked::progress::{Event, Observer};
use crate::error::{ErrorKind, LabError};
use crate::session::arena::{Arena, Started, Turning};
use crate::session::plan::amount::Pace;
use crate::session::plan::before::{calibrate_case, count_demand};
use crate::session::plan::budget::{
    self, RoundTime, add_up_trials, describe_short_budget, estimate_needed_s, last_moment_ns,
};
use crate::session::plan::calibrated::Calibrated;
use crate::session::plan::fitting::{FEWEST_CALIBRATED, Fitting};
use crate::session::plan::hopeless::{
    advise_on_command, advise_on_environment, find_failure_of_all, require_baseline, require_subject,
};
use crate::session::plan::lasting::choose_lasting;
use crate::session::plan::outcomes::{estimate_starts_s, limit_run};
use crate::session::plan::planting::Room;
use crate::session::plan::spacing::RoundTimes;
use crate::session::plan::staging::{LeftOut, find_left_out};
use crate::session::plan::starts::{Start, describe_few_starts, short_of_starts};
use crate::storage::places;
use crate::study::SelectedCase;
use crate::study::startup;

/// Fact of an environment: how its trials take turns with their partners', or why they do not.
pub const TURNS_FACT: &str = "session.turns";

/// Share of a budget after which no further case is calibrated, so that those before it are measured.
const CALIBRATED_SHARE: f64 = 0.5;

/// Rounds of a session that only its user ends.
pub(crate) const ENDLESS: u32 = 1_000_000;

/// Request for a plan.
pub struct PlanRequest<'a> {
    pub study: &'a str,
    pub selected: Vec<SelectedCase>,
    pub sides: Sides,
    pub seed: u64,
    /// A fixed number of rounds, with one analysis at the end.
    pub rounds: Option<u32>,
    /// Nothing is decided before this many, where there is room for them; see `Study::least_rounds`.
    pub least_rounds: u32,
    /// Seconds for the whole session, preparation included; none with `rounds`.
    pub budget_s: Option<f64>,
    /// See [`Plan::has_control`].
    pub control_every: u32,
    /// True when only decisions end the session; without `rounds` and `budget_s`.
    pub until_decided: bool,
    /// Content of every environment.
    pub inside: Inside,
    /// True when the demand of each command is counted before the rounds; then nobody compares what commands do.
    pub counts_demand: bool,
    /// True when work that lasts is measured where there is time for it.
    pub lasting: bool,
    /// True when nothing is measured without any subject. On a node of a fleet the baseline is compared with other nodes'.
    pub needs_subject: bool,
}

/// Rounds from one run of a control to the next, unless more are wanted: controls certify a session and
/// sharpen nothing, so that each of their trials is one less for a comparison.
pub const CONTROL_EVERY: u32 = 5;

/// A plan, with what the loop needs besides it.
#[derive(Debug)]
pub struct Prepared {
    pub plan: Plan,
    pub pilot: Pilot,
}

/// A cell of the table: where its case and its environment stand in the plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct CellIndex {
    pub case: usize,
    pub target: usize,
}

/// Results of the preparation that are not part of the plan.
#[derive(Debug, Default)]
pub struct Pilot {
    /// Start of each environment; the failure where it could not be entered.
    pub started: Vec<Result<Started, Failure>>,
    /// Expected time of a trial, where one is known.
    pub cost_ns: BTreeMap<CellIndex, f64>,
    /// True when each trial is a start, so that rounds need none.
    pub trials_are_starts: bool,
    /// The slowest run of each case in the baseline so far, where one is known.
    pub slowest_ns: BTreeMap<usize, f64>,
}

/// A start that takes longer is named: it is most of the session's time.
const SLOW_START_NS: u64 = 3_000_000_000;

/// Enters and describes every environment but those that are left out, and writes its facts down.
pub fn enter_all(
    targets: &Sides,
    left_out: &[LeftOut],
    arena: &mut dyn Arena,
    writer: &mut Writer,
    observer: &mut dyn Observer,
) -> Result<Vec<Result<Started, Failure>>, LabError> {
    let mut all = Vec::new();
    for (index, target) in targets.iter().enumerate() {
        let own = left_out.iter().find(|out| out.target == index);
        let out = own.or_else(|| left_out.iter().find(|out| targets.partner_of(index) == Some(out.target)));
        if let Some(out) = out {
            if own.is_some() {
                observer.observe_event(Event::Note(out.describe(&target.name)));
            }
            writer.append(&failed_facts(target, &out.to_failure()))?;
            all.push(Err(out.to_failure()));
            continue;
        }
        observer.observe_event(Event::Entering { target: &target.name });
        let started = arena.enter_environment(index);
        if let Some(error) = arena.host_failure() {
            return Err(error);
        }
        if started.is_err() && arena.is_interrupted() {
            return Err(LabError::interruption_error());
        }
        let mut started = started;
        if let Ok(started) = &mut started {
            prove(targets, index, started, arena);
        }
        match &started {
            Ok(started) => {
                if started.elapsed_ns > SLOW_START_NS {
                    let seconds = started.elapsed_ns as f64 / 1e9;
                    let note = format!(
                        "{} took {seconds:.1} s to enter, and is entered anew for each start",
                        target.name
                    );
                    observer.observe_event(Event::Note(note));
                }
                writer.append(&facts_of(target, started))?;
            }
            Err(failure) if targets.role(index) == Role::Baseline => {
                return Err(LabError::new(
                    ErrorKind::Environment,
                    format!("cannot enter the baseline '{}'", target.name),
                )
                .with_cause(failure.clone())
                .with_hint("tare check shows what each environment needs"));
            }
            Err(failure) => {
                observer.observe_event(Event::Note(format!("{} cannot be entered: {failure}", target.name)));
                writer.append(&failed_facts(target, failure))?;
            }
        }
        all.push(started);
    }
    Ok(all)
}

fn failed_facts(target: &Side, failure: &Failure) -> Entry {
    let mut outside = Facts::default();
    outside.add_fact("failure", failure.to_string());
    let (inside, places) = Default::default();
    Entry::Facts(TargetFacts { target: target.name.clone(), inside, outside, places })
}

/// Proves that an environment's trials can take turns with its partner's, and notes how, or why not.
fn prove(targets: &Sides, index: usize, started: &mut Started, arena: &mut dyn Arena) {
    let Some(partner) = targets.partner_of(index) else { return };
    let proven = arena.prove_turns([index, partner]);
    started.outside.add_fact(
        TURNS_FACT,
        match &proven {
            Ok(Turning::OneProcessor) => "on one processor".to_owned(),
            Ok(Turning::Anywhere) => "on any processor".to_owned(),
            Err(failure) => format!("none: {}", failure.reason),
        },
    );
    started.takes_turns = proven.is_ok();
}

/// Drops looks before a number of rounds, and adds one at it; only the last stays where fewer rounds fit.
pub(crate) fn not_before(least: u32, looks: Vec<u32>) -> Vec<u32> {
    let last = looks.last().copied();
    let at = Some(least).filter(|least| *least > 0 && last.is_some_and(|last| *least < last));
    let later = looks.into_iter().filter(|look| *look > least || (*look == least && at.is_none()));
    let kept: Vec<u32> = at.into_iter().chain(later).collect();
    if kept.is_empty() { last.into_iter().collect() } else { kept }
}

/// Enters every environment, calibrates every case in each, and writes facts and plan down.
pub fn prepare_session(
    plan_request: PlanRequest<'_>,
    arena: &mut dyn Arena,
    writer: &mut Writer,
    observer: &mut dyn Observer,
) -> Result<Prepared, LabError> {
    let PlanRequest { study, selected, sides: mut targets, seed, rounds, budget_s, .. } = plan_request;
    let PlanRequest { control_every, until_decided, inside, counts_demand, needs_subject, .. } = plan_request;
    let planted = targets.take_planted();
    let fitting = budget_s.map(|budget_s| Fitting::new(&selected, &targets, (budget_s, !counts_demand)));
    let unfit = fitting.as_ref().map(|fitting| fitting.find_unfit(&[], |_| None, now_s(arena)));
    let mut started = enter_all(&targets, &unfit.unwrap_or_default(), arena, writer, observer)?;
    let given = (selected, Calibrating { seed, needs_subject, budget_s, fitting: fitting.as_ref() });
    let mut cases = calibrate_all(given, (&mut started, &targets), arena, observer)?;
    let demands = if counts_demand { count_all(&cases, &started[0], seed, arena)? } else { BTreeMap::new() };
    let left_s = budget_s.map(|budget_s| (budget_s - arena.now_ns() as f64 / 1e9).max(1.0));
    let trials_are_starts = cases.iter().all(Calibrated::is_start);
    if let (None, Some(left_s)) = (rounds, left_s) {
        leave_out_slow((&mut cases, !counts_demand), &targets, &mut started, left_s, arena, observer);
    }
    let start = |at: usize| find_start_s(&started[at]);
    let left_s = left_s.map(|s| s - estimate_starts_s((&cases[..], &targets), start, |_| !counts_demand, s));
    let starts = if trials_are_starts { Vec::new() } else { starts(&started) };
    let (scale, looks) = match (rounds, left_s) {
        (Some(rounds), _) => (1.0, vec![rounds]),
        (None, None) => (1.0, not_before(plan_request.least_rounds, planned_looks(ENDLESS))),
        (None, Some(left_s)) => {
            let round = |scale| RoundTime::estimate_round(&cases, &targets, scale);
            note_few_starts(&targets, &starts, left_s, observer);
            let (scale, rounds) = budget::rounds_within(left_s, &starts, round);
            (scale, not_before(plan_request.least_rounds, planned_looks(rounds)))
        }
    };
    // With one look, at the end, all are to have the same rounds.
    let shares = left_s.filter(|_| looks.len() > 1);
    let every = shares.map(|left_s| spacing(&cases, &targets, &starts, scale, left_s)).unwrap_or_default();
    let room = make_room(&cases, &targets, &started, scale, (rounds, left_s));
    let (mut planned, mut cost_ns) = (plan_cases(&cases, scale, &targets), costs(&cases, scale));
    let mut planted_in = None;
    if let (Some(target), Some((case, rounds))) = (planted, room.choose_planting(seed))
        && let Ok(entered) = enter_planted(&target, targets.len(), arena, writer)?
    {
        cost_ns.insert(CellIndex { case, target: targets.len() }, room.trial_ns(case));
        let amount = cases[case].pair_amount(scale, 0).filter(|_| entered.takes_turns);
        planned[case].pairs.extend(amount.map(|amount| (target.name.clone(), amount)));
        planted_in = Some(Planted { case: planned[case].id.clone(), rounds });
        targets.add_planted(target);
        started.push(Ok(entered));
    }
    let plan = Plan {
        study: study.to_owned(),
        seed,
        rounds: *looks.last().expect("there is always a look"),
        looks,
        budget_s,
        until_decided,
        planted: planted_in,
        control_every,
        every,
        lasting: choose_lasting(plan_request.lasting, &targets, &cases, (budget_s, until_decided)),
        inside,
        demands,
        targets,
        cases: planned,
    };
    writer.append(&Entry::Plan(plan.clone()))?;
    writer.sync()?;
    let pilot = Pilot { started, cost_ns, trials_are_starts, slowest_ns: find_slowest(&cases) };
    Ok(Prepared { plan, pilot })
}

/// Plans each case, with short names for places.
fn plan_cases(cases: &[Calibrated], scale: f64, targets: &Sides) -> Vec<PlannedCase> {
    let brief = places::shorten_names(cases.iter().filter_map(|case| case.selected.case.place.as_deref()));
    cases.iter().map(|case| case.plan(scale, targets, &brief)).collect()
}

/// Finds the slowest run of the baseline in each case that has one.
fn find_slowest(cases: &[Calibrated]) -> BTreeMap<usize, f64> {
    cases.iter().enumerate().filter_map(|(at, case)| Some((at, case.baseline_ns()?))).collect()
}

/// Measures the room of a session for a planted cost.
fn make_room(
    cases: &[Calibrated],
    targets: &Sides,
    started: &[Result<Started, Failure>],
    scale: f64,
    (rounds, left_s): (Option<u32>, Option<f64>),
) -> Room {
    Room {
        trials_s: cases.iter().map(|case| case.plantable_s(scale)).collect(),
        start_s: start_s(&started[0]),
        round_s: RoundTime::estimate_round(cases, targets, scale).all_s,
        rounds,
        left_s,
    }
}

/// Enters the planted environment, which nothing is lost without.
fn enter_planted(
    target: &Side,
    index: usize,
    arena: &mut dyn Arena,
    writer: &mut Writer,
) -> Result<Result<Started, Failure>, LabError> {
    let mut entered = arena.enter_environment(index);
    arena.host_failure().map_or(Ok(()), Err)?;
    if let Ok(started) = &mut entered {
        started.takes_turns = arena.prove_turns([index, 0]).is_ok();
    }
    if entered.is_err() && arena.is_interrupted() {
        return Err(LabError::interruption_error());
    }
    if let Ok(started) = &entered {
        writer.append(&facts_of(target, started))?;
    }
    Ok(entered)
}

fn facts_of(target: &Side, started: &Started) -> Entry {
    Entry::Facts(TargetFacts {
        target: target.name.clone(),
        inside: started.inside.clone(),
        outside: started.outside.clone(),
        places: started.places.clone(),
    })
}

/// Leaves out environments for whose first look the budget has no time, so that the others are decided. Containers come first, then
/// what was named first. Notes if it is too short all the same.
fn leave_out_slow(
    (cases, has_outcomes): (&mut [Calibrated], bool),
    targets: &Sides,
    started: &mut [Result<Started, Failure>],
    left_s: f64,
    arena: &mut dyn Arena,
    observer: &mut dyn Observer,
) {
    let start_s = |at: usize| find_start_s(&started[at]);
    let left_out = find_left_out((&*cases, targets), start_s, has_outcomes, (now_s(arena), left_s));
    leave_out(left_out, (cases, targets, started), arena, observer);
    note_short_budget((cases, has_outcomes), targets, started, left_s, arena, observer);
}

/// Leaves environments that do not fit, with their controls.
fn leave_out(
    left_out: Vec<LeftOut>,
    (cases, targets, started): (&mut [Calibrated], &Sides, &mut [Result<Started, Failure>]),
    arena: &mut dyn Arena,
    observer: &mut dyn Observer,
) {
    for left_out in left_out {
        if started[left_out.target].is_err() {
            continue;
        }
        let (target, failure) = (left_out.target, left_out.to_failure());
        observer.observe_event(Event::Note(left_out.describe(&targets[target].name)));
        let is_its = |at: &usize| *at == target || targets.partner_of(*at) == Some(target);
        for at in (0..targets.len()).filter(is_its) {
            arena.leave_environment(at);
            started[at] = Err(failure.clone());
            cases.iter_mut().for_each(|case| case.paces[at] = Err(failure.clone()));
        }
    }
}

/// Warns of environments for whose verdicts the budget has too few starts.
fn note_few_starts(targets: &[Side], starts: &[Start], left_s: f64, observer: &mut dyn Observer) {
    for (target, starts) in short_of_starts(starts, left_s) {
        observer.observe_event(Event::Note(describe_few_starts(&targets[target].name, starts)));
    }
}

/// Says that a budget is too short for the first look at commands, whose time nobody knew before.
fn note_short_budget(
    (cases, has_outcomes): (&[Calibrated], bool),
    targets: &Sides,
    started: &[Result<Started, Failure>],
    left_s: f64,
    arena: &dyn Arena,
    observer: &mut dyn Observer,
) {
    // A bill says beside its parts what the budget had no time for.
    let is_compared = has_outcomes && cases.iter().any(Calibrated::is_command);
    let starts_s = started.iter().map(start_s).sum();
    let needed_s = estimate_needed_s((cases, cases.len()), targets, starts_s, now_s(arena));
    let start = |at: usize| find_start_s(&started[at]);
    let needed_s = needed_s + estimate_starts_s((cases, targets), start, |_| has_outcomes, needed_s);
    if is_compared && needed_s > now_s(arena) + left_s {
        observer.observe_event(Event::Note(describe_short_budget(needed_s)));
    }
}

fn now_s(arena: &dyn Arena) -> f64 {
    arena.now_ns() as f64 / 1e9
}

/// Leaves environments that the first cases show not to fit.
fn leave_out_unfit(
    fitting: Option<&Fitting<'_>>,
    (cases, targets, started): (&mut [Calibrated], &Sides, &mut [Result<Started, Failure>]),
    arena: &mut dyn Arena,
    observer: &mut dyn Observer,
) {
    if let Some(fitting) = fitting.filter(|_| cases.len() >= FEWEST_CALIBRATED) {
        let known_s = |at: usize| Some(start_s(&started[at]));
        let unfit = fitting.find_unfit(cases, known_s, now_s(arena));
        leave_out(unfit, (cases, targets, started), arena, observer);
    }
}

/// Ways in which all cases are calibrated.
#[derive(Clone, Copy)]
struct Calibrating<'a> {
    fitting: Option<&'a Fitting<'a>>,
    seed: u64,
    needs_subject: bool,
    budget_s: Option<f64>,
}

/// Calibrates every case in every environment that was entered, as long as that leaves half of the budget; fails where nothing can be
/// measured or, if a subject is needed, compared.
fn calibrate_all(
    (selected, Calibrating { fitting, seed, needs_subject, budget_s }): (Vec<SelectedCase>, Calibrating<'_>),
    (started, sides): (&mut [Result<Started, Failure>], &Sides),
    arena: &mut dyn Arena,
    observer: &mut dyn Observer,
) -> Result<Vec<Calibrated>, LabError> {
    let until_ns = budget_s.map(|budget_s| (budget_s * 1e9) as u64);
    let starts_s: f64 = started.iter().map(start_s).sum();
    let nobody = Sides::default();
    let needing = if needs_subject { sides } else { &nobody };
    require_subject(needing, |target| started[target].as_ref().err(), advise_on_environment)?;
    let (targets, all, of) = (started.len(), selected.len(), selected.len() * started.len());
    let takes_turns =
        |started: &Result<Started, Failure>| started.as_ref().is_ok_and(|started| started.takes_turns);
    let takes_turns: Vec<bool> = started.iter().map(takes_turns).collect();
    let left_out = |of: (&[Calibrated], usize), now_s: f64| {
        let budget = name_budget(estimate_needed_s(of, sides, starts_s, now_s));
        Failure::new(FailureKind::LeftOut, format!("the budget has no time for it; {budget} has"))
    };
    let mut cases: Vec<Calibrated> = Vec::new();
    let mut without_time: Option<Failure> = None;
    for selected in selected {
        let is_late = budget_s.is_some_and(|budget_s| now_s(arena) > budget_s * CALIBRATED_SHARE);
        if is_late && !cases.is_empty() && without_time.is_none() {
            let failure = left_out((&cases, all), now_s(arena));
            let left = all - cases.len();
            let note = format!("{left} of {all} cases are left out: {}", failure.reason);
            observer.observe_event(Event::Note(note));
            without_time = Some(failure);
        }
        if let Some(failure) = &without_time {
            let paces = vec![Err(failure.clone()); targets];
            cases.push(Calibrated { selected, paces, takes_turns: takes_turns.clone() });
            continue;
        }
        let mut paces: Vec<Result<Pace, Failure>> = Vec::new();
        for (index, started) in started.iter().enumerate() {
            observer.observe_event(Event::Calibrating { done: cases.len() * targets + index, of });
            // A control is as quick as the environment that it repeats, which stands before it.
            let repeats = sides[index].repeats.as_deref();
            let repeated = repeats.and_then(|name| paces.get(sides.find(name)?).cloned());
            // Each may take as long as the baseline.
            let before = paces.first().and_then(|pace| pace.as_ref().ok()).copied().filter(|pace| {
                let ends_ns = arena.now_ns() as f64 + pace.operation_ns + pace.overhead_ns;
                until_ns.is_some_and(|until_ns| ends_ns > last_moment_ns(until_ns) as f64)
            });
            paces.push(match (started, repeated, before) {
                (Err(failure), _, _) => Err(failure.clone()),
                (Ok(_), Some(repeated), _) => repeated,
                (Ok(_), None, Some(pace)) => {
                    let (paces, takes_turns) = (vec![Ok(pace); targets], takes_turns.clone());
                    let alike = Calibrated { selected: selected.clone(), paces, takes_turns };
                    Err(left_out((&[alike], all), now_s(arena) * targets as f64))
                }
                (Ok(started), None, None) => {
                    let limited = limit_case(selected.on_side(&sides[index]), paces.first());
                    calibrate_case(&limited, (index, started), seed, until_ns, arena)?
                }
            });
        }
        cases.push(Calibrated { selected, paces, takes_turns: takes_turns.clone() });
        leave_out_unfit(fitting, (&mut cases, sides, started), arena, observer);
    }
    require_baseline(&cases, &sides[0].name, needing.list_role(Role::Subject).next().is_some())?;
    let are_commands = cases.iter().all(Calibrated::is_command);
    let advise = if are_commands { advise_on_command } else { advise_on_environment };
    require_subject(needing, |target| find_failure_of_all(&cases, target), advise)?;
    Ok(cases)
}

/// Limits the runs of a case by the pace of the baseline, where that is known.
fn limit_case(selected: SelectedCase, baseline: Option<&Result<Pace, Failure>>) -> SelectedCase {
    let slowest_ns = baseline.and_then(|pace| Some(pace.as_ref().ok()?.operation_ns));
    SelectedCase { case: limit_run(selected.case, slowest_ns), ..selected }
}

/// Counts what each command asks of the baseline.
fn count_all(
    cases: &[Calibrated],
    baseline: &Result<Started, Failure>,
    seed: u64,
    arena: &mut dyn Arena,
) -> Result<BTreeMap<String, Counted>, LabError> {
    let Ok(started) = baseline else { return Ok(BTreeMap::new()) };
    let commands = cases.iter().filter(|case| case.is_command()).map(|case| &case.selected);
    commands
        .map(|selected| Ok((selected.case.to_string(), count_demand(&selected.case, started, seed, arena)?)))
        .collect()
}

/// Estimates the time of a trial, wherever a calibration found a pace.
fn costs(cases: &[Calibrated], scale: f64) -> BTreeMap<CellIndex, f64> {
    let mut costs = BTreeMap::new();
    for (case, calibrated) in cases.iter().enumerate() {
        let known = calibrated.trials_ns(scale);
        costs.extend(known.into_iter().map(|(target, ns)| (CellIndex { case, target }, ns)));
    }
    costs
}

/// Finds the environments that only take part in some rounds, and their spacing.
fn spacing(
    cases: &[Calibrated],
    targets: &Sides,
    starts: &[Start],
    scale: f64,
    left_s: f64,
) -> BTreeMap<String, u32> {
    let trials_s = add_up_trials(cases, targets.len(), scale);
    let is_measured = |target: &usize| targets.role(*target) == Role::Subject && trials_s[*target] > 0.0;
    let subjects: Vec<usize> = (0..targets.len()).filter(is_measured).collect();
    let round_s = |target: usize| trials_s[target] + starts.get(target).map_or(0.0, |start| start.s);
    let subjects_s: Vec<f64> = subjects.iter().map(|subject| round_s(*subject)).collect();
    let times = RoundTimes { baseline_s: round_s(0), subjects_s: &subjects_s, left_s };
    let named = |(subject, every): (usize, u32)| (targets[subject].name.clone(), every);
    subjects.into_iter().zip(times.compute_spacing()).filter(|(_, every)| *every > 1).map(named).collect()
}

/// Estimates the time of a start of each environment; nothing where it cannot be entered.
fn starts(started: &[Result<Started, Failure>]) -> Vec<Start> {
    let start = |started: &Result<Started, Failure>| Start { made: 0, s: start_s(started) };
    started.iter().map(start).collect()
}

/// Returns the time of a start, in seconds; nothing where it failed.
pub fn start_s(started: &Result<Started, Failure>) -> f64 {
    find_start_s(started).unwrap_or(0.0)
}

fn find_start_s(started: &Result<Started, Failure>) -> Option<f64> {
    Some(started.as_ref().ok()?.elapsed_ns as f64 / 1e9)
}

impl Pilot {
    /// Rebuilds the pilot of a session that is resumed: its trials show the time of trials.
    pub fn from_session(session: &Session, started: Vec<Result<Started, Failure>>) -> Self {
        let plan = &session.plan;
        let cases: BTreeMap<&str, usize> = plan.cases.iter().map(|c| c.id.as_str()).zip(0..).collect();
        let targets: BTreeMap<&str, usize> = plan.targets.iter().map(|t| t.name.as_str()).zip(0..).collect();
        let mut cost_ns: BTreeMap<CellIndex, f64> = BTreeMap::new();
        for trial in &session.trials {
            let at = (cases.get(trial.case.as_str()), targets.get(trial.target.as_str()));
            let (Some(&case), Some(&target)) = at else { continue };
            let longest = cost_ns.entry(CellIndex { case, target }).or_default();
            *longest = longest.max(trial.host_elapsed_ns as f64);
        }
        let trials_are_starts = plan.cases.iter().all(|case| startup::is_start(&case.case));
        Pilot { started, cost_ns, trials_are_starts, slowest_ns: BTreeMap::new() }
    }
}
