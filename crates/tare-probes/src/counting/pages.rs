//! Pages that a process has of files: page faults alone do not tell, since a kernel maps up to sixteen of them at one.

use std::fs::{self, File};
use std::io::{self, BufRead, BufReader};

use tare_data::session::demand::{Demand, Work};

/// Share of a program's file pages that it touches itself. The others the kernel maps because they lie beside one that is touched.
/// User-mode Linux, which maps each page by itself, has 0.32 faults more a file page than the kernel below it (programs of known
/// kinds: 0.26 to 0.35; Python 0.6), and those that both have come on top.
const TOUCHED: f64 = 0.4;
/// File pages that the kernel maps at one fault; sixteen at most.
const PAGES_A_FAULT: f64 = 14.0;

/// Pages of mapped files in a process's memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FilePages {
    /// As they are in the file.
    pub shared: u64,
    /// Copied because the process wrote to them.
    pub copied: u64,
}

impl FilePages {
    /// Counts the pages of the process whose first task this is; none for another thread, which shares the
    /// memory.
    pub fn of_first_task(pid: libc::pid_t) -> Option<FilePages> {
        let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
        let process = status.lines().find_map(|line| line.strip_prefix("Tgid:"))?;
        if process.trim().parse() != Ok(pid) {
            return None;
        }
        let maps = File::open(format!("/proc/{pid}/smaps")).ok()?;
        FilePages::read(BufReader::new(maps), crate::platform::page_size() as u64).ok()
    }

    /// Subtracts the pages that were there before.
    pub fn subtract_pages(self, before: FilePages) -> FilePages {
        FilePages {
            shared: self.shared.saturating_sub(before.shared),
            copied: self.copied.saturating_sub(before.copied),
        }
    }

    /// Reads smaps (proc_pid_smaps(5)): a line for each mapping, with the file's inode as its fifth word, then its sizes in KiB.
    fn read(maps: impl BufRead, page: u64) -> io::Result<FilePages> {
        let (mut pages, mut is_file) = (FilePages::default(), false);
        for line in maps.lines() {
            let line = line?;
            let mut words = line.split_whitespace();
            let kib = |text: Option<&str>| text.and_then(|text| text.parse::<u64>().ok()).unwrap_or(0);
            match words.next() {
                Some(first) if !first.ends_with(':') => {
                    is_file = words.nth(3).is_some_and(|inode| inode != "0")
                }
                Some("Rss:") if is_file => pages.shared += kib(words.next()) * 1024 / page,
                Some("Anonymous:") if is_file => {
                    let copied = kib(words.next()) * 1024 / page;
                    pages.copied += copied;
                    pages.shared = pages.shared.saturating_sub(copied);
                }
                _ => {}
            }
        }
        Ok(pages)
    }
}

/// Puts page faults where they belong: to new memory, or to files, whose pages the tracer has counted as they are mapped.
pub fn assign_faults(demand: &mut Demand, faults: f64) {
    let [mapped, copied, maps] =
        [Work::FilePages, Work::CopiedPages, Work::FileMaps].map(|work| demand.amount(work));
    // The first page of each mapping is priced with it.
    demand.amounts.insert(Work::FilePages, (TOUCHED * mapped - maps).max(0.0));
    demand.add(Work::Faults, (faults - mapped / PAGES_A_FAULT - copied - maps).max(0.0));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_fault_is_one_of_new_memory_of_a_copy_or_of_a_file() {
        let mut demand = Demand::default();
        for (work, amount) in [(Work::FilePages, 700.0), (Work::CopiedPages, 20.0), (Work::FileMaps, 30.0)] {
            demand.add(work, amount);
        }
        assign_faults(&mut demand, 140.0);
        assert_eq!(demand.amount(Work::Faults), 40.0);
        assert_eq!(demand.amount(Work::CopiedPages), 20.0);
        assert_eq!(demand.amount(Work::FilePages), 250.0);
        // Counts of two runs need not fit together.
        assign_faults(&mut demand, 0.0);
        assert_eq!(demand.amount(Work::Faults), 40.0);
    }

    #[test]
    fn pages_of_files_are_told_from_those_of_the_process_alone() {
        let maps = "\
00400000-00410000 r-xp 00000000 08:01 1234                       /usr/bin/a b
Size:                 64 kB
Rss:                  48 kB
Anonymous:             8 kB
7f0000000000-7f0000010000 rw-p 00000000 00:00 0                  [heap]
Rss:                  64 kB
Anonymous:            64 kB
7f1000000000-7f1000010000 r--s 00000000 08:01 99                 /usr/lib/c
Rss:                   4 kB
";
        let pages = FilePages::read(maps.as_bytes(), 4096).unwrap();
        assert_eq!(pages, FilePages { shared: 11, copied: 2 });
        let before = FilePages { shared: 20, copied: 1 };
        assert_eq!(pages.subtract_pages(before), FilePages { shared: 0, copied: 1 });
    }

    #[test]
    fn this_process_has_pages_of_its_own_program() {
        let own = FilePages::of_first_task(std::process::id() as libc::pid_t).unwrap();
        assert!(own.shared > 0, "{own:?}");
    }
}
