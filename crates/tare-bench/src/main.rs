//! bench: tare compared with the tools that it replaces, in turn on one machine; and tare compared with the truth.
//!
//! `agreement` asks whether tare measures the same as the tool, `overhead` how much measuring itself costs. Both
//! alternate tare and tool, judge the ratio by the same statistics as a session, and write their results into docs/.

mod agent;
mod commands;
mod document;
mod duel;
mod duels;
mod findings;
mod interrupt;
mod machine;
mod progress;
mod ratio;
mod session;
mod setting;
mod tool;
mod truths;
mod veth;

use std::ffi::OsString;
use std::io;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use clap::{Parser, Subcommand};
use tare_bench::kills::{self, Work, homes, soak};

use crate::commands::{
    agreement, alternation, faults, fleet, forecast, overhead, paces, precision, sessions, validation,
};
use crate::setting::{Setting, find_tare_binary};

#[derive(Debug, Parser)]
#[command(name = "bench", about = "tare beside the tools that it replaces", subcommand_required = true)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Run tare and the tool that each probe replaces in turn, and compare their figures.
    ///
    /// Prints a table, and keeps it in docs/method/agreement.md unless --quick is given: rows that were not measured this
    /// time stay there, as long as they are of the same machine. The machine should do nothing else meanwhile.
    /// A row is kept as soon as it is there. Rows over virtual cards make two network namespaces, and need root.
    /// Needs sysbench, fio, dd, netperf, sockperf, iperf3 and hyperfine; UnixBench is measured where --unixbench or $UNIXBENCH says that it is.
    #[command(after_help = "Examples:
  ./bench/agreement                          every row, about 20 minutes
  ./bench/agreement file                     the rows of files
  ./bench/agreement --row 'file.seq write 4KiB' --row 'net.*, 1 CPU'
  ./bench/agreement --resume                 the rows that a run which broke off has not measured
  ./bench/agreement --quick                  see that every row works; measures nothing worth keeping")]
    Agreement {
        /// Rows whose names begin so: cpu, file, net, sys, ipc, proc, user.
        family: Vec<String>,
        /// A row by its whole name, in which * matches anything.
        #[arg(long, value_name = "PATTERN")]
        row: Vec<String>,
        /// Leave out rows that were measured today or yesterday in as many rounds.
        #[arg(long)]
        resume: bool,
        /// Folder of a UnixBench that was built, the one that holds pgms/. $UNIXBENCH unless given.
        #[arg(long, value_name = "FOLDER")]
        unixbench: Option<PathBuf>,
        #[command(flatten)]
        setting: Setting,
    },
    /// Measure the cost of measuring, compared with fio's null engine and sysbench's cheapest event.
    ///
    /// Prints a table, and keeps it in docs/method/overhead.md unless --quick is given.
    Overhead {
        #[command(flatten)]
        setting: Setting,
    },
    /// Kill sessions at random moments, and look for their remains after tare clean.
    ///
    /// Looks at processes, mounts, network namespaces and devices, loop devices, control groups, states of runtimes,
    /// Podman's containers and images, temporary files, the session's own folders; and whether the record can be read.
    /// Ends with 1 when anything was left. Nothing else should enter environments meanwhile, or say --shared.
    Kills(Kill),
    /// Kill sessions on one of two nodes that share a home, and see that nothing of the other's is taken away.
    ///
    /// Nodes are mount namespaces with a view of one folder each, and host names. In every other try locks reach from nobody
    /// to nobody. Ends with 1 when anything was wrong. Needs root.
    Homes(Shared),
    /// Have sessions meet faults, and count losses, remains, aborts, hangs and errors.
    ///
    /// random: kills, signals, killed children, removed records, limits on files, descriptors and memory at random moments.
    /// host, everybody: every n-th system call of a kind fails, in the session's process or in every one (needs strace).
    /// liar: a runtime that forges messages. power, disk: the power is cut, a disk is full (need root). clock:
    /// time namespaces. writers: others want to write the record. Ends with 1 where anything was wrong.
    #[command(after_help = "Examples:
  ./bench/faults                             all of them
  ./bench/faults --only random --rounds 500 --seed 3 --in container
  ./bench/faults --only host,liar")]
    Faults(faults::Request),
    /// Have one long session meet faults, and watch its memory, descriptors, processes and mounts.
    ///
    /// Kills or stops one of its processes every few seconds. Ends with 1 when any of these grew, or anything was left.
    Soak(Soak),
    /// Measure differences whose size is known: tare's verdicts on them must be right.
    ///
    /// Podman's default filter of system calls against none must be slower by tens of nanoseconds a call, with an
    /// interval that excludes no difference; 200 us that are injected into each call must be found within 2 %. Ends
    /// with 1 when a truth is missed. Needs podman, two processors and a machine that does nothing else.
    Truths {
        #[command(flatten)]
        setting: Setting,
    },
    /// Judge costs of known size by tare, and as people judge figures of one environment after the other.
    ///
    /// Compares an environment with itself, slower on purpose by 0, 2 and 5 %, and counts false and missed verdicts.
    /// Prints a table, and keeps it in docs/method/validation.md unless --quick is given. Three minutes a round.
    Validation {
        #[command(flatten)]
        setting: Setting,
    },
    /// Run sessions of this build and of an earlier one in turn, and compare the times in which they know ratios equally well.
    ///
    /// Prints a table, and keeps it in docs/method/precision.md unless --quick is given. Two sessions a round.
    Precision(precision::Request),
    /// Compare ratios of trials that take turns with those of trials that run alone, in one session of `full`.
    ///
    /// Measures a container, a filter of 100 rules, and costs of 2 and 5 % that are put in. Prints a table, and keeps it in
    /// docs/method/alternation.md unless --quick is given. Ends with 1 where a case differs. Half a minute a round.
    Alternation(alternation::Request),
    /// Run whole sessions on costs of known size, none among them, and count the cells with a direction.
    ///
    /// Compares native with native, or with a sandbox that changes nothing: `no cost`, `no cost, bwrap`, and both beside a load (a
    /// minute a session), `5 %` and `2 %, margin 1 %` (each case of quick by itself, up to 16 and 8 minutes a round) and
    /// `1 %, margin 0.5 %` (up to 40 minutes a round). Prints a table, and keeps it in docs/method/sessions.md unless --quick is
    /// given.
    #[command(after_help = "Examples:
  ./bench/sessions no --rounds 10            forty sessions without a cost, half of them beside a load
  ./bench/sessions '5 %' --rounds 2          each case of quick twice")]
    Sessions(sessions::Request),
    /// Compute the findings of a large session, and print their time and memory.
    ///
    /// Ends with 1 when they take more than 2 s, or more than 256 MB besides the session of 1.2 million trials itself.
    Findings,
    /// Make a fleet of a thousand records out of one, and report on it.
    ///
    /// Ends with 1 when the report takes more than 60 s or 512 MB, or does not name the node that is 12 % slower, or when a
    /// question in SQL takes more than 1 s.
    Fleet(fleet::Request),
    /// Print the errors of the forecasts of a record's programs, as Markdown for ./bench/forecast to keep.
    Forecast {
        #[arg(value_name = "RECORD")]
        record: PathBuf,
    },
    /// Print the table of typical paces of the sessions in these records, as TOML for ./bench/paces to keep.
    Paces {
        #[arg(value_name = "RECORD", required = true)]
        records: Vec<PathBuf>,
    },
    /// Act as an environment that lies, for faults to enter.
    #[command(hide = true)]
    Lie,
    /// Run a program whose getppid takes so much longer, for truths to enter.
    #[command(hide = true)]
    Delayed {
        #[arg(long, value_name = "US")]
        delay_us: u64,
        #[arg(last = true)]
        words: Vec<OsString>,
    },
}

