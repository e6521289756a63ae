//! Arguments of `tare explain`.

use std::path::PathBuf;

use super::SessionOptions;

/// Explain where the extra time goes: what a command asks of the system, and what each environment charges
/// for it.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  tare explain --in gvisor -- git status            explain the time of a command in gVisor
  tare explain --in container,gvisor -- make -j2    explain a build in two environments
  tare explain --in gvisor commands.toml            explain every command of a study in one session
  tare explain tare-explain-2026-01-31T12-00.tare   show an earlier session again
  tare explain --prices --in gvisor --record p.tare measure the prices of gVisor
  tare explain --prices p.tare                      show these prices again
  tare explain --forecast --in gvisor -- make -j2   forecast the time of a build in gVisor
  tare explain --forecast --from p.tare -- make     forecast from recorded prices
  tare explain --forecast --from p.tare --check -- make  forecast, then run it there and compare")]
pub struct Explain {
    /// Show the record of an earlier session again, or explain all commands of a study.
    #[arg(value_name = "RECORD|STUDY", required_unless_present_any = ["words", "prices"], conflicts_with = "words")]
    pub file: Option<PathBuf>,
    /// Measure these environments, comma-separated [default: the first three that are ready]. With --from, allow the command
    /// to run in these environments of the record.
    #[arg(long = "in", value_name = "ENVIRONMENTS", value_delimiter = ',')]
    pub environments: Vec<String>,
    /// Show only the prices: what each environment charges for one unit of each kind of work.
    #[arg(long, conflicts_with_all = ["words", "forecast"])]
    pub prices: bool,
    /// Forecast from measured prices how long the command would take in the environments, without running it
    /// there.
    #[arg(long, requires = "words")]
    pub forecast: bool,
    /// Read the prices for a forecast from this record, instead of measuring them first.
    #[arg(long, value_name = "RECORD", requires = "forecast")]
    pub from: Option<PathBuf>,
    /// Also run the command in the environments, and compare the forecast with the measured time.
    #[arg(long, requires = "forecast")]
    pub check: bool,
    /// Run the command in the environments that the record names, although its session did not begin here.
    #[arg(long, requires = "from")]
    pub trust: bool,
    #[command(flatten)]
    pub session: SessionOptions,
    /// Print the session as JSON, with the field `explained` or `prices`.
    #[arg(long)]
    pub json: bool,
    /// Explain this command, as separate words or one quoted string; separate several commands with ---.
    #[arg(last = true, value_name = "COMMAND")]
    pub words: Vec<String>,
}
