//! Preparing a session: every environment entered and described, every case calibrated, the plan written down.

use std::collections::BTreeMap;

use tare_analysis::verdicts::judge::FEWEST_STARTS;
use tare_analysis::verdicts::stopping::LOOKS;
use tare_data::facts::Facts;
use tare_data::failure::{Failure, FailureKind};
use tare_data::metric::Reading;
use tare_data::peer::{LOOPBACK, Peer};
use tare_data::request::{Amount, TrialRequest};
use tare_data::session::{Plan, PlannedCase, Role, Session, Target, TargetFacts};
use tare_probes::probe::MetricDescription;
use tare_record::{Entry, Writer};

use crate::error::{ErrorKind, LabError};
use crate::session::amount::{LEAST_FOR_QUANTILES, Pace, amount, cost_ns, pace};
use crate::session::arena::{Arena, Started};
use crate::session::budget::{self, RoundTime, Start};
use crate::session::progress::{Event, Observer};
use crate::session::startup;
use crate::storage::places::{self, OWN};
use crate::study::SelectedCase;

/// A calibration may take this long: a kernel in a VM on an emulated processor is slow, not dead.
const CALIBRATION_DEADLINE_MS: u64 = 20_000;
/// The slowest disk that a large file is made on, bytes a millisecond: 20 MB/s, as behind an emulated kernel.
const SLOWEST_DISK: u64 = 20_000;
/// Longest calibration, however large the files: half an hour.
const CALIBRATION_MOST_MS: u64 = 1_800_000;

/// What to plan.
pub struct PlanRequest<'a> {
    pub study: &'a str,
    pub selected: Vec<SelectedCase>,
    pub targets: Vec<Target>,
    pub seed: u64,
    /// A fixed number of rounds, with one look at the end.
    pub rounds: Option<u32>,
    /// Seconds for the whole session, preparation included; none with `rounds`.
    pub budget_s: Option<f64>,
}

/// A plan, with what the loop needs besides it.
#[derive(Debug)]
pub struct Prepared {
    pub plan: Plan,
    pub pilot: Pilot,
}

/// What preparation found out of the environments and is not part of the plan.
#[derive(Debug, Default)]
pub struct Pilot {
    /// What an environment's start brought; the failure where it could not be entered.
    pub started: Vec<Result<Started, Failure>>,
    /// Expected time of a trial, by case and environment.
    pub cost_ns: BTreeMap<(String, String), f64>,
    /// How many rounds of an environment share a start.
    pub rounds_a_start: Vec<u32>,
}

/// Enters and describes every environment, and writes its facts down.
pub fn enter_all(
    targets: &[Target],
    arena: &mut dyn Arena,
    writer: &mut Writer,
    observer: &mut dyn Observer,
) -> Result<Vec<Result<Started, Failure>>, LabError> {
    let mut all = Vec::new();
    for (index, target) in targets.iter().enumerate() {
        observer.event(Event::Entering { target: &target.name });
        let started = arena.start(index);
        match &started {
            Ok(started) => writer.append(&Entry::Facts(TargetFacts {
                target: target.name.clone(),
                inside: started.inside.clone(),
                outside: started.outside.clone(),
                places: started.places.clone(),
            }))?,
            Err(failure) if target.role == Role::Baseline => {
                return Err(LabError::new(
                    ErrorKind::Environment,
                    format!("cannot enter the baseline '{}'", target.name),
                )
                .because(failure.clone())
                .hint("tare check says what each environment needs"));
            }
            Err(failure) => {
                observer.event(Event::Note(format!("{} cannot be entered: {failure}", target.name)));
                let mut outside = Facts::default();
                outside.note("failure", failure.to_string());
                let (inside, places) = Default::default();
                writer.append(&Entry::Facts(TargetFacts {
                    target: target.name.clone(),
                    inside,
                    outside,
                    places,
                }))?;
            }
        }
        all.push(started);
    }
    Ok(all)
}

