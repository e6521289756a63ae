//! `tare run`: measures, writes the record, and shows the results.

use std::io::{self, IsTerminal};
use std::path::{Path, PathBuf};
use std::time::Instant;

use tare_analysis::published::Redo;
use tare_data::session::specification::NATIVE;
use tare_lab::asked::{Measured, Overrides, Recorded, Request, Until};
use tare_lab::error::LabError;
use tare_lab::session;
use tare_lab::study::published as articles;
use tare_probes::probe::Size;

use crate::args::{Run, View};
use crate::command_error::CommandError;
use crate::commands::own_launchers;
use crate::commands::sides::{Chosen, choose_sides};
use crate::exit::Exit;
use crate::show::running::Watched;
use crate::show::session::Shows;
use crate::show::{self, published};
use crate::{outputs, own_commands, paths, platform, recorded, ui};

pub fn run_study(args: Run) -> Result<Exit, CommandError> {
    let began = Instant::now();
    let asked = Asked::from_arguments(&args)?;
    let scratch = args.session.scratch.as_deref();
    if args.session.dry_run {
        return asked.print_plan(scratch);
    }
    if let Some(announced) = &asked.announced {
        ui::print_note(announced);
    }
    let mut view = asked.view.clone();
    let recorded = asked.measure(began, scratch)?;
    // Read back from the disk, so that a live report and a later one use the same code.
    let session = tare_record::read_session(&recorded.record)?.session;
    // Other articles share a study with the one that is repeated; their claims are not what was asked.
    if args.like.is_none() {
        view.published.extend(recorded.published);
    }
    let fresh = Shows::Fresh { rest_s: recorded.rest_s };
    show::session::show_session(session, &view, &recorded.record, fresh, &[])
}

/// A session to be measured, and the view of it, as the arguments ask for them.
struct Asked {
    session: SessionAsked,
    record: PathBuf,
    view: View,
    /// The needs of a session in full size.
    announced: Option<String>,
}

/// A session that begins, or one that goes on.
enum SessionAsked {
    New(Box<Request>),
    Resumed(Overrides),
}

impl Asked {
    /// Checks the arguments, and everything that a slip in them could cost, before anything is measured.
    fn from_arguments(args: &Run) -> Result<Asked, CommandError> {
        let redo = args.like.as_deref().map(read_redo).transpose()?;
        let study = args.study.clone().or_else(|| redo.as_ref().map(|redo| redo.study.clone()));
        let view = View {
            exports: args.view.exports.iter().cloned().chain(args.commands.hyperfine_export()).collect(),
            published: list_articles(args),
            ..args.view.clone()
        };
        outputs::check_outputs(&view)?;
        published::check_article_names(&view.published)?;
        let (session, record) = match &args.resume {
            Some(record) => (SessionAsked::Resumed(overrides(args)), record.clone()),
            None => {
                let request = request(args, study, redo.map(|redo| redo.environments))?;
                let record = request.record.clone();
                (SessionAsked::New(Box::new(request)), record)
            }
        };
        outputs::check_files(&view, Some(&record))?;
        let announced = match &session {
            SessionAsked::New(request) if args.full_size || args.like.is_some() => announce(args, request)?,
            SessionAsked::New(_) | SessionAsked::Resumed(_) => None,
        };
        Ok(Asked { session, record, view, announced })
    }

    /// Prints what the session would do.
    fn print_plan(self, scratch: Option<&Path>) -> Result<Exit, CommandError> {
        let setting = paths::make_setting(scratch)?;
        let dry = match &self.session {
            SessionAsked::Resumed(overrides) => session::dry_resume(&self.record, overrides, &setting),
            SessionAsked::New(request) => session::dry_run(request, &setting),
        }?;
        let files = outputs::list_output_files(&self.view, &self.record);
        let text = show::dry_run::format_dry_run(dry, self.announced, &files, self.view.json);
        ui::print_text(&text, self.view.json)?;
        Ok(Exit::Done)
    }

    /// Runs the session to its end, with its page where one was named.
    fn measure(self, began: Instant, scratch: Option<&Path>) -> Result<Recorded, CommandError> {
        let Asked { session: asked, record, view, .. } = self;
        recorded::run_until_interrupted(began, scratch, &record, |setting, caller| {
            let mut watched = Watched::new(&view, &record);
            let recorded = match asked {
                SessionAsked::Resumed(overrides) => {
                    session::resume_session(&record, overrides, setting, caller, &mut watched)
                }
                SessionAsked::New(request) => {
                    let request = Request { host: platform::note_layers(), ..*request };
                    session::begin_session(request, setting, caller, &mut watched)
                }
            };
            watched.clear();
            if recorded.is_err() {
                watched.end_page();
            }
            recorded
        })
    }
}

/// Reads how an article's measurements are repeated.
fn read_redo(article: &str) -> Result<Redo, LabError> {
    articles::read_article(article)?.redo.ok_or_else(|| {
        LabError::usage_error(format!("{article} does not say how to repeat its measurements"))
            .with_hint("name a study, and environments with --in")
    })
}

