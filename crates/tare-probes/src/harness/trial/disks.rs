//! Work that a trial causes below the file system, as its kernel counts it: requests and blocks at the disks, and processor time.
//!
//! It tells what a layer did, and nothing about how long that took. Other programs' requests are counted with it. So a batch counts
//! only if no disk has a request under way when it begins and when it ends, and a trial only if most of its batches, of three at least,
//! caused exactly as much: what others do falls into some of them, and not into each alike.

use std::fs::File;
use std::io::{Read, Seek};
use std::path::Path;

use super::report::Report;
use crate::platform::processor_ns;

/// Disks at most: to read the counters of more would take as long as what is counted.
const MOST_DISKS: usize = 8;
/// Series of what an operation causes: requests to write and to flush, blocks written, processor time.
const SERIES: [&str; 3] = ["requests", "blocks of 4K", "processor"];
/// Batches of a trial that tell whether each caused as much.
const FEWEST_BATCHES: usize = 3;
/// Sectors of the counters in a block of 4 KiB, whatever the disk's are (the kernel's block/stat.rst).
const SECTORS_A_BLOCK: f64 = 8.0;

/// Requests, sectors written and nanoseconds of this process, each so far.
type Counts = [u64; 3];

/// Counters of a kernel's disks, and what they counted in the batches of a trial.
#[derive(Default)]
pub(crate) struct DiskWatch {
    disks: Vec<File>,
    /// Counts of the batch so far; none if a disk was busy.
    batch: Option<Counts>,
    /// Counts of each batch, for one operation.
    batches: Vec<Option<[f64; 3]>>,
}

impl DiskWatch {
    /// Opens the counters of all disks that have a controller: others lie on those, or in memory. If there are none, or too many to
    /// read, nothing is counted.
    pub fn open(folder: &Path) -> DiskWatch {
        let disks = std::fs::read_dir(folder).into_iter().flatten().flatten().map(|disk| disk.path());
        let disks = disks.filter(|disk| disk.join("device").exists()).take(MOST_DISKS + 1);
        let disks = disks.map(|disk| File::open(disk.join("stat"))).collect::<Result<Vec<_>, _>>();
        let disks = disks.ok().filter(|disks| disks.len() <= MOST_DISKS).unwrap_or_default();
        DiskWatch { disks, batch: Some([0; 3]), batches: Vec::new() }
    }

    /// Counts what an operation causes, or a part of one.
    pub fn count<T>(&mut self, work: impl FnOnce() -> T) -> T {
        if self.disks.is_empty() {
            return work();
        }
        let before = self.read();
        let began_ns = processor_ns();
        let done = work();
        let used_ns =
            processor_ns().zip(began_ns).and_then(|(ended_ns, began_ns)| ended_ns.checked_sub(began_ns));
        let caused = self.read().zip(before).and_then(|(after, before)| {
            Some([after[0].checked_sub(before[0])?, after[1].checked_sub(before[1])?, used_ns?])
        });
        self.batch = self.batch.zip(caused).map(|(batch, caused)| [0, 1, 2].map(|at| batch[at] + caused[at]));
        done
    }

    /// Ends a batch of this many operations.
    pub fn end_batch(&mut self, operations: u64) {
        if self.disks.is_empty() {
            return;
        }
        let batch = self.batch.replace([0; 3]);
        let of_one = |counts: Counts| counts.map(|count| count as f64 / operations as f64);
        let in_blocks = |[requests, sectors, ns]: [f64; 3]| [requests, sectors / SECTORS_A_BLOCK, ns];
        self.batches.push(batch.map(of_one).map(in_blocks));
    }

    /// Adds what most of the batches caused, if most caused the same, and the median of their processor times.
    pub(super) fn report(self, report: &mut Report) {
        let counted: Vec<[f64; 3]> = self.batches.iter().flatten().copied().collect();
        let alike = |of: &[f64; 3]| counted.iter().filter(|other| of[..2] == other[..2]).count();
        let Some(usual) = counted.iter().max_by_key(|of| alike(of)) else { return };
        if self.batches.len() < FEWEST_BATCHES || 2 * alike(usual) <= self.batches.len() {
            return;
        }
        let mut times: Vec<f64> = counted.iter().map(|of| of[2]).collect();
        times.sort_unstable_by(f64::total_cmp);
        for (series, value) in SERIES.into_iter().zip([usual[0], usual[1], times[times.len() / 2]]) {
            report.add_gauge(series, value);
        }
    }

