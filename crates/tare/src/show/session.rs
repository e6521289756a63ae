//! A session in the form that a view asks for: document, page, exports and conditions.

use std::path::Path;

use tare_analysis::findings::Findings;
use tare_analysis::gate::{Outcome, TargetNames};
use tare_analysis::published::place_beside;
use tare_data::session::{Role, Session};
use tare_lab::asked::conditions::matches_nothing;
use tare_lab::error::LabError;
use tare_lab::study;
use tare_report::exports::Source;
use tare_report::html::Options;
use tare_report::imported::Beside;

use crate::args::View;
use crate::command_error::CommandError;
use crate::exit::Exit;
use crate::session_exit::exit_of_session;
use crate::show::again::format_repeat_command;
use crate::show::published;
use crate::{outputs, ui};

/// Computes the findings to show, with the figures of articles next to them.
pub fn compute_view_findings(session: &mut Session, view: &View) -> Result<Findings, LabError> {
    if let Some(share) = view.margin {
        session.plan.cases.iter_mut().for_each(|case| case.margin = libm::log1p(share));
    }
    let mut findings = found(session, view);
    without_planted(session);
    place_beside(&mut findings, session, &published::find_articles(session, view)?);
    Ok(findings)
}

/// Computes the findings for files that other programs read, without figures of articles.
pub fn compute_plain_findings(session: &mut Session) -> Findings {
    let findings = tare_analysis::compute_findings(session, &tare_analysis::Options::default());
    without_planted(session);
    findings
}

/// Removes environments with injected costs: the findings report on them, and their values mislead.
fn without_planted(session: &mut Session) {
    let planted = session.plan.targets.extract_if(.., |target| target.role == Role::Planted);
    for target in planted.collect::<Vec<_>>() {
        session.trials.retain(|trial| trial.target != target.name);
        session.facts.retain(|facts| facts.target != target.name);
    }
    session.plan.planted = None;
}

fn found(session: &Session, view: &View) -> Findings {
    let options = tare_analysis::Options { strict: view.strict, ..Default::default() };
    tare_analysis::compute_findings(session, &options)
}

/// Prints the findings of a session as a view asks for them, writes its files, and checks its conditions.
///
/// A session that just ended, which is fresh, gets a page next to its record unless another
/// format or page was chosen. `only` hides other cases.
pub fn show_session(
    mut session: Session,
    view: &View,
    record: &Path,
    is_fresh: bool,
    only: &[String],
) -> Result<Exit, CommandError> {
    // A margin to look at opens no gate.
    let of_gate =
        (view.margin.is_some() && !view.list_conditions().is_empty()).then(|| found(&session, view));
    let mut findings = compute_view_findings(&mut session, view)?;
    keep(only, &mut session, &mut findings)?;
    let of_gate = match of_gate {
        Some(mut findings) => {
            keep(only, &mut session, &mut findings)?;
            Some(findings)
        }
        None => None,
    };
    published::note_those_beside_nothing(view, &findings)?;
    let session = &session;
    let outcome = judged(session, of_gate.as_ref().unwrap_or(&findings), view)?;
    let mut view = view.clone();
    match &view.html {
        Some(file) => write_page(file, session, &findings, record, None)?,
        None if !is_fresh || !outputs::has_page_beside(&view) => {}
        None => {
            let page = page(session, &findings, record, &Options::default());
            view.html = Some(outputs::write_fresh(&record.with_extension("html"), page.as_bytes())?);
        }
    }
    let source = Source { session, findings: &findings, gate: outcome.as_ref() };
    match outputs::write_exports(&source, &view.exports)? {
        Some(exported) => ui::print_output(exported)?,
        None => ui::print_text(&format_document(session, &findings, &view, record), view.is_document())?,
    }
    let by_session = match is_fresh {
        true => exit_of_session(session, of_gate.as_ref().unwrap_or(&findings)),
        false => Exit::Done,
    };
    Ok(match &outcome {
        Some(outcome) => {
            let met = tare_report::gate::list_met_cells(&findings, outcome, ui::find_language());
            by_session.min(outputs::report_conditions(outcome, &met))
        }
        None => by_session,
    })
}

/// Writes the exports of a session, and shows nothing.
pub fn export_session(mut session: Session, view: &View, only: &[String]) -> Result<(), LabError> {
    let mut findings = compute_view_findings(&mut session, view)?;
    keep(only, &mut session, &mut findings)?;
    let source = Source { session: &session, findings: &findings, gate: None };
    outputs::write_exports(&source, &view.exports).map(drop)
}

