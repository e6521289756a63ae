//! Arguments of `tare advise`.

use std::path::PathBuf;

use super::SessionOptions;

/// Recommend an environment for each kind of work, with the evidence.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  tare advise --in container,gvisor,qemu       measure, then recommend one for each kind of work
  tare advise --for build,git                  consider two kinds of work
  tare advise --in container,gvisor -- make    add your own command
  tare advise tare-2026-01-31T12-00.tare       use an earlier session
  tare advise --print-kinds > kinds.toml       save the shipped kinds, to edit them
  tare advise --kinds kinds.toml               use your own kinds of work")]
pub struct Advise {
    /// Use the measurements of an earlier session.
    #[arg(value_name = "RECORD", conflicts_with_all = ["environments", "words"])]
    pub file: Option<PathBuf>,
    /// Compare these environments, comma-separated [default: the first three that are ready].
    #[arg(long = "in", value_name = "ENVIRONMENTS", value_delimiter = ',')]
    pub environments: Vec<String>,
    /// Consider only these kinds of work, comma-separated [default: all in the file].
    #[arg(long = "for", value_name = "KINDS", value_delimiter = ',')]
    pub kinds: Vec<String>,
    /// Read the kinds of work from this file [default: the shipped one].
    #[arg(long = "kinds", value_name = "FILE")]
    pub kinds_file: Option<PathBuf>,
    /// Print the shipped file of kinds of work, without measuring or reading anything.
    #[arg(long, conflicts_with_all = ["environments", "kinds", "kinds_file", "words", "json"])]
    pub print_kinds: bool,
    /// Call an environment as good as the baseline if it is at most this much slower, e.g. 10%.
    #[arg(long, value_name = "PERCENT", default_value = "5%", value_parser = super::percent::parse_percent)]
    pub margin: f64,
    #[command(flatten)]
    pub session: SessionOptions,
    /// Print the session as JSON, with the field `advice`.
    #[arg(long)]
    pub json: bool,
    /// Add your own command as a kind of work, as separate words or one quoted string.
    #[arg(last = true, value_name = "COMMAND")]
    pub words: Vec<String>,
}