    /// Reads all requests and sectors so far; none while a request is under way, or where there is no disk.
    fn read(&mut self) -> Option<[u64; 2]> {
        let (mut all, mut text) = (None, String::new());
        for disk in &mut self.disks {
            text.clear();
            disk.rewind().and_then(|()| disk.read_to_string(&mut text)).ok()?;
            let [requests, sectors, 0] = parse_counts(&text)? else { return None };
            let [of_others, sectors_of_others] = all.unwrap_or_default();
            all = Some([of_others + requests, sectors_of_others + sectors]);
        }
        all
    }
}

/// Parses the requests to write, the sectors written and the requests under way of a disk.
fn parse_counts(text: &str) -> Option<[u64; 3]> {
    let mut numbers = text.split_ascii_whitespace().map_while(|number| number.parse().ok());
    Some([numbers.nth(4)?, numbers.nth(1)?, numbers.nth(1)?])
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Writes the counters of a disk with a controller, and of one without, which lies on it.
    fn count(folder: &Path, requests: u64, sectors: u64, under_way: u64) {
        for (disk, inside) in [("vda", "device"), ("loop0", "loop")] {
            std::fs::create_dir_all(folder.join(disk).join(inside)).unwrap();
            let stat = format!("9 9 9 9 {requests} 9 {sectors} 9 {under_way} 9 9\n");
            std::fs::write(folder.join(disk).join("stat"), stat).unwrap();
        }
    }

    /// Part of a batch: requests, sectors and requests under way when it begins and when it ends.
    type Part = [(u64, u64, u64); 2];

    /// Counts batches of these parts and operations; returns requests and blocks of an operation.
    fn counted(batches: &[(&[Part], u64)]) -> Vec<f64> {
        let folder = tempfile::tempdir().unwrap();
        count(folder.path(), 0, 0, 0);
        let mut watch = DiskWatch::open(folder.path());
        for (parts, operations) in batches {
            for [begin, end] in *parts {
                count(folder.path(), begin.0, begin.1, begin.2);
                watch.count(|| count(folder.path(), end.0, end.1, end.2));
            }
            watch.end_batch(*operations);
        }
        let mut report = Report::default();
        watch.report(&mut report);
        report.list_gauges().iter().take(2).map(|(_, value)| *value).collect()
    }

    #[test]
    fn batches_are_counted_in_parts_while_nobody_else_uses_the_disks() {
        let two = (&[[(10, 80, 0), (14, 112, 0)]][..], 2);
        let in_parts = (&[[(20, 160, 0), (21, 168, 0)], [(90, 900, 0), (91, 908, 0)]][..], 1);
        let busy = (&[[(100, 1_000, 0), (900, 9_000, 1)]][..], 1);
        let beside_others = (&[[(10, 80, 0), (15, 120, 0)]][..], 2);
        assert_eq!(counted(&[two, in_parts, busy]), [2.0, 2.0]);
        let all = counted(&[two, in_parts, busy, beside_others]);
        assert!(all.is_empty(), "{all:?}: not most of them are alike");
        assert!(counted(&[two, two]).is_empty(), "too few");
        let nowhere = DiskWatch::open(Path::new("/nowhere/at/all"));
        assert!(nowhere.disks.is_empty());
    }

    #[test]
    fn counters_that_are_none_are_not_taken_for_some() {
        assert_eq!(parse_counts("1 2 3 4 5 6 7 8 9 10 11\n"), Some([5, 7, 9]));
        for text in ["", "1 2 3 4 5 6 7 8", "1 2 3 4 -5 6 7 8 9"] {
            assert_eq!(parse_counts(text), None, "{text:?}");
        }
    }
}
