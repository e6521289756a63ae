//! `tare explain`: explains a command's time, shows prices of environments, and forecasts commands from them.

use std::path::Path;
use std::time::{Duration, Instant};

use tare_analysis::{Options, bill};
use tare_data::foreign::Foreign;
use tare_data::names::USER;
use tare_data::session::demand::Counted;
use tare_data::session::specification::NATIVE;
use tare_data::session::{Ending, Role, Session};
use tare_lab::asked::{Measured, Request};
use tare_lab::error::LabError;
use tare_lab::session::{self, trust_environments};
use tare_lab::study::Study;
use tare_report::{json, terminal};

use crate::args::{Commands, Explain, SessionOptions};
use crate::command_error::CommandError;
use crate::exit::Exit;
use crate::recorded::{self, Obtained};
use crate::{own_commands, paths, ui};

/// Longest time for the first answer, which is how long the command takes.
const MOST_FIRST: Duration = Duration::from_secs(10);
/// Time for a bill in one environment, and for each further one: a dozen prices are calibrated in a third of it.
const TIME_OF_A_BILL: Duration = Duration::from_secs(44);
const TIME_OF_ANOTHER: Duration = Duration::from_secs(13);
/// Time for the prices, in times of what the first answer took: ten seconds of it, which a quick command takes, leave the usual time.
const MORE_OF_A_LONG_COMMAND: u32 = 3;
/// Environments that are measured where none is named.
const UNNAMED: usize = 3;
/// Study that measures the prices.
const PRICES: &str = "prices";

pub fn run_explain(args: &Explain) -> Result<Exit, CommandError> {
    match (args.prices, args.forecast) {
        (true, _) => prices(args),
        (_, true) => forecast(args),
        _ => explain(args),
    }
}

fn explain(args: &Explain) -> Result<Exit, CommandError> {
    let is_study = |file: &&Path| file.extension().is_some_and(|extension| extension == "toml");
    let (study, record) = match args.file.as_deref() {
        Some(file) if is_study(&file) => (Some(file), None),
        record => (None, record),
    };
    let commands = || match study {
        Some(study) => own_commands::of_file(study),
        None => study_of_words(&args.words),
    };
    let request = |options: &SessionOptions| {
        let own = commands()?;
        let mut options = options.clone();
        if !options.only.is_empty() {
            // Chooses among the prices: the command is what is explained.
            options.only.push(format!("{USER}*"));
        }
        Ok(Request {
            environments: args.environments.clone(),
            ..counted(own.join_study(Study::from_name(PRICES)?)?, &options)?
        })
    };
    let mut session = args.session.clone();
    // A number of rounds, a plan and a document are of one session.
    if record.is_none() && session.rounds.is_none() && !session.dry_run && !args.json {
        // Whatever is wrong with the request is refused before anything runs.
        session::dry_run(&request(&session)?, &paths::make_setting(session.scratch.as_deref())?)?;
        let began = Instant::now();
        let budget = session.budget.unwrap_or_else(|| choose_budget(args));
        let Some(needed) = time_first(args, commands()?, (budget / 4).min(MOST_FIRST))? else {
            return Ok(Exit::Interrupted);
        };
        session.budget = Some(leave_budget(session.budget, budget, began.elapsed()));
        if session.only.is_empty() {
            session.only = needed;
        }
    }
    let obtained = recorded::obtain_session(record, &args.session, args.json, || request(&session))?;
    let Some(obtained) = obtained else {
        return Ok(Exit::Done);
    };
    require_prices(&obtained.session, &obtained.record)?;
    print_bills(&obtained, None, args.json)
}

/// Chooses the time of both sessions, by the environments whose prices are measured.
fn choose_budget(args: &Explain) -> Duration {
    let named = args.environments.iter().filter(|name| *name != NATIVE).count();
    let further = if args.environments.is_empty() { UNNAMED } else { named }.saturating_sub(1);
    TIME_OF_A_BILL + TIME_OF_ANOTHER * u32::try_from(further).unwrap_or(u32::MAX)
}

/// Computes the time of the session with the prices: what the first one left of a time that was given, and else enough for a command
/// that takes long, too, which runs several times before anything is priced.
fn leave_budget(given: Option<Duration>, budget: Duration, spent: Duration) -> Duration {
    let left = budget.saturating_sub(spent);
    if given.is_some() { left } else { left.max(budget * 3 / 4).max(spent * MORE_OF_A_LONG_COMMAND) }
}

