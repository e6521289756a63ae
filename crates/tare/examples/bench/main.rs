//! bench: tare beside the tools that it replaces, one after the other on one machine.
//!
//! `agreement` asks whether tare measures what the tool measures, `overhead` what measuring itself costs. Both
//! alternate tare and tool, judge the ratio by the same statistics as a session, and write what they found into docs/.

mod agent;
mod agreement;
mod document;
mod duel;
mod duels;
mod machine;
mod overhead;
mod progress;
mod ratio;
mod tool;
mod veth;

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use clap::{Parser, Subcommand};

/// Rounds of a full run: the fewest with which signed ranks have an interval worth showing.
const ROUNDS: u32 = 12;

#[derive(Debug, Parser)]
#[command(name = "bench", about = "tare beside the tools that it replaces", subcommand_required = true)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Run tare and the tool that each probe stands for in turn, and compare what they measure.
    ///
    /// Prints a table, and keeps it in docs/agreement.md unless --quick is given: rows that were not measured this
    /// time stay there, as long as they are of the same machine. The machine should do nothing else meanwhile.
    /// A row is kept as soon as it is there. Rows over virtual cards make two network namespaces, and need root.
    /// Needs sysbench, fio, dd, netperf, sockperf and iperf3; UnixBench is measured where --unixbench or $UNIXBENCH says that it is.
    #[command(after_help = "Examples:
  ./bench/agreement                          every row, about 20 minutes
  ./bench/agreement file                     the rows of files
  ./bench/agreement --row 'file.seq write 4KiB' --row 'net.*, 1 CPU'
  ./bench/agreement --resume                 the rows that a run which broke off has not measured
  ./bench/agreement --quick                  see that every row works; measures nothing worth keeping")]
    Agreement {
        /// Rows whose names begin so: cpu, file, net, sys, ipc, proc.
        family: Vec<String>,
        /// A row by its whole name, in which * stands for anything.
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
    /// Measure what measuring costs, beside fio's null engine and sysbench's cheapest event.
    ///
    /// Prints a table, and keeps it in docs/overhead.md unless --quick is given.
    Overhead {
        #[command(flatten)]
        setting: Setting,
    },
}

/// How long, where and with which binary.
#[derive(Clone, Debug, clap::Args)]
struct Setting {
    /// Rounds; in each tare and the tool run once, in random order.
    #[arg(long, value_name = "N", default_value_t = ROUNDS, value_parser = clap::value_parser!(u32).range(1..=400))]
    rounds: u32,
    /// Seconds of a run, for what runs for a time.
    #[arg(long, value_name = "S", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=60))]
    seconds: u32,
    /// Three rounds of a second, small files, nothing written: to see that it works.
    #[arg(long)]
    quick: bool,
    /// Seed of the order.
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// The tare that is measured. The one built beside this program unless given.
    #[arg(long, value_name = "FILE")]
    tare: Option<PathBuf>,
    /// Folder on a disk in which files are written.
    #[arg(long, value_name = "FOLDER", default_value = "/var/tmp")]
    scratch: PathBuf,
    /// Folder of the documents.
    #[arg(long, value_name = "FOLDER", default_value = "docs")]
    docs: PathBuf,
}

impl Setting {
    fn rounds(&self) -> u32 {
        if self.quick { self.rounds.min(3) } else { self.rounds }
    }

    fn seconds(&self) -> u32 {
        if self.quick { 1 } else { self.seconds }
    }

    /// Longest that a tool may take for one run: preparation, measuring, cleaning up on a slow disk.
    fn patience(&self) -> Duration {
        Duration::from_secs(120 + 10 * u64::from(self.seconds()))
    }

    /// tare's binary: the one named, or the one that cargo puts beside its folder of examples.
    fn binary(&self) -> Result<PathBuf, String> {
        if let Some(tare) = &self.tare {
            return tare.canonicalize().map_err(|e| format!("{}: {e}", tare.display()));
        }
        let own = std::env::current_exe().map_err(|e| format!("this program's own path: {e}"))?;
        let beside = own.parent().and_then(|examples| examples.parent()).map(|folder| folder.join("tare"));
        beside.filter(|path| path.is_file()).ok_or("there is no tare beside this program: --tare FILE".into())
    }
}

fn main() -> ExitCode {
    let done = match Arguments::parse().command {
        Command::Agreement { family, row, resume, unixbench, setting } => {
            let unixbench = unixbench.or_else(|| std::env::var_os("UNIXBENCH").map(PathBuf::from));
            agreement::run(&setting, &agreement::Choice { families: family, rows: row, resume }, unixbench)
        }
        Command::Overhead { setting } => overhead::run(&setting).map(|()| true),
    };
    match done {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(1),
        Err(reason) => {
            eprintln!("error: {reason}");
            ExitCode::from(2)
        }
    }
}