/// Lists the articles to show: those that are named, and the one that is repeated.
fn list_articles(args: &Run) -> Vec<String> {
    let repeated = args.like.iter().filter(|article| !args.view.published.contains(article));
    args.view.published.iter().chain(repeated).cloned().collect()
}

/// Says what a session in full size needs, and what an article's will not tell; refuses one that has too little.
fn announce(args: &Run, request: &Request) -> Result<Option<String>, LabError> {
    let name = args.like.as_deref().or(args.study.as_deref()).unwrap_or("the study");
    let setting = paths::make_setting(args.session.scratch.as_deref())?;
    let needs = match args.full_size {
        true => Some(show::full_size::announce_full_size(name, request, &setting.scratch)?),
        false => show::full_size::require_round(name, request, &setting).map(|()| None)?,
    };
    // A dry run starts no program that would tell.
    let untold = match args.like.as_deref().filter(|_| !args.session.dry_run) {
        Some(article) => show::full_size::announce_untold(article, request, &setting)?,
        None => None,
    };
    let notes: Vec<String> = needs.into_iter().chain(untold).collect();
    Ok((!notes.is_empty()).then(|| notes.join(ui::find_language().word(" "))))
}

/// Puts the words of `--enter`, or the file of an own launcher, in place of its name.
fn resolve_name(args: &Run, name: &str) -> Result<String, LabError> {
    match own_launchers::find_entered(&args.enter, name) {
        Some(words) => Ok(words),
        None => own_launchers::resolve_launcher(name),
    }
}

/// Requests a session. An article's environments are measured where none is named.
fn request(
    args: &Run,
    study: Option<String>,
    of_article: Option<Vec<String>>,
) -> Result<Request, CommandError> {
    own_launchers::check_entered_names(&args.enter)?;
    let resolve = |names: &[String]| -> Result<Vec<String>, LabError> {
        names.iter().map(|name| resolve_name(args, name)).collect()
    };
    let mut environments = own_launchers::resolve_launchers(&args.environments)?;
    environments.extend(args.enter.iter().cloned());
    if environments.is_empty() {
        environments = of_article.unwrap_or_default();
    }
    let against = args.against.as_deref();
    let chosen = choose_sides(&args.commands, against, environments, |name| resolve_name(args, name))?;
    let Chosen { commands, environments, baseline, compares_commands } = chosen;
    if baseline == NATIVE {
        commands.iter().try_for_each(own_commands::require_programs)?;
    }
    let measured = commands.map(Measured::Commands).or(study.map(Measured::Named));
    let measured = measured.unwrap_or_else(|| Measured::choose_study(&args.session.only, &args.at_once));
    let asked = recorded::make_request(measured, &args.session, "tare")?;
    let until_decided = args.until_decided.then_some(Until::Decided);
    let runs = args.session.rounds.or(args.commands.runs).map(Until::Rounds);
    Ok(Request {
        until: until_decided.or(runs).or(asked.until),
        environments,
        baseline,
        compares_commands,
        controls: resolve(&args.controls)?,
        places: args.places.clone(),
        peers: args.peers.clone(),
        hops: args.hops,
        at_once: args.at_once.clone(),
        neighbours: args.neighbours.clone(),
        size: match (args.short, args.full_size) {
            (true, _) => Some(Size::Short),
            (_, true) => Some(Size::Reference),
            _ => None,
        },
        inside: own_commands::describe_inside(&args.commands)?,
        planted: true,
        ends_early: asked.until.is_none()
            && until_decided.is_none()
            && runs.is_none()
            && is_watched(&args.view, io::stdout().is_terminal()),
        // Work that lasts tells environments apart.
        lasting: !compares_commands,
        margin: args.view.margin.map(libm::log1p),
        conditions: args.view.list_conditions(),
        ..asked
    })
}

/// Tells whether somebody waits for a table: its reader can continue the session, and a program that reads the output cannot, nor who
/// reads a text that was pasted.
fn is_watched(view: &View, is_terminal: bool) -> bool {
    is_terminal && !view.paste && view.list_conditions().is_empty() && view.list_exports().is_empty()
}

fn overrides(args: &Run) -> Overrides {
    let (peers, conditions) = (args.peers.clone(), args.view.list_conditions());
    Overrides { peers, budget: args.session.budget, conditions, trust: args.trust }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::args::{Args, Command};

    #[test]
    fn a_session_ends_early_only_for_a_table_on_a_terminal() {
        let view = |more: &[&str]| match Args::parse_from([&["tare", "run"][..], more].concat()).command {
            Some(Command::Run(run)) => run.view,
            other => panic!("{other:?}"),
        };
        assert!(is_watched(&view(&[]), true) && !is_watched(&view(&[]), false));
        for option in ["--paste", "--json", "--csv", "--export=junit=x.xml", "--fail-if=slower"] {
            assert!(!is_watched(&view(&[option]), true), "{option}");
        }
    }
}