/// Times the commands alone for some seconds, and answers with that before anything is priced; the session with the prices times them
/// again, so that this record is not kept. Returns the prices that the counted demand needs, or nothing if the user ended it.
fn time_first(
    args: &Explain,
    commands: Study,
    budget: Duration,
) -> Result<Option<Vec<String>>, CommandError> {
    let (budget, only) = (Some(budget), Vec::new());
    let options = SessionOptions { budget, only, record: None, ..args.session.clone() };
    // The user's folder may refuse a file, and gets none that is removed again.
    let scratch = options.scratch.clone().unwrap_or_else(std::env::temp_dir);
    let session = keep_for_now(&scratch, |record| {
        let (environments, record) = (args.environments.clone(), record.to_owned());
        let request = Request { environments, record, ..counted(commands, &options)? };
        let recorded = recorded::measure_session(request, options.scratch.as_deref())?;
        Ok(tare_record::read_session(&recorded.record)?.session)
    });
    // The session refuses whatever cannot be measured with the prices as well, with its reason.
    let session = match session {
        Ok(session) => session,
        Err(error) if error.is_interruption() => return Err(error),
        Err(_) => return Ok(Some(Vec::new())),
    };
    let findings = tare_analysis::compute_findings(&session, &Options::default());
    for line in terminal::tables::bill::describe_times(&findings, ui::find_language()) {
        ui::print_text(&(ui::wrap_text(&line, ui::measure_width()).join("\n") + "\n\n"), false)?;
    }
    let demands = session.plan.demands.values().filter_map(|counted| match counted {
        Counted::Demand(demand) => Some(demand),
        Counted::Failed(_) => None,
    });
    Ok((session.ending != Ending::Interrupted).then(|| bill::list_needed_cases(demands)))
}

/// Measures into a record that is removed again, with a new folder of its own: whatever is there already is somebody else's.
fn keep_for_now<T>(
    folder: &Path,
    measure: impl FnOnce(&Path) -> Result<T, CommandError>,
) -> Result<T, CommandError> {
    let own = tempfile::Builder::new().prefix("tare-explain-").tempdir_in(folder);
    let own = own.map_err(LabError::storage_error("make a folder in", folder))?;
    measure(&own.path().join("first.tare"))
}

fn prices(args: &Explain) -> Result<Exit, CommandError> {
    let Some(priced) = obtain_prices(args.file.as_deref(), args, &args.session)? else {
        return Ok(Exit::Done);
    };
    let findings = tare_analysis::compute_findings(&priced.session, &Options::default());
    ui::print_text(
        &match args.json {
            true => json::render_prices(&priced.session, &findings),
            false => {
                let shape = (ui::measure_width(), ui::has_colour());
                terminal::tables::bill::render_prices_terminal(
                    &priced.session,
                    &findings,
                    shape,
                    ui::find_language(),
                )
            }
        },
        args.json,
    )?;
    Ok(priced.exit_code(&findings))
}

fn forecast(args: &Explain) -> Result<Exit, CommandError> {
    // Without a record of prices there are two sessions, which share the budget.
    let share = |options: &SessionOptions| match args.from {
        Some(_) => options.budget,
        None => options.budget.map(|budget| budget / 2),
    };
    let options = SessionOptions { budget: share(&args.session), ..args.session.clone() };
    let priced = match &args.from {
        Some(record) => obtain_prices(Some(record), args, &SessionOptions::default())?,
        None => obtain_prices(None, args, &SessionOptions { record: None, ..options.clone() })?,
    };
    let environments = match &priced {
        Some(priced) => {
            let environments = environments_to_run(&priced.session, args.check);
            let state = paths::make_setting(options.scratch.as_deref())?.state;
            let (record, named) = (&priced.record, &args.environments);
            let trust =
                trust_environments(&state, &priced.session, record, &environments, named, args.trust)?;
            environments.trust(&trust)
        }
        None if args.check => args.environments.clone(),
        None => vec![NATIVE.to_owned()],
    };
    let request = || {
        let options = SessionOptions { only: Vec::new(), ..options.clone() };
        Ok(Request { environments, ..counted(study_of_words(&args.words)?, &options)? })
    };
    match (recorded::obtain_session(None, &options, args.json, request)?, priced) {
        (Some(obtained), Some(priced)) => print_bills(&obtained, Some(&priced.session), args.json),
        _ => Ok(Exit::Done),
    }
}

