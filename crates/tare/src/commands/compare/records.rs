//! Records to compare: read, judged and dropped one after the other, on all processors.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use tare_analysis::change::Judged;
use tare_lab::error::{ErrorKind, LabError};
use tare_report::text::plain_line;

use crate::ui;

/// A record that was judged.
pub struct Read {
    file: String,
    judged: Judged,
    /// Notes about whatever it lacks.
    notes: Vec<String>,
}

impl Read {
    /// Returns the record with its file's name.
    pub fn named(&self) -> (&Judged, &str) {
        (&self.judged, &self.file)
    }
}

/// Judges records, with notes on standard error in their order. Of a record only what is compared stays in memory.
pub fn judge_records(files: &[PathBuf]) -> Result<Vec<Read>, LabError> {
    let next = AtomicUsize::new(0);
    let work = || {
        let mut read = Vec::new();
        while let Some((at, file)) =
            Some(next.fetch_add(1, Ordering::Relaxed)).and_then(|at| Some((at, files.get(at)?)))
        {
            let judged = judge_record(file);
            let is_bad = judged.is_err();
            read.push((at, judged));
            if is_bad {
                break;
            }
        }
        read
    };
    let workers = thread::available_parallelism().map_or(1, usize::from).min(files.len());
    let mut all = thread::scope(|scope| {
        let workers: Vec<_> = (0..workers).map(|_| scope.spawn(work)).collect();
        let ended = workers.into_iter().map(|worker| worker.join());
        ended
            .flat_map(|read| read.unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
            .collect::<Vec<_>>()
    });
    all.sort_by_key(|(at, _)| *at);
    all.into_iter()
        .map(|(_, read)| {
            let read = read?;
            read.notes.iter().for_each(|note| ui::print_note(&format!("note: {}", plain_line(note))));
            Ok(read)
        })
        .collect()
}

fn judge_record(file: &Path) -> Result<Read, LabError> {
    let recording = tare_record::read_session(file)?;
    let torn = recording.torn_line.map(|line| format!("{} breaks off in line {line}", file.display()));
    let describe = |warning| tare_report::warnings::describe_warning(warning, ui::find_language());
    let warnings = recording.session.warnings.iter();
    let warnings = warnings.map(|warning| format!("{}: {}", file.display(), describe(warning)));
    let notes = torn.into_iter().chain(warnings).collect();
    Ok(Read { file: file.display().to_string(), judged: Judged::of_session(recording.session), notes })
}

/// Refuses records of one session: it would count as two that agree.
pub fn refuse_twins(read: &[Read]) -> Result<(), LabError> {
    for (at, record) in read.iter().enumerate() {
        if let Some(twin) = read[..at].iter().find(|other| is_same_session(&other.judged, &record.judged)) {
            let what = format!("{} and {} are of the same session", twin.file, record.file);
            let same = LabError::new(ErrorKind::Usage, what);
            return Err(same.with_hint("name each session once"));
        }
    }
    Ok(())
}

/// Tells by its identity whether a session is another one: two nodes may start in the same second with the same seed.
fn is_same_session(one: &Judged, other: &Judged) -> bool {
    match (&one.header.identity, &other.header.identity) {
        (Some(one), Some(other)) => one.session == other.session,
        _ => (&one.header.started, one.plan.seed) == (&other.header.started, other.plan.seed),
    }
}
