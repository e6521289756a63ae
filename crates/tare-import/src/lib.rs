//! Importers: other tools' outputs as figures, each format recognised by the file's contents.
//!
//! Every file takes one way: `front` takes decoration off, `cut` cuts the text into outputs, an importer reads each, and
//! outputs of one tool become one import. A file is untrusted: its size is bounded, nothing in it is believed but
//! figures, and a mismatch is refused with its position. An importer is one file, and two lines here.

#![forbid(unsafe_code)]
#![cfg_attr(not(test), warn(clippy::unwrap_used, clippy::print_stdout, clippy::print_stderr))]

use sha2::{Digest, Sha256};
use tare_data::encoding::encode_hex;
use tare_data::imported::{Imported, Source};
use tare_record::entry::{Entry, LONGEST_WRITTEN, to_line};

mod agreement;
mod crystaldiskmark;
mod cut;
mod dd;
mod fio;
mod front;
mod hyperfine;
mod iperf3;
mod json;
mod netperf;
mod not_kept;
mod output;
mod prelude;
mod sysbench;
mod text;
mod unixbench;

use cut::{Output, cut_outputs};
pub use output::{Importer, Json, MOST_FIGURES, ToolOutput};
pub use text::{LONGEST_SOURCE, Position, Refusal, Text};

/// Every importer, in the order in which they are tried: the most specific come first.
pub static IMPORTERS: &[&Importer] = &[
    &fio::IMPORTER,
    &iperf3::IMPORTER,
    &hyperfine::IMPORTER,
    &sysbench::IMPORTER,
    &unixbench::IMPORTER,
    &crystaldiskmark::IMPORTER,
    &netperf::IMPORTER,
    &dd::IMPORTER,
];

/// Finds the importer of the first output in a text.
pub fn find_importer(text: &Text) -> Option<&'static Importer> {
    cut_outputs(text, IMPORTERS).first().map(|output| output.importer)
}

/// Reads a file: an import for each tool whose outputs are in it, in the order of the first of each. `name` is shown as
/// their origin; `environment` is where the tools ran, as the user states it.
pub fn import_file(bytes: &[u8], name: &str, environment: Option<&str>) -> Result<Vec<Imported>, Refusal> {
    if bytes.len() as u64 > LONGEST_SOURCE {
        let position = Position { line: 1, column: 1, byte: 0 };
        return Err(Refusal { position, cause: format!("the file is longer than {LONGEST_SOURCE} bytes") });
    }
    let text = Text::decode(bytes)?;
    let outputs = cut_outputs(&text, IMPORTERS);
    let Some(first) = outputs.first().map(|output| output.importer.name) else {
        return Err(refuse_unknown(&text));
    };
    let tools = read_outputs(outputs)?;
    if tools.is_empty() {
        return Err(text.refuse_end(format!("this looks like {first}, but there is no figure in it")));
    }
    let sha256 = encode_hex(&Sha256::digest(bytes));
    let source = Source { name: text::fit_into_record(name), bytes: bytes.len() as u64, sha256 };
    let environment = environment.map(text::fit_into_record);
    tools.into_iter().map(|tool| finish_import(&text, tool, &source, environment.clone())).collect()
}

/// Figures of one tool, and the parts of the text that it was read from.
struct Tool {
    output: ToolOutput,
    texts: Vec<Text>,
}

/// Reads every output, and joins those of one tool.
fn read_outputs(outputs: Vec<Output>) -> Result<Vec<Tool>, Refusal> {
    let mut tools: Vec<Tool> = Vec::new();
    let mut before: Option<(bool, ToolOutput)> = None;
    for Output { importer, text, leading, is_json } in outputs {
        let read = match &importer.json {
            Some(json) if is_json => json.read,
            _ => importer.read,
        };
        let output = read(&text)?;
        // A document and a report for people are two forms of one run, where a tool writes both.
        let is_again = before.as_ref().is_some_and(|(was_json, last)| {
            let is_other_form = *was_json != is_json && last.restates(&output);
            last.tool == output.tool && (is_other_form || output.continues(last))
        });
        let figures = output.clone();
        match tools.iter_mut().find(|tool| tool.output.tool == output.tool) {
            Some(tool) if is_again => {
                // The document is the one with all digits.
                if is_json {
                    tool.output.replace_last(output);
                }
                tool.texts.push(text);
            }
            Some(tool) => {
                tool.output.append(&text, output)?;
                tool.texts.push(text);
            }
            None => {
                tools.push(Tool { output, texts: leading.into_iter().chain([text]).collect() });
            }
        }
        before = Some((is_json, figures));
    }
    tools.retain(|tool| !tool.output.figures.is_empty());
    Ok(tools)
}

fn finish_import(
    text: &Text,
    tool: Tool,
    source: &Source,
    environment: Option<String>,
) -> Result<Imported, Refusal> {
    let Tool { output, texts } = tool;
    let imported = Imported {
        tool: output.tool.to_owned(),
        version: output.version,
        parameters: output.parameters,
        environment,
        source: source.clone(),
        figures: output.figures,
        not_kept: Vec::new(),
    };
    let imported = Imported { not_kept: not_kept::list_not_kept(&texts, &imported), ..imported };
    // Every line written must be readable: a longer one would be taken for damage.
    let entry = Entry::Imported(imported);
    if to_line(&entry).len() > LONGEST_WRITTEN {
        return Err(
            text.refuse_end(format!("the figures fill more than {LONGEST_WRITTEN} bytes of a record"))
        );
    }
    match entry {
        Entry::Imported(imported) => Ok(imported),
        _ => unreachable!("it was made above"),
    }
}

/// Refuses a text that no importer recognises: broken JSON is refused where it breaks.
fn refuse_unknown(text: &Text) -> Refusal {
    if let Some(Err(refusal)) = json::check_json(text) {
        return refusal;
    }
    let is_terse = |line: &str| line.split(';').nth(1).is_some_and(|version| version.starts_with("fio-"));
    if text.lines().any(is_terse) {
        let cause = "fio's terse output is not read; write JSON: fio --output-format=json";
        return Refusal { position: text.position_at(0), cause: cause.into() };
    }
    if text.lines().any(|line| line.contains("CrystalDiskMark")) {
        let cause = "this is a table that somebody typed from CrystalDiskMark, not its text; save that: File, Save (text)";
        return Refusal { position: text.position_at(0), cause: cause.into() };
    }
    let known: Vec<&str> = IMPORTERS.iter().map(|importer| importer.name).collect();
    let cause = format!("no known output begins here; known are those of {}", known.join(", "));
    Refusal { position: text.position_at(0), cause }
}
