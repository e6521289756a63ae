//! `tare report`: reads a record and shows its results.

use std::collections::BTreeSet;

use tare_lab::error::LabError;
use tare_record::Contents;
use tare_report::text::plain_line;

use crate::args::Report;
use crate::command_error::CommandError;
use crate::exit::Exit;
use crate::show::{imported, session};
use crate::{outputs, ui};

pub fn run_report(args: Report) -> Result<Exit, CommandError> {
    if !args.more.is_empty() {
        return several(&args);
    }
    outputs::check_outputs(&args.view)?;
    let record = &args.record;
    outputs::check_files(&args.view, Some(record))?;
    let recording = match tare_record::read_record(record)? {
        Contents::Session(recording) => recording,
        Contents::Imported(imports) => {
            ui::print_text(
                &imported::format_import_alone(&imports, record, &args)?,
                args.view.is_document(),
            )?;
            return Ok(Exit::Done);
        }
    };
    if let Some(line) = recording.torn_line {
        ui::print_note(&format!("note: the record breaks off in line {line}; showing everything before it"));
    }
    let Some(other) = &args.beside else {
        return session::show_session(
            recording.session,
            &args.view,
            record,
            session::Shows::Kept,
            &args.only,
        );
    };
    let text = imported::format_import_beside(recording.session, record, &args, other)?;
    ui::print_text(&text, args.view.is_document())?;
    Ok(Exit::Done)
}

/// Exports several records to separate files. Nothing is written if two file names are equal.
fn several(args: &Report) -> Result<Exit, CommandError> {
    let mut places = BTreeSet::new();
    let mut each = Vec::new();
    for record in [&args.record].into_iter().chain(&args.more) {
        let view = outputs::named_after(&args.view, record)?;
        outputs::check_files(&view, Some(record))?;
        if let Some(twice) =
            outputs::list_exported_files(&view).into_iter().find(|file| !places.insert(file.clone()))
        {
            return Err(LabError::usage_error(format!("{twice} would be written twice"))
                .with_hint("records have the same name: export them one by one, to different folders")
                .into());
        }
        each.push((record, view));
    }
    for (record, view) in each {
        let recording = tare_record::read_session(record)?;
        session::export_session(recording.session, &view, &args.only)?;
        outputs::list_exported_files(&view)
            .iter()
            .for_each(|file| ui::print_note(&format!("export  {}", plain_line(file))));
    }
    Ok(Exit::Done)
}
