//! Arguments: what can be typed.

use std::path::PathBuf;

use clap::{Parser, Subcommand, ValueEnum};
use tare_analysis::gate::Condition;
use tare_report::exports::{self, EXPORTS, Export};

/// Weighs the layers between a program and the hardware.
///
/// tare copies itself into each environment, runs the same probes in random order in one session until
/// each comparison is decided, and says which layer costs what.
#[derive(Debug, Parser)]
#[command(name = "tare", version, max_term_width = 100)]
#[command(after_help = "Examples:
  tare run                                weigh every environment that is ready here
  tare run --in native,gvisor --only 'sys.*,proc.*'
  tare check                              what is ready, and what would make the rest so
  tare report tare-2026-01-31T12-00.tare  read a session again

Exit codes: 0 done, 1 internal, 2 usage, 3 environment, 4 storage, 5 record, 6 gate shut, 130 interrupted.")]
pub struct Args {
    /// None says what to do first.
    #[command(subcommand)]
    pub command: Option<Command>,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    Run(Box<Run>),
    Report(Report),
    Import(Import),
    Diff(Diff),
    List(List),
    Show(Show),
    Check(Check),
    Serve(Serve),
    Clean(Clean),
    Environment(Environment),
    Completions(Completions),
    Man(Man),
}

/// Measure: run a study in several environments and say what each layer costs.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  tare run                                          the study 'quick' in everything that is ready
  tare run --in native,gvisor?platform=ptrace       two environments
  tare run --only 'file.*' --place own,/mnt/data    file probes, in two places
  tare run --only file.seq --place own,ext4,btrfs   file systems made for the session
  tare run filesystems --quick --in gvisor          a shipped study, in five minutes
  tare run full --budget 20m                        everything, for twenty minutes
  tare run --resume tare-2026-01-31T12-00.tare      go on where a session broke off
  tare run --fail-if 'slower:gvisor:sys.*>30'       exit with 6 where a layer costs too much")]
pub struct Run {
    /// A shipped study, or a TOML file. 'quick' unless --only selects from all probes ('full').
    pub study: Option<String>,
    /// Environments, comma-separated: NAME or provider:instance?key=value&key=value. All that are ready unless given.
    #[arg(long = "in", value_name = "ENVIRONMENTS", value_delimiter = ',')]
    pub environments: Vec<String>,
    /// The environment that the others are compared with.
    #[arg(long, value_name = "ENVIRONMENT", default_value = "native")]
    pub against: String,
    /// Probes, comma-separated, with * for any part of a name: 'sys.*,file.seq'.
    #[arg(long, value_name = "PROBES", value_delimiter = ',')]
    pub only: Vec<String>,
    /// Places for file probes, comma-separated: own, share, a folder's path, or a file system to make:
    /// ext4, btrfs, xfs, tmpfs, overlay.
    #[arg(long = "place", value_name = "PLACES", value_delimiter = ',')]
    pub places: Vec<String>,
    /// The other end of network probes: loopback, host (this machine, from outside the environment),
    /// tare://HOST:PORT/#SECRET (tare serve prints it), tare://HOST:PORT/?secret-file=FILE, netperf://HOST[:PORT].
    /// May be given several times; instead of the study's own.
    #[arg(long = "peer", value_name = "PEER")]
    pub peers: Vec<String>,
    /// Also say where round trips go: net.hops, to each peer of the study.
    #[arg(long, conflicts_with = "resume")]
    pub hops: bool,
    /// Time for the whole session, e.g. 90s, 8m, 1h. The study's own unless given.
    #[arg(long, value_name = "TIME", conflicts_with = "rounds")]
    pub budget: Option<String>,
    /// So many rounds, with one look at the end.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=400))]
    pub rounds: Option<u32>,
    /// Seed of the order, in hex, to repeat a plan.
    #[arg(long, value_name = "HEX", value_parser = parse_seed)]
    pub seed: Option<u64>,
    /// Short trials, and done within five minutes, whatever the study says.
    #[arg(long, conflicts_with_all = ["reference", "rounds"])]
    pub quick: bool,
    /// The original tools' durations and sizes instead of quick ones.
    #[arg(long)]
    pub reference: bool,
    /// Where the record goes. tare-DATE.tare in this folder unless given.
    #[arg(long, value_name = "FILE")]
    pub record: Option<PathBuf>,
    /// Go on with a session that broke off or ran out of time.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["study", "environments", "only", "places", "rounds", "seed", "record", "reference", "quick"])]
    pub resume: Option<PathBuf>,
    /// Folder on a disk in which environments are built. Left empty afterwards.
    #[arg(long, value_name = "FOLDER")]
    pub scratch: Option<PathBuf>,
    #[command(flatten)]
    pub view: View,
}

