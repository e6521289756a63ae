//! Arguments of `tare explain`.

use std::path::PathBuf;

use super::SessionOptions;

/// Show where the difference goes: what a command asks of the system, and what each environment charges for it.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  tare explain --in gvisor -- git status            where the time of a command goes in gVisor
  tare explain --in container,gvisor -- make -j2    in two environments
  tare explain --in gvisor commands.toml            of every command of a study, in one session
  tare explain tare-explain-2026-01-31T12-00.tare   show a recorded one again
  tare explain --prices --in gvisor --record p.tare measure what gVisor charges for each kind of work
  tare explain --prices p.tare                      show these prices again
  tare explain --forecast --in gvisor -- make -j2   what a build would take in gVisor, without running it there
  tare explain --forecast --from p.tare -- make     the same by recorded prices
  tare explain --forecast --from p.tare --check -- make  and run it there, to see how right the forecast is")]
pub struct Explain {
    /// The record of an earlier session, to show it again; or a study of commands, to explain them all.
    #[arg(value_name = "RECORD|STUDY", required_unless_present_any = ["words", "prices"], conflicts_with = "words")]
    pub file: Option<PathBuf>,
    /// Environments, comma-separated [default: all that are ready].
    #[arg(long = "in", value_name = "ENVIRONMENTS", value_delimiter = ',')]
    pub environments: Vec<String>,
    /// Show only the prices: what each environment charges for a unit of each kind of work.
    #[arg(long, conflicts_with_all = ["words", "forecast"])]
    pub prices: bool,
    /// Forecast what the command would take in the environments, from their prices, without running it there.
    #[arg(long, requires = "words")]
    pub forecast: bool,
    /// Take the prices of a forecast from this record, instead of measuring them first.
    #[arg(long, value_name = "RECORD", requires = "forecast", conflicts_with = "environments")]
    pub from: Option<PathBuf>,
    /// Run the command in the environments as well, and show the forecast beside the time it took.
    #[arg(long, requires = "forecast")]
    pub check: bool,
    #[command(flatten)]
    pub session: SessionOptions,
    /// Print one JSON document: the session's, with the field `explained` or `prices`.
    #[arg(long)]
    pub json: bool,
    /// The command, as separate words or one quoted string; separate several commands with ---.
    #[arg(last = true, value_name = "COMMAND")]
    pub words: Vec<String>,
}
