//! Arguments shared by the commands that measure a session or read a record, and then show it.

use std::path::PathBuf;
use std::time::Duration;

use tare_lab::asked::Pin;

/// Options of the session that a command runs.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct SessionOptions {
    /// Limit the whole session to this time, e.g. 90s, 8m, 1h [default: depends on what is measured].
    #[arg(long, help_heading = "How long", value_name = "TIME", value_parser = super::parse_time)]
    pub budget: Option<Duration>,
    /// Run exactly N rounds, and decide only at the end.
    #[arg(long, help_heading = "How long", value_name = "N", conflicts_with = "budget", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub rounds: Option<u32>,
    /// Run only these probes, comma-separated, with * as a wildcard, e.g. 'sys.*,file.seq'.
    #[arg(long, help_heading = "What to measure", value_name = "PROBES", value_delimiter = ',')]
    pub only: Vec<String>,
    /// Pin everything to one processor (CPU, or the last one), which reduces variation in gVisor, UML and
    /// tracers.
    #[arg(long, help_heading = "Where", hide_short_help = true, value_name = "CPU", num_args = 0..=1, require_equals = true, default_missing_value = "last", value_parser = super::parse_pin)]
    pub pin: Option<Pin>,
    /// Use this seed (hex) for the random order, to repeat a plan.
    #[arg(long, help_heading = "How long", hide_short_help = true, value_name = "HEX", value_parser = super::parse_seed)]
    pub seed: Option<u64>,
    /// Write the record to this file, where %h expands to the host name, %t to the time, %r to random digits
    /// and %% to a percent sign [default: a new one in this folder; if a command works in it, beside the journals].
    #[arg(long, help_heading = "Record", value_name = "FILE")]
    pub record: Option<PathBuf>,
    /// Build environments in this folder, which must be on a disk, and remove them afterwards.
    #[arg(long, help_heading = "Where", hide_short_help = true, value_name = "FOLDER")]
    pub scratch: Option<PathBuf>,
    /// Print everything that the session would measure, start, mount, write and send, without doing any of it.
    #[arg(long, help_heading = "Record")]
    pub dry_run: bool,
}

impl SessionOptions {
    /// Finds a measuring option that was given, which is a mistake when a record is shown again.
    pub fn first_given(&self) -> Option<&'static str> {
        let given = [
            ("--budget", self.budget.is_some()),
            ("--rounds", self.rounds.is_some()),
            ("--only", !self.only.is_empty()),
            ("--pin", self.pin.is_some()),
            ("--seed", self.seed.is_some()),
            ("--record", self.record.is_some()),
            ("--dry-run", self.dry_run),
        ];
        given.iter().find(|(_, is_given)| *is_given).map(|(option, _)| *option)
    }
}
