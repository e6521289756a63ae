//! `tare explain`, `tare predict`, `tare prices`: where a command's time goes, what it would take, what work costs.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use tare_analysis::{Options, bill};
use tare_data::session::{Ending, Role};
use tare_lab::asked::Request;
use tare_lab::error::LabError;
use tare_lab::parse_duration;
use tare_lab::study::Study;
use tare_report::{json, terminal};

use crate::args::explain::Session;
use crate::args::{Commands, Explain, Predict, Prices};
use crate::failure::Exit;
use crate::measuring::Way;
use crate::{invocation, measuring, own_commands, ui};

/// The study whose cases are prices.
const PRICES: &str = "prices";

pub fn run(args: &Explain) -> anyhow::Result<ExitCode> {
    let (record, ending) = match &args.file {
        Some(file) if file.extension().is_none_or(|extension| extension != "toml") => (file.clone(), None),
        study => {
            let own = match study {
                Some(study) => own_commands::of_file(study)?,
                None => of_words(&args.words)?,
            };
            let request = of_commands(own, true, args.environments.clone(), &args.session)?;
            match measured(request, &args.session, args.json)? {
                Some(measured) => measured,
                None => return Ok(ExitCode::SUCCESS),
            }
        }
    };
    show(&record, None, args.json)?;
    Ok(code(ending))
}

pub fn predict(args: &Predict) -> anyhow::Result<ExitCode> {
    let prices = read(&args.from)?;
    has_prices(&prices, &args.from)?;
    let environments = prices.plan.targets.iter().filter(|target| match target.role {
        Role::Baseline => true,
        Role::Subject => args.check,
        Role::Control | Role::Planted => false,
    });
    let environments = environments.map(|target| target.specification.clone()).collect();
    let request = of_commands(of_words(&args.words)?, false, environments, &args.session)?;
    let Some((record, ending)) = measured(request, &args.session, args.json)? else {
        return Ok(ExitCode::SUCCESS);
    };
    show(&record, Some(&prices), args.json)?;
    Ok(code(ending))
}

pub fn prices(args: &Prices) -> anyhow::Result<ExitCode> {
    let (record, ending) = match &args.file {
        Some(file) => (file.clone(), None),
        None => {
            let request = Request {
                study: Some(PRICES.to_owned()),
                environments: args.environments.clone(),
                ..request(&args.session, "tare-prices")?
            };
            match measured(request, &args.session, args.json)? {
                Some(measured) => measured,
                None => return Ok(ExitCode::SUCCESS),
            }
        }
    };
    let session = read(&record)?;
    let findings = tare_analysis::findings(&session, &Options::default());
    has_prices(&session, &record)?;
    ui::print(match args.json {
        true => json::render_prices(&session, &findings),
        false => terminal::bill::prices(&session, &findings, (ui::width(), ui::colour()), ui::language()),
    })?;
    Ok(code(ending))
}

fn read(record: &Path) -> Result<tare_data::session::Session, LabError> {
    Ok(tare_record::read(record)?.session)
}

fn has_prices(session: &tare_data::session::Session, record: &Path) -> Result<(), LabError> {
    match bill::charges(session).is_empty() {
        false => Ok(()),
        true => Err(LabError::usage(format!("{} has no prices", record.display()))
            .hint("tare prices --in ENVIRONMENTS measures them; a session that ended before its first round needs a longer --budget")),
    }
}

/// Prints the bills of a record, by its own prices or those of another session.
fn show(record: &Path, prices: Option<&tare_data::session::Session>, as_json: bool) -> anyhow::Result<()> {
    let session = read(record)?;
    if prices.is_none() {
        has_prices(&session, record)?;
    }
    let explained = bill::bills(&session, prices.unwrap_or(&session));
    if explained.is_empty() {
        return Err(LabError::usage(format!("{} has no command whose demand was counted", record.display()))
            .hint("tare explain -- COMMAND makes such a record")
            .into());
    }
    let findings = tare_analysis::findings(&session, &Options::default());
    let shape = (ui::width(), ui::colour());
    ui::print(match as_json {
        true => json::render_bills(&session, &findings, &explained),
        false => terminal::bill::render(&session, &findings, &explained, prices, shape, ui::language()),
    })?;
    Ok(())
}

/// Runs a session, and names its record; none after a dry run.
fn measured(
    request: Request,
    args: &Session,
    as_json: bool,
) -> anyhow::Result<Option<(PathBuf, Option<Ending>)>> {
    let way = Way { scratch: args.scratch.as_deref(), dry_run: args.dry_run, as_json };
    Ok(measuring::begin(request, &way)?.map(|recorded| {
        anstream::eprintln!("record {}", recorded.record.display());
        (recorded.record, Some(recorded.ending))
    }))
}

fn code(ending: Option<Ending>) -> ExitCode {
    match ending {
        Some(Ending::Interrupted) => Exit::Interrupted.into(),
        Some(Ending::BaselineFailed) => Exit::Environment.into(),
        _ => ExitCode::SUCCESS,
    }
}

/// What every session here has in common.
fn request(args: &Session, name: &str) -> Result<Request, LabError> {
    Ok(Request {
        baseline: "native".to_owned(),
        budget_s: args.budget.as_deref().map(parse_duration).transpose()?.map(|budget| budget.as_secs_f64()),
        rounds: args.rounds,
        pin: args.pin,
        seed: args.seed,
        record: args.record.clone().unwrap_or_else(|| invocation::fresh_record(name)),
        ..Request::default()
    })
}

fn of_words(words: &[String]) -> Result<Study, LabError> {
    let commands = Commands { words: words.to_vec(), ..Commands::default() };
    own_commands::study(&commands)?
        .ok_or_else(|| LabError::usage("no command was given").hint("tare explain -- COMMAND"))
}

/// A session of commands, each counted once, with the prices or without.
fn of_commands(
    own: Study,
    with_prices: bool,
    environments: Vec<String>,
    args: &Session,
) -> Result<Request, LabError> {
    Ok(Request {
        commands: Some(if with_prices { own.with(Study::named(PRICES)?)? } else { own }),
        inside: own_commands::inside_here(false)?,
        counts_demand: true,
        environments,
        ..request(args, "tare-explain")?
    })
}
