//! Arguments of `tare fleet report`.

use std::path::PathBuf;

use tare_analysis::fleet::gate::FleetCondition;

/// Report on a fleet: what is missing, what the layers cost over nodes, which nodes and links are slow.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  tare fleet report FOLDER
  tare fleet report FOLDER --by cpu.model,slurm.partition   what makes nodes of one kind
  tare fleet report FOLDER --html fleet.html --grafana fleet.json
  tare fleet report FOLDER --before LAST_WEEK               what changed, node by node
  tare fleet report FOLDER --fail-if outlier --fail-if 'missing>5%'   exit with 6 for a monitor

Exit codes: 6 if a condition of --fail-if is met, or one had nothing to check; 5 if the folder's plan cannot be read.")]
pub struct FleetReport {
    /// The folder of the fleet.
    pub folder: PathBuf,
    /// Facts by which nodes are of one kind, comma-separated [default: those of 'tare fleet run', or processor, its
    /// count, memory and kernel].
    #[arg(long, value_name = "FACTS", value_delimiter = ',')]
    pub by: Vec<String>,
    /// Write the page of the fleet: a map of its nodes, a matrix of its pairs, the slow ones first.
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
    /// Print one JSON document.
    #[arg(long)]
    pub json: bool,
    /// Write a dashboard for Grafana that reads the table of cells.
    #[arg(long, value_name = "FILE")]
    pub grafana: Option<PathBuf>,
    /// An older fleet of the same nodes, to report what changed: each node is compared with itself.
    #[arg(long, value_name = "FOLDER")]
    pub before: Option<PathBuf>,
    /// Exit with 6 if this holds: outlier, missing, missing>5%, slower[:ENVIRONMENT[:CASE]][>RATIO], or with --before
    /// regressed[:ENVIRONMENT[:CASE]][>RATIO]. May be given several times.
    #[arg(long, value_name = "CONDITION")]
    pub fail_if: Vec<FleetCondition>,
}
