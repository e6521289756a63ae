//! Arguments of `tare fleet query`.

use std::path::PathBuf;

/// Query a fleet in SQL, using your installed DuckDB.
///
/// There are two tables: `cells` has a row for each session, case, metric and environment, and `trials` has
/// one for each trial and metric.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  tare fleet query 'select node, avg(ratio) from cells where headline group by node' FOLDER
  tare fleet query 'describe trials' FOLDER
  tare fleet query --print 'select count(*) from trials' FOLDER     print the DuckDB command

If DuckDB is not installed, prints the command to run where it is, and exits with 3.")]
pub struct FleetQuery {
    /// Run this query.
    #[arg(value_name = "QUESTION")]
    pub question: String,
    /// Read the fleet in this folder.
    pub folder: PathBuf,
    /// Print the DuckDB command, without running it.
    #[arg(long)]
    pub print: bool,
}
