//! Arguments of `tare advise`.

use std::path::PathBuf;

use super::SessionOptions;

/// Say which environment to take for which kind of work, and the evidence.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  tare advise --in container,gvisor,qemu       measure, then say which is best for what
  tare advise --for build,git                  two kinds of work
  tare advise --in container,gvisor -- make    your own command, as a kind of its own
  tare advise tare-2026-01-31T12-00.tare       by what an earlier session measured
  tare advise --print-kinds > kinds.toml       what each kind consists of, to change it
  tare advise --kinds kinds.toml               by your own kinds of work")]
pub struct Advise {
    /// The record of an earlier session, to go by what it measured.
    #[arg(value_name = "RECORD", conflicts_with_all = ["environments", "words"])]
    pub file: Option<PathBuf>,
    /// Environments, comma-separated [default: all that are ready].
    #[arg(long = "in", value_name = "ENVIRONMENTS", value_delimiter = ',')]
    pub environments: Vec<String>,
    /// Kinds of work, comma-separated [default: all of the file].
    #[arg(long = "for", value_name = "KINDS", value_delimiter = ',')]
    pub kinds: Vec<String>,
    /// A file that says what each kind of work consists of [default: the shipped one].
    #[arg(long = "kinds", value_name = "FILE")]
    pub kinds_file: Option<PathBuf>,
    /// Print the shipped file of kinds of work, and measure nothing.
    #[arg(long, exclusive = true)]
    pub print_kinds: bool,
    /// Environments that are at most this much slower than the best are as good, e.g. 10%.
    #[arg(long, value_name = "PERCENT", default_value = "5%", value_parser = super::plan::parse_percent)]
    pub margin: f64,
    #[command(flatten)]
    pub session: SessionOptions,
    /// Print one JSON document: the session's, with the field `advice`.
    #[arg(long)]
    pub json: bool,
    /// Your own command, as a kind of work of its own, as separate words or one quoted string.
    #[arg(last = true, value_name = "COMMAND")]
    pub words: Vec<String>,
}
