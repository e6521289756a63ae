//! Arguments of `tare fleet report`.

use std::path::PathBuf;

use tare_analysis::fleet::gate::FleetCondition;

/// Report on a fleet: what is missing, how much the environments cost across nodes, and which nodes are
/// slow.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  tare fleet report FOLDER
  tare fleet report FOLDER --by cpu.model,slurm.partition   group nodes by these facts
  tare fleet report FOLDER --before LAST_WEEK               show what changed, node by node
  tare fleet report FOLDER --fail-if outlier --fail-if 'missing>5%'   exit with 6, for monitoring

Exits with 6 if a --fail-if condition is met or had nothing to check, and with 5 if the folder's
plan cannot be read.")]
pub struct FleetReport {
    /// Read the fleet in this folder.
    pub folder: PathBuf,
    /// Treat nodes that agree in these facts as one kind, comma-separated [default: as given to 'tare fleet
    /// run', or processor model and count, memory and kernel].
    #[arg(long, value_name = "FACTS", value_delimiter = ',')]
    pub by: Vec<String>,
    /// Print the result as JSON.
    #[arg(long)]
    pub json: bool,
    /// Report what changed since an older fleet of the same nodes, comparing each node with itself.
    #[arg(long, value_name = "FOLDER")]
    pub before: Option<PathBuf>,
    /// Exit with 6 if this condition holds: outlier, missing, missing>5%,
    /// slower[:ENVIRONMENT[:CASE]][>RATIO], or with --before regressed[:ENVIRONMENT[:CASE]][>RATIO]
    /// (repeatable).
    #[arg(long, value_name = "CONDITION")]
    pub fail_if: Vec<FleetCondition>,
}
