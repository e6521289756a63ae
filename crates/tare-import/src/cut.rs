//! A text cut into the outputs of tools: a document of JSON is one, and a run of lines from the first that a tool
//! alone writes to the next of another tool's.

use super::json::measure_document;
use super::output::Importer;
use super::text::Text;

/// The part of a text that one importer reads.
pub struct Output {
    pub importer: &'static Importer,
    pub text: Text,
    /// Lines before the first document of a file.
    pub leading: Option<Text>,
    pub is_json: bool,
}

/// The beginning of an output, as a byte of the whole text.
struct Beginning {
    importer: &'static Importer,
    at: usize,
    is_json: bool,
}

/// Cuts a text. Lines before the first output belong to it, lines after an output to the one before.
pub fn cut_outputs(text: &Text, importers: &[&'static Importer]) -> Vec<Output> {
    let begins = find_beginnings(text, importers);
    let ends = begins.iter().skip(1).map(|next| next.at).chain([text.as_str().len()]);
    let mut outputs: Vec<Output> = Vec::new();
    for (number, (begin, end)) in begins.iter().zip(ends).enumerate() {
        let is_led = number == 0 && begin.is_json;
        let leading = is_led.then(|| text.cut_part(0..begin.at));
        let from = if number == 0 && !is_led { 0 } else { begin.at };
        let text = text.cut_part(from..end);
        let last = outputs.last().filter(|last| last.is_json && begin.is_json);
        // Some versions write their document twice.
        if last.is_some_and(|last| last.text.as_str().trim() == text.as_str().trim()) {
            continue;
        }
        outputs.push(Output { importer: begin.importer, text, leading, is_json: begin.is_json });
    }
    outputs
}

fn find_beginnings(text: &Text, importers: &[&'static Importer]) -> Vec<Beginning> {
    let whole = text.as_str();
    let mut found: Vec<Beginning> = Vec::new();
    // Up to where a document was read, and whether braces may still begin one: a search through all of the rest
    // for a closing brace is made once.
    let (mut read, mut has_documents) = (0, true);
    let mut lines = whole.split_inclusive('\n').peekable();
    let mut at = 0;
    while let Some(line) = lines.next() {
        let start = at;
        at += line.len();
        if start < read {
            continue;
        }
        let trimmed = line.trim();
        if has_documents && trimmed.starts_with('{') {
            let length = measure_document(&whole[start..]);
            has_documents = length.is_some();
            let document = &whole[start..length.map_or(whole.len(), |length| start + length)];
            let speaks = |importer: &&&Importer| {
                importer.json.as_ref().is_some_and(|json| speaks_of(document, json.words))
            };
            if let Some(importer) = importers.iter().find(speaks) {
                found.push(Beginning { importer, at: start, is_json: true });
            }
            read = start + document.len();
            continue;
        }
        let next = lines.peek().map_or("", |next| next.trim());
        let Some(importer) = importers.iter().find(|importer| (importer.begins)(trimmed, next)) else {
            continue;
        };
        // A run of a tool goes on until another tool's line.
        if found.last().is_none_or(|last| last.is_json || last.importer.name != importer.name) {
            found.push(Beginning { importer, at: start, is_json: false });
        }
    }
    found
}

fn speaks_of(document: &str, words: &[&str]) -> bool {
    words.iter().all(|word| document.contains(word))
}
