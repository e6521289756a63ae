//! `tare compare OLD... --to NEW...`: compares slowdowns in older and newer records.

use std::path::PathBuf;

use tare_analysis::change::{self, Side};
use tare_analysis::findings::Findings;
use tare_data::session::Session;
use tare_lab::asked::conditions::matches_nothing;
use tare_report::several::diff::{self, Diff as View};

use super::records::read_noting;
use crate::args::Compare;
use crate::command_error::CommandError;
use crate::exit::Exit;
use crate::{outputs, ui};

/// Reports what changed from older records to newer ones.
pub fn report_changes(args: &Compare) -> Result<Exit, CommandError> {
    outputs::check_redirection(&args.fail_if)?;
    let conditions = args.list_conditions();
    let (old, new) = (read_all(&args.records)?, read_all(&args.to)?);
    note_order(&old, &new);
    let [then, now] = [&old, &new].map(|side| side.iter().map(Read::as_side).collect::<Vec<_>>());
    let changes = change::compare_records(&then, &now, args.between);
    let mut outcome = change::judge_changes(&changes, &conditions);
    outcome.allows_undecided = args.allow_undecided;
    if let Some(idle) = outcome.idle.first() {
        let targets: Vec<String> = changes.targets.iter().map(|target| target.name.clone()).collect();
        return Err(matches_nothing(idle, &targets).into());
    }
    let [old, new] = [&old, &new].map(|side| -> Vec<(&Session, &str)> {
        side.iter().map(|read| (&read.session, read.file.as_str())).collect()
    });
    let view = View {
        old: &old,
        new: &new,
        changes: &changes,
        spread: args.between,
        wide: args.wide,
        width: ui::measure_width(),
    };
    ui::print_text(
        &match (args.json, args.markdown) {
            (true, _) => diff::render_diff_json(&view),
            (_, true) => diff::render_diff_markdown(&view),
            _ => diff::render_diff_terminal(&view),
        },
        args.json || args.markdown,
    )?;
    // Nothing is decided where there was nothing to compare.
    let by_changes = if changes.count_compared() == 0 { Exit::Undecided } else { Exit::Done };
    Ok(match conditions.is_empty() {
        true => by_changes,
        false => {
            by_changes.min(outputs::report_conditions(&outcome, &diff::list_met_cells(&changes, &outcome)))
        }
    })
}

/// A record that was read, with its findings.
struct Read {
    file: String,
    session: Session,
    findings: Findings,
}

impl Read {
    fn as_side(&self) -> Side<'_> {
        Side { session: &self.session, findings: &self.findings }
    }
}

fn read_all(files: &[PathBuf]) -> Result<Vec<Read>, CommandError> {
    let read = |file: &PathBuf| {
        let session = read_noting(file)?;
        let findings = tare_analysis::compute_findings(&session, &tare_analysis::Options::default());
        Ok(Read { file: file.display().to_string(), session, findings })
    };
    files.iter().map(read).collect()
}

/// Notes an older record that was started after a newer one.
fn note_order(old: &[Read], new: &[Read]) {
    let started = |side: &[Read], latest: bool| {
        let all = side.iter().filter_map(|read| Some((instant(&read.session)?, read.file.clone())));
        if latest { all.max() } else { all.min() }
    };
    if let (Some((then, old)), Some((now, new))) = (started(old, true), started(new, false))
        && then > now
    {
        anstream::eprintln!("note: {old} was started after {new}");
    }
}

fn instant(session: &Session) -> Option<jiff::Timestamp> {
    session.header.started.parse().ok()
}
