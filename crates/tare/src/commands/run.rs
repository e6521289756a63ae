//! `tare run`: measures, writes the record, and shows what it holds.

use std::path::Path;
use std::process::ExitCode;
use std::time::Instant;

use tare_data::session::Ending;
use tare_lab::asked::{Overrides, Request};
use tare_lab::error::LabError;
use tare_lab::parse_duration;
use tare_lab::provider::root::Inside;
use tare_lab::session::{self, Caller};
use tare_lab::study::{Study, published as articles};
use tare_probes::probe::Size;

use crate::args::Run;
use crate::failure::Exit;
use crate::show::running::Watched;
use crate::show::{self, published};
use crate::{habits, invocation, outputs, own_commands, paths, signals, ui};

pub fn run(mut args: Run) -> anyhow::Result<ExitCode> {
    let began = Instant::now();
    if let Some(article) = args.like.clone() {
        like(&mut args, &article)?;
    }
    if let Some(error) = args.study.as_deref().and_then(habits::not_a_study) {
        return Err(error.into());
    }
    let (commands, inside) = (own_commands::study(&args.commands)?, own_commands::inside(&args.commands)?);
    args.view.exports.extend(args.commands.hyperfine());
    args.rounds = args.rounds.or(args.commands.runs);
    outputs::check(&args.view)?;
    let record = match (&args.resume, &args.record) {
        (Some(record), _) => record.clone(),
        (None, Some(pattern)) => paths::record_named(pattern)?,
        (None, None) => invocation::fresh_record("tare"),
    };
    outputs::check_files(&args.view, Some(&record))?;
    published::check(&args.view.published)?;
    let budget_s = args.budget.as_deref().map(parse_duration).transpose()?.map(|b| b.as_secs_f64());
    let setting = paths::setting(args.scratch.as_deref())?;
    if args.dry_run {
        let dry = match &args.resume {
            Some(record) => session::dry_resume(record, &overrides(&args, budget_s), &setting),
            None => session::dry_run(&request(&args, commands, inside, &record, budget_s), &setting),
        }?;
        ui::print(show::dry_run::text(dry, &outputs::files(&args.view, &record), args.view.json))?;
        return Ok(ExitCode::SUCCESS);
    }
    let interrupted = signals::watch()?;
    let caller =
        Caller { command: invocation::words(), now: &invocation::now, began, interrupted: &interrupted };
    let mut watched = Watched::new(&args.view, &record);
    let recorded = match &args.resume {
        Some(record) => session::resume(record, overrides(&args, budget_s), &setting, &caller, &mut watched),
        None => session::begin(
            request(&args, commands, inside, &record, budget_s),
            &setting,
            &caller,
            &mut watched,
        ),
    };
    watched.clear();
    if recorded.is_err() {
        watched.end_page();
    }
    let recorded = recorded?;
    signals::end_at_once(&interrupted);
    // What is shown comes from the disk, by the same road as next year.
    let recording = tare_record::read(&recorded.record).map_err(LabError::from)?;
    let mut view = args.view.clone();
    view.published.extend(recorded.published);
    let elapsed_s = began.elapsed().as_secs_f64();
    let shown = show::session::show(recording.session, &view, &recorded.record, Some(elapsed_s), &[])?;
    Ok(match recorded.ending {
        Ending::Interrupted => Exit::Interrupted.into(),
        Ending::BaselineFailed => Exit::Environment.into(),
        _ => shown,
    })
}

/// Fills in what an article says of how it is measured again, where nothing else was named.
fn like(args: &mut Run, article: &str) -> Result<(), LabError> {
    let Some(redo) = articles::named(article)?.redo else {
        return Err(LabError::usage(format!("{article} does not say how it is measured again"))
            .hint("name a study, and environments with --in"));
    };
    args.study.get_or_insert(redo.study);
    if args.environments.is_empty() {
        args.environments = redo.environments;
    }
    if !args.view.published.iter().any(|named| named == article) {
        args.view.published.push(article.to_owned());
    }
    Ok(())
}

fn request(
    args: &Run,
    commands: Option<Study>,
    inside: Inside,
    record: &Path,
    budget_s: Option<f64>,
) -> Request {
    Request {
        study: args.study.clone(),
        commands,
        environments: args.environments.clone(),
        baseline: args.against.clone(),
        controls: args.controls.clone(),
        only: args.only.clone(),
        places: args.places.clone(),
        peers: args.peers.clone(),
        hops: args.hops,
        at_once: args.at_once.clone(),
        neighbours: args.neighbours.clone(),
        pin: args.pin,
        size: match (args.quick, args.reference) {
            (true, _) => Some(Size::Quick),
            (_, true) => Some(Size::Reference),
            _ => None,
        },
        rounds: args.rounds,
        budget_s,
        until_decided: args.until_decided,
        inside,
        counts_demand: false,
        planted: true,
        margin: args.view.margin.map(libm::log1p),
        seed: args.seed,
        record: record.to_owned(),
        conditions: args.view.fail_if.clone(),
        ..Request::default()
    }
}

fn overrides(args: &Run, budget_s: Option<f64>) -> Overrides {
    let (peers, conditions) = (args.peers.clone(), args.view.fail_if.clone());
    Overrides { peers, budget_s, conditions, trust: args.trust }
}
