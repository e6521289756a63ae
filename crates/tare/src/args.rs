//! Arguments: what can be typed.

// Tests of documents read this file by its path.
#[path = "args/advise.rs"]
mod advise;
#[path = "args/commands.rs"]
mod commands;
#[path = "args/explain.rs"]
pub mod explain;
#[path = "args/fleet.rs"]
pub mod fleet;
#[path = "args/ladder.rs"]
mod ladder;
#[path = "args/plan.rs"]
mod plan;
#[path = "args/pool.rs"]
mod pool;
#[path = "args/selftest.rs"]
mod selftest;
#[path = "args/serve.rs"]
mod serve;
#[path = "args/sql.rs"]
mod sql;

use std::path::PathBuf;

use clap::{Parser, Subcommand, ValueEnum};
use tare_analysis::gate::Condition;
use tare_lab::asked::Pin;
use tare_report::exports::{self, EXPORTS, Export};

pub use self::advise::Advise;
pub use self::commands::Commands;
pub use self::explain::{Explain, Predict, Prices};
pub use self::fleet::Fleet;
pub use self::ladder::Ladder;
pub use self::plan::Plan;
pub use self::pool::Pool;
pub use self::selftest::SelfTest;
pub use self::serve::Serve;
pub use self::sql::Sql;

/// Measures how much slower programs run inside containers, sandboxes and virtual machines.
///
/// tare copies itself into each environment, runs the same probes in all of them, in random order in one session,
/// and reports each environment's slowdown against a baseline with its confidence interval.
#[derive(Debug, Parser)]
#[command(name = "tare", version, max_term_width = 100)]
#[command(after_help = "Examples:
  tare check                              which environments are ready, and what the others need
  tare run                                measure every environment that is ready
  tare run --in native,gvisor --only 'sys.*,proc.*'
  tare report tare-2026-01-31T12-00.tare  show a session again

Exit codes: 0 success, 1 internal error, 2 usage, 3 environment, 4 storage, 5 record, 6 a --fail-if condition matched,
130 interrupted.")]
pub struct Args {
    /// Without one, the first steps are printed.
    #[command(subcommand)]
    pub command: Option<Command>,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    Run(Box<Run>),
    Plan(Plan),
    Explain(Explain),
    Predict(Predict),
    Prices(Prices),
    Advise(Advise),
    Ladder(Ladder),
    Report(Report),
    Import(Import),
    Diff(Diff),
    Pool(Pool),
    Fleet(Fleet),
    Sql(Sql),
    List(List),
    Show(Show),
    Check(Check),
    Serve(Serve),
    #[command(name = "selftest")]
    SelfTest(SelfTest),
    Clean(Clean),
    Environment(Environment),
    Completions(Completions),
    Man(Man),
    /// Print the licence of tare, and those of everything that is linked into it.
    #[command(alias = "licenses")]
    Licences,
}

/// Run a study in several environments and report how much slower each is than the baseline.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  tare run                                          the study 'quick' in every environment that is ready
  tare run --in native,gvisor?platform=ptrace       gVisor on ptrace against native
  tare run --only 'file.*' --place own,/mnt/data    file probes, in two places
  tare run --only file.seq --place own,ext4,btrfs   file systems made for the session
  tare run --like qiita-wsl-rtt                     what an article measured, with its figures beside
  tare run filesystems --quick --in gvisor          a shipped study, in five minutes
  tare run full --budget 20m                        all probes, for twenty minutes
  tare run --in gvisor --at-once 1,10,50            one start alone, ten at once, fifty at once
  tare run --only sys.getppid --margin 0.5%         find slowdowns below 2 %
  tare run --in native,gvisor -- make -j4           a command of your own, in both
  tare run -w 3 -- 'git status' --- 'git log -1'    two commands, each trial after three runs that warm up
  tare run --resume tare-2026-01-31T12-00.tare      continue a session that broke off
  tare run --record '%h-%t.tare'                    a name for a folder that several machines share
  tare run --fail-if 'slower:gvisor:sys.*>30'       exit with 6 if system calls are more than 30x slower")]
