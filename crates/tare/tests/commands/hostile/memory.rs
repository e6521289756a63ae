//! Memory: reading a longer record does not take more memory.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::os::unix::process::CommandExt;

use rustix::process::{Resource, Rlimit, setrlimit};
use tare_data::batch::{Batch, EncodedHistogram, Phase, Sample};
use tare_record::Entry;
use tare_record::entry::{from_line, to_line};

use crate::program::{Program, Said};

/// Memory of a reader, for a record that is longer.
const MEMORY: u64 = 256 << 20;
const RECORD: u64 = 320 << 20;
/// Size of a histogram.
const BYTES: usize = 256 << 10;

/// Lengthens a small record to this size, by repeating its trials round after round with a long batch in
/// each.
fn lengthened(program: &Program, from: &str, to: &str, bytes: u64) {
    let text = std::fs::read(program.path(from)).unwrap();
    let entries: Vec<Entry> =
        text.split_inclusive(|byte| *byte == b'\n').map(|line| from_line(line).unwrap()).collect();
    let (mut out, mut written) = (BufWriter::new(File::create(program.path(to)).unwrap()), 0);
    let mut write = |entry: &Entry| {
        let line = to_line(entry);
        out.write_all(line.as_bytes()).unwrap();
        written += line.len() as u64;
        written
    };
    let (mut number, mut rounds) = (0, 0);
    entries.iter().take_while(|entry| !matches!(entry, Entry::Begin(_) | Entry::Pair(_))).for_each(|entry| {
        write(entry);
    });
    let long = |series: &str| {
        let histogram = EncodedHistogram("A".repeat(BYTES));
        let sample = Sample::Latency { operations: 1, bytes: 0, elapsed_ns: 1, histogram };
        Batch { series: series.into(), phase: Phase::Warm, started_ns: 0, sample }
    };
    loop {
        for entry in &entries {
            let mut entry = entry.clone();
            match &mut entry {
                Entry::Begin(begin) => (begin.trial, begin.round) = (number, begin.round + rounds),
                Entry::Batch { trial, .. } => *trial = number,
                Entry::End(end) => end.trial = number,
                Entry::Pair(pair) => {
                    pair.round += rounds;
                    for side in &mut pair.sides {
                        side.trial = number;
                        side.batches.push(long("long"));
                        number += 1;
                    }
                }
                _ => continue,
            }
            if let Entry::End(_) = entry {
                write(&Entry::Batch { trial: number, batch: long("long") });
                number += 1;
            }
            if write(&entry) > bytes && matches!(entry, Entry::End(_) | Entry::Pair(_)) {
                write(entries.last().unwrap());
                return;
            }
        }
        rounds += 2;
    }
}

#[test]
fn a_long_record_is_reported_in_less_memory() {
    let program = Program::new();
    let only = ["run", "--in", "native", "--only", "sys.getppid", "--rounds", "2", "--record", "s.tare"];
    assert_eq!(program.run_tare(&only).code, Some(0));
    lengthened(&program, "s.tare", "long.tare", RECORD);
    assert!(program.path("long.tare").metadata().unwrap().len() > RECORD);
    for form in [&["--json"][..], &["--html", "long.html"], &["--markdown"]] {
        let mut command = program.tare_command(&[&["report", "long.tare"][..], form].concat());
        let limit = Rlimit { current: Some(MEMORY), maximum: Some(MEMORY) };
        // SAFETY: setrlimit is one system call, which allocates nothing.
        unsafe { command.pre_exec(move || Ok(setrlimit(Resource::As, limit)?)) };
        let said = Said::from_output(command.output().unwrap());
        assert_eq!((said.code, said.err.as_str()), (Some(0), ""), "{form:?}");
    }
}
