//! Columns that a fleet's nodes write next to their records: a Parquet file, merged with the like.

use std::io::Write;
use std::sync::OnceLock;

use tare_analysis::fleet::cells::extract_cells;
use tare_data::session::Session;
use tare_record::Contents;
use tare_report::exports::{Source, find_export};
use tare_report::fleet::store::Stored;
use tare_report::fleet::trials::Trials;

use super::record;
use crate::target::{Target, without_numbers};

pub static TARGET: Target = Target {
    name: "columns",
    corpus,
    words: &["PAR1", "tare.cells", "case", "node", "value", "\u{0}\u{0}\u{0}\u{0}", "\u{15}\u{0}"],
    run,
};

/// Reads the session of the documentation.
fn session() -> &'static Session {
    static SESSION: OnceLock<Session> = OnceLock::new();
    SESSION.get_or_init(|| {
        let mut file = tempfile::NamedTempFile::new().expect("a file can be made");
        for line in (record::TARGET.corpus)()[0].split(|byte| *byte == b'\n').filter(|line| !line.is_empty())
        {
            let sum = format!("{:08x} ", crc32fast::hash(line));
            file.write_all(&[sum.as_bytes(), line, b"\n"].concat()).expect("it takes every line");
        }
        match tare_record::read_record(file.path()) {
            Ok(Contents::Session(recording)) => recording.session,
            _ => panic!("the document has no session"),
        }
    })
}

fn corpus() -> Vec<Vec<u8>> {
    let session = session();
    let findings = tare_analysis::compute_findings(session, &tare_analysis::Options::default());
    let export = find_export("parquet").expect("it is an export");
    vec![(export.render)(&Source { session, findings: &findings, gate: None })]
}

fn run(input: &[u8]) -> Result<String, String> {
    static STORED: OnceLock<Stored> = OnceLock::new();
    let of = STORED.get_or_init(|| {
        let findings = tare_analysis::compute_findings(session(), &tare_analysis::Options::default());
        Stored::of_node(extract_cells(session(), &findings), "n1", 1, &[], "cells/n1/1.parquet".to_owned())
    });
    let mut trials = Trials::default();
    match trials.add_session(of, input.to_vec()) {
        Err(why) if !trials.is_empty() => Err(format!("refused and added: {why}")),
        Err(why) => Ok(without_numbers(&why)),
        Ok(()) => {
            let length = trials.into_file("kind").len();
            Ok(format!("merged {}", length.ilog2()))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_damaged_stretch_anywhere_is_refused_or_read_and_never_a_panic() {
        let whole = corpus().remove(0);
        let mut refused = 0;
        // Twelve bytes: longer than the longest run length that can be read.
        for at in (4..whole.len() - 12).step_by(3) {
            let mut damaged = whole.clone();
            damaged[at..at + 12].fill(0xff);
            refused += usize::from(!run(&damaged).unwrap().starts_with("merged"));
        }
        assert!(refused > 100, "{refused}");
    }
}
