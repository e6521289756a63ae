//! `tare pool`: environments' slowdowns over several records.

use std::collections::BTreeSet;
use std::process::ExitCode;

use tare_analysis::across::{FEWEST_SESSIONS, joined};
use tare_analysis::change::Side;
use tare_data::session::Session;
use tare_lab::error::{ErrorKind, LabError};
use tare_report::several::pool::{self, Pool as View};

use crate::args::Pool;
use crate::commands::diff::read;
use crate::ui;

pub fn run(args: &Pool) -> anyhow::Result<ExitCode> {
    let sessions: Vec<(Session, String)> = args
        .records
        .iter()
        .map(|file| Ok((read(file)?, file.display().to_string())))
        .collect::<Result<_, LabError>>()?;
    // The same session twice would count as two that agree.
    let different: BTreeSet<_> =
        sessions.iter().map(|(session, _)| (&session.header.started, session.plan.seed)).collect();
    if different.len() < sessions.len() {
        let same = LabError::new(ErrorKind::Usage, "two of these records are of the same session");
        return Err(same.hint("name each session once").into());
    }
    if sessions.len() < FEWEST_SESSIONS {
        let what = format!("pool joins at least {FEWEST_SESSIONS} records");
        let few = LabError::new(ErrorKind::Usage, what);
        return Err(few.hint("tare diff compares two").into());
    }
    let options = tare_analysis::Options::default();
    let findings: Vec<_> =
        sessions.iter().map(|(session, _)| tare_analysis::findings(session, &options)).collect();
    let sides: Vec<Side<'_>> =
        sessions.iter().zip(&findings).map(|((session, _), findings)| Side { session, findings }).collect();
    let joined = joined(&sides);
    let view = View { records: &sessions, joined: &joined, wide: args.wide, width: ui::width() };
    ui::print(match (args.json, args.markdown) {
        (true, _) => pool::json(&view),
        (_, true) => pool::markdown(&view),
        _ => pool::terminal(&view),
    })?;
    Ok(ExitCode::SUCCESS)
}
