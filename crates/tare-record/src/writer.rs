//! The writer: appends entries, each in one write, and syncs on request. A record has one writer at a time.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use tare_data::batch::Batch;
use tare_data::batch::Batches;

use crate::entry::{Entry, LONGEST_WRITTEN, to_line};
use crate::error::RecordError;
use crate::input;
use crate::packed;
use crate::platform;
use crate::reader::{Recording, read_session, unpack};
use crate::room::{LONGEST_RECORD, MOST_KEPT, Room};
use crate::shelf::Keeper;

/// A record that is being written. It is locked as long as this lives.
#[derive(Debug)]
pub struct Writer {
    file: File,
    path: PathBuf,
    /// Offset at which a resumed record is cut off before the next entry.
    cut: Option<u64>,
    /// Text of a packed record that is resumed: the next entry puts it in its place.
    unpacked: Option<File>,
    /// Bytes that the file has, if nobody else changes it.
    bytes: u64,
    room: Room,
    keeper: Keeper,
}

impl Writer {
    /// Makes a new record. One that is there already is left alone.
    pub fn create(path: &Path) -> Result<Self, RecordError> {
        let file = OpenOptions::new().read(true).append(true).create_new(true).open(path);
        Self::locked(file, "create", path)
    }

    /// Opens a record to go on with it, and reads it. The first entry unpacks it, and cuts off any text after its last whole line.
    pub fn resume(path: &Path) -> Result<(Self, Recording), RecordError> {
        let file = input::open_with(OpenOptions::new().read(true).append(true), path);
        let mut writer = Self::locked(file, "open", path)?;
        writer.unpacked = unpack(&writer.file, path)?;
        let recording = read_session(path)?;
        (writer.cut, writer.bytes) = (Some(recording.whole_bytes), recording.whole_bytes);
        writer.room = recording.room.clone();
        Ok((writer, recording))
    }

    fn locked(file: io::Result<File>, action: &'static str, path: &Path) -> Result<Self, RecordError> {
        let path = path.to_owned();
        let locked = file.and_then(|file| Ok((lock_alone(&file)?, file)));
        match locked {
            Ok((true, file)) => {
                let read = file.try_clone().map_err(|source| RecordError::Io {
                    action,
                    path: path.clone(),
                    source,
                })?;
                let (room, keeper) = (Room::default(), Keeper::of_session(read));
                Ok(Writer { file, path, cut: None, unpacked: None, bytes: 0, room, keeper })
            }
            Ok((false, _)) => Err(RecordError::InUse { path }),
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
        if !self.room.count_entry(entry, line.len()) {
            return Err(RecordError::TooMuch { path: self.path.clone(), limit: MOST_KEPT });
        }
        if self.bytes + line.len() as u64 > LONGEST_RECORD {
            return Err(RecordError::TooLong { path: self.path.clone(), limit: LONGEST_RECORD });
        }
        if let Some(text) = self.unpacked.take() {
            self.write_unpacked(text)?;
        }
        if let Some(whole_bytes) = self.cut.take() {
            self.done("cut", platform::cut_file(&self.file, &self.path, whole_bytes))?;
        }
        let written = self.file.write_all(line.as_bytes());
        self.bytes += line.len() as u64;
        self.done("write", written)
    }

    /// Checks that there is room for one more trial, and for the end of the session.
    pub fn has_room(&self) -> bool {
        self.room.has_trial(self.bytes)
    }

    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Keeps the batches of a trial that were written from some byte on: in memory as long as there is room, and then in
    /// the record alone.
    pub fn keep_batches(&mut self, trial: u64, from: u64, batches: Vec<Batch>) -> Batches {
        let bytes = batches.iter().map(Batch::held_bytes).sum();
        match self.keeper.leave_in_record(bytes, trial, from..self.bytes) {
            Some(lying) => lying,
            None => {
                self.keeper.count_held(bytes);
                batches.into()
            }
        }
    }

    /// Waits until everything appended is on disk: it survives the end of the machine. A record that another program
    /// removed or changed is an error.
    pub fn sync(&mut self) -> Result<(), RecordError> {
        let synced = self.file.sync_data();
        self.done("sync", synced)?;
        let is_whole =
            self.file.metadata().and_then(|about| match (platform::is_removed(&about), about.len()) {
                (true, _) => Err(io::Error::new(io::ErrorKind::NotFound, "another program removed it")),
                (_, bytes) if self.cut.is_none() && bytes != self.bytes => {
                    Err(io::Error::other("another program changed its length"))
                }
                _ => Ok(()),
            });
        self.done("continue", is_whole)
    }

    /// Puts the text of a packed record in its place, and writes on there.
    fn write_unpacked(&mut self, mut text: File) -> Result<(), RecordError> {
        let replaced = platform::replace_file(&self.file, &self.path, |new| {
            io::copy(&mut text, new)?;
            lock_alone(new).map(drop)
        });
        self.file = self.done("unpack", replaced)?;
        let read = self.done("unpack", self.file.try_clone())?;
        self.keeper.set_shelf(read);
        Ok(())
    }

    /// Packs the record of a session that is over, if that saves anything. Where it cannot be done the record stays as it is.
    pub fn pack(self) {
        if packed::is_worthwhile(self.bytes) && self.cut.is_none() {
            let _ = platform::replace_file(&self.file, &self.path, |new| packed::pack(&self.file, new));
        }
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    fn done<T>(&self, action: &'static str, result: io::Result<T>) -> Result<T, RecordError> {
        result.map_err(|source| RecordError::Io { action, path: self.path.clone(), source })
    }
}

/// Locks a file for this process, as far as it can be locked; false if another process has it.
fn lock_alone(file: &File) -> io::Result<bool> {
    match platform::try_lock(file) {
        Err(TryLockError::Error(e)) if !platform::has_no_locks(&e) => Err(e),
        Err(TryLockError::WouldBlock) => Ok(false),
        _ => Ok(true),
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        platform::unlock(&self.file);
    }
}