/// Show: read a record and say again what it says.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  tare report tare-2026-01-31T12-00.tare
  tare report --published tuni-wsl2-linux           an article's own comparison, computed again
  tare report --view unixbench FILE                 twelve scores and their index
  tare report --json FILE | jq '.rows[] | {case, cells}'
  tare report --serve FILE                          a page that follows a session while it runs
  tare report --export parquet=trials.parquet --export junit=cells.xml FILE
  tare report --fail-if slower:container FILE       exit with 6 if the container is slower")]
pub struct Report {
    /// The record. May be left out with --published, which then shows what follows from the articles' own figures.
    #[arg(required_unless_present = "published")]
    pub record: Option<PathBuf>,
    /// Show the page on 127.0.0.1 instead, also while the session still runs: it says how far that is. Prints its address,
    /// which holds a secret; Ctrl-C ends. Takes any free port unless one is given, as in --serve=8080.
    #[arg(long, value_name = "PORT", num_args = 0..=1, require_equals = true, default_missing_value = "0")]
    #[arg(requires = "record", conflicts_with_all = ["json", "markdown", "csv", "html", "view", "wide", "exports", "fail_if"])]
    pub serve: Option<u16>,
    /// A record that 'tare import' made: its figures beside the session's own, as another tool's; with --html on the
    /// page too.
    #[arg(long, value_name = "RECORD", requires = "record", conflicts_with_all = ["csv", "view", "serve", "exports", "fail_if"])]
    pub beside: Option<PathBuf>,
    #[command(flatten)]
    pub view: View,
}

/// Take other tools' outputs into a record, each with the statistics that the tool stated.
///
/// Read are netperf, sockperf, iperf3, sysbench, UnixBench, dd, fio, CrystalDiskMark, hyperfine and the Phoronix
/// Test Suite; the format is found by what the file says. Nothing is written when a file is refused.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  tare import rr.txt cpu.txt                           into tare-imported-DATE.tare
  tare import --environment gvisor --out g.tare *.txt  where the tools ran, and the record's name
  tare import --environment native,gvisor n.txt g.txt  where each of them ran
  tare report session.tare --beside g.tare             beside a session's own figures
  tare report g.tare --html g.html                     tables and plots as one page")]
pub struct Import {
    /// Outputs of other tools.
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,
    /// Where the record goes. tare-imported-DATE.tare in this folder unless given.
    #[arg(long, value_name = "RECORD")]
    pub out: Option<PathBuf>,
    /// The environment that the tools ran in, as its environment is named in a session: one for all files, or one for each
    /// in their order, comma-separated.
    #[arg(long = "environment", value_name = "NAMES", value_delimiter = ',')]
    pub environments: Vec<String>,
    /// One JSON document on standard output.
    #[arg(long)]
    pub json: bool,
}

