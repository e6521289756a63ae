//! `tare run`: measures, writes the record, and shows the results.

use std::path::Path;
use std::time::Instant;

use tare_lab::asked::{Measured, Overrides, Request, Until};
use tare_lab::error::LabError;
use tare_lab::provider::root::Inside;
use tare_lab::session;
use tare_lab::study::{Study, published as articles};
use tare_probes::probe::Size;

use crate::args::Run;
use crate::command_error::CommandError;
use crate::commands::own_launchers;
use crate::exit::Exit;
use crate::show::running::Watched;
use crate::show::{self, published};
use crate::{habits, invocation, outputs, own_commands, paths, platform, recorded, ui};

pub fn run_study(mut args: Run) -> Result<Exit, CommandError> {
    let began = Instant::now();
    name_environments(&mut args)?;
    if let Some(article) = args.like.clone() {
        like(&mut args, &article)?;
    }
    if let Some(error) = args.study.as_deref().and_then(habits::not_a_study) {
        return Err(error.into());
    }
    let (commands, inside) =
        (own_commands::make_study(&args.commands)?, own_commands::describe_inside(&args.commands)?);
    if args.against == "native" {
        commands.iter().try_for_each(own_commands::require_programs)?;
    }
    args.view.exports.extend(args.commands.hyperfine_export());
    args.rounds = args.rounds.or(args.commands.runs);
    outputs::check_outputs(&args.view)?;
    let record = match (&args.resume, &args.record) {
        (Some(record), _) => record.clone(),
        (None, Some(pattern)) => paths::record_named(pattern)?,
        (None, None) => invocation::fresh_record("tare"),
    };
    outputs::check_files(&args.view, Some(&record))?;
    published::check_article_names(&args.view.published)?;
    let announced = announce(&args, &commands, &inside, &record)?;
    if args.dry_run {
        let setting = paths::make_setting(args.scratch.as_deref())?;
        let dry = match &args.resume {
            Some(record) => session::dry_resume(record, &overrides(&args), &setting),
            None => session::dry_run(&request(&args, commands, inside, &record), &setting),
        }?;
        ui::print_text(
            &show::dry_run::format_dry_run(
                dry,
                announced,
                &outputs::list_output_files(&args.view, &record),
                args.view.json,
            ),
            args.view.json,
        )?;
        return Ok(Exit::Done);
    }
    if let Some(announced) = announced {
        ui::print_note(&announced);
    }
    let recorded = recorded::run_until_interrupted(began, args.scratch.as_deref(), |setting, caller| {
        let mut watched = Watched::new(&args.view, &record);
        let recorded = match &args.resume {
            Some(record) => session::resume_session(record, overrides(&args), setting, caller, &mut watched),
            None => {
                let mut request = request(&args, commands, inside, &record);
                request.host = platform::note_layers();
                session::begin_session(request, setting, caller, &mut watched)
            }
        };
        watched.clear();
        if recorded.is_err() {
            watched.end_page();
        }
        recorded
    })?;
    // Read back from the disk, so that a live report and a later one use the same code.
    let session = tare_record::read_session(&recorded.record)?.session;
    let mut view = args.view.clone();
    // Other articles share a study with the one that is repeated; their claims are not what was asked.
    if args.like.is_none() {
        view.published.extend(recorded.published);
    }
    show::session::show_session(session, &view, &recorded.record, true, &[])
}

/// Puts the words of `--enter` and the files of own launchers in place of their names.
fn name_environments(args: &mut Run) -> Result<(), CommandError> {
    own_launchers::check_entered_names(&args.enter)?;
    for name in args.controls.iter_mut().chain([&mut args.against]) {
        if let Some(words) = own_launchers::find_entered(&args.enter, name) {
            *name = words;
        }
    }
    let named = args.environments.iter_mut().chain(&mut args.controls).chain([&mut args.against]);
    own_launchers::resolve_launchers(named)?;
    args.environments.append(&mut args.enter);
    Ok(())
}

/// Says what a session in full size needs, and refuses one that has too little; nothing in another size.
fn announce(
    args: &Run,
    commands: &Option<Study>,
    inside: &Inside,
    record: &Path,
) -> Result<Option<String>, LabError> {
    if !args.full_size || args.resume.is_some() {
        return Ok(None);
    }
    let request = request(args, commands.clone(), inside.clone(), record);
    let name = args.like.as_deref().or(args.study.as_deref()).unwrap_or("the study");
    let scratch = paths::make_setting(args.scratch.as_deref())?.scratch;
    show::full_size::announce_full_size(name, &request, &scratch).map(Some)
}

/// Fills in the article's settings where the user gave none.
fn like(args: &mut Run, article: &str) -> Result<(), LabError> {
    let Some(redo) = articles::read_article(article)?.redo else {
        return Err(LabError::usage_error(format!("{article} does not say how to repeat its measurements"))
            .with_hint("name a study, and environments with --in"));
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

fn request(args: &Run, commands: Option<Study>, inside: Inside, record: &Path) -> Request {
    let named = args.study.clone().map(Measured::Named);
    let measured = commands.map(Measured::Commands).or(named);
    let measured = measured.unwrap_or_else(|| Measured::choose_study(&args.only, &args.at_once));
    let until_decided = args.until_decided.then_some(Until::Decided);
    Request {
        until: until_decided.or(args.rounds.map(Until::Rounds)).or(args.budget.map(Until::Budget)),
        environments: args.environments.clone(),
        controls: args.controls.clone(),
        only: args.only.clone(),
        places: args.places.clone(),
        peers: args.peers.clone(),
        hops: args.hops,
        at_once: args.at_once.clone(),
        neighbours: args.neighbours.clone(),
        pin: args.pin,
        size: match (args.short, args.full_size) {
            (true, _) => Some(Size::Short),
            (_, true) => Some(Size::Reference),
            _ => None,
        },
        inside,
        planted: true,
        margin: args.view.margin.map(libm::log1p),
        seed: args.seed,
        conditions: args.view.list_conditions(),
        ..Request::new(measured, &args.against, record.to_owned())
    }
}

fn overrides(args: &Run) -> Overrides {
    let (peers, conditions) = (args.peers.clone(), args.view.list_conditions());
    Overrides { peers, budget: args.budget, conditions, trust: args.trust }
}
