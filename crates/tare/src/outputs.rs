//! Outputs: files, standard output, and the exit code of `--fail-if`.
//!
//! No output replaces a record or a file that the user did not name.

use std::fs::{self, Metadata};
use std::io::{self, ErrorKind as IoKind, IsTerminal, Write};
use std::path::{Path, PathBuf};

use tare_analysis::gate::{Condition, Kind, Outcome};
use tare_lab::error::{ErrorKind, LabError};
use tare_report::exports::{Source, Writing, is_binary};

use crate::args::{View, Wanted};
use crate::exit::Exit;
use crate::{platform, ui};

/// Links from a name to a file that are followed.
const MOST_LINKS: u32 = 16;
/// Numbers that a name is tried with where there is a file already.
const MOST_NUMBERS: u32 = 10_000;

/// Tells whether an export goes to standard output, in place of the table.
pub fn has_printed_export(view: &View) -> bool {
    view.list_exports().iter().any(|wanted| destination(wanted).is_none())
}

/// Rejects more than one document on standard output, which no reader could separate, before anything is
/// measured.
pub fn check_outputs(view: &View) -> Result<(), LabError> {
    check_redirection(&view.fail_if)?;
    let exports = view.list_exports();
    let printed = || exports.iter().filter(|wanted| destination(wanted).is_none());
    if let Some(binary) = printed().find(|wanted| is_binary(wanted.export))
        && io::stdout().is_terminal()
    {
        let name = binary.export.name;
        return Err(LabError::new(ErrorKind::Usage, format!("{name} is binary and cannot go to a terminal"))
            .with_hint(format!("name a file: --export {name}=FILE")));
    }
    if printed().count() + usize::from(view.facts) + usize::from(view.paste) < 2 {
        return Ok(());
    }
    Err(LabError::new(ErrorKind::Usage, "only one document can go to standard output")
        .with_hint("name files for the others: --export FORMAT=FILE"))
}

/// Refuses a condition whose ratio a shell took for the name of a file: unquoted, `>1.5` sends standard output there.
pub fn check_redirection(conditions: &[Condition]) -> Result<(), LabError> {
    let lacks_ratio = |condition: &&Condition| {
        matches!(condition.kind, Kind::Slower | Kind::Regressed) && condition.beyond.is_none()
    };
    let is_number = |name: &String| name.trim_end_matches('x').parse::<f64>().is_ok();
    let (Some(condition), Some(ratio)) =
        (conditions.iter().find(lacks_ratio), platform::name_of_output().filter(is_number))
    else {
        return Ok(());
    };
    let what = format!("the shell took '>{ratio}' for a file, and left the condition '{condition}'");
    let hint = format!("quote it: --fail-if '{condition}>{ratio}'; or write --at-most ENVIRONMENT={ratio}");
    Err(LabError::usage_error(what).with_hint(hint))
}

/// Refuses an output that would replace a record. Checked before anything is measured, for a record that may not be there yet.
pub fn check_files(view: &View, record: Option<&Path>) -> Result<(), LabError> {
    let exports = view.exports.iter().filter_map(destination);
    for file in view.html.iter().cloned().chain(exports) {
        let is_it = record.is_some_and(|record| is_same(&file, record));
        if is_it || tare_record::is_record(&file) {
            return Err(replaces_a_record(&file));
        }
    }
    Ok(())
}

/// Lists the files that exports were written to.
pub fn list_exported_files(view: &View) -> Vec<String> {
    view.exports.iter().filter_map(destination).map(|file| file.display().to_string()).collect()
}

/// Lists the files that a session's view writes in addition to the record, each with a description.
pub fn list_output_files(view: &View, record: &Path) -> Vec<(PathBuf, String)> {
    let exports = view
        .exports
        .iter()
        .filter_map(|wanted| Some((destination(wanted)?, format!("the results as {}", wanted.export.name))));
    let page = match &view.html {
        Some(file) => Some((file.clone(), "the page".to_owned())),
        None if has_page_beside(view) => Some((
            record.with_extension("html"),
            "the page, with a number where a file has this name".to_owned(),
        )),
        None => None,
    };
    page.into_iter().chain(exports).collect()
}

