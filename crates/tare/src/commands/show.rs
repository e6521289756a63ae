//! `tare show`: describes one probe, environment, study or article, or the facts of a record.

use std::fmt::Write;
use std::path::Path;

use tare_analysis::published::Published;
use tare_lab::add_nearest_hint;
use tare_lab::environments;
use tare_lab::environments::presets::{self, PRESETS, Preset, Variant};
use tare_lab::error::LabError;
use tare_lab::host::find_default_distribution;
use tare_lab::provider::Provider;
use tare_lab::provider::options::{Choice, SLOWER, Turns};
use tare_lab::provider::root::ROOT;
use tare_lab::study::published;
use tare_lab::study::{SHIPPED, Study, list_probes};
use tare_probes::Probe;
use tare_report::terminal::described::{describe_further_options, describe_metric, describe_parameter};
use tare_report::text::count_columns;

use crate::args::Show;
use crate::command_error::CommandError;
use crate::commands::own_launchers;
use crate::exit::Exit;
use crate::show::session;
use crate::{paths, ui};

/// Commands that list every name, for a hint.
const LISTS: &str = "tare list probes, tare list environments, tare list studies, tare list articles";
/// Distribution that `wsl --install` installs.
const USUAL_DISTRIBUTION: &str = "Ubuntu";
/// Words that list every article, as `tare list articles` does.
const ARTICLES: [&str; 2] = ["articles", "published"];
/// Experience with a launcher.
const TESTED: &str = "tare's own tests enter it";
const UNTRIED: &str = "never by tare's own tests: its words are those of its manual";

pub fn run_show(args: Show) -> Result<Exit, CommandError> {
    let name = args.name.as_str();
    let text = if let Some(probe) = list_probes().find(|probe| probe.name == name) {
        probe_text(probe)
    } else if let Some(provider) = environments::list_providers().find(|p| p.name == name) {
        environment_text(provider)
    } else if let Some(preset) = presets::find_preset(name) {
        preset_text(preset)?
    } else if own_launchers::list_own_launchers().iter().any(|(own, _)| own == name) {
        let text = own_launchers::resolve_launcher(name)?;
        environment_text(&environments::parse_environment(&text)?.provider)
    } else if name.ends_with(".tare") {
        let recording = tare_record::read_session(Path::new(name))?;
        session::format_facts(&recording.session, false)
    } else if SHIPPED.iter().any(|(shipped, _)| *shipped == name) || name.ends_with(".toml") {
        study_text(&Study::from_name(name)?)?
    } else if ARTICLES.contains(&name) {
        super::list::list_articles()?
    } else if published::SHIPPED.iter().any(|(shipped, _)| *shipped == name) {
        article_text(&published::read_article(name)?)?
    } else {
        let error =
            LabError::usage_error(format!("there is no probe, environment, study or article '{name}'"));
        let known = list_probes()
            .map(|p| p.name)
            .chain(environments::list_providers().map(|p| p.name.as_str()))
            .chain(PRESETS.iter().map(|preset| preset.name))
            .chain(SHIPPED.iter().chain(published::SHIPPED).map(|(name, _)| *name))
            .chain(ARTICLES);
        return Err(add_nearest_hint(error, name, known, LISTS).into());
    };
    ui::print_text(&text, false)?;
    Ok(Exit::Done)
}

fn article_text(article: &Published) -> Result<String, LabError> {
    let commands = list_redo_commands(article)?;
    Ok(tare_report::published::render_article(article, &commands, ui::measure_width(), ui::find_language()))
}

/// Lists the commands that repeat an article: on this system, and on Windows, where most of its environments are.
fn list_redo_commands(article: &Published) -> Result<Vec<(&'static str, String)>, LabError> {
    if article.redo.is_none() {
        return Ok(Vec::new());
    }
    let here = format!("tare run --like {}", article.id);
    let environments = published::list_windows_environments(article, &find_distribution()?).join(",");
    // In double quotes both shells of Windows leave the & alone.
    let on_windows = format!("tare.exe run --like {} --in \"{environments}\"", article.id);
    Ok(match cfg!(windows) {
        true => vec![("here", on_windows)],
        false => vec![("here", here), ("on Windows", on_windows)],
    })
}