/// Enters every environment, calibrates every case in each, and writes facts and plan down.
pub fn prepare(
    plan_request: PlanRequest<'_>,
    arena: &mut dyn Arena,
    writer: &mut Writer,
    observer: &mut dyn Observer,
) -> Result<Prepared, LabError> {
    let started = enter_all(&plan_request.targets, arena, writer, observer)?;
    let mut cases: Vec<Calibrated> = Vec::new();
    let of = plan_request.selected.len() * plan_request.targets.len();
    for selected in plan_request.selected {
        let mut paces = Vec::new();
        for (index, started) in started.iter().enumerate() {
            observer.event(Event::Calibrating { done: cases.len() * plan_request.targets.len() + index, of });
            paces.push(match started {
                Ok(started) => calibrate(&selected, index, started, plan_request.seed, arena)?,
                Err(failure) => Err(failure.clone()),
            });
        }
        cases.push(Calibrated { selected, paces });
    }
    anything_to_compare_with(&cases, &plan_request.targets[0].name)?;
    let spent_s = arena.now_ns() as f64 / 1e9;
    let left_s = plan_request.budget_s.map(|budget_s| (budget_s - spent_s).max(1.0));
    let starts = starts(&started, |target| {
        let mut cases = cases.iter().filter_map(|case| case.is_far(target)).peekable();
        cases.peek().is_some() && cases.all(|is_far| is_far)
    });
    let (scale, looks) = match (plan_request.rounds, left_s) {
        (Some(rounds), _) => (1.0, vec![rounds]),
        (None, None) => (1.0, LOOKS.to_vec()),
        (None, Some(left_s)) => {
            budget::rounds_within(left_s, &starts, |scale| cases.iter().map(|case| case.round(scale)).sum())
        }
    };
    let rounds = *looks.last().expect("there is always a look");
    let rounds_a_start = budget::rounds_a_start(&starts, rounds, left_s);
    let mut pilot = Pilot { rounds_a_start, ..Default::default() };
    if cases.iter().all(|case| startup::is_start(&case.selected.case)) {
        // Each trial is a start of its own.
        pilot.rounds_a_start.fill(rounds);
    } else {
        for (target, starts) in budget::short_of_starts(rounds, &pilot.rounds_a_start) {
            let name = &plan_request.targets[target].name;
            observer.event(Event::Note(format!(
                "{name}: the budget has room for {}, and a verdict needs {FEWEST_STARTS}; a longer --budget gives it more",
                if starts == 1 { "1 start".to_owned() } else { format!("{starts} starts") }
            )));
        }
    }
    let targets = &plan_request.targets;
    let brief = places::brief(cases.iter().filter_map(|case| case.selected.case.place.as_deref()));
    let planned = cases.iter().map(|case| case.plan(scale, targets, &brief, &mut pilot)).collect();
    pilot.started = started;
    let plan = Plan {
        study: plan_request.study.to_owned(),
        seed: plan_request.seed,
        rounds,
        looks,
        budget_s: plan_request.budget_s,
        targets: plan_request.targets,
        cases: planned,
    };
    writer.append(&Entry::Plan(plan.clone()))?;
    writer.sync()?;
    Ok(Prepared { plan, pilot })
}

/// What a start of each environment takes.
fn starts(started: &[Result<Started, Failure>], is_far: impl Fn(usize) -> bool) -> Vec<Start> {
    let seconds = |started: &Result<Started, Failure>| {
        started.as_ref().map_or(0.0, |started| started.elapsed_ns as f64 / 1e9)
    };
    started
        .iter()
        .enumerate()
        .map(|(target, one)| Start { s: seconds(one), is_far: is_far(target) })
        .collect()
}

/// Refuses a session whose baseline has no room for a case, or cannot do a single one: the user can mend the
/// first, and a table of gaps helps nobody.
fn anything_to_compare_with(cases: &[Calibrated], baseline: &str) -> Result<(), LabError> {
    let of_baseline = |case: &Calibrated| Some(case.paces.first()?.as_ref().err()?.clone());
    let failures: Vec<(&SelectedCase, Failure)> =
        cases.iter().filter_map(|case| Some((&case.selected, of_baseline(case)?))).collect();
    if let Some((selected, failure)) = failures.iter().find(|(_, failure)| failure.is_full_disk()) {
        let place = selected.case.place.as_deref().unwrap_or("own");
        return Err(LabError::new(ErrorKind::Storage, format!("no room in the place '{place}'"))
            .because(format!("{}: {failure}", selected.case))
            .hint("make room there, name another place with --place, or other cases with --only"));
    }
    let [(selected, failure), ..] = failures.as_slice() else { return Ok(()) };
    if failures.len() < cases.len() {
        return Ok(());
    }
    let kind = if selected.case.place.is_some() { ErrorKind::Storage } else { ErrorKind::Environment };
    Err(LabError::new(kind, format!("no case can be measured in the baseline '{baseline}'"))
        .because(format!("{}: {failure}", selected.case))
        .hint(match &selected.case.place {
            Some(_) => "name another place with --place: own always is one",
            None => "tare check says what this machine allows",
        }))
}

