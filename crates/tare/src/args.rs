//! Arguments of the command line.

// Tests of documents read this file by its path.
#[path = "args/advise.rs"]
mod advise;
#[path = "args/commands.rs"]
mod commands;
#[path = "args/compare.rs"]
mod compare;
#[path = "args/explain.rs"]
mod explain;
#[path = "args/fleet.rs"]
pub mod fleet;
#[path = "args/help.rs"]
pub mod help;
#[path = "args/here.rs"]
pub mod here;
#[path = "args/itself.rs"]
pub mod itself;
#[path = "args/ladder.rs"]
mod ladder;
#[path = "args/percent.rs"]
mod percent;
#[path = "args/selftest.rs"]
mod selftest;
#[path = "args/serve.rs"]
mod serve;
#[path = "args/session.rs"]
mod session;
#[path = "args/view.rs"]
mod view;

use std::path::PathBuf;
use std::time::Duration;

use clap::{Parser, Subcommand, ValueEnum};
use tare_lab::asked::Pin;
use tare_lab::launching::words::encode_words;

use crate::exit::Exit;

pub use self::advise::Advise;
pub use self::commands::Commands;
pub use self::compare::Compare;
pub use self::explain::Explain;
pub use self::fleet::Fleet;
pub use self::here::Here;
pub use self::itself::Itself;
pub use self::ladder::Ladder;
pub use self::selftest::SelfTest;
pub use self::serve::Serve;
pub use self::session::SessionOptions;
pub use self::view::{View, Wanted};

/// Measure how much slower programs run inside containers, sandboxes and virtual machines.
///
/// tare copies itself into each environment, runs the same probes in all of them in random order, and reports
/// each environment's slowdown against a baseline with its confidence interval.
#[derive(Debug, Parser)]
#[command(name = "tare", version, max_term_width = 100)]
#[command(after_help = format!("Examples:
  tare here                               name the layers around this shell, and its limits
  tare run                                measure up to three environments that are ready
  tare run --in native,gvisor -- git status
  tare ladder container                   tell which mechanism of a container costs
  tare report tare-2026-01-31T12-00.tare  show a session again
  tare advise tare-2026-01-31T12-00.tare  tell for which work an environment is as good
  tare help --all                         list every command

{}", Exit::list_codes()))]
pub struct Args {
    /// Print the help of every command, as `tare help --all`.
    #[arg(long, hide = true)]
    pub all: bool,
    /// Run this command, or name this place and the lines to type if none is given.
    #[command(subcommand)]
    pub command: Option<Command>,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    Here(Here),
    Run(Box<Run>),
    Fleet(Fleet),
    Explain(Explain),
    Advise(Advise),
    Ladder(Ladder),
    #[command(name = "selftest")]
    SelfTest(SelfTest),
    Report(Report),
    Compare(Compare),
    Import(Import),
    List(List),
    Show(Show),
    Check(Check),
    Serve(Serve),
    Environment(Environment),
    Clean(Clean),
    #[command(name = "self")]
    Itself(Itself),
}

/// Run a study in several environments and report how much slower each is than the baseline.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  tare run                                          run 'quick' in up to three environments that are ready
  tare run --in native,gvisor?platform=ptrace       compare gVisor on ptrace with native
  tare run --only 'file.*' --place own,/mnt/data    run file probes in two places
  tare run --only file.seq --place own,ext4,btrfs   create file systems for the session
  tare run --like qiita-wsl-rtt                     repeat the measurements of an article
  tare run --like qiita-wsl-rtt --full-size         the same with runs of ten seconds, as there
  tare run filesystems --short --in gvisor          run a shipped study in five minutes
  tare run full --budget 20m                        run all probes for twenty minutes
  tare run --in gvisor --at-once 1,10,50            start 1, 10 and 50 instances at once
  tare run --only sys.getppid --margin 0.5%         detect slowdowns below 2 %
  tare run --in 'exec:firejail --quiet --'           compare any sandbox that is entered by words
  tare run --in native,gvisor -- make -j4           measure your own command in both
  tare run -- ./old --- ./new                       compare the second command with the first, natively
  tare run -L jobs 1,2 -- make -j{jobs}             compare a command with itself, by a parameter
  tare run --resume tare-2026-01-31T12-00.tare      continue an interrupted session
  tare run --record '%h-%t.tare'                    name records by host and time
  tare run --fail-if 'slower:gvisor:sys.*>30'       exit with 6 if system calls are over 30x slower")]
