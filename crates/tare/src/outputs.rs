//! Outputs: what goes to a file and what to standard output, and the exit code of `--fail-if`.

use std::fs::{OpenOptions, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use tare_analysis::gate::Outcome;
use tare_lab::error::{ErrorKind, LabError};
use tare_report::exports::{Source, Writing};

use crate::args::{View, Wanted};
use crate::failure::Exit;

/// What a new file may be, before the user's own mask.
const NEW_FILE: u32 = 0o666;

/// Whether some export goes to standard output, where the table would stand.
pub fn prints(view: &View) -> bool {
    view.exports.iter().any(|wanted| destination(wanted).is_none())
}

/// Nobody could take two documents on standard output apart. Checked before anything is measured.
pub fn check(view: &View) -> Result<(), LabError> {
    let own = [view.json || view.facts, view.markdown, view.csv, view.view.is_some()]
        .iter()
        .filter(|selected| **selected)
        .count();
    let exported = view.exports.iter().filter(|wanted| destination(wanted).is_none()).count();
    if own + exported < 2 {
        return Ok(());
    }
    Err(LabError::new(ErrorKind::Usage, "only one document can go to standard output")
        .hint("name files for the others: --export FORMAT=FILE"))
}

/// The file that an export goes to; none is standard output.
fn destination(wanted: &Wanted) -> Option<PathBuf> {
    let by_environment = || match wanted.export.writing {
        Writing::Whole => None,
        Writing::Appended { variable } => {
            std::env::var_os(variable).filter(|file| !file.is_empty()).map(PathBuf::from)
        }
    };
    wanted.file.clone().or_else(by_environment)
}

/// Writes every export that has a file; returns the one that goes to standard output.
pub fn export(source: &Source, exports: &[Wanted]) -> Result<Option<Vec<u8>>, LabError> {
    let mut printed = None;
    for wanted in exports {
        let bytes = (wanted.export.render)(source);
        match (destination(wanted), wanted.export.writing) {
            (None, _) => printed = Some(bytes),
            (Some(file), Writing::Whole) => write(&file, &bytes)?,
            (Some(file), Writing::Appended { .. }) => append(&file, &bytes).map_err(|e| cannot(&file, e))?,
        }
    }
    Ok(printed)
}

/// Writes a file whole or not at all: beside its place first, then into it.
pub fn write(file: &Path, bytes: &[u8]) -> Result<(), LabError> {
    let written = match file.canonicalize() {
        // A pipe or a terminal cannot be replaced.
        Ok(real) if !real.is_file() => append(&real, bytes),
        // What a link leads to is replaced, not the link.
        Ok(real) => replace(&real, bytes),
        Err(_) => replace(file, bytes),
    };
    written.map_err(|e| cannot(file, e))
}

fn replace(file: &Path, bytes: &[u8]) -> io::Result<()> {
    let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut builder = tempfile::Builder::new();
    builder.prefix(".tare-").permissions(Permissions::from_mode(NEW_FILE));
    let mut beside = builder.tempfile_in(folder)?;
    beside.write_all(bytes)?;
    beside.as_file().sync_all()?;
    beside.persist(file).map_err(|e| e.error)?;
    Ok(())
}

fn append(file: &Path, bytes: &[u8]) -> io::Result<()> {
    OpenOptions::new().append(true).create(true).open(file)?.write_all(bytes)
}

fn cannot(file: &Path, error: io::Error) -> LabError {
    LabError::new(ErrorKind::Storage, format!("cannot write {}", file.display()))
        .because(error)
        .hint("name a file in a folder that you may write")
}

/// Reports on standard error what the conditions found, and gives the exit code.
pub fn report_conditions(outcome: &Outcome, met: &[String]) -> ExitCode {
    anstream::eprintln!("{}", tare_report::gate::sentence(outcome));
    met.iter().for_each(|line| anstream::eprintln!("  {line}"));
    if outcome.is_shut() { Exit::Gate.into() } else { ExitCode::SUCCESS }
}
