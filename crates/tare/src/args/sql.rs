//! Arguments of `tare sql`.

use std::path::PathBuf;

/// Ask a question in SQL over the records of a fleet, by the DuckDB that is installed.
///
/// Tables: `cells` has a row for each session, case, metric and environment, `trials` one for each trial and metric.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  tare sql 'select node, avg(ratio) from cells where headline group by node' FOLDER
  tare sql 'describe trials' FOLDER
  tare sql --print 'select count(*) from trials' FOLDER     the line to type, and run nothing

Without DuckDB the line to type where it is installed is printed, and the exit code is 3.")]
pub struct Sql {
    /// The question.
    #[arg(value_name = "QUESTION")]
    pub question: String,
    /// The folder of the fleet.
    pub folder: PathBuf,
    /// Print the command that would be run.
    #[arg(long)]
    pub print: bool,
}
