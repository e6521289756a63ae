//! Phoronix Test Suite: the CSV of `result-file-to-csv`. A value for each test and system; it names no units.
//!
//! The file is a title, a table of the systems' parts, and the table of results, with blank lines between them and
//! one at the end. Only names are quoted; parts are not, commas and all, so they are passed over.

use super::prelude::*;

/// With this a table's head begins.
const HEAD: &str = " ,,\"";

pub static IMPORTER: Importer = Importer {
    name: "Phoronix Test Suite",
    about: "CSV (`result-file-to-csv`)",
    end_mark: Some("the blank line behind the results"),
    recognises: |text| text.lines().any(|line| line.starts_with(HEAD)),
    read: read_output,
};

fn read_output(text: &Text) -> Result<ToolOutput, Refusal> {
    let mut reading = ToolOutput::new("Phoronix Test Suite");
    reading.note("title", text.lines().next().unwrap_or_default());
    let mut heads = text.numbered().filter(|line| line.text.starts_with(HEAD));
    let head = heads.nth(1).ok_or_else(|| text.refuse_end("the table of results is missing"))?;
    if let Some(third) = heads.next() {
        return Err(text.refuse(third.text, "a third table begins here; a file has two"));
    }
    text.whole(head.text)?;
    let systems = csv_fields(head.text).split_off(2);
    for line in text.numbered().skip(head.index + 1).map(|line| line.text) {
        if line.trim().is_empty() {
            text.whole(line)?;
            return Ok(reading);
        }
        result(text, &mut reading, &systems, line)?;
    }
    Err(text.refuse_end("the results stop before the blank line behind them"))
}

/// Reads `"pts/compress-7zip-1.10.0 - ",HIB,51234,47011`.
fn result(text: &Text, reading: &mut ToolOutput, systems: &[&str], line: &str) -> Result<(), Refusal> {
    let fields = csv_fields(line);
    let [name, better, values @ ..] = &fields[..] else {
        return Err(text.refuse(line, "this is not a test, its direction and its values"));
    };
    if values.len() != systems.len() {
        let cause = format!("{} values for {} systems", values.len(), systems.len());
        return Err(text.refuse(line, cause));
    }
    let better = match *better {
        "HIB" => "higher",
        "LIB" => "lower",
        "" => "",
        other => return Err(text.refuse(other, format!("'{}' is neither HIB nor LIB", shortened(other)))),
    };
    text.whole(line)?;
    for (system, value) in systems.iter().zip(values) {
        // A test that a system did not finish has no value there.
        if value.is_empty() {
            continue;
        }
        let mut figure = FigureBuilder::new(kept(name).trim_end_matches(" -"));
        figure.note("system", system);
        figure.note("better", better);
        figure.state(text, Statistic::Value, value, UNNAMED)?;
        reading.push(text, figure)?;
    }
    Ok(())
}
