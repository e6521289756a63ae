//! `tare compare OLD... --to NEW...`: compares slowdowns in older and newer records.

use tare_analysis::change::{self, Judged};
use tare_lab::asked::conditions::matches_nothing;
use tare_report::language::Language;
use tare_report::several::diff::{self, Diff as View};

use super::records::{Read, judge_records};
use crate::args::Compare;
use crate::command_error::CommandError;
use crate::exit::Exit;
use crate::show::pasting;
use crate::{outputs, ui};

/// Reports what changed from older records to newer ones.
pub fn report_changes(args: &Compare) -> Result<Exit, CommandError> {
    outputs::check_redirection(&args.fail_if)?;
    let conditions = args.list_conditions();
    let (old, new) = (judge_records(&args.records)?, judge_records(&args.to)?);
    let [old, new] = [&old, &new].map(|side| side.iter().map(Read::named).collect::<Vec<_>>());
    let [then, now] = [&old, &new].map(|side| side.iter().map(|(judged, _)| *judged).collect::<Vec<_>>());
    let changes = change::compare_records(&then, &now, args.between);
    let mut outcome = change::judge_changes(&changes, &conditions);
    outcome.allows_undecided = args.allow_undecided;
    if let Some(idle) = outcome.idle.first() {
        let targets: Vec<String> = changes.targets.iter().map(|target| target.name.clone()).collect();
        return Err(matches_nothing(idle, &targets).into());
    }
    let view = View {
        old: &old,
        new: &new,
        reversed: find_reversed(&old, &new),
        changes: &changes,
        spread: args.between,
        wide: args.wide,
        width: ui::measure_width(),
        language: if args.markdown || args.paste { Language::English } else { ui::find_language() },
    };
    ui::print_text(
        &match (args.json, args.markdown) {
            _ if args.paste => pasting::paste_lines(&diff::render_diff_terminal(&view)),
            (true, _) => diff::render_diff_json(&view),
            (_, true) => diff::render_diff_markdown(&view),
            _ => diff::render_diff_terminal(&view),
        },
        args.json || args.markdown || args.paste,
    )?;
    // Nothing is decided where there was nothing to compare.
    let by_changes = if changes.count_compared() == 0 { Exit::Undecided } else { Exit::Done };
    Ok(match conditions.is_empty() {
        true => by_changes,
        false => by_changes
            .min(outputs::report_conditions(&outcome, &diff::list_failing_cells(&changes, &outcome))),
    })
}

/// Finds an older record that was started after a newer one, and that one.
fn find_reversed<'a>(old: &[(&Judged, &'a str)], new: &[(&Judged, &'a str)]) -> Option<[&'a str; 2]> {
    let started = |(judged, file): &(&Judged, &'a str)| {
        Some((judged.header.started.parse::<jiff::Timestamp>().ok()?, *file))
    };
    let (then, old) = old.iter().filter_map(started).max()?;
    let (now, new) = new.iter().filter_map(started).min()?;
    (then > now).then_some([old, new])
}
