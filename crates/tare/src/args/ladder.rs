//! Arguments of `tare ladder`.

use std::path::PathBuf;

/// Build an environment up one mechanism at a time, and report what each mechanism adds.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  tare ladder container                     namespaces, control groups, system call filter, each by itself
  tare ladder seccomp --only sys.getppid    a filter by the number of its rules
  tare ladder container -- git status       what each mechanism adds to a command of your own
  tare ladder tare-ladder-2026-01-31T12-00.tare  report on a recorded one again")]
pub struct Ladder {
    /// What to build up: container, seccomp or gvisor; or the record of an earlier one.
    #[arg(value_name = "LADDER|RECORD")]
    pub ladder: String,
    /// Probes, comma-separated, with * for any part of a name.
    #[arg(long, value_name = "PROBES", value_delimiter = ',')]
    pub only: Vec<String>,
    /// Time for the whole session, e.g. 90s, 8m, 1h [default: 5m].
    #[arg(long, value_name = "TIME")]
    pub budget: Option<String>,
    /// Seed of the random order, in hex, to repeat a plan.
    #[arg(long, value_name = "HEX", value_parser = super::parse_seed)]
    pub seed: Option<u64>,
    /// Where to write the record [default: tare-ladder-DATE.tare in this folder].
    #[arg(long, value_name = "FILE")]
    pub record: Option<PathBuf>,
    /// Scratch folder, on a disk, in which environments are built; emptied afterwards.
    #[arg(long, value_name = "FOLDER")]
    pub scratch: Option<PathBuf>,
    /// Print everything that the session would start, mount, write and send, and do none of it.
    #[arg(long)]
    pub dry_run: bool,
    /// Print one JSON document, as of a session, in which each environment is compared with the one before it.
    #[arg(long)]
    pub json: bool,
    /// Measure this command in place of probes.
    #[arg(last = true, value_name = "COMMAND", conflicts_with = "only")]
    pub words: Vec<String>,
}
