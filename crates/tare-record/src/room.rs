//! The room of a record: the part of it that is kept in memory, and the limit of its length.
//!
//! Writers count as readers do, so that every record that was written can be read.

use tare_data::frame::{LONGEST_NOTE, MOST_NOTES};
use tare_data::session::Trial;

use crate::entry::{Entry, LONGEST_WRITTEN, Side};

/// Longest record: 16 GiB.
pub(crate) const LONGEST_RECORD: u64 = 16 << 30;
/// Bytes of memory for the parts of a record other than its batches: some 200,000 trials.
pub(crate) const MOST_KEPT: usize = 128 << 20;
/// Batches of a trial that are read. The session lets fewer come.
pub const MOST_BATCHES: usize = 1 << 18;

/// Cost of a text besides its bytes: the reference to it, and the overhead of an allocation.
const TEXT: usize = size_of::<String>() + 32;
/// Factor by which the bytes of a line that holds many small things may grow in memory.
const SCATTERED: usize = 8;
/// Factor for figures of other tools, whose names are longer.
const FIGURES: usize = 4;
/// Limit on the memory of a trial without its batches, and on its size in the record with them.
const LARGEST_TRIAL: usize = size_of::<Trial>() + MOST_NOTES * (LONGEST_NOTE + TEXT) + 64 * 1024;
const LONGEST_TRIAL: u64 = 64 << 20;

/// Sizes of everything that a record holds already.
#[derive(Clone, Debug, Default)]
pub(crate) struct Room {
    kept: usize,
}

impl Room {
    /// Counts an entry, whose line has these bytes; false where there is no room for it.
    pub(crate) fn count_entry(&mut self, entry: &Entry, line: usize) -> bool {
        self.kept = self.kept.saturating_add(kept(entry, line));
        self.kept <= MOST_KEPT
    }

    /// Checks that a record of this length has room for one more trial and for its end.
    pub(crate) fn has_trial(&self, bytes: u64) -> bool {
        let is_kept = self.kept + LARGEST_TRIAL + SCATTERED * BESIDE_TRIALS <= MOST_KEPT;
        is_kept && bytes + LONGEST_TRIAL + LONGEST_WRITTEN as u64 <= LONGEST_RECORD
    }
}

/// Lines that may follow the last trial: a round that is repeated, the end.
const BESIDE_TRIALS: usize = 8192;

/// Estimates the memory of an entry once it is read.
fn kept(entry: &Entry, line: usize) -> usize {
    let text = |text: &String| TEXT + text.len();
    match entry {
        Entry::Batch { .. } => 0,
        Entry::Begin(begin) => size_of::<Trial>() + text(&begin.case) + text(&begin.target),
        Entry::End(end) => {
            let reason = end.failure.iter().map(|failure| text(&failure.reason));
            reason.chain(end.notes.iter().map(text)).sum()
        }
        Entry::Pair(pair) => {
            let side = |side: &Side| {
                let reason = side.failure.iter().map(|failure| text(&failure.reason));
                let own: usize = reason.chain(side.notes.iter().map(text)).sum();
                size_of::<Trial>() + text(&pair.case) + 2 * text(&side.target) + own
            };
            pair.sides.iter().map(side).sum()
        }
        Entry::Imported(_) => FIGURES * line,
        _ => SCATTERED * line,
    }
}
