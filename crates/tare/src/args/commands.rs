//! Arguments of a command of one's own in `tare run`: hyperfine's names for what hyperfine has, too.

use clap::ValueEnum;
use tare_report::exports;

use super::Wanted;

/// Commands to measure in place of a study.
#[derive(Clone, Debug, Default, clap::Args)]
#[command(next_help_heading = "Your own commands")]
pub struct Commands {
    /// Measure this command in place of a study, as separate words or one quoted string; separate several commands with ---.
    #[arg(last = true, value_name = "COMMAND", conflicts_with_all = ["study", "like", "only", "hops", "reference", "short", "resume"])]
    pub words: Vec<String>,
    /// Measure this command, given as one string. May be given several times.
    #[arg(hide_short_help = true, long = "command", value_name = "COMMAND", conflicts_with_all = ["study", "like", "only", "hops", "reference", "short", "resume"])]
    pub texts: Vec<String>,
    /// Name a command in the table; for several, once each, in their order.
    #[arg(hide_short_help = true, short = 'n', long = "command-name", value_name = "NAME")]
    pub names: Vec<String>,
    /// Warm up with N untimed runs in each trial; the first is shown separately [default: 1].
    #[arg(short = 'w', long, value_name = "N", value_parser = clap::value_parser!(u32).range(0..=1000))]
    pub warmup: Option<u32>,
    /// Run each command N times in each environment, once in each round, and decide once, at the end.
    #[arg(short = 'r', long, value_name = "N", conflicts_with_all = ["rounds", "budget", "until_decided"])]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub runs: Option<u32>,
    /// Run this before each run, untimed.
    #[arg(hide_short_help = true, short = 'p', long, value_name = "COMMAND")]
    pub prepare: Option<String>,
    /// Run this after each run, untimed.
    #[arg(hide_short_help = true, short = 'C', long, value_name = "COMMAND")]
    pub conclude: Option<String>,
    /// Run this once in each start of an environment, before everything else.
    #[arg(hide_short_help = true, short = 's', long, value_name = "COMMAND")]
    pub setup: Option<String>,
    /// Measure the command with each number from MIN to MAX in place of {NAME}.
    #[arg(hide_short_help = true, short = 'P', long, num_args = 3, value_names = ["NAME", "MIN", "MAX"], allow_negative_numbers = true)]
    pub parameter_scan: Vec<String>,
    /// Distance between the numbers of --parameter-scan [default: 1].
    #[arg(hide_short_help = true, short = 'D', long, value_name = "STEP", requires = "parameter_scan")]
    pub parameter_step_size: Option<String>,
    /// Measure the command with each of several values in place of {NAME}; with several lists, with every combination.
    #[arg(hide_short_help = true, short = 'L', long, num_args = 2, value_names = ["NAME", "VALUES"], action = clap::ArgAction::Append)]
    pub parameter_list: Vec<String>,
    /// Shell for commands given as a single string: none, or default (sh), whose own time then counts too [default: none].
    #[arg(hide_short_help = true, short = 'S', long, value_name = "SHELL")]
    pub shell: Option<Shell>,
    /// No shell: this is how it is without --shell.
    #[arg(short = 'N', hide = true, conflicts_with = "shell")]
    pub no_shell: bool,
    /// Continue after runs that end with an exit code other than 0.
    #[arg(short = 'i', long)]
    pub ignore_failure: bool,
    /// Send the output of commands to /dev/null, or to a pipe that is read [default: null].
    #[arg(hide_short_help = true, long, value_name = "WHERE")]
    pub output: Option<Output>,
    /// Longest time that a run may take [default: 300s].
    #[arg(hide_short_help = true, long, value_name = "TIME")]
    pub timeout: Option<String>,
    /// Give commands the current folder as a copy whose changes are discarded, or shared for writing [default: copy].
    #[arg(hide_short_help = true, long, value_name = "HOW")]
    pub work: Option<Work>,
    /// Write the results as hyperfine's JSON, which its scripts read: the same as --export hyperfine=FILE.
    #[arg(hide_short_help = true, long, value_name = "FILE")]
    pub export_json: Option<std::path::PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Shell {
    None,
    Default,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Output {
    Null,
    Pipe,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Work {
    Copy,
    Share,
}

impl Commands {
    /// Whether there are any.
    pub fn given(&self) -> bool {
        !self.words.is_empty() || !self.texts.is_empty()
    }

    /// The export that `--export-json` names.
    pub fn hyperfine(&self) -> Option<Wanted> {
        let export = exports::find("hyperfine")?;
        self.export_json.clone().map(|file| Wanted { export, file: Some(file) })
    }

    /// Whether a shell reads a command.
    pub fn by_shell(&self) -> bool {
        self.shell == Some(Shell::Default)
    }

    /// Whether what a command prints is thrown away unread.
    pub fn discards_output(&self) -> bool {
        self.output != Some(Output::Pipe)
    }

    /// Whether the current folder is shared for writing.
    pub fn shares_work(&self) -> bool {
        self.work == Some(Work::Share)
    }
}
