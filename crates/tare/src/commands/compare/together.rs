//! `tare compare --together`: combines slowdowns over several records.

use std::collections::BTreeSet;

use tare_analysis::across::{FEWEST_SESSIONS, join_records};
use tare_analysis::change::Side;
use tare_data::session::Session;
use tare_lab::error::{ErrorKind, LabError};
use tare_report::several::pool::{self, Pool as View};

use super::records::read_noting;
use crate::args::Compare;
use crate::command_error::CommandError;
use crate::exit::Exit;
use crate::ui;

/// Reports what the records show together.
pub fn report_together(args: &Compare) -> Result<Exit, CommandError> {
    let sessions: Vec<(Session, String)> = args
        .records
        .iter()
        .map(|file| Ok((read_noting(file)?, file.display().to_string())))
        .collect::<Result<_, LabError>>()?;
    // A session that is named twice would count as two that agree.
    let different: BTreeSet<_> =
        sessions.iter().map(|(session, _)| (&session.header.started, session.plan.seed)).collect();
    if different.len() < sessions.len() {
        let same = LabError::new(ErrorKind::Usage, "two of these records are of the same session");
        return Err(same.with_hint("name each session once").into());
    }
    if sessions.len() < FEWEST_SESSIONS {
        let what = format!("--together joins at least {FEWEST_SESSIONS} records");
        let few = LabError::new(ErrorKind::Usage, what);
        return Err(few.with_hint("tare compare OLD --to NEW compares two").into());
    }
    let options = tare_analysis::Options::default();
    let findings: Vec<_> =
        sessions.iter().map(|(session, _)| tare_analysis::compute_findings(session, &options)).collect();
    let sides: Vec<Side<'_>> =
        sessions.iter().zip(&findings).map(|((session, _), findings)| Side { session, findings }).collect();
    let joined = join_records(&sides);
    let view = View { records: &sessions, joined: &joined, wide: args.wide, width: ui::measure_width() };
    ui::print_text(
        &match (args.json, args.markdown) {
            (true, _) => pool::render_pool_json(&view),
            (_, true) => pool::render_pool_markdown(&view),
            _ => pool::render_pool_terminal(&view),
        },
        args.json || args.markdown,
    )?;
    Ok(Exit::Done)
}
