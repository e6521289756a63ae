//! netperf 2: its tables for people, old and omni, `-k` with a key a line, and `-o` as CSV.
//!
//! Every form is brought to the names of netperf's output selectors (`MEAN_LATENCY`), which are then understood once.

mod banner;
mod names;
mod selected;
mod table;

use crate::prelude::*;
use banner::{Banner, continues_banner, is_banner};
use selected::Selected;

pub static IMPORTER: Importer = Importer {
    name: "netperf",
    about: "the tables of TCP_RR, TCP_CRR, UDP_RR, TCP_STREAM, UDP_STREAM and omni; `-k` and `-o` output",
    // Selectors are chosen by the user: an output does not show which are missing.
    end_mark: None,
    begins: |line, next| is_banner(line, next) || selected::is_start(line),
    read: read_output,
    json: None,
};

/// Lines of one run: from its banner, if there is one, to the next.
struct TestLines<'a> {
    banner: Banner,
    lines: Vec<&'a str>,
}

/// Limit on the lines of a run that are read: all selectors, one a line, are under two hundred.
const MOST_LINES: usize = 2000;

fn read_output(text: &Text) -> Result<ToolOutput, Refusal> {
    let mut reading = ToolOutput::new("netperf");
    let mut run = TestLines { banner: Banner::default(), lines: Vec::new() };
    let mut named = false;
    let mut lines = text.indented_lines().peekable();
    while let Some(line) = lines.next() {
        let next = lines.peek().map_or("", |next| next.trim_start());
        if is_banner(line.trim_start(), next) {
            if named || !run.lines.is_empty() {
                finish(text, &mut reading, &run, named)?;
            }
            let mut banner = line.trim_start().to_owned();
            while let Some(rest) = lines.next_if(|line| continues_banner(line.trim_start())) {
                banner = format!("{banner} {}", rest.trim_start());
            }
            run = TestLines { banner: Banner::parse(&banner), lines: Vec::new() };
            named = true;
        } else if line.trim_start().starts_with("!!! Desired confidence was not achieved") {
            run.banner.confidence = Some("not reached".into());
        } else if !["!!!", "Interim result:"].iter().any(|mark| line.trim_start().starts_with(mark)) {
            run.lines.push(line);
            if run.lines.len() > MOST_LINES {
                return Err(text.refuse_part(line, format!("a run has more than {MOST_LINES} lines")));
            }
        }
    }
    finish(text, &mut reading, &run, named)?;
    Ok(reading)
}

/// Reads a run in whichever form it is. A banner with nothing behind it is a run that was cut.
fn finish(text: &Text, reading: &mut ToolOutput, run: &TestLines<'_>, named: bool) -> Result<(), Refusal> {
    if run.lines.iter().all(|line| line.trim().is_empty()) {
        return if named { Err(text.refuse_end("a test is named, and nothing follows")) } else { Ok(()) };
    }
    let lines: Vec<&str> = run.lines.iter().map(|line| line.trim_start()).collect();
    // Messages of the system may come between the banner and the output.
    let selected = if lines.iter().any(|line| selected::is_known_key(line)) {
        Selected::of_keys(text, &lines)?
    } else if let Some(head) = lines.iter().position(|line| selected::is_head(line)) {
        Selected::of_csv(text, &lines[head..])?
    } else if let Some(figures) = table::read_classic_table(text, &run.banner, &lines)? {
        for figure in figures {
            reading.push(text, figure)?;
        }
        return Ok(());
    } else if named {
        Selected::of_table(text, &run.lines)?
    } else {
        // Text before the first banner: messages of the shell that ran it.
        return Ok(());
    };
    for figure in selected.read_figures(text, &run.banner)? {
        reading.push(text, figure)?;
    }
    Ok(())
}