/// How findings are shown.
#[derive(Debug, Clone, clap::Args)]
pub struct View {
    /// One JSON document on standard output.
    #[arg(long, conflicts_with_all = ["markdown", "csv"])]
    pub json: bool,
    /// Markdown, for a pull request.
    #[arg(long, alias = "md", conflicts_with = "csv")]
    pub markdown: bool,
    /// One line a cell.
    #[arg(long)]
    pub csv: bool,
    /// Also write the findings as one self-contained page.
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
    /// The lines of another tool's report, filled by tare from the same trials.
    #[arg(long, value_name = "TOOL", conflicts_with_all = ["json", "markdown", "csv"])]
    pub view: Option<ToolView>,
    /// Articles whose figures stand beside the session's, comma-separated: names, or files that end in .toml.
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub published: Vec<String>,
    /// In what each environment differs from the reference instead of what was measured: kernel, processor,
    /// mitigations, clock, limits, file systems, network devices, runtime. With --json as a document.
    #[arg(long, conflicts_with_all = ["markdown", "csv", "view"])]
    pub facts: bool,
    /// Every metric, and the shape of the rounds.
    #[arg(long)]
    pub wide: bool,
    /// Holm's correction for many cells instead of Benjamini and Hochberg's.
    #[arg(long)]
    pub strict: bool,
    /// Write the findings in another format, to a file or, where none is named, to standard output. Can be
    /// given several times; 'tare list exports' names the formats.
    #[arg(long = "export", value_name = "FORMAT[=FILE]", value_parser = parse_export)]
    pub exports: Vec<Wanted>,
    /// Exit with 6 if a cell is so: slower, undecided or gap, as KIND[:ENVIRONMENT[:CASE]][>RATIO] with * for
    /// any part of a name. Can be given several times.
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
        Some((_, "")) => return Err("a file's name follows '='".into()),
        Some((name, file)) => (name, Some(PathBuf::from(file))),
        None => (text, None),
    };
    let Some(export) = exports::find(name) else {
        let names: Vec<&str> = EXPORTS.iter().map(|export| export.name).collect();
        return Err(format!("there is no format '{name}'; there are {}", names.join(", ")));
    };
    Ok(Wanted { export, file })
}

/// A tool whose report is known.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum ToolView {
    /// Twelve scores and their index, by UnixBench's definition.
    Unixbench,
    /// sysbench's cpu and fileio reports.
    Sysbench,
    /// The lines that dd closes with.
    Dd,
    /// netperf's names for round trips.
    Netperf,
    /// CrystalDiskMark's lines: the best of all passes, beside all passes.
    #[value(name = "crystaldiskmark")]
    CrystalDiskMark,
}

/// Compare two records over time: what each layer cost then and costs now, and which facts differ.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  tare diff before.tare after.tare
  tare diff --fail-if regressed before.tare after.tare         exit with 6 if a layer has become regressed
  tare diff --fail-if 'regressed:gvisor:net.*>1.1' OLD NEW     by more than a tenth")]
pub struct Diff {
    /// The older record.
    pub old: PathBuf,
    /// The newer record.
    pub new: PathBuf,
    /// One JSON document on standard output.
    #[arg(long, conflicts_with = "markdown")]
    pub json: bool,
    /// Markdown, for a pull request.
    #[arg(long, alias = "md")]
    pub markdown: bool,
    /// Every metric, and every fact that differs.
    #[arg(long)]
    pub wide: bool,
    /// Exit with 6 if a cell is so: slower, undecided or gap, as KIND[:ENVIRONMENT[:CASE]][>RATIO] with * for
    /// any part of a name. Can be given several times.
    #[arg(long, value_name = "CONDITION", value_parser = Condition::of_two)]
    pub fail_if: Vec<Condition>,
}

