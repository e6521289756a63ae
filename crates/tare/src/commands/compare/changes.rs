//! `tare compare OLD --to NEW`: compares slowdowns in an older and a newer record.

use std::path::Path;

use tare_analysis::change::{self, Side};
use tare_data::session::Session;
use tare_lab::asked::conditions::matches_nothing;
use tare_report::several::diff::{self, Diff as View};

use super::records::read_noting;
use crate::args::Compare;
use crate::command_error::CommandError;
use crate::exit::Exit;
use crate::{outputs, ui};

/// Reports what changed from an older record to a newer one.
pub fn report_changes(args: &Compare, old_file: &Path, new_file: &Path) -> Result<Exit, CommandError> {
    let (old, new) = (read_noting(old_file)?, read_noting(new_file)?);
    if let (Some(then), Some(now)) = (instant(&old), instant(&new))
        && then > now
    {
        anstream::eprintln!("note: {} was started after {}", old_file.display(), new_file.display());
    }
    let options = tare_analysis::Options::default();
    let then = tare_analysis::compute_findings(&old, &options);
    let now = tare_analysis::compute_findings(&new, &options);
    let changes = change::compare_records(
        Side { session: &old, findings: &then },
        Side { session: &new, findings: &now },
    );
    let mut outcome = change::judge_changes(&changes, &args.fail_if);
    outcome.allows_undecided = args.allow_undecided;
    if let Some(idle) = outcome.idle.first() {
        let targets: Vec<String> = changes.targets.iter().map(|target| target.name.clone()).collect();
        return Err(matches_nothing(idle, &targets).into());
    }
    let (old_file, new_file) = (old_file.display().to_string(), new_file.display().to_string());
    let view = View {
        old: (&old, &old_file),
        new: (&new, &new_file),
        changes: &changes,
        wide: args.wide,
        width: ui::measure_width(),
    };
    ui::print_output(match (args.json, args.markdown) {
        (true, _) => diff::render_diff_json(&view),
        (_, true) => diff::render_diff_markdown(&view),
        _ => diff::render_diff_terminal(&view),
    })?;
    Ok(match args.fail_if.is_empty() {
        true => Exit::Done,
        false => outputs::report_conditions(&outcome, &diff::list_met_cells(&changes, &outcome)),
    })
}

fn instant(session: &Session) -> Option<jiff::Timestamp> {
    session.header.started.parse().ok()
}
