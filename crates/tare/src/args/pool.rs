//! Arguments of `tare pool`.

use std::path::PathBuf;

/// Join three or more records: each environment's slowdown over all sessions, and how much it varies between them.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  tare pool monday.tare tuesday.tare wednesday.tare
  tare pool --markdown *.tare")]
pub struct Pool {
    /// Records of the same study, against the same baseline.
    #[arg(value_name = "RECORD", required = true, num_args = 1..)]
    pub records: Vec<PathBuf>,
    /// Print one JSON document.
    #[arg(long, conflicts_with = "markdown")]
    pub json: bool,
    /// Print Markdown, for a pull request.
    #[arg(long, alias = "md")]
    pub markdown: bool,
    /// Show every metric.
    #[arg(long)]
    pub wide: bool,
}
