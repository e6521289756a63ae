//! Arguments of `tare fleet query`.

use std::path::PathBuf;

/// Query a fleet in SQL, using your installed DuckDB.
///
/// Tables: `cells` has a row for each session, case, metric and environment, `trials` one for each trial and metric.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  tare fleet query 'select node, avg(ratio) from cells where headline group by node' FOLDER
  tare fleet query 'describe trials' FOLDER
  tare fleet query --print 'select count(*) from trials' FOLDER     the line to type, and run nothing

Without DuckDB the line to type where it is installed is printed, and the exit code is 3.")]
pub struct FleetQuery {
    /// The question.
    #[arg(value_name = "QUESTION")]
    pub question: String,
    /// The folder of the fleet.
    pub folder: PathBuf,
    /// Print the command that would be run, and run nothing.
    #[arg(long)]
    pub print: bool,
}
