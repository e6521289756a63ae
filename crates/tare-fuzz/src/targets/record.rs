//! Records: lines whose checksums are right and whose contents are not, read and analysed like any other.

use std::io::Write;
use std::path::Path;

use tare_record::Contents;

use crate::target::{Target, without_numbers};

pub static TARGET: Target = Target {
    name: "record",
    corpus,
    words: &[
        "{\"ended\":{\"ending\":\"complete\",\"at\":\"\"}}\n",
        "\"batch\"",
        "\"imported\"",
        "\"plan\"",
        "\"role\":\"control\"",
        "null",
        "1e308",
        "-1",
        "{}",
        "[]",
        "\"gauge\":{\"value\":0}",
        "\"quantile\":2.0",
    ],
    run,
};

/// Reads the two records of the documentation, a session's and an import's, without their checksums.
fn corpus() -> Vec<Vec<u8>> {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/record-format.md");
    let page = std::fs::read_to_string(page).expect("the document is there");
    let is_entry = |line: &&str| line.len() > 9 && line.as_bytes()[8] == b' ' && line[9..].starts_with('{');
    let lines: Vec<&str> = page.lines().filter(is_entry).map(|line| &line[9..]).collect();
    let second = lines.iter().rposition(|line| line.starts_with("{\"record\":")).unwrap_or_default();
    let (session, imported) = lines.split_at(second);
    [session, imported].map(|lines| (lines.join("\n") + "\n").into_bytes()).into()
}

fn run(input: &[u8]) -> Result<String, String> {
    let mut file = tempfile::NamedTempFile::new().map_err(|error| error.to_string())?;
    for line in input.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
        let sum = format!("{:08x} ", crc32fast::hash(line));
        let written = [sum.as_bytes(), line, b"\n"].iter().try_for_each(|part| file.write_all(part));
        written.map_err(|error| error.to_string())?;
    }
    Ok(match tare_record::read_record(file.path()) {
        Err(error) => {
            let message = error.to_string();
            let path = file.path().display().to_string();
            without_numbers(&message.replace(&path, ""))
        }
        Ok(Contents::Imported(record)) => {
            let shown = tare_report::imported::render_imported_terminal(&record.imported, 80, false);
            if shown.chars().any(|c| c.is_control() && c != '\n') {
                return Err("a control character reaches the terminal".into());
            }
            format!("imported {}", record.imported.len())
        }
        Ok(Contents::Session(recording)) => {
            let session = &recording.session;
            let findings = tare_analysis::compute_findings(session, &tare_analysis::Options::default());
            tare_report::json::render_json(session, &findings);
            let (trials, rows) = (session.trials.len(), findings.rows.len());
            format!("session: {trials} trials, {rows} rows, {:?}", session.ending)
        }
    })
}
