//! The files of one cell: one name with several endings, and what follows from which of them are there.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tare_data::foreign::Foreign;
use tare_paths::door::{Door, Kind};

/// Longest reason that is read of a cell without a record.
const LONGEST_WHY: u64 = 4096;
/// A record that nobody wrote to for this long is of a session that died: no trial takes longer.
const SILENT: Duration = Duration::from_secs(900);

/// State of a cell's record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum What {
    /// A record with its end.
    Whole,
    Running,
    /// Measurements before the session died, or was stopped.
    BrokenOff {
        why: Option<Foreign<String>>,
    },
    /// None where nobody has begun it.
    Missing {
        why: Option<Foreign<String>>,
    },
}

impl What {
    pub fn is_whole(&self) -> bool {
        matches!(self, What::Whole)
    }

    /// Explains why the record is missing or not whole, where that is known.
    pub fn reason(&self) -> Option<&Foreign<String>> {
        match self {
            What::BrokenOff { why } | What::Missing { why } => why.as_ref(),
            What::Whole | What::Running => None,
        }
    }
}

/// The files of one cell: the same name with several endings, in the fleet's folder.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Files {
    stem: PathBuf,
}

impl Files {
    /// Returns the path of a record that is being written.
    pub fn part_path(&self) -> PathBuf {
        self.with_ending("part")
    }

    /// Returns the path of a record with its end.
    pub fn whole_path(&self) -> PathBuf {
        self.with_ending("tare")
    }

    /// Returns the path of the reason why there is none, in one line.
    pub(crate) fn why_path(&self) -> PathBuf {
        self.with_ending("why")
    }

    /// Returns the path of the file with the engine's name of the job.
    pub(crate) fn job_path(&self) -> PathBuf {
        self.with_ending("job")
    }

    /// Returns the path of the job's output.
    pub(crate) fn log_path(&self) -> PathBuf {
        self.with_ending("log")
    }

    /// Returns the path of trials as columns.
    pub fn parquet_path(&self) -> PathBuf {
        self.with_ending("parquet")
    }

    /// Appends an ending. Names of nodes have dots, so nothing is cut off here.
    fn with_ending(&self, ending: &str) -> PathBuf {
        let mut name = self.stem.clone().into_os_string();
        name.push(".");
        name.push(ending);
        name.into()
    }

    /// Writes down why there is no record; one line, whatever the reason holds. The first reason stays.
    pub fn write_why(&self, fleet: &Door, reason: &str) -> io::Result<()> {
        let line = reason.split_whitespace().collect::<Vec<_>>().join(" ");
        self.make_folder(fleet)?;
        match fleet.create_new(&self.why_path(), (line + "\n").as_bytes()) {
            Err(e) if e.kind() == io::ErrorKind::AlreadyExists => Ok(()),
            written => written,
        }
    }

    /// Reads the reason why there is no record; None where nobody left one.
    pub(crate) fn read_why(&self, fleet: &Door) -> Option<Foreign<String>> {
        match fleet.read_text(&self.why_path(), LONGEST_WHY) {
            Ok(text) => Some(text.map(|text| text.trim().to_owned())),
            Err(e) if e.kind() == io::ErrorKind::NotFound => None,
            Err(e) => Some(Foreign::new(format!("its reason cannot be read: {e}"))),
        }
    }

    /// Makes room for a further try of a session that never began; one that broke off keeps its number. What no tare writes in place
    /// of a record is removed.
    pub(crate) fn clear_for_retry(&self, fleet: &Door) -> io::Result<()> {
        self.make_folder(fleet)?;
        fleet.remove_file(&self.why_path())?;
        if fleet.look_at(&self.whole_path()).is_ok_and(|about| about.kind != Kind::File) {
            fleet.remove_file(&self.whole_path())?;
        }
        Ok(())
    }

    pub(crate) fn make_folder(&self, fleet: &Door) -> io::Result<()> {
        fleet.make_folder(self.stem.parent().unwrap_or(Path::new("")))
    }

    pub(crate) fn read_state(&self, fleet: &Door) -> What {
        let why = || self.read_why(fleet);
        let refused = |reason: String| Some(Foreign::new(reason));
        match fleet.look_at(&self.whole_path()) {
            Ok(about) if about.kind == Kind::File => return What::Whole,
            Ok(_) => return What::Missing { why: refused("its record is not a regular file".to_owned()) },
            Err(e) if e.kind() != io::ErrorKind::NotFound => {
                return What::Missing { why: refused(format!("its record cannot be looked at: {e}")) };
            }
            Err(_) => {}
        }
        let why = why();
        match fleet.look_at(&self.part_path()).map(|about| about.changed) {
            Ok(_) if why.is_some() => What::BrokenOff { why },
            Ok(changed) if changed.elapsed().is_ok_and(|silent| silent > SILENT) => What::BrokenOff { why },
            Ok(_) => What::Running,
            Err(_) if why.is_none() && fleet.has_file(&self.job_path()) => What::Running,
            Err(_) => What::Missing { why },
        }
    }
}

/// Returns the files of a cell.
pub fn of_cell(node: &str, session: u32) -> Files {
    Files { stem: Path::new("cells").join(node).join(session.to_string()) }
}