pub struct Run {
    /// Run a shipped study, a TOML file, or several of them separated by commas [default: quick, or full with
    /// --only].
    pub study: Option<String>,
    /// Measure these environments, comma-separated: NAME, provider:instance?key=value&key=value,
    /// 'exec:WORDS', or the file of a launcher, ./mine.toml [default: the first three that are ready].
    #[arg(long = "in", help_heading = "Where", value_name = "ENVIRONMENTS", value_delimiter = ',')]
    pub environments: Vec<String>,
    /// Also measure whatever these words start when a command follows them, under this name, e.g.
    /// box='firejail --quiet --' (repeatable).
    #[arg(long, help_heading = "Where", value_name = "NAME=WORDS", value_parser = parse_entered, conflicts_with = "resume")]
    pub enter: Vec<String>,
    /// Repeat the measurements of a published article in comparable environments, and show its figures next
    /// to yours ('tare list articles' lists the articles; other options override the article's).
    #[arg(long, help_heading = "What to measure", value_name = "ARTICLE", conflicts_with = "resume")]
    pub like: Option<String>,
    /// Compare the others with this environment, or with this command where several are compared
    /// [default: native, or the first command].
    #[arg(long, help_heading = "Where", value_name = "NAME")]
    pub against: Option<String>,
    /// Start this environment a second time as its own control, to measure how much it varies from start to
    /// start (repeatable).
    #[arg(
        long = "control",
        help_heading = "Where",
        hide_short_help = true,
        value_name = "ENVIRONMENT",
        conflicts_with = "resume"
    )]
    pub controls: Vec<String>,
    /// Run file probes in these places, comma-separated: own (the environment's own disk), share (a folder
    /// shared with the host), the path of a folder, or a file system created for the session (ext4, btrfs,
    /// xfs, tmpfs, overlay).
    #[arg(long = "place", help_heading = "What to measure", value_name = "PLACES", value_delimiter = ',')]
    pub places: Vec<String>,
    /// Run network probes against this peer instead of the study's: loopback, host (this machine, from
    /// outside the environment), published (the same, which connects to a port that the environment publishes),
    /// tare://HOST:PORT/#SECRET (printed by 'tare serve'), tare://HOST:PORT/?secret-file=FILE, or
    /// netperf://HOST[:PORT]; prefix it with ROLE= to report different addresses as one case (repeatable).
    #[arg(long = "peer", help_heading = "What to measure", value_name = "PEER")]
    pub peers: Vec<String>,
    /// Also measure how long a round trip spends at each hop (net.hops), for every peer of the study.
    #[arg(long, help_heading = "What to measure", hide_short_help = true, conflicts_with = "resume")]
    pub hops: bool,
    /// Start several instances of each environment at once, e.g. 1,10,50, and measure the time until the last
    /// one responds and the memory of each; with a command, run that many copies of it and measure the time
    /// until the last one exits.
    #[arg(long, help_heading = "What to measure", hide_short_help = true, value_name = "COUNTS", value_delimiter = ',', value_parser = clap::value_parser!(u64).range(1..=200), conflicts_with = "resume")]
    pub at_once: Vec<u64>,
    /// Run commands next to a neighbour in the same environment: none, burn (computes), fork (starts
    /// programs) or sync (has a file written to disk).
    #[arg(long = "neighbour", help_heading = "What to measure", hide_short_help = true, value_name = "KINDS", value_delimiter = ',', value_parser = ["none", "burn", "fork", "sync"], conflicts_with = "resume")]
    pub neighbours: Vec<String>,
    /// Run until every comparison that can be decided is decided, however long that takes; Ctrl-C stops at
    /// any time, and the verdicts so far hold.
    #[arg(long, help_heading = "How long", conflicts_with_all = ["budget", "rounds", "short", "resume"])]
    pub until_decided: bool,
    /// Run shorter trials, and stop after five minutes at most.
    #[arg(long, help_heading = "How long", conflicts_with_all = ["full_size", "rounds"])]
    pub short: bool,
    /// Use the durations and sizes of the original tools, or of the article, instead of shorter ones. This takes
    /// hours and disk space, and tare says how much before it begins.
    #[arg(long, help_heading = "How long")]
    pub full_size: bool,
    /// Continue a session that was interrupted or ran out of time.
    #[arg(long, help_heading = "Record", value_name = "FILE", conflicts_with_all = ["study", "environments", "only", "places", "rounds", "seed", "record", "full_size", "short", "margin", "pin"])]
    pub resume: Option<PathBuf>,
    /// Continue a record of which this user has no note that it began here, and run the commands and environments that it names.
    #[arg(long, help_heading = "Record", hide_short_help = true, requires = "resume")]
    pub trust: bool,
    #[command(flatten)]
    pub session: SessionOptions,
    #[command(flatten)]
    pub commands: Commands,
    #[command(flatten)]
    pub view: View,
}