/// Sessions to be killed.
#[derive(Clone, Debug, clap::Args)]
struct Kill {
    /// Sessions to start and kill.
    #[arg(long, value_name = "N", default_value_t = 200)]
    rounds: u32,
    /// Seed of the moments, to repeat them.
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// Environments to kill sessions of, comma-separated. All of them unless given.
    #[arg(long = "in", value_name = "ENVIRONMENTS", value_delimiter = ',')]
    environments: Vec<String>,
    /// Kill sessions that measure calls: sandboxes are entered and left again and again.
    #[arg(long)]
    calls: bool,
    /// Other programs enter environments meanwhile: new things on the machine without a sign of tare are theirs.
    #[arg(long)]
    shared: bool,
    /// The tare that is killed. The one next to this program unless given.
    #[arg(long, value_name = "FILE")]
    tare: Option<PathBuf>,
    /// Folder on a disk in which sessions build.
    #[arg(long, value_name = "FOLDER", default_value = "/var/tmp")]
    scratch: PathBuf,
}

/// Sessions on two nodes.
#[derive(Clone, Debug, clap::Args)]
struct Shared {
    /// Pairs of sessions to start.
    #[arg(long, value_name = "N", default_value_t = 100)]
    tries: u32,
    /// Seed of the moments, to repeat them.
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// Environment of the sessions.
    #[arg(long = "in", value_name = "ENVIRONMENT", default_value = "container")]
    environment: String,
    /// The tare that is killed. The one next to this program unless given.
    #[arg(long, value_name = "FILE")]
    tare: Option<PathBuf>,
    /// Folder on a disk in which sessions build.
    #[arg(long, value_name = "FOLDER", default_value = "/var/tmp")]
    scratch: PathBuf,
}

