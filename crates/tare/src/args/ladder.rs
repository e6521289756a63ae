//! Arguments of `tare ladder`.

use super::SessionOptions;

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
    #[command(flatten)]
    pub session: SessionOptions,
    /// Print one JSON document, as of a session, in which each environment is compared with the one before it.
    #[arg(long)]
    pub json: bool,
    /// Measure this command in place of probes.
    #[arg(last = true, value_name = "COMMAND", conflicts_with = "only")]
    pub words: Vec<String>,
}
