//! `tare fleet report`: reports on all sessions in a fleet's folder.

use tare_analysis::fleet::gate::{is_shut, judge_fleet};
use tare_lab::error::LabError;
use tare_paths::door::Door;
use tare_report::fleet::store::{Stored, write_cell_files};
use tare_report::fleet::{FleetView, json, terminal};
use tare_report::text::plain_line;

use super::gathered::{cell_store_path, gather_records};
use super::merging::{merge_trials, write};
use super::whole_path::open_typed;
use crate::args::fleet::FleetReport;
use crate::command_error::CommandError;
use crate::exit::Exit;
use crate::ui;

pub fn run_fleet_report(args: &FleetReport) -> Result<Exit, CommandError> {
    let place = open_typed(&args.folder)?;
    let gathered = gather_records(&place, &args.by)?;
    let before = |folder| gather_records(&open_typed(folder)?, &gathered.by);
    let before = args.before.as_deref().map(before).transpose()?;
    let fleet = gathered.rows.summarise_fleet(before.as_ref().map(|before| &before.rows));
    let answers = judge_fleet(&fleet, &args.fail_if, gathered.planned, gathered.missing.len());
    let folder = args.folder.display().to_string();
    let view = FleetView {
        folder: &folder,
        study: &gathered.study,
        planned: gathered.planned,
        missing: &gathered.missing,
        strangers: gathered.strangers,
        fleet: &fleet,
        answers: &answers,
    };
    ui::print_text(
        &if args.json {
            json::render_fleet_json(&view)
        } else {
            terminal::render_fleet_terminal(&view, ui::measure_width())
        },
        args.json,
    )?;
    // Last: the first time it takes longer than the report.
    if let Err(error) = write_store(&place, &gathered.stored) {
        ui::print_note(&format!(
            "note: the tables for SQL were not written: {}",
            plain_line(&error.to_string())
        ));
    }
    terminal::list_answers(&view).iter().for_each(|line| ui::print_note(line));
    Ok(if is_shut(&answers) { Exit::Gate } else { Exit::Done })
}

/// Merges new trials, then rewrites the table of cells and removes the excess files of a longer one.
fn write_store(fleet: &Door, stored: &[Stored]) -> Result<(), LabError> {
    merge_trials(fleet, stored)?;
    let place = cell_store_path();
    fleet.make_folder(&place).map_err(LabError::storage_error("write", &fleet.join(&place)))?;
    let files = write_cell_files(stored);
    for (number, bytes) in files.iter().enumerate() {
        write(fleet, &place.join(format!("{number:04}.parquet")), bytes)?;
    }
    let left = (files.len()..).map(|number| place.join(format!("{number:04}.parquet")));
    left.take_while(|file| fleet.has_file(file) && fleet.remove_file(file).is_ok()).count();
    Ok(())
}
