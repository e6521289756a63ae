//! Importers: any bytes are imported or refused where they are wrong, and every import can be written and shown.

use std::path::{Path, PathBuf};

use tare_data::imported::Imported;
use tare_import::import_file;
use tare_record::Entry;
use tare_record::entry::{from_line, to_line};

use crate::target::{Target, without_numbers};

pub static TARGET: Target = Target {
    name: "importers",
    corpus,
    words: &[
        "sysbench 1.0.20",
        "execution time (avg/stddev):",
        "th percentile:",
        " TEST from ",
        " port ",
        " to ",
        "THROUGHPUT=",
        "THROUGHPUT_UNITS=",
        "MEAN_LATENCY=",
        "bytes  Bytes  bytes    bytes   secs.    per sec",
        "Benchmark Run:",
        "; running 1 parallel copy",
        "System Benchmarks Index Score",
        " lps   (10.0 s, 7 samples)",
        "BYTE UNIX Benchmarks (Version ",
        "CrystalDiskMark 8.0.4",
        "[Read]",
        "[Mix]",
        " MB/s [ ",
        " IOPS] < ",
        " us>",
        "Date:",
        "200+0 records in\n",
        " s, 1.0 GB/s",
        "\"fio version\"",
        "\"jobs\"",
        "\"intervals\"",
        "\"results\"",
        "null",
        "read: IOPS=517, BW=518MiB/s (543MB/s)(30.3GiB/60015msec)\n",
        ": (groupid=0, jobs=1): err= 0:",
        "th=[ ",
        "\u{1b}[1m",
        "\n> ",
        "\n[OUTPUT] ",
        "=3D",
        "=C2=A0",
        "=\n",
        "Run status group 0 (all jobs):\n   READ: bw=54.5MiB/s (57.1MB/s), io=6537MiB (6854MB), run=120002-120002msec\n",
        "System Benchmarks Index Values               BASELINE       RESULT    INDEX\n",
        "\nSequential Read : 179.874 MB/s\n",
        "\n[  4] Sent 1585 datagrams\n",
        "\n2026-01-31T12:00:00Z ",
    ],
    run,
};

fn corpus() -> Vec<Vec<u8>> {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures");
    let mut paths = list_files(&fixtures.join("imported"));
    paths.extend(list_files(&fixtures.join("posted")));
    paths.sort();
    let outputs = paths.iter().filter(|path| path.extension().is_none_or(|kind| kind != "md"));
    outputs.map(|path| std::fs::read(path).expect("a fixture can be read")).collect()
}

/// Lists the files of a folder, and of the folders in it.
fn list_files(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).expect("the fixtures are there");
    let paths = entries.map(|entry| entry.expect("a folder can be read").path());
    paths.flat_map(|path| if path.is_dir() { list_files(&path) } else { vec![path] }).collect()
}

fn run(input: &[u8]) -> Result<String, String> {
    let imported = match import_file(input, "input", None) {
        Ok(imported) => imported,
        Err(refusal) => {
            // UTF-16 grows by half when it is decoded.
            let end = input.len() + input.len() / 2 + 3;
            if refusal.position.byte > end || refusal.position.line == 0 || refusal.position.column == 0 {
                return Err(format!("it is refused at {}, which is not in it", refusal.position));
            }
            return Ok(without_numbers(&refusal.cause));
        }
    };
    if imported.is_empty() {
        return Err("it is imported as nothing".into());
    }
    let outcomes = imported.iter().map(check_import).collect::<Result<Vec<String>, String>>()?;
    let shown = tare_report::imported::render_imported_terminal(&imported, 80, false);
    if shown.chars().any(|c| c.is_control() && c != '\n') {
        return Err("a control character reaches the terminal".into());
    }
    tare_report::imported::render_imported_json(&imported);
    Ok(outcomes.join(", "))
}

fn check_import(imported: &Imported) -> Result<String, String> {
    if imported.figures.is_empty() {
        return Err("it is imported, and holds no figure".into());
    }
    let values = || imported.figures.iter().flat_map(|figure| &figure.values);
    if let Some(value) = values().find(|value| !value.value.is_finite()) {
        return Err(format!("{value:?} is not a number"));
    }
    let entry = Entry::Imported(imported.clone());
    if from_line(to_line(&entry).as_bytes()) != Some(entry) {
        return Err("it is not read as it was written".into());
    }
    Ok(format!("{}: {} {}", imported.tool, imported.figures.len(), values().count()))
}