pub struct Run {
    /// A shipped study, a TOML file, or several with commas between them [default: quick, or full with --only].
    pub study: Option<String>,
    /// Environments, comma-separated: NAME or provider:instance?key=value&key=value [default: all that are ready].
    #[arg(long = "in", value_name = "ENVIRONMENTS", value_delimiter = ',')]
    pub environments: Vec<String>,
    /// Measure what a published article measured, in environments that stand in for its own, and show its figures
    /// beside: 'tare list published' names them. What else is named takes the place of the article's.
    #[arg(long, value_name = "ARTICLE", conflicts_with = "resume")]
    pub like: Option<String>,
    /// The baseline: the environment that the others are compared with.
    #[arg(long, value_name = "ENVIRONMENT", default_value = "native")]
    pub against: String,
    /// Enter this environment once more, as its own control: shows what changes from one start of it to the next, which
    /// the baseline's control cannot. May be given several times.
    #[arg(long = "control", value_name = "ENVIRONMENT", conflicts_with = "resume")]
    pub controls: Vec<String>,
    /// Probes, comma-separated, with * for any part of a name, e.g. 'sys.*,file.seq'.
    #[arg(long, value_name = "PROBES", value_delimiter = ',')]
    pub only: Vec<String>,
    /// Where file probes work, comma-separated: own (the environment's own disk), share (a folder shared with the
    /// host), the path of a folder, or a file system made for the session: ext4, btrfs, xfs, tmpfs, fuse, overlay.
    #[arg(long = "place", value_name = "PLACES", value_delimiter = ',')]
    pub places: Vec<String>,
    /// The other end of network probes, in place of the study's: loopback, host (this machine, from outside the
    /// environment), tare://HOST:PORT/#SECRET ('tare serve' prints it), tare://HOST:PORT/?secret-file=FILE,
    /// netperf://HOST[:PORT]. ROLE=ADDRESS names it by its role (node=tare://...), so that rows of several addresses are one case.
    /// May be given several times.
    #[arg(long = "peer", value_name = "PEER")]
    pub peers: Vec<String>,
    /// Also measure where round trips spend their time: net.hops, to each peer of the study.
    #[arg(long, conflicts_with = "resume")]
    pub hops: bool,
    /// Enter each environment several times at once, e.g. 1,10,50: time until the last has answered, and memory of each. With a
    /// command, run as many copies of it at once: time until the last has ended.
    #[arg(long, value_name = "COUNTS", value_delimiter = ',', value_parser = clap::value_parser!(u64).range(1..=200), conflicts_with = "resume")]
    pub at_once: Vec<u64>,
    /// Run commands beside a neighbour in the same environment, which computes (burn), starts programs (fork) or has a file written to
    /// the disk (sync); none is a case of its own.
    #[arg(long = "neighbour", value_name = "KINDS", value_delimiter = ',', value_parser = ["none", "burn", "fork", "sync"], conflicts_with = "resume")]
    pub neighbours: Vec<String>,
    /// Keep everything on one processor: this one, or the last. Layers whose processes wake each other vary less then.
    #[arg(long, value_name = "CPU", num_args = 0..=1, require_equals = true, default_missing_value = "last", value_parser = parse_pin, conflicts_with = "resume")]
    pub pin: Option<Pin>,
    /// Time for the whole session, e.g. 90s, 8m, 1h [default: the study's].
    #[arg(long, value_name = "TIME", conflicts_with = "rounds")]
    pub budget: Option<String>,
    /// Go on until every comparison is decided that can be, however long that takes. Ctrl-C ends it at any time, with
    /// verdicts that hold.
    #[arg(long, conflicts_with_all = ["budget", "rounds", "quick", "resume"])]
    pub until_decided: bool,
    /// Run exactly N rounds, and decide once, at the end.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub rounds: Option<u32>,
    /// Seed of the random order, in hex, to repeat a plan.
    #[arg(long, value_name = "HEX", value_parser = parse_seed)]
    pub seed: Option<u64>,
    /// Short trials, and at most five minutes, whatever the study says.
    #[arg(long, conflicts_with_all = ["reference", "rounds"])]
    pub quick: bool,
    /// The durations and sizes of the original tools instead of shorter ones.
    #[arg(long)]
    pub reference: bool,
    /// Where to write the record; in its name, %h stands for the host name, %t for the time, %r for random digits, %% for a
    /// percent sign [default: tare-DATE.tare in this folder].
    #[arg(long, value_name = "FILE")]
    pub record: Option<PathBuf>,
    /// Continue a session that broke off or ran out of time.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["study", "environments", "only", "places", "rounds", "seed", "record", "reference", "quick", "margin"])]
    pub resume: Option<PathBuf>,
    /// Continue a record that did not begin on this machine, and run the commands and environments that it names.
    #[arg(long, requires = "resume")]
    pub trust: bool,
    /// Scratch folder, on a disk, in which environments are built; emptied afterwards.
    #[arg(long, value_name = "FOLDER")]
    pub scratch: Option<PathBuf>,
    /// Print everything that the session would start, mount, write and send, and do none of it.
    #[arg(long)]
    pub dry_run: bool,
    #[command(flatten)]
    pub commands: Commands,
    #[command(flatten)]
    pub view: View,
}

