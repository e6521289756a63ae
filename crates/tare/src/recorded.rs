//! A session to show: measured now, or read from a record.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

use tare_analysis::findings::Findings;
use tare_data::session::Session;
use tare_data::session::specification::NATIVE;
use tare_lab::asked::{Measured, Recorded, Request, Until};
use tare_lab::error::LabError;
use tare_lab::host::private_folder::make_private_folders;
use tare_lab::session::{self, Caller};
use tare_report::text::plain_line;

use crate::args::SessionOptions;
use crate::command_error::CommandError;
use crate::exit::Exit;
use crate::session_exit::exit_of_session;
use crate::{invocation, paths, platform, show, signals, ui};

/// A session that was read back from its record.
pub struct Obtained {
    pub session: Session,
    pub record: PathBuf,
    /// True for a session that this call measured.
    is_fresh: bool,
}

impl Obtained {
    /// Returns the exit code of a command that has nothing else to say of the session: a record that was only read is shown,
    /// and that is all.
    pub fn exit_code(&self, findings: &Findings) -> Exit {
        if self.is_fresh { exit_of_session(&self.session, findings) } else { Exit::Done }
    }
}

/// Reads the named record, or measures the session that `request` describes. Returns nothing after a dry run.
pub fn obtain_session(
    file: Option<&Path>,
    options: &SessionOptions,
    as_json: bool,
    request: impl FnOnce() -> Result<Request, LabError>,
) -> Result<Option<Obtained>, CommandError> {
    if let Some(file) = file {
        if let Some(option) = options.first_given() {
            return Err(LabError::usage_error(format!(
                "{option} is about measuring, and {} is shown",
                file.display()
            ))
            .with_hint("leave it out, or leave out the record")
            .into());
        }
        let session = tare_record::read_session(file)?.session;
        return Ok(Some(Obtained { session, record: file.to_owned(), is_fresh: false }));
    }
    let request = request()?;
    if options.dry_run {
        let dry = session::dry_run(&request, &paths::make_setting(options.scratch.as_deref())?)?;
        ui::print_text(&show::dry_run::format_dry_run(dry, None, &[], as_json), as_json)?;
        return Ok(None);
    }
    let recorded = measure_session(request, options.scratch.as_deref())?;
    ui::print_note(&format!("record {}", plain_line(&recorded.record.display().to_string())));
    let session = tare_record::read_session(&recorded.record)?.session;
    Ok(Some(Obtained { session, record: recorded.record, is_fresh: true }))
}

/// Requests a session with the options that were given.
pub fn make_request(
    measured: Measured,
    options: &SessionOptions,
    record_prefix: &str,
) -> Result<Request, LabError> {
    let record = match &options.record {
        Some(pattern) => paths::record_named(pattern)?,
        None => invocation::fresh_record(choose_folder(&measured), record_prefix),
    };
    Ok(Request {
        until: options.rounds.map(Until::Rounds).or(options.budget.map(Until::Budget)),
        only: options.only.clone(),
        pin: options.pin,
        seed: options.seed,
        ..Request::new(measured, NATIVE, record)
    })
}

/// Chooses the folder of a record that was not named where a command works in the current one, and would find it there.
fn choose_folder(measured: &Measured) -> Option<PathBuf> {
    let Measured::Commands(study) = measured else { return None };
    let current = env::current_dir().ok()?;
    let works_in: Vec<&PathBuf> = study.commands.values().filter_map(|of| of.folder.as_ref()).collect();
    let is_found = |place: &Path| works_in.iter().any(|of| place.starts_with(of));
    // In a home that is measured as a whole it would be found all the same, and nobody would look for it there.
    let apart = is_found(&current).then(|| paths::find_records_folder(&current)).flatten();
    apart.filter(|apart| !is_found(apart) && paths::can_be_made(apart))
}

/// Runs a session to its end, after which Ctrl-C ends the program at once.
pub fn measure_session(mut request: Request, scratch: Option<&Path>) -> Result<Recorded, CommandError> {
    request.host.0.extend(platform::note_layers().0);
    let record = request.record.clone();
    run_until_interrupted(Instant::now(), scratch, &record, |setting, caller| {
        let mut progress = ui::Progress::new();
        let recorded = session::begin_session(request, setting, caller, &mut progress);
        progress.clear();
        recorded
    })
}

/// Runs a session until it ends or Ctrl-C ends it early. A folder for its record apart is made, and removed again where none came of it.
pub fn run_until_interrupted(
    began: Instant,
    scratch: Option<&Path>,
    record: &Path,
    run: impl FnOnce(&session::Setting, &Caller<'_>) -> Result<Recorded, LabError>,
) -> Result<Recorded, CommandError> {
    let setting = paths::make_setting(scratch)?;
    let interrupted = signals::watch_signals()?;
    let caller = invocation::make_caller(began, &interrupted);
    let apart = record.parent().filter(|folder| paths::is_records_folder(folder));
    if let Some(folder) = apart {
        make_private_folders(folder).map_err(LabError::storage_error("make", folder))?;
    }
    let recorded = run(&setting, &caller);
    if let (Err(_), Some(folder)) = (&recorded, apart) {
        // It stays where it holds other records.
        let _ = fs::remove_dir(folder);
    }
    let recorded = recorded?;
    signals::end_at_once(&interrupted);
    Ok(recorded)
}