/// Removes every case that no pattern matches, after the verdicts were computed from the whole session.
fn keep(only: &[String], session: &mut Session, findings: &mut Findings) -> Result<(), LabError> {
    let cases: Vec<_> = session.plan.cases.iter().map(|planned| &planned.case).collect();
    study::each_names_one(only, &cases, "session")?;
    session.plan.cases.retain(|planned| study::is_selected(only, &planned.case));
    let is_kept = |id: &str| session.plan.cases.iter().any(|planned| planned.id == id);
    findings.rows.retain(|row| is_kept(&row.case));
    session.trials.retain(|trial| is_kept(&trial.case));
    Ok(())
}

/// Renders the page of a session, with the figures or the progress in `shown`.
fn page(session: &Session, findings: &Findings, record: &Path, shown: &Options) -> String {
    let (again, record) = (format_repeat_command(session), record.display().to_string());
    let (record, again) = (Some(record.as_str()), Some(again.as_str()));
    let options = Options { record, again, language: ui::find_language(), ..*shown };
    tare_report::html::render_html(session, findings, &options)
}

/// Writes the page to a file that was named.
pub fn write_page(
    file: &Path,
    session: &Session,
    findings: &Findings,
    record: &Path,
    beside: Option<&[Beside]>,
) -> Result<(), LabError> {
    outputs::write_file(
        file,
        page(session, findings, record, &Options { beside, ..Options::default() }).as_bytes(),
    )
}

/// Writes the page of a session as it is so far; it shows its progress where it still runs.
pub fn write_page_so_far(
    file: &Path,
    mut session: Session,
    view: &View,
    record: &Path,
    running: Option<&str>,
) -> Result<(), LabError> {
    let findings = compute_view_findings(&mut session, view)?;
    let shown = Options { running, ..Options::default() };
    outputs::write_file(file, page(&session, &findings, record, &shown).as_bytes())
}

/// Formats the document for standard output, where no export takes its place.
pub fn format_document(session: &Session, findings: &Findings, view: &View, record: &Path) -> String {
    if view.facts {
        return format_facts(session, view.json);
    }
    if view.json {
        return tare_report::json::render_json(session, findings);
    }
    if view.markdown {
        return tare_report::markdown::render_markdown(session, findings);
    }
    if view.csv {
        return tare_report::exports::csv::render_csv(session, findings);
    }
    table(session, findings, view, record)
}

fn table(session: &Session, findings: &Findings, view: &View, record: &Path) -> String {
    let again = format_repeat_command(session);
    let record = record.display().to_string();
    let html = view.html.as_ref().map(|file| file.display().to_string());
    let options = tare_report::terminal::TerminalOptions {
        width: ui::measure_width(),
        colour: ui::has_colour(),
        wide: view.wide,
        record: Some(&record),
        html: html.as_deref(),
        exports: &outputs::list_exported_files(view),
        again: Some(&again),
        language: ui::find_language(),
    };
    tare_report::terminal::render_terminal(session, findings, &options)
}

/// Evaluates the conditions of --fail-if, if there are any. Rejects one that matches no cell.
fn judged(session: &Session, findings: &Findings, view: &View) -> Result<Option<Outcome>, LabError> {
    let conditions = view.list_conditions();
    if conditions.is_empty() {
        return Ok(None);
    }
    let subjects = session.plan.targets.iter().filter(|target| target.role == Role::Subject);
    let targets: Vec<TargetNames> = subjects
        .map(|target| TargetNames { name: &target.name, specification: Some(&target.specification) })
        .collect();
    let mut outcome = tare_analysis::gate::judge_findings(findings, &targets, &conditions);
    outcome.allows_undecided = view.allow_undecided;
    match outcome.idle.first() {
        None => Ok(Some(outcome)),
        Some(idle) => Err(matches_nothing(idle, &findings.subjects)),
    }
}

/// Describes how each environment differs from the baseline in its facts.
pub fn format_facts(session: &Session, json: bool) -> String {
    let baseline = session.plan.targets.iter().find(|target| target.role == Role::Baseline);
    let baseline = baseline.map_or("the baseline", |target| target.name.as_str());
    let differences = tare_analysis::facts::compare_facts(session);
    match json {
        true => tare_report::facts::render_facts_json(baseline, &differences),
        false => tare_report::facts::render_facts(baseline, &differences, ui::measure_width()),
    }
}
