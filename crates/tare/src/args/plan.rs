//! Arguments of `tare plan`.

use std::path::PathBuf;

/// Estimate how many rounds and how much time a session needs to find a difference.
///
/// Measures 18 rounds of every case, keeps nothing of them, and computes from their spread; or computes from a record.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  tare plan quick --in gvisor --effect 5%          from a short session
  tare plan tare-2026-01-31T12-00.tare --effect 1% from a record
  tare plan --only 'sys.*,net.rr' --in container --effect 3% --json")]
pub struct Plan {
    /// A shipped study, a TOML file, or a record (FILE.tare) [default: quick, or full with --only].
    #[arg(value_name = "STUDY|RECORD")]
    pub study: Option<String>,
    /// Environments, as for 'tare run' [default: all that are ready].
    #[arg(long = "in", value_name = "ENVIRONMENTS", value_delimiter = ',')]
    pub environments: Vec<String>,
    /// The baseline: the environment that the others are compared with.
    #[arg(long, value_name = "ENVIRONMENT", default_value = "native")]
    pub against: String,
    /// Probes, as for 'tare run'.
    #[arg(long, value_name = "PROBES", value_delimiter = ',')]
    pub only: Vec<String>,
    /// Where file probes work, as for 'tare run'.
    #[arg(long = "place", value_name = "PLACES", value_delimiter = ',')]
    pub places: Vec<String>,
    /// The difference that shall be found.
    #[arg(long, value_name = "PERCENT", default_value = "5%", value_parser = parse_percent)]
    pub effect: f64,
    /// Up to this difference a slowdown counts as the same, as for 'tare run' [default: each case's own margin].
    #[arg(long, value_name = "PERCENT", value_parser = parse_percent)]
    pub margin: Option<f64>,
    /// Scratch folder, on a disk, in which environments are built; emptied afterwards.
    #[arg(long, value_name = "FOLDER")]
    pub scratch: Option<PathBuf>,
    /// Print one JSON document.
    #[arg(long)]
    pub json: bool,
}

/// A share of one, from 0.01 % to 10000 %.
pub(crate) fn parse_percent(text: &str) -> Result<f64, String> {
    let share = text.strip_suffix('%').and_then(|number| number.trim().parse::<f64>().ok());
    let share = share.map(|percent| percent / 100.0).filter(|share| (1e-4..=100.0).contains(share));
    share.ok_or_else(|| "a difference is a percentage, e.g. 5% or 0.5%".into())
}
