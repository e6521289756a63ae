//! Phoronix Test Suite: the CSV of `result-file-to-csv`. A value for each test and system; it names no units.
//!
//! The file is a title, a table of the systems' parts, and the table of results, with blank lines between them and
//! one at the end. Only names are quoted; parts are not, commas and all, so they are passed over. The first table's head
//! has one comma in versions up to 8, two in later ones.

use crate::prelude::*;

/// Beginning of the head of the results, and in later versions that of the parts too.
const HEAD: &str = ",,\"";
/// Beginning of the head of the parts in versions up to 8.
const OLD_HEAD: &str = ",\"";

pub static IMPORTER: Importer = Importer {
    name: "Phoronix Test Suite",
    about: "CSV (`result-file-to-csv`)",
    end_mark: Some("the blank line behind the results"),
    begins: |line, _| is_head(line),
    read: read_output,
    json: None,
};

fn is_head(line: &str) -> bool {
    line.starts_with(HEAD) || line.starts_with(OLD_HEAD)
}

fn read_output(text: &Text) -> Result<ToolOutput, Refusal> {
    let mut reading = ToolOutput::new("Phoronix Test Suite");
    reading.add_parameter("title", text.lines().next().unwrap_or_default());
    let mut heads = text.numbered_lines().filter(|line| is_head(line.text));
    let head = heads.nth(1).ok_or_else(|| text.refuse_end("the table of results is missing"))?;
    if let Some(third) = heads.next() {
        return Err(text.refuse_part(third.text, "a third table begins here; a file has two"));
    }
    text.check_line_ends(head.text)?;
    let systems = csv_fields(head.text).into_iter().skip(2).collect::<Vec<_>>();
    if systems.is_empty() {
        return Err(text.refuse_part(head.text, "no system is named above the results"));
    }
    for line in text.numbered_lines().skip(head.index + 1).map(|line| line.text) {
        if line.trim().is_empty() {
            text.check_line_ends(line)?;
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
        return Err(text.refuse_part(line, "this is not a test, its direction and its values"));
    };
    if values.len() != systems.len() {
        let cause = format!("{} values for {} systems", values.len(), systems.len());
        return Err(text.refuse_part(line, cause));
    }
    let better = match *better {
        "HIB" => "higher",
        "LIB" => "lower",
        "" => "",
        other => {
            return Err(text.refuse_part(other, format!("'{}' is neither HIB nor LIB", shorten_text(other))));
        }
    };
    text.check_line_ends(line)?;
    for (system, value) in systems.iter().zip(values) {
        // A test that a system did not finish has no value there.
        if value.is_empty() {
            continue;
        }
        let mut figure = FigureBuilder::new(fit_into_record(name).trim_end_matches(" -"));
        figure.add_parameter("system", system);
        figure.add_parameter("better", better);
        figure.add_text_value(text, Statistic::Value, value, UNNAMED)?;
        reading.push(text, figure)?;
    }
    Ok(())
}
