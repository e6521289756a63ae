//! Arguments of `tare compare`.

use std::path::PathBuf;

use tare_analysis::gate::{Condition, Kind};

/// Compare older records with newer ones, or combine the records of several sessions.
///
/// With --to, reports how each environment's slowdown changed, and which facts about the machines differ.
/// Sessions differ from one another even when nothing has changed. The interval of a change allows for that:
/// with several records on each side by how much these differ, with one by --between. With --together, reports each
/// environment's slowdown over all sessions, and how much it varies between them.
#[derive(Debug, clap::Args)]
#[command(group(clap::ArgGroup::new("gate").multiple(true)))]
#[command(after_help = "Examples:
  tare compare before.tare --to after.tare
  tare compare before-*.tare --to after-*.tare     measure how much sessions differ, too
  tare compare OLD --to NEW --fail-if regressed    exit with 6 if an environment regressed
  tare compare OLD --to NEW --fail-if 'regressed:gvisor:net.*>1.1'
                                                  exit with 6 if gVisor's network slowed by over 10 %
  tare compare --together monday.tare tuesday.tare wednesday.tare
  tare compare --together --markdown *.tare")]
pub struct Compare {
    /// Read the older records; with --together, three or more records of the same study and baseline.
    #[arg(value_name = "RECORD", required = true, num_args = 1..)]
    pub records: Vec<PathBuf>,
    /// Report what changed in these newer records.
    #[arg(long, value_name = "RECORD", num_args = 1.., required_unless_present = "together")]
    pub to: Vec<PathBuf>,
    /// Assume that sessions of one machine differ by this much when nothing has changed, for one record on each
    /// side.
    #[arg(long, value_name = "PERCENT", default_value = "0.5%", value_parser = parse_spread, conflicts_with = "together")]
    pub between: f64,
    /// Combine the records instead.
    #[arg(long, conflicts_with_all = ["to", "fail_if", "at_most"])]
    pub together: bool,
    /// Print the result as JSON.
    #[arg(long, conflicts_with = "markdown")]
    pub json: bool,
    /// Print a block to paste into an issue, without names of this machine, its user and files.
    #[arg(long, conflicts_with_all = ["json", "markdown", "together"])]
    pub paste: bool,
    /// Print Markdown, for a pull request.
    #[arg(long, alias = "md")]
    pub markdown: bool,
    /// Show every metric, and every fact that differs.
    #[arg(long)]
    pub wide: bool,
    /// Exit with 6 if a cell has regressed, is undecided or missing: KIND[:ENVIRONMENT[:CASE]][>RATIO], with
    /// * as a wildcard (repeatable).
    #[arg(long, group = "gate", value_name = "CONDITION", value_parser = Condition::of_two)]
    pub fail_if: Vec<Condition>,
    /// Exit with 6 unless a cell is shown to take at most this many times as long as before:
    /// ENVIRONMENT[:CASE]=RATIO, as --fail-if 'regressed:ENVIRONMENT>RATIO' does (repeatable).
    #[arg(long, group = "gate", value_name = "BOUND", value_parser = |text: &str| Condition::at_most(text, Kind::Regressed))]
    pub at_most: Vec<Condition>,
    /// Let a condition of --fail-if or --at-most pass if it cannot be decided, instead of exiting with 6.
    #[arg(long, requires = "gate")]
    pub allow_undecided: bool,
}

impl Compare {
    /// Lists all conditions that the changes must not meet.
    pub fn list_conditions(&self) -> Vec<Condition> {
        self.fail_if.iter().chain(&self.at_most).cloned().collect()
    }
}

/// Reads a spread in percent as a standard deviation of logarithms.
fn parse_spread(text: &str) -> Result<f64, String> {
    let percent = text.strip_suffix('%').unwrap_or(text).trim().parse::<f64>().ok();
    let percent = percent.filter(|percent| (0.0..=100.0).contains(percent));
    percent.map(|percent| percent / 100.0).ok_or_else(|| "a percentage from 0 to 100, such as 2%".to_owned())
}
