//! Arguments of `tare explain`, `tare predict` and `tare prices`.

use std::path::PathBuf;

use tare_lab::asked::Pin;

/// Show where the difference goes: what a command asks of the system, and what each environment charges for it.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  tare explain --in gvisor -- git status          where the time of a command goes in gVisor
  tare explain --in container,gvisor -- make -j2  in two environments
  tare explain --in gvisor commands.toml          of every command of a study, in one session
  tare explain tare-explain-2026-01-31T12-00.tare  show a recorded one again")]
pub struct Explain {
    /// The record of an earlier one, to show it again; or a study of commands, to explain them all.
    #[arg(value_name = "RECORD|STUDY", required_unless_present = "words", conflicts_with = "words")]
    pub file: Option<PathBuf>,
    /// Environments, comma-separated [default: all that are ready].
    #[arg(long = "in", value_name = "ENVIRONMENTS", value_delimiter = ',')]
    pub environments: Vec<String>,
    #[command(flatten)]
    pub session: Session,
    /// Print one JSON document: the session's, with the field `explained`.
    #[arg(long)]
    pub json: bool,
    /// The command: its words, or all of it as one text. Several have --- between them.
    #[arg(last = true, value_name = "COMMAND")]
    pub words: Vec<String>,
}

/// Forecast what a command would take in environments where it is not run, by prices measured before.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  tare prices --in gvisor --record prices.tare      measure the prices once
  tare predict --from prices.tare -- make -j2       what a build would take there
  tare predict --from prices.tare --check -- make   and run it there, to see how right that is")]
pub struct Predict {
    /// The record with the prices: of the study 'prices', or of tare explain.
    #[arg(long, value_name = "RECORD")]
    pub from: PathBuf,
    /// Run the command in these environments as well, and show the forecast beside what it took.
    #[arg(long)]
    pub check: bool,
    #[command(flatten)]
    pub session: Session,
    /// Print one JSON document: the session's, with the field `explained`.
    #[arg(long)]
    pub json: bool,
    /// The command: its words, or all of it as one text. Several have --- between them.
    #[arg(last = true, required = true, value_name = "COMMAND")]
    pub words: Vec<String>,
}

/// Show what environments charge for a unit of each kind of work.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  tare prices --in container,gvisor     measure and show them
  tare prices --record prices.tare      keep them, for tare predict
  tare prices prices.tare               show recorded ones again")]
pub struct Prices {
    /// The record of the study 'prices', or of tare explain, to show its prices again.
    #[arg(value_name = "RECORD", conflicts_with_all = ["environments", "budget", "rounds", "pin", "seed", "record", "scratch", "dry_run"])]
    pub file: Option<PathBuf>,
    /// Environments, comma-separated [default: all that are ready].
    #[arg(long = "in", value_name = "ENVIRONMENTS", value_delimiter = ',')]
    pub environments: Vec<String>,
    #[command(flatten)]
    pub session: Session,
    /// Print one JSON document: the session's, with the field `prices`.
    #[arg(long)]
    pub json: bool,
}

/// What is said of the session that each of these runs.
#[derive(Debug, clap::Args)]
pub struct Session {
    /// Time for the whole session, e.g. 90s, 8m, 1h [default: by what is measured].
    #[arg(long, value_name = "TIME")]
    pub budget: Option<String>,
    /// Run this many rounds, and decide once, at the end, instead of by time.
    #[arg(long, value_name = "N", conflicts_with = "budget", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub rounds: Option<u32>,
    /// Keep everything on one processor: this one, or the last. Layers whose processes wake each other vary less then.
    #[arg(long, value_name = "CPU", num_args = 0..=1, require_equals = true, default_missing_value = "last", value_parser = super::parse_pin)]
    pub pin: Option<Pin>,
    /// Seed of the random order, in hex, to repeat a plan.
    #[arg(long, value_name = "HEX", value_parser = super::parse_seed)]
    pub seed: Option<u64>,
    /// Where to write the record [default: a new one in this folder].
    #[arg(long, value_name = "FILE")]
    pub record: Option<PathBuf>,
    /// Scratch folder, on a disk, in which environments are built; emptied afterwards.
    #[arg(long, value_name = "FOLDER")]
    pub scratch: Option<PathBuf>,
    /// Print everything that the session would start, mount, write and send, and do none of it.
    #[arg(long)]
    pub dry_run: bool,
}