/// Report on a recorded session.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  tare report tare-2026-01-31T12-00.tare
  tare report --html report.html FILE               write the report as one HTML file
  tare report --published ascii-wsl2-unixbench FILE show its figures next to the session's
  tare report --json FILE | jq '.rows[] | {case, cells}'
  tare report --export parquet=trials.parquet --export junit=cells.xml FILE
  tare report --export parquet=out/%n.parquet *.tare   export each record to its own file
  tare report --fail-if slower:container FILE       exit with 6 if the container is slower")]
pub struct Report {
    /// Report on this record.
    pub record: PathBuf,
    /// Export these records too, each to its own file: %n in a file name expands to the record's name without
    /// its extension.
    #[arg(value_name = "RECORDS", requires = "exports")]
    #[arg(conflicts_with_all = ["beside", "json", "markdown", "csv", "html", "wide", "facts", "fail_if", "at_most"])]
    pub more: Vec<PathBuf>,
    /// Show figures of other tools next to the session's, from a record made by 'tare import'.
    #[arg(long, value_name = "RECORD", conflicts_with_all = ["csv", "exports", "fail_if", "at_most"])]
    pub beside: Option<PathBuf>,
    /// Show and export only these probes, comma-separated, with * as a wildcard, e.g. 'sys.*,file.seq';
    /// verdicts still take the whole session into account.
    #[arg(long, value_name = "PROBES", value_delimiter = ',', conflicts_with = "beside")]
    pub only: Vec<String>,
    #[command(flatten)]
    pub view: View,
}

/// Import the output of other tools into a record, with the statistics that each tool reported.
///
/// Reads the output of netperf, iperf3, sysbench, UnixBench, dd, fio, CrystalDiskMark and hyperfine,
/// and detects the format from the content. If any file is refused, nothing is
/// written.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  tare import rr.txt cpu.txt                           write tare-imported-DATE.tare
  tare import --environment gvisor --out g.tare *.txt  name the environment and the record
  tare import --environment native,gvisor n.txt g.txt  name an environment for each file
  tare report session.tare --beside g.tare             show them next to a session's values
  tare report g.tare --html g.html                     write tables and plots as one HTML file")]
pub struct Import {
    /// Import these files.
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,
    /// Write the record to this file [default: tare-imported-DATE.tare in this folder].
    #[arg(long, value_name = "RECORD")]
    pub out: Option<PathBuf>,
    /// Name the environment that the tools ran in, as sessions do: one name for all files, or one per file,
    /// comma-separated.
    #[arg(long = "environment", value_name = "NAMES", value_delimiter = ',')]
    pub environments: Vec<String>,
    /// Print the result as JSON.
    #[arg(long)]
    pub json: bool,
}

