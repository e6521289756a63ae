//! Arguments of `tare selftest`.

use std::path::PathBuf;

use super::SessionOptions;

/// Check this machine's sensitivity: inject known slowdowns (and none) and report what is detected.
///
/// Compares an environment with itself, slower on purpose by 0 to 10 %, under the rules of every session, and reports
/// false verdicts, and how many of the costs were found after what time.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  tare selftest                                      the probes of 'quick', in three minutes
  tare selftest --only sys.getppid,net.rr --budget 60s
  tare selftest --shares 0,1,5 --against container   two costs, in a container
  tare selftest tare-selftest-2026-01-31T12-00.tare  report on a recorded one again")]
pub struct SelfTest {
    /// The record of an earlier self-test; without one, measure.
    pub file: Option<PathBuf>,
    /// The environment that is compared with itself.
    #[arg(long, value_name = "ENVIRONMENT", default_value = "native", conflicts_with = "file")]
    pub against: String,
    /// Costs to put in, in percent, comma-separated.
    #[arg(
        long,
        value_name = "PERCENT",
        value_delimiter = ',',
        default_value = "0,0.5,1,2,5,10",
        conflicts_with = "file"
    )]
    pub shares: Vec<String>,
    #[command(flatten)]
    pub session: SessionOptions,
    /// Print one JSON document.
    #[arg(long)]
    pub json: bool,
}
