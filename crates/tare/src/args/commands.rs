//! Arguments of a command of one's own in `tare run`: hyperfine's names for what hyperfine has, too.

use clap::ValueEnum;
use tare_report::exports;

use super::Wanted;

/// Commands to measure in place of a study.
#[derive(Clone, Debug, Default, clap::Args)]
#[command(next_help_heading = "Your own commands")]
pub struct Commands {
    /// Measure this command in place of a study: its words, or all of it as one text. Several have --- between them.
    #[arg(last = true, value_name = "COMMAND", conflicts_with_all = ["study", "like", "only", "hops", "reference", "quick", "resume"])]
    pub words: Vec<String>,
    /// The same as one text. May be given several times.
    #[arg(long = "command", value_name = "COMMAND", conflicts_with_all = ["study", "like", "only", "hops", "reference", "quick", "resume"])]
    pub texts: Vec<String>,
    /// What the table calls a command; for several, once each, in their order.
    #[arg(short = 'n', long = "command-name", value_name = "NAME")]
    pub names: Vec<String>,
    /// Runs that warm up, in each trial. They are not timed, but the first is shown by itself [default: 1].
    #[arg(short = 'w', long, value_name = "N", value_parser = clap::value_parser!(u32).range(0..=1000))]
    pub warmup: Option<u32>,
    /// Run each command N times in each environment, once in each round, and decide once, at the end.
    #[arg(short = 'r', long, value_name = "N", conflicts_with_all = ["rounds", "budget", "until_decided"])]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub runs: Option<u32>,
    /// Run before each run, not timed.
    #[arg(short = 'p', long, value_name = "COMMAND")]
    pub prepare: Option<String>,
    /// Run after each run, not timed.
    #[arg(short = 'C', long, value_name = "COMMAND")]
    pub conclude: Option<String>,
    /// Run once in each start of an environment, before everything else.
    #[arg(short = 's', long, value_name = "COMMAND")]
    pub setup: Option<String>,
    /// Commands for each number from MIN to MAX, which takes the place of {NAME}.
    #[arg(short = 'P', long, num_args = 3, value_names = ["NAME", "MIN", "MAX"], allow_negative_numbers = true)]
    pub parameter_scan: Vec<String>,
    /// Distance between the numbers of --parameter-scan [default: 1].
    #[arg(short = 'D', long, value_name = "STEP", requires = "parameter_scan")]
    pub parameter_step_size: Option<String>,
    /// Commands for each of several values, which take the place of {NAME}. Several lists: every combination.
    #[arg(short = 'L', long, num_args = 2, value_names = ["NAME", "VALUES"], action = clap::ArgAction::Append)]
    pub parameter_list: Vec<String>,
    /// Who reads a command that is given as one text: no shell, or sh, whose own time then counts too [default: none].
    #[arg(short = 'S', long, value_name = "SHELL")]
    pub shell: Option<Shell>,
    /// No shell: this is how it is without --shell.
    #[arg(short = 'N', hide = true, conflicts_with = "shell")]
    pub no_shell: bool,
    /// Go on after runs that end with another exit code than 0.
    #[arg(short = 'i', long)]
    pub ignore_failure: bool,
    /// Where what a command prints goes: /dev/null, or a pipe that is read [default: null].
    #[arg(long, value_name = "WHERE")]
    pub output: Option<Output>,
    /// Longest time that a run may take [default: 300s].
    #[arg(long, value_name = "TIME")]
    pub timeout: Option<String>,
    /// The current folder inside: a copy whose changes are thrown away, or shared for writing [default: copy].
    #[arg(long, value_name = "HOW")]
    pub work: Option<Work>,
    /// Write the results as hyperfine's JSON, which its scripts read: the same as --export hyperfine=FILE.
    #[arg(long, value_name = "FILE")]
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