/// Tells whether a session that just ended gets an HTML page next to its record without being asked.
pub fn has_page_beside(view: &View) -> bool {
    !(view.facts || has_printed_export(view))
}

fn replaces_a_record(file: &Path) -> LabError {
    LabError::new(ErrorKind::Usage, format!("{} is a record, and would be replaced", file.display()))
        .with_hint("name another file: records cannot be made again")
}

/// Tells whether two names refer to one file, which may not exist yet.
fn is_same(a: &Path, b: &Path) -> bool {
    if let Ok(is_one) = platform::is_one_file(a, b) {
        return is_one;
    }
    let place = |path: &Path| Some((folder_of(path).canonicalize().ok()?, path.file_name()?.to_owned()));
    place(a).is_some_and(|a| Some(a) == place(b))
}

fn folder_of(file: &Path) -> &Path {
    file.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Finds the file that an export writes; `None` is standard output.
fn destination(wanted: &Wanted) -> Option<PathBuf> {
    let by_environment = || match wanted.export.writing {
        Writing::Whole => None,
        Writing::Appended { variable } => {
            std::env::var_os(variable).filter(|file| !file.is_empty()).map(PathBuf::from)
        }
    };
    wanted.file.clone().or_else(by_environment)
}

/// Copies a view with its file names filled in for one of several records.
pub fn named_after(view: &View, record: &Path) -> Result<View, LabError> {
    let stem = record.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let mut view = view.clone();
    for wanted in &mut view.exports {
        let name = wanted.export.name;
        let pattern = wanted.file.as_ref().and_then(|file| file.to_str()).filter(|file| file.contains("%n"));
        let Some(pattern) = pattern else {
            return Err(LabError::usage_error("several records would be written into one file")
                .with_hint(format!("name the files after the records: --export {name}=%n.{name}")));
        };
        wanted.file = Some(pattern.replace("%n", &stem).into());
    }
    Ok(view)
}

/// Writes every export that has a file; returns the one that goes to standard output.
pub fn write_exports(source: &Source, exports: &[Wanted]) -> Result<Option<Vec<u8>>, LabError> {
    let mut printed = None;
    for wanted in exports {
        let bytes = (wanted.export.render)(source);
        match (destination(wanted), wanted.export.writing) {
            (None, _) => printed = Some(bytes),
            (Some(file), Writing::Whole) => write_file(&file, &bytes)?,
            (Some(file), Writing::Appended { .. }) if tare_record::is_record(&file) => {
                return Err(replaces_a_record(&file));
            }
            (Some(file), Writing::Appended { .. }) => {
                followed(&file).and_then(|real| append(&real, &bytes)).map_err(|e| cannot(&file, e))?;
            }
        }
    }
    Ok(printed)
}

/// Writes a file completely or not at all, by renaming a temporary file next to it.
pub fn write_file(file: &Path, bytes: &[u8]) -> Result<(), LabError> {
    let real = followed(file).map_err(|e| cannot(file, e))?;
    if tare_record::is_record(&real) {
        return Err(replaces_a_record(file));
    }
    let written = match fs::metadata(&real) {
        // An open descriptor cannot be replaced.
        Ok(_) if is_descriptor(&real) => append(&real, bytes),
        Ok(about) => platform::not_planted(folder_of(&real), &about).and_then(|()| match about.is_file() {
            true => replace(&real, bytes, Some(&about)),
            // Nor can a pipe or a terminal.
            false => append(&real, bytes),
        }),
        Err(_) => replace(&real, bytes, None),
    };
    written.map_err(|e| cannot(file, e))
}

/// Tells whether a file can be replaced repeatedly, unlike a pipe, a terminal or an open descriptor.
pub fn is_replaceable(file: &Path) -> bool {
    let is_file = |real: &Path| fs::metadata(real).map_or(true, |about| about.is_file());
    followed(file).is_ok_and(|real| !is_descriptor(&real) && is_file(&real))
}

/// Tells whether a path is a descriptor of this process, which cannot be resolved.
fn is_descriptor(file: &Path) -> bool {
    file.starts_with("/proc")
}

/// Writes a file that was not named: one that is there already is left alone, and a number is added to the name.
pub fn write_fresh(file: &Path, bytes: &[u8]) -> Result<PathBuf, LabError> {
    let stem = file.file_stem().unwrap_or_default().to_string_lossy();
    let ending = file.extension().unwrap_or_default().to_string_lossy();
    let numbered = (2..MOST_NUMBERS).map(|number| file.with_file_name(format!("{stem}-{number}.{ending}")));
    for name in std::iter::once(file.to_owned()).chain(numbered) {
        let written =
            beside(&name, bytes, None).and_then(|new| new.persist_noclobber(&name).map_err(|e| e.error));
        match written {
            Ok(_) => return Ok(name),
            Err(e) if e.kind() == IoKind::AlreadyExists => {}
            Err(e) => return Err(cannot(&name, e)),
        }
    }
    Err(cannot(file, IoKind::AlreadyExists.into()))
}

/// Follows links to the file that will be replaced, so that the link itself survives. In a folder that others
/// can write to, a link may be another user's trap, so only links of the user and of root are followed.
fn followed(file: &Path) -> io::Result<PathBuf> {
    let mut file = file.to_owned();
    for _ in 0..MOST_LINKS {
        let Ok(about) = fs::symlink_metadata(&file) else { return Ok(file) };
        if !about.is_symlink() {
            return Ok(file);
        }
        if !platform::is_believed(&about) {
            return Err(io::Error::new(IoKind::PermissionDenied, "it is a link that another user made"));
        }
        if is_descriptor(&file) {
            return Ok(file);
        }
        file = folder_of(&file).join(fs::read_link(&file)?);
    }
    Err(io::Error::other("it leads from link to link"))
}

fn replace(file: &Path, bytes: &[u8], old: Option<&Metadata>) -> io::Result<()> {
    beside(file, bytes, old)?.persist(file).map_err(|e| e.error)?;
    Ok(())
}

/// Writes the bytes to a temporary file next to the destination. It takes the permissions of the file that it
/// replaces; a new file gets the usual ones.
fn beside(file: &Path, bytes: &[u8], old: Option<&Metadata>) -> io::Result<tempfile::NamedTempFile> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(".tare-");
    if old.is_none() {
        platform::with_usual_rights(&mut builder);
    }
    let mut beside = builder.tempfile_in(folder_of(file))?;
    beside.write_all(bytes)?;
    if let Some(old) = old {
        platform::hand_on_rights(beside.as_file(), old)?;
    }
    beside.as_file().sync_all()?;
    Ok(beside)
}

/// Appends to a file. Writing to a pipe that nobody reads fails instead of waiting.
fn append(file: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut out = platform::open_to_append(file, is_descriptor(file))?;
    if !is_descriptor(file) {
        platform::not_planted(folder_of(file), &out.metadata()?)?;
    }
    platform::wait_for_room(&out)?;
    out.write_all(bytes)
}

fn cannot(file: &Path, error: io::Error) -> LabError {
    LabError::new(ErrorKind::Storage, format!("cannot write {}", file.display()))
        .with_cause(error)
        .with_hint("name a file in a folder that you may write")
}

/// Prints the result of the conditions to standard error, and returns the exit code.
pub fn report_conditions(outcome: &Outcome, failing: &[String]) -> Exit {
    ui::print_note(&tare_report::gate::describe_outcome(outcome, ui::find_language()));
    failing.iter().for_each(|line| ui::print_note(&format!("  {line}")));
    if outcome.is_shut() { Exit::Gate } else { Exit::Done }
}