/// Report on a recorded session.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  tare report tare-2026-01-31T12-00.tare
  tare report --html report.html FILE               the report as one HTML file
  tare report --published tuni-wsl2-linux           an article's comparison, recomputed from its figures
  tare report --published ascii-wsl2-unixbench FILE its figures beside, and its table: twelve scores and their index
  tare report --json FILE | jq '.rows[] | {case, cells}'
  tare report --export parquet=trials.parquet --export junit=cells.xml FILE
  tare report --export parquet=out/%n.parquet *.tare   several records, each into a file of its name
  tare report --fail-if slower:container FILE       exit with 6 if the container is slower")]
pub struct Report {
    /// The record. Optional with --published, which then reports what follows from the articles' own figures.
    #[arg(required_unless_present = "published")]
    pub record: Option<PathBuf>,
    /// Further records, for --export alone: in the names of its files, %n stands for a record's name without its ending.
    #[arg(value_name = "RECORDS", requires = "exports")]
    #[arg(conflicts_with_all = ["beside", "json", "markdown", "csv", "html", "wide", "facts", "fail_if"])]
    pub more: Vec<PathBuf>,
    /// A record made by 'tare import', to show other tools' figures beside the session's own, also in the --html
    /// report.
    #[arg(long, value_name = "RECORD", requires = "record", conflicts_with_all = ["csv", "exports", "fail_if"])]
    pub beside: Option<PathBuf>,
    /// Show and export these probes alone, comma-separated, with * for any part of a name, e.g. 'sys.*,file.seq'. Verdicts
    /// stay those of the whole session.
    #[arg(
        long,
        value_name = "PROBES",
        value_delimiter = ',',
        requires = "record",
        conflicts_with = "beside"
    )]
    pub only: Vec<String>,
    #[command(flatten)]
    pub view: View,
}

/// Import other tools' outputs into a record, with the statistics that each tool stated.
///
/// Understands netperf, sockperf, iperf3, sysbench, UnixBench, dd, fio, CrystalDiskMark, hyperfine and the Phoronix
/// Test Suite, and recognises the format by the file's content. If a file is refused, nothing is written.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  tare import rr.txt cpu.txt                           into tare-imported-DATE.tare
  tare import --environment gvisor --out g.tare *.txt  where the tools ran, and the record's name
  tare import --environment native,gvisor n.txt g.txt  where each of them ran
  tare report session.tare --beside g.tare             beside a session's own values
  tare report g.tare --html g.html                     tables and plots as one HTML file")]
pub struct Import {
    /// Outputs of other tools.
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,
    /// Where to write the record [default: tare-imported-DATE.tare in this folder].
    #[arg(long, value_name = "RECORD")]
    pub out: Option<PathBuf>,
    /// Where the tools ran, as sessions name that environment: one for all files, or one for each file in their order,
    /// comma-separated.
    #[arg(long = "environment", value_name = "NAMES", value_delimiter = ',')]
    pub environments: Vec<String>,
    /// Print one JSON document.
    #[arg(long)]
    pub json: bool,
}

/// How results are shown.
#[derive(Debug, Clone, clap::Args)]
pub struct View {
    /// Print one JSON document.
    #[arg(long, conflicts_with_all = ["markdown", "csv"])]
    pub json: bool,
    /// Print Markdown, for a pull request.
    #[arg(long, alias = "md", conflicts_with = "csv")]
    pub markdown: bool,
    /// Print CSV, one line for each cell.
    #[arg(long)]
    pub csv: bool,
    /// Also write the report as one self-contained HTML file.
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
    /// Articles whose figures to show beside the session's, with their tables filled from the session, comma-separated: names, or
    /// files that end in .toml.
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub published: Vec<String>,
    /// Instead of results, how each environment differs from the baseline: kernel, processor, mitigations, clock,
    /// limits, file systems, network devices, runtime. With --json as a document.
    #[arg(long, conflicts_with_all = ["markdown", "csv"])]
    pub facts: bool,
    /// Show every metric, by families, and how its rounds are distributed.
    #[arg(long)]
    pub wide: bool,
    /// Up to this difference a slowdown counts as the same, in place of each case's own margin (2 % unless the study sets
    /// another). Conditions of --fail-if go by the margins of the record.
    #[arg(long, value_name = "PERCENT", value_parser = plan::parse_percent)]
    pub margin: Option<f64>,
    /// Correct for many cells by Holm's method instead of Benjamini and Hochberg's: fewer differences, with more
    /// certainty.
    #[arg(long)]
    pub strict: bool,
    /// Write the results in another format ('tare list exports' names them), to a file or, without one, to standard
    /// output. May be given several times.
    #[arg(long = "export", value_name = "FORMAT[=FILE]", value_parser = parse_export)]
    pub exports: Vec<Wanted>,
    /// Exit with 6 if a cell is slower, undecided or missing: KIND[:ENVIRONMENT[:CASE]][>RATIO], with * for any part of
    /// a name. May be given several times.
    #[arg(long, value_name = "CONDITION", value_parser = Condition::of_one)]
    pub fail_if: Vec<Condition>,
}

