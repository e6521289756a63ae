//! A session in the form that a view asks for: document, page, exports and conditions.

use std::path::Path;

use tare_analysis::findings::Findings;
use tare_analysis::gate::{Outcome, Ruling, TargetNames};
use tare_analysis::published::place_beside;
use tare_data::session::{Role, Session};
use tare_lab::asked::conditions::matches_nothing;
use tare_lab::error::LabError;
use tare_lab::study;
use tare_report::exports::Source;
use tare_report::html::Options;
use tare_report::paste::paste_session;

use crate::args::View;
use crate::command_error::CommandError;
use crate::exit::Exit;
use crate::session_exit::{exit_of_session, exit_with_gate};
use crate::show::again::format_repeat_command;
use crate::show::{pasting, published};
use crate::{outputs, ui};

/// A session as a view shows it: its findings are computed once, for table, page, exports, conditions and exit.
pub struct Shown {
    pub session: Session,
    pub findings: Findings,
}

/// The session that is shown: one of a record, or one that just ended, with the seconds that would settle what is open where it
/// ended early.
#[derive(Clone, Copy, PartialEq)]
pub enum Shows {
    Kept,
    Fresh { rest_s: Option<f64> },
}

impl Shown {
    /// Computes the findings of a session, with the figures of articles next to them. Cases that `only` does not name are hidden, after
    /// the verdicts were computed from the whole session.
    pub fn compute(mut session: Session, view: &View, only: &[String]) -> Result<Shown, LabError> {
        if let Some(share) = view.margin {
            session.plan.cases.iter_mut().for_each(|case| case.margin = libm::log1p(share));
        }
        let options = tare_analysis::Options { strict: view.strict, ..Default::default() };
        let mut findings = tare_analysis::compute_findings(&session, &options);
        without_planted(&mut session);
        place_beside(&mut findings, &session, &published::find_articles(&session, view)?);
        keep(only, &mut session, &mut findings)?;
        Ok(Shown { session, findings })
    }

    /// Renders the page, with the figures or the progress in `shown`.
    fn render_page(&self, record: &Path, shown: &Options) -> String {
        let (again, record) = (format_repeat_command(&self.session), record.display().to_string());
        let paste = paste_session(&self.session, &self.findings, &pasting::collect_private());
        let (record, again) = (Some(record.as_str()), Some(again.as_str()));
        let options = Options { record, again, paste: Some(&paste), language: ui::find_language(), ..*shown };
        tare_report::html::render_html(&self.session, &self.findings, &options)
    }

    /// Writes the page to a file that was named.
    pub fn write_page(&self, file: &Path, record: &Path, shown: &Options) -> Result<(), LabError> {
        outputs::write_file(file, self.render_page(record, shown).as_bytes())
    }

    /// Writes the exports, and prints one of them, or else the table.
    fn print(
        &self,
        view: &View,
        record: &Path,
        page: Option<&Path>,
        gate: Option<&Outcome>,
    ) -> Result<(), LabError> {
        let source = Source { session: &self.session, findings: &self.findings, gate };
        match outputs::write_exports(&source, &view.list_exports())? {
            Some(exported) => ui::print_output(exported),
            None if view.paste => {
                let private = pasting::collect_private();
                ui::print_text(&paste_session(&self.session, &self.findings, &private), true)
            }
            None if view.facts => ui::print_text(&format_facts(&self.session, view.json), view.json),
            None => ui::print_text(&self.format_table(view, record, page), false),
        }
    }

    pub fn format_table(&self, view: &View, record: &Path, page: Option<&Path>) -> String {
        let again = format_repeat_command(&self.session);
        let record = record.display().to_string();
        let html = page.map(|file| file.display().to_string());
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
        tare_report::terminal::render_terminal(&self.session, &self.findings, &options)
    }

    /// Judges the conditions of --fail-if and --at-most, if there are any. Rejects one that matches no cell.
    fn judge(&self, view: &View) -> Result<Option<Outcome>, LabError> {
        let conditions = view.list_conditions();
        if conditions.is_empty() {
            return Ok(None);
        }
        let subjects = self.session.plan.targets.of_role(Role::Subject);
        let targets: Vec<TargetNames> = subjects.map(TargetNames::of_side).collect();
        let mut outcome = tare_analysis::gate::judge_findings(&self.findings, &targets, &conditions);
        outcome.allows_undecided = view.allow_undecided;
        match outcome.idle.first() {
            None => Ok(Some(outcome)),
            Some(idle) => Err(matches_nothing(idle, &self.findings.subjects)),
        }
    }
}

/// Computes the findings for files that other programs read, without figures of articles.
pub fn compute_plain_findings(session: &mut Session) -> Findings {
    let findings = tare_analysis::compute_findings(session, &tare_analysis::Options::default());
    without_planted(session);
    findings
}

