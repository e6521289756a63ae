//! Arguments of `tare compare`.

use std::path::PathBuf;

use tare_analysis::gate::Condition;

/// Compare an older record with a newer one, or join records of several sessions.
///
/// With --to, reports how each environment's slowdown changed, and which facts differ. With --together, reports each
/// environment's slowdown over all sessions, and how much it varies between them.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  tare compare before.tare --to after.tare
  tare compare OLD --to NEW --fail-if regressed                     exit with 6 if an environment regressed
  tare compare OLD --to NEW --fail-if 'regressed:gvisor:net.*>1.1'  gVisor's network only, by over 10 %
  tare compare --together monday.tare tuesday.tare wednesday.tare
  tare compare --together --markdown *.tare")]
pub struct Compare {
    /// The older record; with --together three or more, of the same study and against the same baseline.
    #[arg(value_name = "RECORD", required = true, num_args = 1..)]
    pub records: Vec<PathBuf>,
    /// The newer record, to report what changed.
    #[arg(long, value_name = "RECORD", required_unless_present = "together")]
    pub to: Option<PathBuf>,
    /// Join the records instead.
    #[arg(long, conflicts_with_all = ["to", "fail_if"])]
    pub together: bool,
    /// Print one JSON document.
    #[arg(long, conflicts_with = "markdown")]
    pub json: bool,
    /// Print Markdown, for a pull request.
    #[arg(long, alias = "md")]
    pub markdown: bool,
    /// Show every metric, and every fact that differs.
    #[arg(long)]
    pub wide: bool,
    /// Exit with 6 if a cell has regressed, is undecided or missing: KIND[:ENVIRONMENT[:CASE]][>RATIO], with * for any
    /// part of a name. May be given several times.
    #[arg(long, value_name = "CONDITION", value_parser = Condition::of_two)]
    pub fail_if: Vec<Condition>,
    /// Let a condition of --fail-if pass where it could not be decided, instead of exiting with 6.
    #[arg(long, requires = "fail_if")]
    pub allow_undecided: bool,
}