/// A format, and where it goes.
#[derive(Clone)]
pub struct Wanted {
    pub export: &'static Export,
    /// Standard output where none is named.
    pub file: Option<PathBuf>,
}

impl std::fmt::Debug for Wanted {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}={:?}", self.export.name, self.file)
    }
}

fn parse_export(text: &str) -> Result<Wanted, String> {
    let (name, file) = match text.split_once('=') {
        Some((_, "")) => return Err("the name of a file must follow '='".into()),
        Some((name, file)) => (name, Some(PathBuf::from(file))),
        None => (text, None),
    };
    let Some(export) = exports::find(name) else {
        let names: Vec<&str> = EXPORTS.iter().map(|export| export.name).collect();
        return Err(format!("unknown format '{name}'; the formats are {}", names.join(", ")));
    };
    Ok(Wanted { export, file })
}

/// Compare two records: how each environment's slowdown changed, and which facts differ.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  tare diff before.tare after.tare
  tare diff --fail-if regressed OLD NEW                      exit with 6 if an environment regressed
  tare diff --fail-if 'regressed:gvisor:net.*>1.1' OLD NEW   gVisor's network only, by over 10 %")]
pub struct Diff {
    /// The older record.
    pub old: PathBuf,
    /// The newer record.
    pub new: PathBuf,
    /// Print one JSON document.
    #[arg(long, conflicts_with = "markdown")]
    pub json: bool,
    /// Print Markdown, for a pull request.
    #[arg(long, alias = "md")]
    pub markdown: bool,
    /// Show every metric, and every fact that differs.
    #[arg(long)]
    pub wide: bool,
    /// Exit with 6 if a cell has regressed, or is undecided or missing: KIND[:ENVIRONMENT[:CASE]][>RATIO], with * for
    /// any part of a name. May be given several times.
    #[arg(long, value_name = "CONDITION", value_parser = Condition::of_two)]
    pub fail_if: Vec<Condition>,
}

/// List probes, environments, studies, articles or export formats.
#[derive(Debug, clap::Args)]
pub struct List {
    /// What to list.
    pub what: Listed,
    /// Print one JSON document.
    #[arg(long)]
    pub json: bool,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum Listed {
    Probes,
    Environments,
    Studies,
    Published,
    Exports,
}

/// Describe a probe, environment, study or article, or how the environments of a record differ.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  tare show file.seq
  tare show gvisor
  tare show quick
  tare show tuni-wsl2-linux
  tare show tare-2026-01-31T12-00.tare     how its environments differ from the baseline")]
pub struct Show {
    /// Name of a probe, environment, study or article, or a record.
    pub name: String,
}

/// Check which environments are ready, and this machine's clock, noise and frequency.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  tare check                                which environments are ready, and what the others need
  tare check --in gvisor,podman             whether these are
  tare check --time --in gvisor,wsl2-like   how long they take to start")]
pub struct Check {
    /// Instead, start environments several times and report how long each takes.
    #[arg(long)]
    pub time: bool,
    /// Environments to check or start, as for 'tare run' [default: all, or with --time all that are ready]. The exit code is
    /// 3 if one of them is not ready.
    #[arg(long = "in", value_name = "ENVIRONMENTS", value_delimiter = ',')]
    pub environments: Vec<String>,
    /// Start each of them N times, in turn.
    #[arg(long, value_name = "N", default_value_t = 7, requires = "time", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub times: u32,
    /// Scratch folder, on a disk, in which environments are built; emptied afterwards.
    #[arg(long, value_name = "FOLDER", requires = "time")]
    pub scratch: Option<PathBuf>,
    /// Peers to try from this machine, as for 'tare run'. May be given several times.
    #[arg(long = "peer", value_name = "PEER")]
    pub peers: Vec<String>,
    /// Print one JSON document.
    #[arg(long)]
    pub json: bool,
}

/// Remove what a killed session left behind: processes, mounts, folders.
#[derive(Debug, clap::Args)]
pub struct Clean {
    /// Print one JSON document.
    #[arg(long)]
    pub json: bool,
}

/// Prepare, or remove, what an environment needs once, e.g. a guest kernel.
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
    /// Do the slow part, which is kept from one session to the next.
    Prepare { environment: String },
    /// Remove what 'prepare' made.
    Remove { environment: String },
}

/// Print completions for a shell.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  tare completions bash > ~/.local/share/bash-completion/completions/tare
  tare completions fish > ~/.config/fish/completions/tare.fish")]
pub struct Completions {
    pub shell: clap_complete::Shell,
}

/// Write the manual pages, one for each command, into a folder.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  tare man ~/.local/share/man/man1")]
pub struct Man {
    /// An existing folder.
    pub folder: PathBuf,
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
