//! `tare report`: reads a record and reports on it.

use std::path::Path;
use std::process::ExitCode;

use tare_analysis::findings::Findings;
use tare_analysis::gate::{Condition, Outcome, TargetNames};
use tare_analysis::published::{Published, place_beside};
use tare_data::session::{Role, Session};
use tare_lab::error::{ErrorKind, LabError};
use tare_lab::study::Study;
use tare_lab::study::published;
use tare_record::Contents;
use tare_report::exports::Source;
use tare_report::html::Options;
use tare_report::imported::Beside;
use tare_report::views::Tool;

use crate::args::{Report, ToolView, View};
use crate::commands::imported;
use crate::{outputs, page_server, ui};

pub fn run(args: Report) -> anyhow::Result<ExitCode> {
    outputs::check(&args.view)?;
    let Some(record) = &args.record else {
        ui::print(articles(&args.view)?)?;
        return Ok(ExitCode::SUCCESS);
    };
    if let Some(port) = args.serve {
        return page_server::run(record, port, args.view.clone());
    }
    let recording = match tare_record::open(record).map_err(LabError::from)? {
        Contents::Session(recording) => recording,
        Contents::Imported(imports) => {
            ui::print(imported::alone(&imports, record, &args)?)?;
            return Ok(ExitCode::SUCCESS);
        }
    };
    if let Some(line) = recording.torn_line {
        anstream::eprintln!("note: the record breaks off in line {line}; what was recorded before is shown");
    }
    let Some(other) = &args.beside else {
        return show(&recording.session, &args.view, record, None);
    };
    ui::print(imported::beside(&recording.session, record, &args, other)?)?;
    Ok(ExitCode::SUCCESS)
}

/// Findings of a session, with what articles say beside them.
pub fn findings(session: &Session, view: &View) -> Result<Findings, LabError> {
    let ratios = tare_analysis::gate::ratios(&view.fail_if);
    let options = tare_analysis::Options { strict: view.strict, ratios, ..Default::default() };
    let mut findings = tare_analysis::findings(session, &options);
    place_beside(&mut findings, session, &beside(session, view)?);
    Ok(findings)
}

/// Shows findings of a session as the view asks for them, writes what it wants to have written, and puts its
/// conditions. The same for a session that just ended and an old record.
pub fn show(
    session: &Session,
    view: &View,
    record: &Path,
    elapsed_s: Option<f64>,
) -> anyhow::Result<ExitCode> {
    let findings = findings(session, view)?;
    let outcome = gate(session, &findings, &view.fail_if)?;
    if let Some(file) = &view.html {
        write_page(file, session, &findings, record, None)?;
    }
    let source = Source { session, findings: &findings, gate: outcome.as_ref() };
    match outputs::export(&source, &view.exports)? {
        Some(exported) => ui::print(exported)?,
        None => ui::print(document(session, &findings, view, record, elapsed_s))?,
    }
    Ok(match &outcome {
        Some(outcome) => outputs::report_conditions(outcome, &tare_report::gate::met(&findings, outcome)),
        None => ExitCode::SUCCESS,
    })
}

/// Writes the page of a session, with figures of other tools beside its own where somebody asked for them.
pub fn write_page(
    file: &Path,
    session: &Session,
    findings: &Findings,
    record: &Path,
    beside: Option<&[Beside]>,
) -> Result<(), LabError> {
    let (again, record) = (format!("tare {}", again(session)), record.display().to_string());
    let options = Options { record: Some(&record), again: Some(&again), live: false, beside };
    outputs::write(file, tare_report::html::render(session, findings, &options).as_bytes())
}

/// What goes to standard output where no export does.
pub fn document(
    session: &Session,
    findings: &Findings,
    view: &View,
    record: &Path,
    elapsed_s: Option<f64>,
) -> String {
    if view.facts {
        return facts(session, view.json);
    }
    if view.json {
        return tare_report::json::render(session, findings);
    }
    if view.markdown {
        return tare_report::markdown::render(session, findings);
    }
    if view.csv {
        return tare_report::exports::csv::render(session, findings);
    }
    match view.view {
        Some(tool) => tare_report::views::render(followed(tool), session, findings),
        None => table(session, findings, view, record, elapsed_s),
    }
}

