//! `tare report`: reads a record and shows what it holds.

use std::process::ExitCode;

use tare_lab::error::LabError;
use tare_record::Contents;

use crate::args::Report;
use crate::show::{imported, published, session};
use crate::{outputs, page_server, ui};

pub fn run(args: Report) -> anyhow::Result<ExitCode> {
    outputs::check(&args.view)?;
    outputs::check_files(&args.view, args.record.as_deref())?;
    let Some(record) = &args.record else {
        ui::print(published::alone(&args.view)?)?;
        return Ok(ExitCode::SUCCESS);
    };
    if let Some(port) = args.serve {
        return page_server::run(record, port, args.view.clone());
    }
    let recording = match tare_record::open(record).map_err(LabError::from)? {
        Contents::Session(recording) => recording,
        Contents::Imported(imports) => {
            ui::print(imported::alone(&imports, record, &args)?)?;
            return Ok(ExitCode::SUCCESS);
        }
    };
    if let Some(line) = recording.torn_line {
        anstream::eprintln!("note: the record breaks off in line {line}; what was recorded before is shown");
    }
    let Some(other) = &args.beside else {
        return session::show(recording.session, &args.view, record, None, &args.only);
    };
    ui::print(imported::beside(recording.session, record, &args, other)?)?;
    Ok(ExitCode::SUCCESS)
}