/// Finds the distribution that wsl.exe enters without a name; the usual one where there is none here.
fn find_distribution() -> Result<String, LabError> {
    let default = find_default_distribution(&paths::find_programs()?);
    Ok(default.unwrap_or_else(|| USUAL_DISTRIBUTION.to_owned()))
}

/// Adds a heading with a text next to it; both in the user's language, where that has them.
fn paragraph(text: &mut String, heading: &str, body: &str) {
    let language = ui::find_language();
    let (heading, body) = (language.describe(heading), language.describe(body));
    for (i, line) in ui::wrap_text(body, ui::measure_width().saturating_sub(14)).iter().enumerate() {
        let shown = if i == 0 { heading } else { "" };
        let _ =
            writeln!(text, "{shown}{}  {line}", " ".repeat(12_usize.saturating_sub(count_columns(shown))));
    }
}

/// Formats the first line: a name, and its description in the user's language.
fn title(name: &str, about: &str) -> String {
    let line = format!("{name}: {}", ui::find_language().describe(about));
    ui::wrap_text(&line, ui::measure_width()).join("\n") + "\n\n"
}

fn probe_text(probe: &Probe) -> String {
    let mut text = title(probe.name, probe.summary);
    paragraph(&mut text, "timed", probe.timed);
    paragraph(&mut text, "not timed", probe.not_timed);
    paragraph(&mut text, "distorted by", probe.distorted_by);
    for (i, metric) in probe.metrics.iter().enumerate() {
        let body = describe_metric(metric.name, metric.unit, metric.direction, i == 0, ui::find_language());
        paragraph(&mut text, if i == 0 { "metrics" } else { "" }, &body);
    }
    for (i, parameter) in probe.parameters.iter().enumerate() {
        let defaults = (parameter.short, parameter.reference);
        let body = describe_parameter(parameter.name, parameter.about, defaults, ui::find_language());
        paragraph(&mut text, if i == 0 { "parameters" } else { "" }, &body);
    }
    text
}

fn environment_text(provider: &Provider) -> String {
    let mut text = title(&provider.name, &provider.summary);
    paragraph(&mut text, "stands for", &provider.stands_for);
    if let Some((_, tested)) =
        environments::list_launchers().find(|(launcher, _)| launcher.name == provider.name)
    {
        paragraph(&mut text, "tried", if tested { TESTED } else { UNTRIED });
    }
    for (i, option) in provider.options.iter().chain([&SLOWER, &Turns::OPTION, &ROOT]).enumerate() {
        let values = match option.values {
            [] => String::new(),
            values => format!(" [{}]", values.join("|")),
        };
        let about = ui::find_language().describe(&option.about);
        let body = format!("{}={}{values}: {about}", option.key, option.default);
        paragraph(&mut text, if i == 0 { "options" } else { "" }, &body);
    }
    text
}

fn preset_text(preset: &Preset) -> Result<String, LabError> {
    let mut text = title(preset.name, preset.summary);
    paragraph(&mut text, "entered as", preset.specification);
    for Variant { option: (key, value), specification, imitates } in preset.variants {
        let body = format!("{specification}, {}", ui::find_language().describe(imitates));
        paragraph(&mut text, &format!("{key}={value}"), &body);
    }
    paragraph(&mut text, "in common", preset.alike);
    paragraph(&mut text, "not", preset.unlike);
    let provider = &environments::parse_environment(preset.specification)?.specification.provider;
    let further = describe_further_options(provider.as_str(), preset.name, ui::find_language());
    paragraph(&mut text, "options", &further);
    Ok(text)
}

fn study_text(study: &Study) -> Result<String, LabError> {
    let mut text = title(&study.name, &study.title);
    for part in study.about.trim().split("\n\n") {
        let lines = ui::wrap_text(&part.replace('\n', " "), ui::measure_width());
        let _ = writeln!(text, "{}\n", lines.join("\n"));
    }
    paragraph(&mut text, "budget", &ui::find_language().format_duration(study.budget.as_secs_f64()));
    for (i, name) in study.published.iter().enumerate() {
        let article = published::read_article(name)?;
        paragraph(
            &mut text,
            if i == 0 { "published" } else { "" },
            &format!("{}: {}", article.id, ui::find_language().describe(&article.title)),
        );
    }
    for (i, selected) in study.expand_cases(None, None)?.iter().enumerate() {
        paragraph(&mut text, if i == 0 { "cases" } else { "" }, &selected.case.to_string());
    }
    Ok(text)
}