fn table(
    session: &Session,
    findings: &Findings,
    view: &View,
    record: &Path,
    elapsed_s: Option<f64>,
) -> String {
    let again = format!("tare {}", again(session));
    let record = record.display().to_string();
    let html = view.html.as_ref().map(|file| file.display().to_string());
    let options = tare_report::terminal::TerminalOptions {
        width: ui::width(),
        colour: ui::colour(),
        wide: view.wide,
        record: Some(&record),
        html: html.as_deref(),
        again: Some(&again),
        elapsed_s,
    };
    tare_report::terminal::render(session, findings, &options)
}

/// What the conditions find; none where there are none. A condition that matches no cell is a mistake.
fn gate(
    session: &Session,
    findings: &Findings,
    conditions: &[Condition],
) -> Result<Option<Outcome>, LabError> {
    if conditions.is_empty() {
        return Ok(None);
    }
    let subjects = session.plan.targets.iter().filter(|target| target.role == Role::Subject);
    let targets: Vec<TargetNames> = subjects
        .map(|target| TargetNames { name: &target.name, specification: &target.specification })
        .collect();
    let outcome = tare_analysis::gate::judge(findings, &targets, conditions);
    match outcome.idle.first() {
        None => Ok(Some(outcome)),
        Some(idle) => Err(outputs::matches_nothing(idle, &findings.subjects)),
    }
}

/// What follows from the figures of articles alone.
fn articles(view: &View) -> Result<String, LabError> {
    let wants_record = !view.exports.is_empty() || !view.fail_if.is_empty();
    if wants_record || view.csv || view.view.is_some() || view.html.is_some() {
        return Err(LabError::new(
            ErrorKind::Usage,
            "articles alone can be shown as text, --json or --markdown",
        )
        .hint("name a record for --csv, --html, --export, --view or --fail-if"));
    }
    let articles = view.published.iter().map(|name| published::named(name));
    let show = |article: Published| match (view.json, view.markdown) {
        (true, _) => tare_report::published::recomputed_json(&article),
        (_, true) => tare_report::published::recomputed_markdown(&article),
        _ => tare_report::published::recomputed(&article, ui::width()),
    };
    Ok(articles.map(|article| article.map(show)).collect::<Result<Vec<_>, _>>()?.join("\n"))
}

/// The articles that stand beside a session: those that the view names and those of its study.
fn beside(session: &Session, view: &View) -> Result<Vec<Published>, LabError> {
    let study = Study::shipped(&session.plan.study)?;
    let mut names = view.published.clone();
    names.extend(study.map(|study| study.published).unwrap_or_default());
    let mut articles: Vec<Published> = Vec::new();
    for name in &names {
        let article = published::named(name)?;
        if articles.iter().all(|other| other.id != article.id) {
            articles.push(article);
        }
    }
    Ok(articles)
}

/// In what each environment differs from the baseline.
pub fn facts(session: &Session, json: bool) -> String {
    let baseline = session.plan.targets.iter().find(|target| target.role == Role::Baseline);
    let baseline = baseline.map_or("the baseline", |target| target.name.as_str());
    let differences = tare_analysis::facts::differences(session);
    match json {
        true => tare_report::facts::json(baseline, &differences),
        false => tare_report::facts::render(baseline, &differences, ui::width()),
    }
}

/// The tool whose report a view follows.
fn followed(view: ToolView) -> Tool {
    match view {
        ToolView::Unixbench => Tool::UnixBench,
        ToolView::Sysbench => Tool::Sysbench,
        ToolView::Dd => Tool::Dd,
        ToolView::CrystalDiskMark => Tool::CrystalDiskMark,
        ToolView::Netperf => Tool::Netperf,
    }
}

/// The arguments that plan the same session again.
pub fn again(session: &Session) -> String {
    let mut words = session.header.command.clone();
    if !words.iter().any(|word| word.starts_with("--seed")) {
        words.push(format!("--seed {:x}", session.plan.seed));
    }
    if !words.iter().any(|word| word.starts_with("--in")) {
        let targets = session.plan.targets.iter();
        let specifications: Vec<&str> = targets
            .filter(|target| target.role != tare_data::session::Role::Control)
            .map(|target| target.specification.as_str())
            .collect();
        words.push(format!("--in {}", quoted(&specifications.join(","))));
    }
    words.join(" ")
}

/// Quotes a word that a shell would take apart.
pub fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_=.,:/@+".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', "'\\''"))
}
