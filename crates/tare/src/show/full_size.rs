//! Announcements of a session of an article: its needs, and the conclusions that it will not tell.

use std::path::Path;

use tare_analysis::published::Foreseen;
use tare_data::facts::keys::CPU_EMULATED;
use tare_lab::asked::{Request, Until};
use tare_lab::environments::parse_environment;
use tare_lab::error::{ErrorKind, LabError};
use tare_lab::session::{FullSize, Setting, dry_run, estimate_full_size};
use tare_lab::study::published::read_article;
use tare_report::number::{format_duration, format_gibibytes};
use tare_report::published::foreseen::describe_untold;
use tare_report::published::full_size::Needs;

use crate::ui;

/// Rounds below which there is no interval.
const FEWEST_ROUNDS: u32 = 6;

/// Describes the time and the room that a session in full size needs. Refuses one that cannot have them: it would end without an
/// answer hours later.
pub fn announce_full_size(name: &str, request: &Request, scratch: &Path) -> Result<String, LabError> {
    let full = estimate_full_size(request, scratch)?;
    require_time(name, &full)?;
    require_room(name, &full)?;
    let needs = Needs {
        name: name.to_owned(),
        round_s: full.round.as_secs_f64(),
        rounds: full.rounds,
        least_s: full.least_time().as_secs_f64(),
        budget_s: full.budget.map(|budget| budget.as_secs_f64()),
        room_bytes: full.room_bytes,
    };
    Ok(needs.describe(ui::find_language()))
}

/// Says which conclusions of an article a session will not tell, whatever it measures.
pub fn announce_untold(name: &str, request: &Request, setting: &Setting) -> Result<Option<String>, LabError> {
    let foresee = |name: &String| {
        let ready = parse_environment(name)?.check_ready(&setting.programs);
        let is_emulated = ready.is_ok_and(|ready| ready.facts.get(CPU_EMULATED).is_some());
        Ok(Foreseen { specification: name.clone(), is_emulated })
    };
    let all = std::iter::once(&request.baseline).chain(&request.environments);
    let environments: Vec<Foreseen> = all.map(foresee).collect::<Result<_, LabError>>()?;
    Ok(describe_untold(&read_article(name)?, &environments, ui::find_language()))
}

/// Refuses a session of an article whose budget fits no round, by typical times. Which environments it leaves out the session itself
/// says, by times that it measures.
pub fn require_round(name: &str, request: &Request, setting: &Setting) -> Result<(), LabError> {
    let foresee = |request: &Request| Ok::<_, LabError>(dry_run(request, setting)?.measure);
    let (Some(Until::Budget(budget)), Some(outlook)) = (request.until, foresee(request)?) else {
        return Ok(());
    };
    let is_left_out = |name: &String| outlook.left_out.iter().any(|absent| absent.environment == *name);
    let environments: Vec<String> =
        request.environments.iter().filter(|name| !is_left_out(name)).cloned().collect();
    // An environment with options has another name in the session, and none of those that are left out would be counted here.
    let are_known = environments.len() + outlook.left_out.len() == request.environments.len();
    if !outlook.left_out.is_empty() && (environments.is_empty() || !are_known) {
        return Ok(());
    }
    let seconds_of = |rounds: u32| {
        let (until, environments) = (Some(Until::Rounds(rounds)), environments.clone());
        Ok::<_, LabError>(
            foresee(&Request { until, environments, ..request.clone() })?.and_then(|of| of.seconds),
        )
    };
    let over = |one_s: &f64| *one_s > budget.as_secs_f64();
    let Some(one_s) = seconds_of(1)?.filter(over) else { return Ok(()) };
    let what = format!("{name} does not fit into --budget {}", format_duration(budget.as_secs_f64()));
    let some_s = seconds_of(FEWEST_ROUNDS)?.unwrap_or(one_s);
    Err(LabError::usage_error(what)
        .with_cause(format!("to enter, to calibrate and one round take about {}", format_duration(one_s)))
        .with_hint(format!(
            "{} have room for the {FEWEST_ROUNDS} rounds that an answer needs; fewer environments (--in) need less",
            format_duration(some_s)
        )))
}

fn require_time(name: &str, full: &FullSize) -> Result<(), LabError> {
    let Some(budget) = full.budget.filter(|budget| *budget < full.round) else { return Ok(()) };
    let time = |time: std::time::Duration| format_duration(time.as_secs_f64());
    let what = format!("{name} in full size does not fit into --budget {}", time(budget));
    Err(LabError::usage_error(what)
        .with_cause(format!("one round of it takes {} at least", time(full.round)))
        .with_hint(format!(
            "{} have room for {} rounds; without --full-size trials are short",
            time(full.least_time()),
            full.rounds
        )))
}

fn require_room(name: &str, full: &FullSize) -> Result<(), LabError> {
    let Some((folder, free)) = full.find_full_disk() else { return Ok(()) };
    let folder = folder.display();
    let what = format!("{name} in full size does not fit on the disk of {folder}");
    Err(LabError::new(ErrorKind::Storage, what)
        .with_cause(format!(
            "its files take up to {}, and {} are free",
            format_gibibytes(full.room_bytes),
            format_gibibytes(free)
        ))
        .with_hint("--scratch FOLDER names a larger disk; without --full-size files are small"))
}
