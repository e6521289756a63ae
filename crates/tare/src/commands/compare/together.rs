//! `tare compare --together`: combines slowdowns over several records.

use tare_analysis::across::{FEWEST_SESSIONS, join_records};
use tare_analysis::change::Judged;
use tare_lab::error::{ErrorKind, LabError};
use tare_report::language::Language;
use tare_report::several::pool::{self, Pool as View};

use super::records::{Read, judge_records, refuse_twins};
use crate::args::Compare;
use crate::command_error::CommandError;
use crate::exit::Exit;
use crate::ui;

/// Reports what the records show together.
pub fn report_together(args: &Compare) -> Result<Exit, CommandError> {
    let read = judge_records(&args.records)?;
    refuse_twins(&read)?;
    if read.len() < FEWEST_SESSIONS {
        let what = format!("--together joins at least {FEWEST_SESSIONS} records");
        let few = LabError::new(ErrorKind::Usage, what);
        return Err(few.with_hint("tare compare OLD --to NEW compares two").into());
    }
    let records: Vec<(&Judged, &str)> = read.iter().map(Read::named).collect();
    let joined = join_records(&records.iter().map(|(judged, _)| *judged).collect::<Vec<_>>());
    let (wide, width, language) = (args.wide, ui::measure_width(), ui::find_language());
    let language = if args.markdown { Language::English } else { language };
    let view = View { records: &records, joined: &joined, wide, width, language };
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
