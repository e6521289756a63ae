//! Arguments of `tare plan`.

use std::path::PathBuf;
use tare_data::session::specification::NATIVE;

/// Estimate how many rounds and how much time a session needs to detect a difference.
///
/// Measures 18 rounds of every case, estimates from their spread, and keeps no record; or estimates from an
/// existing record.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  tare plan quick --in gvisor --effect 5%          estimate from a short session
  tare plan tare-2026-01-31T12-00.tare --effect 1% estimate from a record
  tare plan --only 'sys.*,net.rr' --in container --effect 3% --json")]
pub struct Plan {
    /// Plan a shipped study or a TOML file, or use a record (FILE.tare) [default: quick, or full with
    /// --only].
    #[arg(value_name = "STUDY|RECORD")]
    pub study: Option<String>,
    /// Measure these environments, as for 'tare run' [default: the first three that are ready].
    #[arg(long = "in", value_name = "ENVIRONMENTS", value_delimiter = ',')]
    pub environments: Vec<String>,
    /// Compare the other environments with this one, the baseline.
    #[arg(long, value_name = "ENVIRONMENT", default_value = NATIVE)]
    pub against: String,
    /// Run only these probes, as for 'tare run'.
    #[arg(long, value_name = "PROBES", value_delimiter = ',')]
    pub only: Vec<String>,
    /// Run file probes in these places, as for 'tare run'.
    #[arg(long = "place", value_name = "PLACES", value_delimiter = ',')]
    pub places: Vec<String>,
    /// Plan to detect a difference of this size.
    #[arg(long, value_name = "PERCENT", default_value = "5%", value_parser = parse_percent)]
    pub effect: f64,
    /// Count slowdowns up to this size as the same, as for 'tare run' [default: each case's own margin].
    #[arg(long, value_name = "PERCENT", value_parser = parse_percent)]
    pub margin: Option<f64>,
    /// Build environments in this folder, which must be on a disk, and remove them afterwards.
    #[arg(long, value_name = "FOLDER")]
    pub scratch: Option<PathBuf>,
    /// Print the result as JSON.
    #[arg(long)]
    pub json: bool,
}

/// Parses a percentage from 0.01 % to 10000 % into a fraction.
pub(crate) fn parse_percent(text: &str) -> Result<f64, String> {
    let share = text.strip_suffix('%').and_then(|number| number.trim().parse::<f64>().ok());
    let share = share.map(|percent| percent / 100.0).filter(|share| (1e-4..=100.0).contains(share));
    share.ok_or_else(|| "a difference is a percentage, e.g. 5% or 0.5%".into())
}