/// A case with the pace of every environment, or why it has none there.
struct Calibrated {
    selected: SelectedCase,
    paces: Vec<Result<Pace, Failure>>,
}

impl Pilot {
    /// The groundwork of a session that is resumed: its trials say what trials cost.
    pub fn resumed(session: &Session, started: Vec<Result<Started, Failure>>, left_s: Option<f64>) -> Self {
        let mut cost_ns: BTreeMap<(String, String), f64> = BTreeMap::new();
        for trial in &session.trials {
            let longest = cost_ns.entry((trial.case.clone(), trial.target.clone())).or_default();
            *longest = longest.max(trial.host_elapsed_ns as f64);
        }
        let starts = starts(&started, |_| false);
        let rounds_a_start = budget::rounds_a_start(&starts, session.plan.rounds, left_s);
        Pilot { started, cost_ns, rounds_a_start }
    }
}

impl Calibrated {
    /// The amount at a scale: from the baseline's pace, or the slowest environment's where the baseline has none.
    fn amount(&self, scale: f64) -> Option<Amount> {
        let known: Vec<Pace> = self.paces.iter().flatten().copied().collect();
        let baseline = self.paces.first()?.as_ref().ok().or(known.first())?;
        let quantile = |m: &MetricDescription| matches!(m.reading, Reading::Quantile(_));
        let least =
            self.selected.probe.metrics.first().filter(|m| quantile(m)).map_or(1, |_| LEAST_FOR_QUANTILES);
        let amount = amount(*baseline, &known, scale, least);
        Some(match (amount, self.selected.seconds) {
            (Amount::Operations { batch, .. }, Some(seconds)) => Amount::Duration { batch, seconds },
            (amount, _) => amount,
        })
    }

    /// Time of one round: of all environments, and of those that are near the baseline.
    fn round(&self, scale: f64) -> RoundTime {
        let Some(amount) = self.amount(scale) else { return RoundTime::default() };
        let known =
            self.paces.iter().enumerate().filter_map(|(target, pace)| Some((target, pace.as_ref().ok()?)));
        known.fold(RoundTime::default(), |time, (target, pace)| {
            time.with(cost_ns(*pace, amount) / 1e9, self.is_far(target) == Some(true))
        })
    }

    /// Whether an environment is so far from the baseline that it is decided early; none where it is not measured.
    fn is_far(&self, target: usize) -> Option<bool> {
        let baseline = self.paces[0].as_ref().ok()?;
        Some(self.paces[target].as_ref().ok()?.operation_ns > budget::FAR * baseline.operation_ns)
    }

    fn plan(
        &self,
        scale: f64,
        targets: &[Target],
        brief: &BTreeMap<String, String>,
        pilot: &mut Pilot,
    ) -> PlannedCase {
        let SelectedCase { probe, case, margin, decide, .. } = &self.selected;
        let id = case.to_string();
        let amount = self.amount(scale).unwrap_or(Amount::Operations { batch: 1, batches: 1 });
        let mut missing = BTreeMap::new();
        for (target, pace) in targets.iter().zip(&self.paces) {
            match pace {
                Ok(pace) => {
                    pilot.cost_ns.insert((id.clone(), target.name.clone()), cost_ns(*pace, amount));
                }
                Err(failure) => {
                    missing.insert(target.name.clone(), failure.clone());
                }
            }
        }
        PlannedCase {
            id,
            case: case.clone(),
            label: label(probe, case, brief),
            metrics: probe.metrics(),
            decide: decide.clone(),
            definition: probe.definition(&case.parameters),
            amount,
            margin: *margin,
            missing,
        }
    }
}

