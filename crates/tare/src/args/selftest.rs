//! Arguments of `tare selftest`.

use std::path::PathBuf;

/// Measure what sessions find on this machine: costs of known size are put in, and none.
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
    /// Probes, comma-separated, with * for any part of a name.
    #[arg(long, value_name = "PROBES", value_delimiter = ',', conflicts_with = "file")]
    pub only: Vec<String>,
    /// Time for the whole session, e.g. 90s, 8m, 1h [default: the study's].
    #[arg(long, value_name = "TIME", conflicts_with = "file")]
    pub budget: Option<String>,
    /// Seed of the random order, in hex, to repeat a plan.
    #[arg(long, value_name = "HEX", value_parser = super::parse_seed, conflicts_with = "file")]
    pub seed: Option<u64>,
    /// Where to write the record [default: tare-selftest-DATE.tare in this folder].
    #[arg(long, value_name = "FILE", conflicts_with = "file")]
    pub record: Option<PathBuf>,
    /// Scratch folder, on a disk, in which environments are built; emptied afterwards.
    #[arg(long, value_name = "FOLDER", conflicts_with = "file")]
    pub scratch: Option<PathBuf>,
    /// Print one JSON document.
    #[arg(long)]
    pub json: bool,
}
