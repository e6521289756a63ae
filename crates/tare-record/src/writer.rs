//! The writer: appends entries, each in one write, and syncs on request.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};

use crate::entry::{Entry, LONGEST_WRITTEN, to_line};
use crate::error::RecordError;

/// A record that is being written.
#[derive(Debug)]
pub struct Writer {
    file: File,
    path: PathBuf,
}

impl Writer {
    /// Makes a new record. One that is there already is left alone.
    pub fn create(path: &Path) -> Result<Self, RecordError> {
        let file = OpenOptions::new().append(true).create_new(true).open(path);
        Self::opened(file, "create", path)
    }

    /// Opens a record to go on with it; what follows its last whole line is cut off.
    pub fn resume(path: &Path, whole_bytes: u64) -> Result<Self, RecordError> {
        let file = OpenOptions::new().append(true).open(path);
        let writer = Self::opened(file, "open", path)?;
        writer.done("cut", writer.file.set_len(whole_bytes))?;
        Ok(writer)
    }

    fn opened(file: std::io::Result<File>, action: &'static str, path: &Path) -> Result<Self, RecordError> {
        let path = path.to_owned();
        match file {
            Ok(file) => Ok(Writer { file, path }),
            Err(source) => Err(RecordError::Io { action, path, source }),
        }
    }

    /// Appends an entry. It is in the kernel's hands afterwards: it survives the end of this process.
    ///
    /// One that no reader would take is an error, and nothing is written.
    pub fn append(&mut self, entry: &Entry) -> Result<(), RecordError> {
        let line = to_line(entry);
        if line.len() > LONGEST_WRITTEN {
            let (path, limit) = (self.path.clone(), LONGEST_WRITTEN);
            return Err(RecordError::TooLongLine { path, length: line.len(), limit });
        }
        let written = self.file.write_all(line.as_bytes());
        self.done("write", written)
    }

    /// Waits until everything appended is on disk: it survives the end of the machine.
    pub fn sync(&mut self) -> Result<(), RecordError> {
        let synced = self.file.sync_data();
        self.done("sync", synced)
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    fn done(&self, action: &'static str, result: std::io::Result<()>) -> Result<(), RecordError> {
        result.map_err(|source| RecordError::Io { action, path: self.path.clone(), source })
    }
}