/// List probes, environments, studies, articles or export formats.
#[derive(Debug, clap::Args)]
pub struct List {
    /// Choose the list to print [default: name the lists].
    pub what: Option<Listed>,
    /// Print the result as JSON.
    #[arg(long)]
    pub json: bool,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum Listed {
    #[value(alias = "probe")]
    Probes,
    #[value(aliases = ["environment", "env", "envs"])]
    Environments,
    #[value(alias = "study")]
    Studies,
    #[value(aliases = ["article", "published"])]
    Articles,
    #[value(aliases = ["export", "formats"])]
    Exports,
}

/// Describe a probe, environment, study or article, or how the environments of a record differ.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  tare show file.seq
  tare show gvisor
  tare show quick
  tare show tuni-wsl2-linux
  tare show tare-2026-01-31T12-00.tare     show how its environments differ from the baseline")]
pub struct Show {
    /// Describe the probe, environment, study or article of this name, or this record.
    pub name: String,
}

/// Check which environments are ready, by entering each once, and this machine's clock, noise and CPU frequency.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  tare check                                enter every environment that starts at once, and show what others lack
  tare check --wide                         also show reasons, limits and this machine's details
  tare check --in gvisor,podman             check only these
  tare check --time --in gvisor,wsl2-like   time how long they take to start")]
pub struct Check {
    /// Time how long environments take to start, instead of checking them.
    #[arg(long)]
    pub time: bool,
    /// Check or start these environments, as for 'tare run', and exit with 3 if one of them is not ready
    /// [default: all, none with --peer, or with --time all that are ready].
    #[arg(long = "in", value_name = "ENVIRONMENTS", value_delimiter = ',')]
    pub environments: Vec<String>,
    /// Also check whatever these words start, as for 'tare run' (repeatable).
    #[arg(long, value_name = "NAME=WORDS", value_parser = parse_entered)]
    pub enter: Vec<String>,
    /// Start each environment N times, in turn.
    #[arg(long, value_name = "N", default_value_t = 7, requires = "time", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub times: u32,
    /// Build environments in this folder, which must be on a disk, and remove them afterwards.
    #[arg(long, value_name = "FOLDER")]
    pub scratch: Option<PathBuf>,
    /// Try to reach this peer from this machine, as for 'tare run' (repeatable).
    #[arg(long = "peer", value_name = "PEER")]
    pub peers: Vec<String>,
    /// Show this machine's clock, noise and processor, and for every environment how it was recognised or what it lacks.
    #[arg(long, conflicts_with_all = ["time", "json"])]
    pub wide: bool,
    /// Print the result as JSON.
    #[arg(long)]
    pub json: bool,
}

/// Remove what a killed session left behind: processes, mounts, folders.
#[derive(Debug, clap::Args)]
pub struct Clean {
    /// Also remove what sessions of the host NAME left in a home folder shared with it; none of them may be running.
    #[arg(long, value_name = "NAME")]
    pub from_host: Option<String>,
    /// Name what journals list for removal, and remove nothing; what no journal names is not listed.
    #[arg(long, conflicts_with = "json")]
    pub dry_run: bool,
    /// Print the result as JSON.
    #[arg(long)]
    pub json: bool,
}

/// Prepare or remove the files that an environment needs once, e.g. a guest kernel.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  tare environment prepare qemu     download and unpack a kernel with the package manager
  tare environment remove qemu      remove it again")]
pub struct Environment {
    #[command(subcommand)]
    pub action: EnvironmentAction,
}

#[derive(Debug, Subcommand)]
pub enum EnvironmentAction {
    /// Do the slow setup once, and keep the result for later sessions.
    Prepare {
        /// Prepare this environment, named as for 'tare run', e.g. qemu.
        environment: String,
    },
    /// Remove everything that 'prepare' created.
    Remove {
        /// Remove the files of this environment, named as for 'tare run', e.g. qemu.
        environment: String,
    },
}

/// Parses a time as a duration of its unit: 90s, 8m, 1h.
fn parse_time(text: &str) -> Result<Duration, String> {
    tare_lab::parse_duration(text).map_err(|e| format!("{}: {}", e.what, e.hint.unwrap_or_default()))
}

/// Parses the words of a launcher with their name into the environment that they are.
fn parse_entered(text: &str) -> Result<String, String> {
    let (name, words) = text.split_once('=').ok_or("give a name and words: box='firejail --quiet --'")?;
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '-' | '_');
    if name.is_empty() || name.len() > 22 || !name.chars().all(plain) {
        return Err("a name has a-z, 0-9, - and _, and at most 22 of them".into());
    }
    Ok(format!("exec:{}?name={name}", encode_words(words)))
}

fn parse_seed(text: &str) -> Result<u64, String> {
    u64::from_str_radix(text, 16).map_err(|_| "a seed is up to 16 hex digits, e.g. 7f3a91c2".into())
}

fn parse_pin(text: &str) -> Result<Pin, String> {
    match text {
        "last" => Ok(Pin::Last),
        number => {
            number.parse().map(Pin::Processor).map_err(|_| "a processor is a number, e.g. --pin=0".into())
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::help::HEADINGS;
    use super::*;

    #[test]
    fn every_command_is_under_one_heading_and_every_argument_has_help() {
        let listed: Vec<&str> = HEADINGS.iter().flat_map(|(_, names)| *names).copied().collect();
        let command = Args::command();
        let names: Vec<&str> = command.get_subcommands().map(clap::Command::get_name).collect();
        assert_eq!(listed, names, "in the order of the enum");
        assert!(names.len() <= 18, "a further command has to be worth it");
        check_help(&command);
    }

    fn check_help(command: &clap::Command) {
        for argument in command.get_arguments().filter(|argument| !argument.is_hide_set()) {
            assert!(argument.get_help().is_some(), "{} {}", command.get_name(), argument.get_id());
        }
        command.get_subcommands().filter(|command| !command.is_hide_set()).for_each(check_help);
    }
}
