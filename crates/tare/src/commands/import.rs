//! `tare import`: converts the output of other tools into a record.

use std::io::Read;
use std::path::Path;

use sha2::{Digest, Sha256};
use tare_data::encoding::encode_hex;
use tare_data::facts::Facts;
use tare_data::imported::Imported;
use tare_data::session::{Ending, Header};
use tare_import::LONGEST_SOURCE;
use tare_lab::error::{ErrorKind, LabError};
use tare_record::entry::SCHEMA;
use tare_record::{Entry, Writer, input};

use crate::args::Import;
use crate::command_error::CommandError;
use crate::exit::Exit;
use crate::{invocation, ui};

pub fn run_import(args: Import) -> Result<Exit, CommandError> {
    let environments = environments(&args)?;
    // Everything is read before anything is written: a record is whole, or is not there.
    let files = args.files.iter().zip(environments);
    let imported: Vec<Vec<Imported>> =
        files.map(|(file, environment)| import(file, environment)).collect::<Result<_, LabError>>()?;
    let imported = imported.concat();
    let record = args.out.unwrap_or_else(|| invocation::fresh_record(None, "tare-imported"));
    write(&record, &imported)?;
    if args.json {
        ui::print_output(tare_report::imported::render_imported_json(&imported))?;
    } else {
        let table =
            tare_report::imported::render_imported_terminal(&imported, ui::measure_width(), ui::has_colour());
        ui::print_text(&format!("{table}\nrecord  {}\n", record.display()), false)?;
    }
    Ok(Exit::Done)
}

/// Assigns an environment to each file as the command line names them. An empty name means unknown.
fn environments(args: &Import) -> Result<Vec<Option<&str>>, LabError> {
    let files = args.files.len();
    let named: Vec<Option<&str>> =
        args.environments.iter().map(|name| Some(name.as_str()).filter(|name| !name.is_empty())).collect();
    match named.as_slice() {
        [] => Ok(vec![None; files]),
        [one] => Ok(vec![*one; files]),
        each if each.len() == files => Ok(named),
        each => {
            let what = format!("--environment names {} environments for {files} files", each.len());
            Err(LabError::usage_error(what)
                .with_hint("give one name for all files, or one per file in order; outputs of several environments in one file need a \
                            file each"))
        }
    }
}

fn import(file: &Path, environment: Option<&str>) -> Result<Vec<Imported>, LabError> {
    if tare_record::is_record(file) {
        return Err(LabError::usage_error(format!("{} is already a record", file.display()))
            .with_hint(format!("tare report {} shows it", file.display())));
    }
    let refused = || LabError::new(ErrorKind::Record, format!("cannot import {}", file.display()));
    let bytes = read(file)
        .map_err(|error| refused().with_cause(error).with_hint("check the file and its permissions"))?;
    let name = file.file_name().map(|name| name.to_string_lossy()).unwrap_or_default();
    tare_import::import_file(&bytes, &name, environment).map_err(|refusal| {
        refused()
            .with_cause(refusal)
            .with_hint("save the tool's whole output, unchanged; nothing was written")
    })
}

/// Reads a file up to one byte beyond the import limit, which is enough to notice that it is too long.
fn read(file: &Path) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    input::open_regular_file(file)?.take(LONGEST_SOURCE + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn write(record: &Path, imported: &[Imported]) -> Result<(), LabError> {
    let header = Header {
        tare: env!("CARGO_PKG_VERSION").to_owned(),
        binary: binary_sha256()?,
        started: invocation::format_current_time(),
        command: invocation::list_arguments(),
        host: Facts::default(),
        identity: None,
        fleet: None,
    };
    let elsewhere = "name a new file, in a folder you may write, with --out RECORD";
    let mut writer = Writer::create(record).map_err(|error| LabError::from(error).with_hint(elsewhere))?;
    let mut entries = vec![Entry::Record { schema: SCHEMA, header }];
    entries.extend(imported.iter().cloned().map(Entry::Imported));
    entries.push(Entry::Ended { ending: Ending::Complete, at: invocation::format_current_time(), others: 0 });
    let written = entries.iter().try_for_each(|entry| writer.append(entry)).and_then(|()| writer.sync());
    if written.is_err() {
        // This call made it, and what is in it is not whole.
        let _ = std::fs::remove_file(record);
    }
    Ok(written?)
}

/// Computes the SHA-256 of this program, which sessions record as well.
fn binary_sha256() -> Result<String, LabError> {
    let bytes = std::fs::read(invocation::find_binary()?).map_err(|error| {
        LabError::new(ErrorKind::Storage, "cannot read tare's own file").with_cause(error)
    })?;
    Ok(encode_hex(&Sha256::digest(bytes)))
}
