//! `tare diff`: environments' slowdowns in an older record and in a newer one.

use std::path::Path;
use std::process::ExitCode;

use tare_analysis::change::{self, Side};
use tare_data::session::Session;
use tare_lab::asked::conditions::matches_nothing;
use tare_lab::error::LabError;
use tare_report::several::diff::{self, Diff as View};

use crate::args::Diff;
use crate::{outputs, ui};

pub fn run(args: Diff) -> anyhow::Result<ExitCode> {
    let (old, new) = (read(&args.old)?, read(&args.new)?);
    if let (Some(then), Some(now)) = (instant(&old), instant(&new))
        && then > now
    {
        anstream::eprintln!("note: {} was started after {}", args.old.display(), args.new.display());
    }
    let options = tare_analysis::Options::default();
    let then = tare_analysis::findings(&old, &options);
    let now = tare_analysis::findings(&new, &options);
    let changes =
        change::changes(Side { session: &old, findings: &then }, Side { session: &new, findings: &now });
    let outcome = change::judge(&changes, &args.fail_if);
    if let Some(idle) = outcome.idle.first() {
        let targets: Vec<String> = changes.targets.iter().map(|target| target.name.clone()).collect();
        return Err(matches_nothing(idle, &targets).into());
    }
    let (old_file, new_file) = (args.old.display().to_string(), args.new.display().to_string());
    let view = View {
        old: (&old, &old_file),
        new: (&new, &new_file),
        changes: &changes,
        wide: args.wide,
        width: ui::width(),
    };
    ui::print(match (args.json, args.markdown) {
        (true, _) => diff::json(&view),
        (_, true) => diff::markdown(&view),
        _ => diff::terminal(&view),
    })?;
    Ok(match args.fail_if.is_empty() {
        true => ExitCode::SUCCESS,
        false => outputs::report_conditions(&outcome, &diff::met(&changes, &outcome)),
    })
}

pub(crate) fn read(file: &Path) -> Result<Session, LabError> {
    let recording = tare_record::read(file).map_err(LabError::from)?;
    if let Some(line) = recording.torn_line {
        anstream::eprintln!("note: {} breaks off in line {line}", file.display());
    }
    for warning in &recording.session.warnings {
        anstream::eprintln!(
            "note: {}: {}",
            file.display(),
            tare_report::warnings::words(warning, ui::language())
        );
    }
    Ok(recording.session)
}

/// When a session was begun; none where its record does not hold that.
fn instant(session: &Session) -> Option<jiff::Timestamp> {
    session.header.started.parse().ok()
}