/// What the row is headed with: the probe's label, and the place or peer where it is not the usual one.
///
/// `brief` has a short name for every place.
fn label(
    probe: &tare_probes::Probe,
    case: &tare_data::names::Case,
    brief: &BTreeMap<String, String>,
) -> String {
    let mut label = (probe.label)(&case.parameters);
    if let Some(place) = case.place.as_ref().filter(|place| *place != OWN) {
        label.push_str(&format!(" @{}", brief.get(place).unwrap_or(place)));
    }
    if let Some(peer) = case.peer.as_deref().filter(|peer| *peer != LOOPBACK) {
        label.push_str(&format!(" >{peer}"));
    }
    label
}

/// Makes the request of a trial; the failure says that the environment has no such place.
pub fn request(
    trial: u64,
    case: &tare_data::names::Case,
    amount: Amount,
    started: &Started,
    seed: u64,
    deadline_ms: u64,
) -> Result<TrialRequest, Failure> {
    let directory = match &case.place {
        None => None,
        Some(place) => Some(started.paths.get(place).cloned().ok_or_else(|| {
            let none = || {
                Failure::new(FailureKind::NotSupported, format!("this environment has no place '{place}'"))
            };
            started.missing.get(place).cloned().unwrap_or_else(none)
        })?),
    };
    let peer = case.peer.as_deref().map(|name| way(name, started)).transpose()?;
    Ok(TrialRequest { trial, case: case.clone(), amount, directory, peer, seed, deadline_ms })
}

/// The way from inside to a peer.
fn way(name: &str, started: &Started) -> Result<Peer, Failure> {
    if name == LOOPBACK {
        return Ok(Peer::Loopback);
    }
    started.peers.get(name).cloned().ok_or_else(|| {
        let reason =
            format!("this environment has no way to the peer '{name}'; where it can have one, its option net= gives it");
        Failure::new(FailureKind::NotSupported, reason)
    })
}

fn calibrate(
    selected: &SelectedCase,
    target: usize,
    started: &Started,
    seed: u64,
    arena: &mut dyn Arena,
) -> Result<Result<Pace, Failure>, LabError> {
    let deadline_ms = calibration_deadline_ms(&selected.case);
    let request = match request(0, &selected.case, Amount::Calibrate, started, seed, deadline_ms) {
        Ok(request) => request,
        Err(failure) => return Ok(Err(failure)),
    };
    let mut batches = Vec::new();
    let began_ns = arena.now_ns();
    let outcome = arena.trial(target, &request, &mut |batch| batches.push(batch.clone()));
    let elapsed_ns = arena.now_ns() - began_ns;
    if outcome.interrupted {
        return Err(LabError::interrupted());
    }
    if outcome.lost {
        // The next case deserves a living environment; if it cannot be had, its own calibration says so.
        let _ = arena.start(target);
    }
    Ok(match outcome.failure {
        Some(failure) => Err(failure),
        None => pace(&batches, elapsed_ns)
            .ok_or_else(|| Failure::new(FailureKind::Broken, "the calibration sent no figures")),
    })
}

/// How long a calibration may take: files must be made first, and a command of the user's has a time of its own.
fn calibration_deadline_ms(case: &tare_data::names::Case) -> u64 {
    let number = |key: &str| case.parameters.integer(key).unwrap_or(0);
    let bytes = number("size").max(number("total"));
    // Prepare, the command and clean.
    let commands_ms = number("timeout_s").saturating_mul(3_000);
    (CALIBRATION_DEADLINE_MS + bytes / SLOWEST_DISK + commands_ms).min(CALIBRATION_MOST_MS)
}

#[cfg(test)]
mod tests {
    use tare_data::names::Case;

    use super::*;
    use crate::study::{SHIPPED, Study};

    #[test]
    fn rows_of_shipped_studies_are_told_apart_by_their_labels() {
        let places = ["own", "share", "ext4", "/mnt/data", "/srv/data"].map(str::to_owned);
        let brief = places::brief(places.iter().map(String::as_str));
        for (name, _) in SHIPPED {
            // As if these folders were there.
            let selected = Study::named(name).unwrap().selected(None, None).unwrap();
            let mut labels = BTreeMap::new();
            for SelectedCase { probe, case, .. } in &selected {
                for place in &places {
                    let somewhere = case.place.is_some().then(|| place.clone());
                    let case = Case { place: somewhere, ..case.clone() };
                    let other = labels.insert(label(probe, &case, &brief), case.to_string());
                    assert!(other.is_none_or(|other| other == case.to_string()), "{name}: {case}");
                }
            }
        }
    }
}
