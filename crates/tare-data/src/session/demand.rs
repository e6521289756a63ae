//! Demand of a program on the system, counted by kinds of work, each with its price.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::failure::Failure;

crate::named! {
    /// A kind of work that a program asks of the system, in the order in which they are counted.
    pub enum Work {
        /// Nanoseconds of processor time in user mode.
        Computing = "computing",
        /// System calls that are none of the kinds below.
        OtherCalls = "other_calls",
        /// System calls of any kind that came within 2 us after the one before.
        CallsInARow = "calls_in_a_row",
        /// System calls of any kind that came after 2 to 15 us of computing.
        ShortPauses = "short_pauses",
        /// System calls of any kind that came after 15 to 100 us of computing.
        Pauses = "pauses",
        /// System calls of any kind that came after 100 us of computing or more.
        LongPauses = "long_pauses",
        /// Paths that a call looked up and found.
        Lookups = "lookups",
        /// Folders in these paths, and in those of files that were opened, beyond the first name of each.
        FurtherFolders = "further_folders",
        /// Paths that were looked up and do not exist.
        Missing = "missing",
        /// Different paths, where there are more than a cache of a few hundred holds.
        DistinctPaths = "distinct_paths",
        /// Files among these that were opened to be read.
        NewFiles = "new_files",
        /// Files that were there and were opened, with their closing.
        Opens = "opens",
        /// Entries of folders that were listed.
        Entries = "entries",
        /// Reads of files, and KiB that they gave beyond the first of each.
        Reads = "reads",
        ReadKib = "read_kib",
        /// Writes to files, and KiB beyond the first of each.
        Writes = "writes",
        WrittenKib = "written_kib",
        /// Files, folders and links made.
        Creates = "creates",
        Renames = "renames",
        /// Files, folders and links removed.
        Removes = "removes",
        /// fsync, fdatasync and their like.
        Syncs = "syncs",
        /// Memory mapped and unmapped.
        Maps = "maps",
        /// Files mapped, with the first touch of one page.
        FileMaps = "file_maps",
        /// Changes of a mapping's protection.
        Protects = "protects",
        /// Changes of the heap's end.
        Breaks = "breaks",
        /// Pages of new memory that were touched for the first time.
        Faults = "faults",
        /// Pages of mapped files that were touched for the first time.
        FilePages = "file_pages",
        /// Pages of mapped files that were copied because they were written to.
        CopiedPages = "copied_pages",
        /// Processes made by copying their parent, with their end.
        Forks = "forks",
        /// Processes made by vfork or as posix_spawn does, with their end.
        Spawns = "spawns",
        Threads = "threads",
        /// Programs started in a process that is there.
        Execs = "execs",
        /// Reads, writes, sends and receipts on pipes and sockets.
        Messages = "messages",
        /// Times that it gave up the processor to wait for something.
        Waits = "waits",
        Futexes = "futexes",
        /// Signals that arrived.
        Signals = "signals",
    }
}

/// The amount of each kind of work that a program asks for in one run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Demand {
    /// A kind that is absent was not asked for.
    pub amounts: BTreeMap<Work, f64>,
    /// System calls in all.
    pub calls: f64,
    /// Time of the counted run over that of one that was not counted.
    pub slowdown: f64,
    /// Slowdown of the run that tracepoints watched; 0 where there was none.
    #[serde(default)]
    pub watched_slowdown: f64,
}

/// Two runs of a command in one place: the first as it is, the second counted.
#[derive(Clone, Debug, PartialEq)]
pub struct RanTwice {
    pub elapsed_ns: u64,
    pub user_ns: u64,
    pub system_ns: u64,
    pub code: i32,
    /// The second run, or the reason for which there is none.
    pub counted: Result<CountedRun, String>,
}

/// The run that was counted, stopped at each call.
#[derive(Clone, Debug, PartialEq)]
pub struct CountedRun {
    pub demand: Demand,
    pub elapsed_ns: u64,
    pub code: i32,
    /// Part of its time that is the tracer's, as a run of a known program has it.
    pub tracing_ns: f64,
}

/// The outcome of counting.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Counted {
    Demand(Demand),
    Failed(Failure),
}

impl Demand {
    pub fn amount(&self, work: Work) -> f64 {
        self.amounts.get(&work).copied().unwrap_or(0.0)
    }

    pub fn add(&mut self, work: Work, amount: f64) {
        *self.amounts.entry(work).or_default() += amount;
    }
}
