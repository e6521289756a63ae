//! The part of a probe's description that a plan carries: enough to judge a figure without knowing the probe.

use serde::{Deserialize, Serialize};

/// A probe's declaration for one case.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Declared {
    /// Promises of the environment. Where one is broken, the figures that rest on it are of something else.
    pub rests_on: Vec<Promise>,
    pub times: Times,
    pub batching: Batching,
    pub alternation: Alternation,
}

impl Declared {
    /// Tells whether its work waits for a disk, by what it rests on.
    pub fn waits_for_disk(&self) -> bool {
        let waits = [Promise::Sync, Promise::EachWrite, Promise::Direct, Promise::CacheControl];
        self.rests_on.iter().any(|promise| waits.contains(promise))
    }
}

/// The way in which trials of two environments can alternate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Alternation {
    /// Not at all: one trial after the other.
    #[default]
    Alone,
    /// Batch by batch, wherever the scheduler places their processes.
    Anywhere,
    /// Batch by batch, on one processor.
    OneProcessor,
}

/// Something that an environment may claim to do without doing it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Promise {
    /// A sync returns when the bytes are on the disk.
    Sync,
    /// So does each write to a file that was opened with O_DSYNC.
    EachWrite,
    /// O_DIRECT bypasses the page cache.
    Direct,
    /// A file that was dropped from the page cache is read from the disk.
    CacheControl,
    /// The counters of memory include everything that processes take.
    MemoryCounters,
}

impl Promise {
    /// Returns the key of the fact that says if the promise is kept: `ok`, or the reason why not.
    pub const fn fact_key(self) -> &'static str {
        match self {
            Promise::Sync => "honesty.sync",
            Promise::EachWrite => "honesty.dsync",
            Promise::Direct => "honesty.direct",
            Promise::CacheControl => "honesty.cache",
            Promise::MemoryCounters => "honesty.memory",
        }
    }
}

/// The part of a machine whose time a figure is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Times {
    /// Instructions alone: on an emulated processor, the emulator.
    Processor,
    /// A kernel, and whatever it works with.
    #[default]
    System,
}

/// The way in which the work of a trial is divided.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Batching {
    /// Many short batches.
    #[default]
    Short,
    /// Longer ones, since a kernel does a part of the work once in hundreds of operations.
    Long,
    /// Fewer, because each has new processes, and the scheduler takes time to place them.
    Placed,
    /// A run of a command each.
    Runs,
}