/// Removes environments with injected costs: the findings report on them, and their values mislead.
fn without_planted(session: &mut Session) {
    if let Some(target) = session.plan.targets.take_planted() {
        session.trials.retain(|trial| trial.target != target.name);
        session.facts.retain(|facts| facts.target != target.name);
    }
    session.plan.planted = None;
}

/// Prints the findings of a session as a view asks for them, writes its files, and checks its conditions.
///
/// A session that just ended, which is fresh, gets a page next to its record unless another
/// format or page was chosen. `only` hides other cases.
pub fn show_session(
    session: Session,
    view: &View,
    record: &Path,
    shows: Shows,
    only: &[String],
) -> Result<Exit, CommandError> {
    let is_fresh = shows != Shows::Kept;
    if !is_fresh && view.margin.is_some() && !view.list_conditions().is_empty() {
        return Err(LabError::usage_error(
            "--margin changes what is shown, and no condition is judged by it",
        )
        .with_hint("give the condition a ratio: --at-most ENVIRONMENT=RATIO")
        .into());
    }
    let shown = Shown::compute(session, view, only)?;
    published::note_those_beside_nothing(view, &shown.findings)?;
    let outcome = shown.judge(view)?;
    let page = match &view.html {
        Some(file) => {
            shown.write_page(file, record, &Options::default())?;
            Some(file.clone())
        }
        None if !is_fresh || !outputs::has_page_beside(view) => None,
        None => {
            let page = shown.render_page(record, &Options::default());
            Some(outputs::write_fresh(&record.with_extension("html"), page.as_bytes())?)
        }
    };
    shown.print(view, record, page.as_deref(), outcome.as_ref())?;
    // It has the path of the record, which a text to paste must not have.
    if let (Shows::Fresh { rest_s }, false) = (shows, view.paste)
        && let Some(rest) = tare_report::terminal::describe_rest(
            &shown.findings,
            &record.display().to_string(),
            rest_s,
            ui::find_language(),
        )
    {
        ui::print_text(&rest, false)?;
    }
    let by_session = if is_fresh { exit_of_session(&shown.session, &shown.findings) } else { Exit::Done };
    Ok(outcome.map_or(by_session, |outcome| {
        let failing = tare_report::gate::list_failing_cells(&shown.findings, &outcome, ui::find_language());
        let all_pass = outcome.count_cells(Ruling::Undecided) == 0;
        exit_with_gate(
            by_session,
            (outputs::report_conditions(&outcome, &failing), all_pass),
            &shown.findings,
        )
    }))
}

/// Writes the exports of a session, and shows nothing.
pub fn export_session(session: Session, view: &View, only: &[String]) -> Result<(), LabError> {
    let Shown { session, findings } = Shown::compute(session, view, only)?;
    let source = Source { session: &session, findings: &findings, gate: None };
    outputs::write_exports(&source, &view.exports).map(drop)
}

/// Removes every case that no pattern matches, after the verdicts were computed from the whole session.
fn keep(only: &[String], session: &mut Session, findings: &mut Findings) -> Result<(), LabError> {
    let cases: Vec<_> = session.plan.cases.iter().map(|planned| &planned.case).collect();
    study::each_names_one(only, &cases, "session")?;
    session.plan.cases.retain(|planned| study::is_selected(only, &planned.case));
    let is_kept = |id: &str| session.plan.cases.iter().any(|planned| planned.id == id);
    findings.rows.retain(|row| is_kept(&row.case) || row.is_of_session());
    findings.outcomes.retain(|outcome| is_kept(&outcome.case));
    findings.across_commands.retain(|of| is_kept(&of.case) && is_kept(&of.against));
    session.trials.retain(|trial| is_kept(&trial.case));
    Ok(())
}

/// Writes the page of a session as it is so far; it shows its progress where it still runs.
pub fn write_page_so_far(
    file: &Path,
    session: Session,
    view: &View,
    record: &Path,
    running: Option<&str>,
) -> Result<(), LabError> {
    let shown = Shown::compute(session, view, &[])?;
    shown.write_page(file, record, &Options { running, ..Options::default() })
}

/// Describes how each environment differs from the baseline in its facts.
pub fn format_facts(session: &Session, json: bool) -> String {
    let baseline = session.plan.targets.of_role(Role::Baseline).next();
    let baseline = baseline.map_or("the baseline", |target| target.name.as_str());
    let differences = tare_analysis::facts::compare_facts(session);
    match json {
        true => tare_report::facts::render_facts_json(baseline, &differences),
        false => tare_report::facts::render_facts(baseline, &differences, ui::measure_width()),
    }
}
