//! The shelf: batches that stay in their record and are read from there each time they are wanted, so that memory does not
//! grow with it.

use std::fs::File;
use std::io::{self, BufReader, Read};
use std::ops::Range;
use std::sync::Arc;

use tare_data::batch::Batch;
use tare_data::batch::{Batches, Shelf};

use crate::entry::{CHECKSUM, Entry, from_line};
use crate::lines::Lines;
use crate::platform;

/// Bytes of batches that are held of a record that is read; those of an ordinary session all are.
const MOST_READ: usize = 48 << 20;
/// Bytes of its own record that a session holds while it runs. Less: it lasts for hours, and looks at a case at a time.
const MOST_WRITTEN: usize = 8 << 20;

/// Place where the batches of a record are kept: in memory as long as there is room, and then in the record
/// alone.
#[derive(Clone, Debug)]
pub(crate) struct Keeper {
    held: usize,
    most: usize,
    shelf: Option<Arc<RecordShelf>>,
}

impl Default for Keeper {
    fn default() -> Self {
        Keeper { held: 0, most: MOST_READ, shelf: None }
    }
}

impl Keeper {
    /// Creates a keeper for a session that writes into this file.
    pub(crate) fn of_session(file: File) -> Self {
        let mut keeper = Keeper { most: MOST_WRITTEN, ..Keeper::default() };
        keeper.set_shelf(file);
        keeper
    }

    pub(crate) fn has_shelf(&self) -> bool {
        self.shelf.is_some()
    }

    /// Sets the file that holds whatever is not in memory.
    pub(crate) fn set_shelf(&mut self, file: File) {
        self.shelf = Some(Arc::new(RecordShelf { file }));
    }

    /// Returns the place of a trial's batches in the record, if these bytes cannot be held in memory.
    pub(crate) fn leave_in_record(&self, bytes: usize, trial: u64, stretch: Range<u64>) -> Option<Batches> {
        let shelf = self.shelf.as_ref().filter(|_| self.held + bytes > self.most)?;
        Some(Batches::from_shelf(Arc::<RecordShelf>::clone(shelf), trial, stretch))
    }

    /// Counts bytes that are held.
    pub(crate) fn count_held(&mut self, bytes: usize) {
        self.held += bytes;
    }
}

/// A record that batches are read from.
#[derive(Debug)]
struct RecordShelf {
    file: File,
}

impl Shelf for RecordShelf {
    fn read_batches<'a>(
        &'a self,
        trial: u64,
        stretch: Range<u64>,
        series: Option<&'a str>,
    ) -> Box<dyn Iterator<Item = Batch> + 'a> {
        let lines = Lines::new(BufReader::new(Stretch { file: &self.file, stretch }), 0, 0);
        let series = series.map(|series| serde_json::to_string(series).expect("a text always serialises"));
        let head = format!("{{\"batch\":{{\"trial\":{trial},\"batch\":{{\"series\":");
        Box::new(LyingBatches { lines, trial, head, series, of_pair: Vec::new().into_iter() })
    }
}

/// A stretch of a file.
struct Stretch<'f> {
    file: &'f File,
    stretch: Range<u64>,
}

impl Read for Stretch<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let left = usize::try_from(self.stretch.end.saturating_sub(self.stretch.start)).unwrap_or(usize::MAX);
        let most = left.min(buffer.len());
        let read = platform::read_at(self.file, &mut buffer[..most], self.stretch.start)?;
        self.stretch.start += read as u64;
        Ok(read)
    }
}

struct LyingBatches<'f> {
    lines: Lines<BufReader<Stretch<'f>>>,
    trial: u64,
    /// Beginning of a batch's line that tare wrote, up to its series.
    head: String,
    /// As JSON.
    series: Option<String>,
    /// Batches of a pair's line that were not given yet.
    of_pair: std::vec::IntoIter<Batch>,
}

impl Iterator for LyingBatches<'_> {
    type Item = Batch;

    fn next(&mut self) -> Option<Batch> {
        loop {
            if let Some(batch) = self.of_pair.next() {
                return Some(batch);
            }
            let line = self.lines.next().ok()??;
            if !may_be_of(line, &self.head, self.series.as_deref()) {
                continue;
            }
            match from_line(line) {
                Some(Entry::Batch { trial, batch }) if trial == self.trial => return Some(batch),
                Some(Entry::Pair(pair)) => {
                    let ours = pair.sides.into_iter().find(|side| side.trial == self.trial);
                    self.of_pair = ours.map(|side| side.batches).unwrap_or_default().into_iter();
                }
                _ => {}
            }
        }
    }
}

/// Checks cheaply that a line may hold a batch of a series; one that certainly does not need not be parsed.
fn may_be_of(line: &[u8], head: &str, series: Option<&str>) -> bool {
    let (Some(series), Some(json)) = (series, line.get(CHECKSUM..)) else { return true };
    let Some(rest) = json.strip_prefix(head.as_bytes()) else { return true };
    let mut name = rest.iter().skip(1).take_while(|byte| **byte != b'"');
    // With an escape, a name may be written in several ways.
    rest.starts_with(series.as_bytes()) || name.any(|byte| *byte == b'\\')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_certainly_of_another_series_is_passed_over() {
        let head = "{\"batch\":{\"trial\":3,\"batch\":{\"series\":";
        for (rest, wanted) in
            [("\"call\",", true), ("\"other\",", false), ("\"caller\",", false), ("\"\\u0063all\",", true)]
        {
            let line = format!("01234567 {head}{rest}");
            assert_eq!(may_be_of(line.as_bytes(), head, Some("\"call\"")), wanted, "{rest}");
            assert!(may_be_of(line.as_bytes(), head, None));
        }
        assert!(may_be_of(b"01234567 { \"batch\": {}}", head, Some("\"call\"")));
        assert!(may_be_of(b"", head, Some("\"call\"")));
    }
}
