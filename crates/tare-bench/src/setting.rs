//! The setting of a run: how long, where, and with which binary of tare.

use std::path::{Path, PathBuf};
use std::time::Duration;

/// Rounds of a full run: the fewest with which signed ranks have an interval worth showing.
const ROUNDS: u32 = 12;

/// Duration, place and binary of a bench.
#[derive(Clone, Debug, clap::Args)]
pub struct Setting {
    /// Rounds; in each tare and the tool run once, in random order.
    #[arg(long, value_name = "N", default_value_t = ROUNDS, value_parser = clap::value_parser!(u32).range(1..=400))]
    rounds: u32,
    /// Seconds of a run, for programs that run for a time.
    #[arg(long, value_name = "S", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=60))]
    seconds: u32,
    /// Three rounds of a second, small files, nothing written: to see that it works.
    #[arg(long)]
    pub quick: bool,
    /// Seed of the order.
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,
    /// The tare that is measured. The one next to this program unless given.
    #[arg(long, value_name = "FILE")]
    tare: Option<PathBuf>,
    /// Folder on a disk in which files are written.
    #[arg(long, value_name = "FOLDER", default_value = "/var/tmp")]
    pub scratch: PathBuf,
    /// Folder of the documents.
    #[arg(long, value_name = "FOLDER", default_value = "docs/method")]
    pub docs: PathBuf,
}

impl Setting {
    pub fn rounds(&self) -> u32 {
        if self.quick { self.rounds.min(3) } else { self.rounds }
    }

    pub fn seconds(&self) -> u32 {
        if self.quick { 1 } else { self.seconds }
    }

    /// Returns the limit on one run of a tool: preparation, measuring, cleaning up on a slow disk.
    pub fn patience(&self) -> Duration {
        Duration::from_secs(120 + 10 * u64::from(self.seconds()))
    }

    pub fn find_binary(&self) -> Result<PathBuf, String> {
        find_tare_binary(self.tare.as_deref())
    }
}

/// Finds tare's binary: the one named, or the one that cargo puts next to this program.
pub fn find_tare_binary(named: Option<&Path>) -> Result<PathBuf, String> {
    if let Some(tare) = named {
        return tare.canonicalize().map_err(|e| format!("{}: {e}", tare.display()));
    }
    let own = std::env::current_exe().map_err(|e| format!("this program's own path: {e}"))?;
    let beside = own.parent().map(|folder| folder.join("tare"));
    beside.filter(|path| path.is_file()).ok_or("tare was not found beside this program: --tare FILE".into())
}