/// Reads prices from a record, or measures them.
fn obtain_prices(
    record: Option<&Path>,
    args: &Explain,
    options: &SessionOptions,
) -> Result<Option<Obtained>, CommandError> {
    let request = || {
        Ok(Request {
            environments: args.environments.clone(),
            ..recorded::make_request(Measured::Named(PRICES.to_owned()), options, "tare-prices")?
        })
    };
    let obtained = recorded::obtain_session(record, options, args.json, request)?;
    obtained.iter().try_for_each(|obtained| require_prices(&obtained.session, &obtained.record))?;
    Ok(obtained)
}

/// Lists the environments in which the command of a forecast runs: the baseline, and to check it all others too.
fn environments_to_run(priced: &Session, check: bool) -> Foreign<Vec<String>> {
    let sides = &priced.plan.targets;
    let targets = sides.of_role(Role::Baseline).chain(sides.of_role(Role::Subject).filter(|_| check));
    Foreign::new(targets.map(|target| target.specification.to_string()).collect())
}

fn require_prices(session: &Session, record: &Path) -> Result<(), LabError> {
    match bill::compute_charges(session).is_empty() {
        false => Ok(()),
        true => Err(LabError::usage_error(format!("{} has no prices", record.display())).with_hint(
            "tare explain --prices --in ENVIRONMENTS measures them; a session that ended before its first round needs \
             a longer --budget",
        )),
    }
}

/// Prints the bills of a session, by its own prices or those of another session.
fn print_bills(obtained: &Obtained, prices: Option<&Session>, as_json: bool) -> Result<Exit, CommandError> {
    let session = &obtained.session;
    let explained = bill::compute_bills(session, prices.unwrap_or(session));
    if explained.is_empty() {
        let what = format!("{} has no command whose demand was counted", obtained.record.display());
        return Err(LabError::usage_error(what)
            .with_hint("tare explain -- COMMAND writes such a record")
            .into());
    }
    let findings = tare_analysis::compute_findings(session, &Options::default());
    let shape = (ui::measure_width(), ui::has_colour());
    ui::print_text(
        &match as_json {
            true => json::render_bills(session, &findings, &explained),
            false => terminal::tables::bill::render_bills_terminal(
                session,
                &findings,
                &explained,
                prices,
                shape,
                ui::find_language(),
            ),
        },
        as_json,
    )?;
    Ok(obtained.exit_code(&findings))
}

fn study_of_words(words: &[String]) -> Result<Study, LabError> {
    let commands = Commands { words: words.to_vec(), ..Commands::default() };
    let study = own_commands::make_study(&commands)?
        .ok_or_else(|| LabError::usage_error("no command was given").with_hint("tare explain -- COMMAND"))?;
    own_commands::require_programs(&study)?;
    Ok(study)
}

/// Requests a session that counts once what each command asks of the system.
fn counted(commands: Study, options: &SessionOptions) -> Result<Request, LabError> {
    Ok(Request {
        inside: own_commands::inside_here(false)?,
        counts_demand: true,
        ..recorded::make_request(Measured::Commands(commands), options, "tare-explain")?
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_first_answer_removes_what_it_made_and_nothing_else() {
        let shared = tempfile::tempdir().unwrap();
        let (theirs, mut records) = (shared.path().join("first.tare"), Vec::new());
        std::fs::write(&theirs, "theirs").unwrap();
        for is_measured in [true, false] {
            let measured = keep_for_now(shared.path(), |record| {
                assert_eq!(std::fs::read_dir(record.parent().unwrap()).unwrap().count(), 0, "nobody else's");
                records.push(record.to_owned());
                std::fs::write(record, "ours").unwrap();
                if is_measured { Ok(()) } else { Err(LabError::usage_error("not measured").into()) }
            });
            assert_eq!(measured.is_ok(), is_measured);
        }
        assert!(records[0] != records[1] && records.iter().all(|record| !record.parent().unwrap().exists()));
        assert_eq!(std::fs::read_to_string(theirs).unwrap(), "theirs");
        assert!(keep_for_now(&shared.path().join("none"), |_| Ok(())).is_err(), "it has no folder");
    }
}