/// A long session.
#[derive(Clone, Debug, clap::Args)]
struct Soak {
    /// Minutes that it lasts.
    #[arg(long, value_name = "N", default_value_t = 30)]
    minutes: u64,
    /// Seed of the faults.
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// Environments, comma-separated. Those of kills that are ready and start within seconds, unless given.
    #[arg(long = "in", value_name = "ENVIRONMENTS", value_delimiter = ',')]
    environments: Vec<String>,
    /// The tare that runs it. The one next to this program unless given.
    #[arg(long, value_name = "FILE")]
    tare: Option<PathBuf>,
    /// Folder on a disk in which it builds.
    #[arg(long, value_name = "FOLDER", default_value = "/var/tmp")]
    scratch: PathBuf,
}

/// Has one long session meet faults; false where something was wrong.
fn soak(request: &Soak) -> Result<bool, String> {
    let tare = find_tare_binary(request.tare.as_deref())?;
    let folder =
        tempfile::Builder::new().prefix("soak-").tempdir_in(&request.scratch).map_err(|e| e.to_string())?;
    let quick: Vec<_> = kills::TARGETS.into_iter().filter(|(_, span_ms)| *span_ms < 8_000).collect();
    let (ready, _) = kills::split_ready_targets(&tare, &quick).map_err(|e| format!("tare check: {e}"))?;
    let mut targets: Vec<&str> = request.environments.iter().map(String::as_str).collect();
    if targets.is_empty() {
        targets = ready.iter().map(|(target, _)| *target).collect();
    }
    println!("{}\n{}", targets.join(" "), soak::HEAD);
    let lasts = Duration::from_secs(60 * request.minutes);
    let soak =
        soak::Soak { tare: &tare, folder: folder.path(), targets: &targets, lasts, seed: request.seed };
    let report = &mut |line: &str| {
        println!("{line}");
        interrupt::check_interrupted().map_err(io::Error::other)
    };
    let soaked = soak.run_session(report).map_err(|e| e.to_string())?;
    println!("\n{} trials, {} of them failed", soaked.trials, soaked.failed);
    soaked.wrong.iter().for_each(|wrong| println!("{wrong}"));
    Ok(soaked.wrong.is_empty())
}