/// Name everything of a kind.
#[derive(Debug, clap::Args)]
pub struct List {
    pub what: Listed,
    /// One JSON document on standard output.
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

/// Describe one probe, environment, study or article, or in what the environments of a record differ.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  tare show file.seq
  tare show gvisor
  tare show quick
  tare show tuni-wsl2-linux
  tare show tare-2026-01-31T12-00.tare     facts of its environments, beside the reference's")]
pub struct Show {
    pub name: String,
}

/// Say what is ready here: every environment, and this machine's clock, noise and frequency.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  tare check                                what is ready, and what would make the rest so
  tare check --time --in gvisor,wsl2-like   how long they take to come up")]
pub struct Check {
    /// Enter environments several times instead, and say how long each takes to come up.
    #[arg(long)]
    pub time: bool,
    /// Environments to bring up, as for 'tare run'. All that are ready unless given.
    #[arg(long = "in", value_name = "ENVIRONMENTS", value_delimiter = ',', requires = "time")]
    pub environments: Vec<String>,
    /// So many starts of each, in turn.
    #[arg(long, value_name = "N", default_value_t = 7, requires = "time", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub times: u32,
    /// Folder on a disk in which environments are built. Left empty afterwards.
    #[arg(long, value_name = "FOLDER", requires = "time")]
    pub scratch: Option<PathBuf>,
    /// Peers to try from this machine, as tare run takes them. May be given several times.
    #[arg(long = "peer", value_name = "PEER")]
    pub peers: Vec<String>,
    /// One JSON document on standard output.
    #[arg(long)]
    pub json: bool,
}

/// Be the other end of network probes that run elsewhere, for whoever has the secret.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  tare serve                                 for this machine alone, and print what to type
  tare serve --listen 192.0.2.7:12866        for others too
  tare serve --listen '[::]:12866' --expires 8h --secret-file /etc/tare/secret

Data flows use the port after the one that is listened on, over TCP and UDP. docs/internals/security.md says what a peer
does for whom.")]
pub struct Serve {
    /// Address and port. 127.0.0.1:12866 unless given, and 127.0.0.1:12865 with --netperf.
    #[arg(long, value_name = "ADDRESS:PORT")]
    pub listen: Option<std::net::SocketAddr>,
    /// Answer stock netperf 2.7 instead: TCP_RR, UDP_RR, TCP_CRR, TCP_STREAM and TCP_MAERTS. Its protocol knows no
    /// secret: whoever reaches the address may measure, one at a time.
    #[arg(long, conflicts_with_all = ["data_port", "secret_file"])]
    pub netperf: bool,
    /// Port of data flows. The one after --listen's unless given; any free one where that is 0.
    #[arg(long, value_name = "PORT")]
    pub data_port: Option<u16>,
    /// File with the secret, 64 hex digits; made, readable by you alone, if it is not there. A fresh secret is
    /// printed unless given.
    #[arg(long, value_name = "FILE")]
    pub secret_file: Option<PathBuf>,
    /// End after so long, e.g. 90s, 8m, 1h.
    #[arg(long, value_name = "TIME", default_value = "1h")]
    pub expires: String,
    /// One JSON document on standard output, when it listens.
    #[arg(long)]
    pub json: bool,
}

/// Take away what a killed session left: processes, mounts, folders.
#[derive(Debug, clap::Args)]
pub struct Clean {
    /// One JSON document on standard output.
    #[arg(long)]
    pub json: bool,
}

/// Do what an environment needs once, like downloading a kernel, or take it away again.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  tare environment prepare qemu     download and unpack a kernel by the package manager
  tare environment remove qemu      take it away again")]
pub struct Environment {
    #[command(subcommand)]
    pub action: EnvironmentAction,
}

#[derive(Debug, Subcommand)]
pub enum EnvironmentAction {
    /// Do the slow part that is kept from one session to the next.
    Prepare { environment: String },
    /// Take away what 'prepare' made.
    Remove { environment: String },
}

/// Print the completions of a shell, for its startup file.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  tare completions bash > ~/.local/share/bash-completion/completions/tare
  tare completions fish > ~/.config/fish/completions/tare.fish")]
pub struct Completions {
    pub shell: clap_complete::Shell,
}

/// Write the manual's pages, one a command, into a folder.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  tare man ~/.local/share/man/man1")]
pub struct Man {
    /// A folder that is there.
    pub folder: PathBuf,
}

fn parse_seed(text: &str) -> Result<u64, String> {
    u64::from_str_radix(text, 16).map_err(|_| "a seed is up to 16 hex digits, e.g. 7f3a91c2".into())
}
