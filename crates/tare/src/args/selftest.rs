//! Arguments of `tare selftest`.

use std::path::PathBuf;
use tare_data::session::specification::NATIVE;

use super::SessionOptions;

/// Check this machine's sensitivity: inject known slowdowns (and none) and report what is detected.
///
/// Compares an environment with itself, slowed down by 0 to 10 %, under the rules of every session, and
/// reports false verdicts, how many of the slowdowns were found, and how long that took.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  tare selftest                                      test the probes of 'quick', in three minutes
  tare selftest --only sys.getppid,net.rr --budget 60s
  tare selftest --shares 0,1,5 --against container   inject 0, 1 and 5 % in a container
  tare selftest tare-selftest-2026-01-31T12-00.tare  show an earlier self-test again")]
pub struct SelfTest {
    /// Show the record of an earlier self-test again, instead of measuring.
    pub file: Option<PathBuf>,
    /// Compare this environment with itself.
    #[arg(long, value_name = "ENVIRONMENT", default_value = NATIVE, conflicts_with = "file")]
    pub against: String,
    /// Inject slowdowns of these sizes, in percent, comma-separated.
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
    /// Print the result as JSON.
    #[arg(long)]
    pub json: bool,
}
