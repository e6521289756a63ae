//! file.random and sysbench's fileio test: reads and writes at random over many files, all fsynced every 100.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use tare_analysis::pooled::Pooled;
use tare_data::names::Case;
use tare_data::request::Amount;
use tare_data::session::Trial;

use crate::agent::make_case;
use crate::duel::{Duel, Figure, Site};
use crate::ratio::Requirement;
use crate::tool;

const FILES: u64 = 128;
/// Bytes of all files; they fit the cache, on both sides.
const TOTAL: &str = "256MiB";
/// Total size as sysbench writes it.
const TOTAL_OF_SYSBENCH: &str = "256M";

pub fn list_duels() -> Vec<Box<dyn Duel>> {
    vec![Box::new(FileIo { ready: None })]
}

struct FileIo {
    ready: Option<(Case, Amount, PathBuf)>,
}

impl FileIo {
    fn sysbench(&self, site: &Site<'_>, verb: &str) -> Result<Command, String> {
        let (_, _, folder) = self.ready.as_ref().ok_or("not prepared")?;
        let mut command = Command::new(tool::find_program("sysbench")?);
        command.current_dir(folder).arg("fileio");
        command.arg(format!("--file-num={FILES}")).arg(format!("--file-total-size={TOTAL_OF_SYSBENCH}"));
        command.args(["--file-test-mode=rndrw", "--threads=1"]);
        command.arg(format!("--time={}", site.setting.seconds())).arg(verb);
        Ok(command)
    }
}

impl Duel for FileIo {
    fn name(&self) -> String {
        "file.random rndrw 16KiB".into()
    }

    fn describe_tool(&self) -> String {
        format!("sysbench fileio rndrw, {FILES} files, {TOTAL} in the cache")
    }

    fn figures(&self) -> Vec<Figure> {
        let (near, exact) = (Requirement::Within(0.1), Requirement::Within(0.005));
        vec![
            Figure { name: "requests", unit: "/s", required: near },
            // Two decimals of sysbench's rates are all that keeps these from being compared to the last digit;
            // tare's own counts are checked to the last one.
            Figure { name: "reads to writes", unit: "", required: exact },
            Figure { name: "fsyncs to requests", unit: "", required: Requirement::Within(0.05) },
        ]
    }

    fn prepare(&mut self, site: &mut Site<'_>) -> Result<(), String> {
        tool::find_program("sysbench")?;
        let files = FILES.to_string();
        let case = make_case("file.random", &[("mode", "rndrw"), ("files", &files), ("total", TOTAL)])?;
        let amount = site.agent.for_seconds(&case, site.setting.seconds().into())?;
        let folder = site.agent.probe_folder().join("sysbench");
        fs::create_dir(&folder).map_err(|e| format!("a folder for sysbench: {e}"))?;
        self.ready = Some((case, amount, folder));
        Ok(())
    }

    fn run_tare(&mut self, site: &mut Site<'_>) -> Result<Vec<f64>, String> {
        let (case, amount, _) = self.ready.as_ref().ok_or("not prepared")?;
        let ran = site.agent.run_trial(case, *amount)?;
        let [reads, writes, fsyncs] = right_counts(&ran.trial)?.map(|count| count as f64);
        let pooled = Pooled::from_trials(&[&ran.trial]);
        let timed = pooled.find_series("read").operations + pooled.find_series("write").operations;
        Ok(vec![pooled.per_second(timed), reads / writes, fsyncs / (reads + writes)])
    }

    fn run_tool(&mut self, site: &mut Site<'_>) -> Result<Vec<f64>, String> {
        let patience = site.setting.patience();
        // Fresh files each time, as tare's are.
        tool::run_program(&mut self.sysbench(site, "prepare")?, patience)?;
        let ended = tool::run_program(&mut self.sysbench(site, "run")?, patience);
        tool::run_program(&mut self.sysbench(site, "cleanup")?, patience)?;
        let output = ended?.output;
        let [reads, writes, fsyncs] =
            ["reads/s:", "writes/s:", "fsyncs/s:"].map(|label| tool::number_after(&output, label));
        let (reads, writes, fsyncs) = (reads?, writes?, fsyncs?);
        Ok(vec![reads + writes, reads / writes, fsyncs / (reads + writes)])
    }
}

/// Reads, writes and fsyncs of a trial, the first calls included, if they are as defined: of five requests three are reads, every whole hundred is
/// followed by an fsync of every file, and at the end every file is fsynced once more.
fn right_counts(trial: &Trial) -> Result<[u64; 3], String> {
    let count = |series: &str| -> u64 {
        let of = trial.batches.iter().filter(|batch| batch.series == series);
        of.map(|batch| batch.sample.iter_timed().map(|timed| timed.operations).sum::<u64>()).sum()
    };
    let [reads, writes, fsyncs] = ["read", "write", "fsync"].map(count);
    let requests = reads + writes;
    // (reads + 1) / (writes + 1) < 1.5 asks for a read: r w r w r, and again.
    let expected =
        (3 * (requests / 5) + [0, 1, 1, 2, 2][(requests % 5) as usize], FILES * (requests / 100) + FILES);
    if (reads, fsyncs) == expected {
        return Ok([reads, writes, fsyncs]);
    }
    Err(format!(
        "{requests} requests had {reads} reads and {fsyncs} fsyncs, not {} and {}",
        expected.0, expected.1
    ))
}
