//! The files of one cell or pair: one name with several endings, and what follows from which of them are there.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use tare_record::input;

/// Longest reason that is read of a cell without a record.
const LONGEST_WHY: u64 = 4096;
/// A record that nobody wrote to for this long is of a session that died: no trial takes longer.
const SILENT: Duration = Duration::from_secs(900);

/// State of a cell's or pair's record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum What {
    /// A record with its end.
    Whole(PathBuf),
    Running,
    /// Measurements before the session died, or was stopped.
    BrokenOff {
        record: PathBuf,
        why: Option<String>,
    },
    /// None where nobody has begun it.
    Missing {
        why: Option<String>,
    },
}

impl What {
    pub fn is_whole(&self) -> bool {
        matches!(self, What::Whole(_))
    }

    /// Explains why the record is missing or not whole, where that is known.
    pub fn reason(&self) -> Option<&str> {
        match self {
            What::BrokenOff { why, .. } | What::Missing { why } => why.as_deref(),
            What::Whole(_) | What::Running => None,
        }
    }
}

/// The files of one cell or pair: the same name with four endings.
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
    pub fn why_path(&self) -> PathBuf {
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

    /// Returns the path of the address at which the second node of a pair serves, where the name of the node
    /// does not lead there.
    pub(crate) fn address_path(&self) -> PathBuf {
        self.with_ending("address")
    }

    /// Returns the path of trials as columns.
    pub fn parquet_path(&self) -> PathBuf {
        self.with_ending("parquet")
    }

    /// Appends an ending. Names of nodes have dots, so nothing is cut off here.
    pub(crate) fn with_ending(&self, ending: &str) -> PathBuf {
        let mut name = self.stem.clone().into_os_string();
        name.push(".");
        name.push(ending);
        name.into()
    }

    /// Writes down why there is no record; one line, whatever the reason holds. The first reason stays.
    pub fn write_why(&self, reason: &str) -> io::Result<()> {
        let line = reason.split_whitespace().collect::<Vec<_>>().join(" ");
        fs::create_dir_all(self.stem.parent().unwrap_or(&self.stem))?;
        match fs::OpenOptions::new().write(true).create_new(true).open(self.why_path()) {
            Ok(mut file) => file.write_all((line + "\n").as_bytes()),
            Err(e) if e.kind() == io::ErrorKind::AlreadyExists => Ok(()),
            Err(e) => Err(e),
        }
    }

    /// Makes room for a further try. What a pair measured before it broke off is kept under another name; a node's further
    /// session has a number of its own.
    pub(crate) fn clear_for_retry(&self) -> io::Result<()> {
        let gone = |done: io::Result<()>| match done {
            Err(e) if e.kind() != io::ErrorKind::NotFound => Err(e),
            _ => Ok(()),
        };
        gone(fs::remove_file(self.why_path()))?;
        gone(fs::remove_file(self.address_path()))?;
        gone(fs::rename(self.part_path(), self.with_ending("broken")))
    }

    pub(crate) fn make_folder(&self) -> io::Result<()> {
        fs::create_dir_all(self.stem.parent().unwrap_or(&self.stem))
    }

    pub(crate) fn read_state(&self) -> What {
        let why = input::read_text(&self.why_path(), LONGEST_WHY).ok().map(|text| text.trim().to_owned());
        let (whole, part) = (self.whole_path(), self.part_path());
        if whole.exists() {
            return What::Whole(whole);
        }
        match part.metadata().and_then(|about| about.modified()) {
            Ok(_) if why.is_some() => What::BrokenOff { record: part, why },
            Ok(changed) if changed.elapsed().is_ok_and(|silent| silent > SILENT) => {
                What::BrokenOff { record: part, why }
            }
            Ok(_) => What::Running,
            Err(_) if why.is_none() && self.job_path().exists() => What::Running,
            Err(_) => What::Missing { why },
        }
    }
}

/// Returns the files of a cell.
pub fn of_cell(folder: &Path, node: &str, session: u32) -> Files {
    Files { stem: folder.join("cells").join(node).join(session.to_string()) }
}

/// Returns the files of a pair in a round.
pub fn of_pair(folder: &Path, round: usize, a: &str, b: &str) -> Files {
    Files { stem: folder.join("pairs").join(round.to_string()).join(format!("{a}--{b}")) }
}