/// Kills sessions; false when something was left.
fn kill(request: &Kill) -> Result<bool, String> {
    let tare = find_tare_binary(request.tare.as_deref())?;
    let folder =
        tempfile::Builder::new().prefix("kills-").tempdir_in(&request.scratch).map_err(|e| e.to_string())?;
    let wanted = |(target, _): &(&str, u64)| {
        request.environments.is_empty() || request.environments.iter().any(|e| e == target)
    };
    let work = if request.calls { Work::Calls } else { Work::Trials };
    let targets: Vec<_> = work.targets().iter().copied().filter(wanted).collect();
    let (targets, absent) =
        kills::split_ready_targets(&tare, &targets).map_err(|e| format!("tare check: {e}"))?;
    absent
        .iter()
        .for_each(|target| println!("{target} is not ready here, and not killed: tare check says why"));
    if targets.is_empty() {
        return Err("none of these environments is ready: tare check says why".into());
    }
    let kills = kills::Kills {
        tare: &tare,
        folder: folder.path(),
        targets: &targets,
        work,
        rounds: request.rounds,
        seed: request.seed,
        alone: !request.shared,
    };
    let report = &mut |line: &str| {
        println!("{line}");
        interrupt::check_interrupted().map_err(io::Error::other)
    };
    let (tallies, found) = kills.run_rounds(report).map_err(|e| e.to_string())?;
    print!("\n{}\n", kills::render_tallies(&tallies));
    println!(
        "{} sessions killed, seed {}: something was left of {}",
        request.rounds,
        request.seed,
        found.len()
    );
    found.iter().for_each(|one| println!("{one}"));
    Ok(found.is_empty())
}

/// Kills sessions on nodes that share a home; false when something of another's was taken, or left.
fn share(request: &Shared) -> Result<bool, String> {
    let tare = find_tare_binary(request.tare.as_deref())?;
    let folder =
        tempfile::Builder::new().prefix("homes-").tempdir_in(&request.scratch).map_err(|e| e.to_string())?;
    let homes = homes::Homes {
        tare: &tare,
        folder: folder.path(),
        environment: &request.environment,
        tries: request.tries,
        seed: request.seed,
    };
    let report = &mut |line: &str| {
        println!("{line}");
        interrupt::check_interrupted().map_err(io::Error::other)
    };
    let homes::Tally { tries, made, lived, wrong } = homes.run_tries(report).map_err(|e| e.to_string())?;
    println!(
        "\n{tries} tries, seed {}: {made} sessions killed that had made something, {lived} others alive when that was \
         cleaned, {} wrong",
        request.seed,
        wrong.len()
    );
    wrong.iter().for_each(|one| println!("{one}"));
    Ok(wrong.is_empty())
}

fn main() -> ExitCode {
    let command = Arguments::parse().command;
    // A program that is entered ends as its session says.
    if !matches!(command, Command::Delayed { .. } | Command::Lie)
        && let Err(reason) = interrupt::watch_signals()
    {
        eprintln!("warning: {reason}");
    }
    let done = match command {
        Command::Agreement { family, row, resume, unixbench, setting } => {
            let unixbench = unixbench.or_else(|| std::env::var_os("UNIXBENCH").map(PathBuf::from));
            agreement::run_agreement(
                &setting,
                &agreement::Choice { families: family, rows: row, resume },
                unixbench,
            )
        }
        Command::Overhead { setting } => overhead::run_overhead(&setting).map(|()| true),
        Command::Kills(request) => kill(&request),
        Command::Homes(request) => share(&request),
        Command::Faults(request) => faults::run_faults(&request),
        Command::Soak(request) => soak(&request),
        Command::Fleet(request) => fleet::run_fleet(&request),
        Command::Truths { setting } => truths::run_truths(&setting),
        Command::Validation { setting } => validation::run_validation(&setting),
        Command::Precision(request) => precision::run_precision(&request),
        Command::Alternation(request) => alternation::run_alternation(&request),
        Command::Sessions(request) => sessions::run_sessions(&request),
        Command::Findings => findings::measure_findings(),
        Command::Forecast { record } => forecast::render_forecast_page(&record).map(|page| {
            print!("{page}");
            true
        }),
        Command::Paces { records } => paces::render_paces(&records).map(|table| {
            print!("{table}");
            true
        }),
        Command::Lie => kills::liar::run_liar(&std::env::var(kills::liar::LIE).unwrap_or_default()),
        Command::Delayed { delay_us, words } => {
            let ended = truths::delay::run_with_delay(Duration::from_micros(delay_us), &words);
            return ended.map_or_else(
                |reason| {
                    eprintln!("error: {reason}");
                    ExitCode::from(2)
                },
                |code| ExitCode::from(code as u8),
            );
        }
    };
    match done {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(1),
        Err(reason) => {
            eprintln!("error: {reason}");
            ExitCode::from(if interrupt::check_interrupted().is_err() { interrupt::EXIT as u8 } else { 2 })
        }
    }
}
