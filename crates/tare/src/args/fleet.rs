//! Arguments of `tare fleet`.

// Tests of documents read these files by their paths.
#[path = "fleet_report.rs"]
mod report;

use std::path::PathBuf;
use std::time::Duration;
use tare_data::session::specification::NATIVE;

use clap::Subcommand;

pub use self::report::FleetReport;

/// Measure the same session on many machines, through Slurm, Kubernetes or ssh.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  tare fleet run quick --on slurm --into fleet-1    measure every node of the default partition
  tare fleet run quick --on slurm?partition=long --nodes n1,n2,n3 --sessions 2 --into fleet-1
  tare fleet status fleet-1                         show what is done, and what is missing and why
  tare fleet run fleet-1                            measure what is still missing
  tare fleet report fleet-1                         show slow nodes, and what the environments cost

The folder holds the plan, which never changes, and a record for each session on each node. It must
be on a file system that the nodes share, except with --on ssh.")]
pub struct Fleet {
    #[command(subcommand)]
    pub command: FleetCommand,
}

#[derive(Debug, Subcommand)]
pub enum FleetCommand {
    Run(FleetRun),
    Status(FleetStatus),
    Print(FleetPrint),
    Report(FleetReport),
    #[command(hide = true)]
    Cell(FleetCell),
}

/// Plan a fleet and measure it, or measure the part of a fleet that is still missing.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  tare fleet run quick --on slurm --into fleet-1
  tare fleet run quick --on 'kubernetes?claim=results&path=kernel-6.12' --into /results/kernel-6.12
  tare fleet run quick --on ssh --nodes web1,web2 --into web
  tare fleet run fleet-1                                      measure what is still missing
  tare fleet run fleet-1 --confirm                            measure outlier nodes again

Ctrl-C cancels the submitted jobs, and lists any that it could not cancel.")]
pub struct FleetRun {
    /// Run a study, as for 'tare run'; or continue the fleet in this folder.
    #[arg(value_name = "STUDY|FOLDER")]
    pub what: String,
    #[command(flatten)]
    pub plan: FleetPlanning,
    /// Create the fleet in this folder.
    #[arg(long, value_name = "FOLDER", requires = "on")]
    pub into: Option<PathBuf>,
    /// Write the plan, without submitting anything.
    #[arg(long, requires = "into")]
    pub plan_only: bool,
    /// Measure again the nodes that the report calls slow, along with two ordinary nodes of the same kind, in
    /// four new sessions each, and decide by these sessions alone.
    #[arg(long, conflicts_with_all = ["on", "into"])]
    pub confirm: bool,
    /// Run the engine of this folder's plan, even if the fleet did not begin on this machine or its plan was changed.
    #[arg(long, conflicts_with_all = ["on", "into"])]
    pub trust: bool,
}

/// Options that make up the plan of a fleet.
#[derive(Debug, clap::Args)]
pub struct FleetPlanning {
    /// Start jobs with this engine: slurm, kubernetes, ssh, slurm-steps (inside an allocation), or a TOML
    /// file with four templates, with options as ENGINE?key=value&key=value.
    #[arg(long, value_name = "ENGINE")]
    pub on: Option<String>,
    /// Measure these nodes, comma-separated [default: all that the engine lists].
    #[arg(long, value_name = "NODES", value_delimiter = ',', requires = "on")]
    pub nodes: Vec<String>,
    /// Run N sessions on each node, one after another.
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub sessions: u32,
    /// Run at most N jobs at a time [default: the number of nodes].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100_000), requires = "on")]
    pub at_once: Option<u32>,
    /// Measure these environments on each node, as for 'tare run' [default: the first three that are ready there].
    #[arg(long = "in", value_name = "ENVIRONMENTS", value_delimiter = ',', requires = "on")]
    pub environments: Vec<String>,
    /// Compare the other environments with this one, as for 'tare run'.
    #[arg(long, value_name = "ENVIRONMENT", default_value = NATIVE)]
    pub against: String,
    /// Run only these probes, as for 'tare run'.
    #[arg(long, value_name = "PROBES", value_delimiter = ',', requires = "on")]
    pub only: Vec<String>,
    /// Limit each session to this time, as for 'tare run' [default: the study's budget].
    #[arg(long, value_name = "TIME", conflicts_with = "rounds", requires = "on", value_parser = super::parse_time)]
    pub budget: Option<Duration>,
    /// Run exactly N rounds in each session.
    #[arg(long, value_name = "N", requires = "on", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub rounds: Option<u32>,
    /// Let the engine end a job after this time [default: twice the budget plus ten minutes, or an hour with
    /// --rounds].
    #[arg(long, value_name = "TIME", requires = "on", value_parser = super::parse_time)]
    pub limit: Option<Duration>,
    /// Build environments in this folder on each node, as for 'tare run'.
    #[arg(long, value_name = "FOLDER", requires = "on")]
    pub scratch: Option<String>,
    /// Treat nodes that agree in these facts as one kind in reports, comma-separated [default: processor
    /// model and count, memory and kernel].
    #[arg(long, value_name = "FACTS", value_delimiter = ',')]
    pub by: Vec<String>,
    /// Use this seed (hex) for the order of nodes.
    #[arg(long, value_name = "HEX", value_parser = super::parse_seed, requires = "on")]
    pub seed: Option<u64>,
}

/// Show the progress of a fleet: what is measured, what is running, and what is missing and why.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  tare fleet status fleet-1
  tare fleet status --json fleet-1 | jq '.missing[].node'")]
pub struct FleetStatus {
    /// Read the fleet in this folder.
    pub folder: PathBuf,
    /// Print the result as JSON.
    #[arg(long)]
    pub json: bool,
}

/// Print a job as it would be submitted, to read it or to submit it by hand.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  tare fleet print quick --on slurm --nodes n1                 print the batch script for a node
  tare fleet print quick --on kubernetes --nodes n1            print the manifest of a node's Job
  tare fleet print fleet-1                                     print every missing job")]
pub struct FleetPrint {
    /// Print the jobs of a study; or every missing job of the fleet in this folder.
    #[arg(value_name = "STUDY|FOLDER")]
    pub what: String,
    #[command(flatten)]
    pub plan: FleetPlanning,
}

/// Arguments of a job on its node.
#[derive(Debug, clap::Args)]
pub struct FleetCell {
    pub folder: PathBuf,
    /// Check that the plan has this SHA-256.
    #[arg(long)]
    pub plan: String,
    /// Measure as this node [default: the name given by Slurm or the pod's manifest].
    #[arg(long)]
    pub node: Option<String>,
    #[arg(long)]
    pub session: u32,
    #[arg(long)]
    pub scratch: Option<PathBuf>,
}
