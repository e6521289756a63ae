//! Arguments of `tare run` for user commands, named as in hyperfine where it has them.

use clap::ValueEnum;
use tare_report::exports;

use super::Wanted;

/// Commands to measure in place of a study.
#[derive(Clone, Debug, Default, clap::Args)]
#[command(next_help_heading = "Your own commands")]
pub struct Commands {
    /// Measure this command in place of a study, as separate words or one quoted string; with --- between several, compare the others with the first.
    #[arg(last = true, value_name = "COMMAND", conflicts_with_all = ["study", "like", "only", "hops", "full_size", "short", "resume"])]
    pub words: Vec<String>,
    /// Measure this command, given as one string (repeatable).
    #[arg(hide_short_help = true, long = "command", value_name = "COMMAND", conflicts_with_all = ["study", "like", "only", "hops", "full_size", "short", "resume"])]
    pub texts: Vec<String>,
    /// Measure each command as a call, too: enter the environment, run it, leave, as a coding agent does for every command.
    #[arg(long)]
    pub calls: bool,
    /// Name a command in the table (repeatable, one name per command in order).
    #[arg(hide_short_help = true, short = 'n', long = "command-name", value_name = "NAME")]
    pub names: Vec<String>,
    /// Warm up with N untimed runs in each trial, the first of which is reported separately [default: 1].
    #[arg(short = 'w', long, value_name = "N", value_parser = clap::value_parser!(u32).range(0..=1000))]
    pub warmup: Option<u32>,
    /// Run each command N times in each environment, once per round, and decide only at the end.
    #[arg(short = 'r', long, value_name = "N", conflicts_with_all = ["rounds", "budget", "until_decided"])]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub runs: Option<u32>,
    /// Run this command before each run, untimed.
    #[arg(hide_short_help = true, short = 'p', long, value_name = "COMMAND")]
    pub prepare: Option<String>,
    /// Run this command after each run, untimed.
    #[arg(hide_short_help = true, short = 'C', long, value_name = "COMMAND")]
    pub conclude: Option<String>,
    /// Run this command once, each time an environment starts, before anything else.
    #[arg(hide_short_help = true, short = 's', long, value_name = "COMMAND")]
    pub setup: Option<String>,
    /// Measure the command with {NAME} replaced by each number from MIN to MAX.
    #[arg(hide_short_help = true, short = 'P', long, num_args = 3, value_names = ["NAME", "MIN", "MAX"], allow_negative_numbers = true)]
    pub parameter_scan: Vec<String>,
    /// Increase the number of --parameter-scan by STEP [default: 1].
    #[arg(hide_short_help = true, short = 'D', long, value_name = "STEP", requires = "parameter_scan")]
    pub parameter_step_size: Option<String>,
    /// Measure the command with {NAME} replaced by each of these values, comma-separated; with several lists,
    /// measure every combination.
    #[arg(hide_short_help = true, short = 'L', long, num_args = 2, value_names = ["NAME", "VALUES"], action = clap::ArgAction::Append)]
    pub parameter_list: Vec<String>,
    /// Run commands given as a single string in this shell: none, or default (sh), which adds the shell's own
    /// time [default: none].
    #[arg(hide_short_help = true, short = 'S', long, value_name = "SHELL")]
    pub shell: Option<Shell>,
    /// Use no shell, which is the default.
    #[arg(short = 'N', hide = true, conflicts_with = "shell")]
    pub no_shell: bool,
    /// Compare the times of runs that failed as well, with those that ended alike.
    #[arg(short = 'i', long)]
    pub ignore_failure: bool,
    /// Send the output of commands to /dev/null, or to a pipe that tare reads [default: null].
    #[arg(hide_short_help = true, long, value_name = "WHERE")]
    pub output: Option<Output>,
    /// Stop a run that takes longer than this [default: ten times the baseline's slowest run, at least 10s].
    #[arg(hide_short_help = true, long, value_name = "TIME")]
    pub timeout: Option<String>,
    /// Run commands in a copy of the current folder whose changes are discarded, or in the folder itself
    /// (share) [default: copy].
    #[arg(hide_short_help = true, long, value_name = "HOW")]
    pub work: Option<Work>,
    /// Run the command in this folder; given several times, compare it in the others with it in the first.
    #[arg(hide_short_help = true, long = "folder", value_name = "FOLDER")]
    pub folders: Vec<std::path::PathBuf>,
    /// Write the results as JSON that hyperfine's scripts can read, like --export hyperfine=FILE.
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
    pub fn has_commands(&self) -> bool {
        !self.words.is_empty() || !self.texts.is_empty()
    }

    /// Builds the export that `--export-json` asks for.
    pub fn hyperfine_export(&self) -> Option<Wanted> {
        let export = exports::find_export("hyperfine")?;
        self.export_json.clone().map(|file| Wanted { export, file: Some(file) })
    }

    /// Tells whether commands run in a shell.
    pub fn by_shell(&self) -> bool {
        self.shell == Some(Shell::Default)
    }

    /// Tells whether the output of commands goes to /dev/null.
    pub fn discards_output(&self) -> bool {
        self.output != Some(Output::Pipe)
    }

    /// Tells whether commands run in the current folder itself, not in a copy.
    pub fn shares_work(&self) -> bool {
        self.work == Some(Work::Share)
    }
}
