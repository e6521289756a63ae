//! Arguments of `tare fleet`.

// Tests of documents read these files by their paths.
#[path = "fleet_query.rs"]
mod query;
#[path = "fleet_report.rs"]
mod report;

use std::path::PathBuf;
use std::time::Duration;

use clap::Subcommand;

pub use self::query::FleetQuery;
pub use self::report::FleetReport;

/// Measure the same session on many machines, through Slurm, Kubernetes or ssh.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  tare fleet run quick --on slurm --into fleet-1           a session on every node of the usual partition
  tare fleet run quick --on slurm?partition=long --nodes n1,n2,n3 --sessions 2 --into fleet-1
  tare fleet status fleet-1                                how far it is, and what is missing and why
  tare fleet run fleet-1                                   measure what is missing, however often
  tare fleet report fleet-1                                which nodes are slow, and what the environments cost
  tare fleet query 'select node, avg(ratio) from cells group by node' fleet-1

The folder holds the plan, which never changes, and a record for each session on each node. It has to lie where the nodes
see it; with --on ssh it need not.")]
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
    Query(FleetQuery),
    #[command(hide = true)]
    Cell(FleetCell),
}

/// Plan a fleet and measure it, or measure what is missing of one.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  tare fleet run quick --on slurm --into fleet-1
  tare fleet run rtt.toml --on slurm --into pairs-1           with peers = [\"node\"]: every pair of nodes
  tare fleet run quick --on 'kubernetes?claim=results&path=kernel-6.12' --into /results/kernel-6.12
  tare fleet run quick --on ssh --nodes web1,web2 --into web
  tare fleet run fleet-1                                      what is missing of it, however often
  tare fleet run fleet-1 --confirm                            fresh sessions of the nodes that stand out

Ctrl-C cancels what was submitted; what could not be cancelled is named.")]
pub struct FleetRun {
    /// A study, as for 'tare run'; or the folder of a fleet, to measure what is missing of it.
    #[arg(value_name = "STUDY|FOLDER")]
    pub what: String,
    #[command(flatten)]
    pub plan: FleetPlanning,
    /// Folder of the new fleet.
    #[arg(long, value_name = "FOLDER", requires = "on")]
    pub into: Option<PathBuf>,
    /// Write the plan alone, and submit nothing.
    #[arg(long, requires = "into")]
    pub plan_only: bool,
    /// Measure the nodes that a report calls slow again, and two ordinary ones of each of their kinds beside them: four
    /// fresh sessions each, which alone decide.
    #[arg(long, conflicts_with_all = ["on", "into"])]
    pub confirm: bool,
}

/// What a plan is made of.
#[derive(Debug, clap::Args)]
pub struct FleetPlanning {
    /// Who starts jobs: slurm, kubernetes, ssh, slurm-steps (inside an allocation), or a TOML file with four templates;
    /// options follow as ENGINE?key=value&key=value.
    #[arg(long, value_name = "ENGINE")]
    pub on: Option<String>,
    /// Nodes, comma-separated [default: all that the engine lists].
    #[arg(long, value_name = "NODES", value_delimiter = ',', requires = "on")]
    pub nodes: Vec<String>,
    /// How many sessions on each node, one after the other.
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub sessions: u32,
    /// Most jobs at a time [default: as many as there are nodes].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100_000), requires = "on")]
    pub at_once: Option<u32>,
    /// Environments on each node, as for 'tare run' [default: all that are ready there].
    #[arg(long = "in", value_name = "ENVIRONMENTS", value_delimiter = ',', requires = "on")]
    pub environments: Vec<String>,
    /// The baseline, as for 'tare run'.
    #[arg(long, value_name = "ENVIRONMENT", default_value = "native")]
    pub against: String,
    /// Probes, as for 'tare run'.
    #[arg(long, value_name = "PROBES", value_delimiter = ',', requires = "on")]
    pub only: Vec<String>,
    /// Time of each session, as for 'tare run' [default: the study's].
    #[arg(long, value_name = "TIME", conflicts_with = "rounds", requires = "on", value_parser = super::parse_time)]
    pub budget: Option<Duration>,
    /// Run exactly N rounds in each session.
    #[arg(long, value_name = "N", requires = "on", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub rounds: Option<u32>,
    /// Longest time of a job, after which the engine ends it [default: twice the budget and ten minutes, or an hour with
    /// --rounds].
    #[arg(long, value_name = "TIME", requires = "on", value_parser = super::parse_time)]
    pub limit: Option<Duration>,
    /// Scratch folder on each node, as for 'tare run'.
    #[arg(long, value_name = "FOLDER", requires = "on")]
    pub scratch: Option<String>,
    /// Port at which one node of a pair serves; data use the next.
    #[arg(long, value_name = "PORT", default_value_t = 12866)]
    pub port: u16,
    /// Facts by which reports take nodes for one kind, comma-separated [default: processor, its count, memory and kernel].
    #[arg(long, value_name = "FACTS", value_delimiter = ',')]
    pub by: Vec<String>,
    /// Seed of the order of nodes and pairs, in hex.
    #[arg(long, value_name = "HEX", value_parser = super::parse_seed, requires = "on")]
    pub seed: Option<u64>,
}

/// Show how far a fleet is: what is measured, what runs, and what is missing and why.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  tare fleet status fleet-1
  tare fleet status --json fleet-1 | jq '.missing[].node'")]
pub struct FleetStatus {
    /// Folder of the fleet.
    pub folder: PathBuf,
    /// Print one JSON document.
    #[arg(long)]
    pub json: bool,
}

/// Print a job as it would be submitted, to read it or to submit it by hand.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  tare fleet print quick --on slurm --nodes n1                 the batch script of a node
  tare fleet print quick --on kubernetes --nodes n1            the manifest of a node's Job
  tare fleet print fleet-1                                     every job that is missing of a fleet")]
pub struct FleetPrint {
    /// A study; or the folder of a fleet, for every job that is missing of it.
    #[arg(value_name = "STUDY|FOLDER")]
    pub what: String,
    #[command(flatten)]
    pub plan: FleetPlanning,
}

/// What a job does on its node.
#[derive(Debug, clap::Args)]
pub struct FleetCell {
    pub folder: PathBuf,
    /// SHA-256 of the plan that was submitted.
    #[arg(long)]
    pub plan: String,
    /// This node [default: as Slurm or the pod's manifest names it].
    #[arg(long)]
    pub node: Option<String>,
    #[arg(long, required_unless_present = "pair")]
    pub session: Option<u32>,
    /// Who measures, and who serves.
    #[arg(long, value_delimiter = ',', requires = "round")]
    pub pair: Vec<String>,
    #[arg(long)]
    pub round: Option<u32>,
    /// Where a pair finds its secret, if not in the folder.
    #[arg(long)]
    pub secret_file: Option<PathBuf>,
    #[arg(long)]
    pub scratch: Option<PathBuf>,
}
