//! The findings as one JSON document, for programs. Its format is described in `docs/reference/report-json.md`.

mod fields;
mod from_findings;
#[cfg(test)]
mod tests;

use std::io;

use serde::Serialize;
use serde_json::ser::Formatter;
use tare_analysis::findings::Findings;
use tare_data::session::Session;

pub use self::fields::{Document, Level, Row};
use crate::imported::Beside;
use crate::text::is_plain;

/// Name of the format, in every document.
pub const SCHEMA: &str = "tare-report";
/// Version of the format. Fields may be added under the same version; a changed or removed one raises it.
pub const VERSION: u32 = 1;

/// The document as one line, with a line break at its end.
pub fn render(session: &Session, findings: &Findings) -> String {
    let mut text = escaped(&Document::of(session, findings));
    text.push('\n');
    text
}

/// The document with figures of other tools beside the session's: one more field, `beside`.
pub fn render_beside(session: &Session, findings: &Findings, beside: &[Beside]) -> String {
    #[derive(Serialize)]
    struct Both<'a> {
        #[serde(flatten)]
        document: Document<'a>,
        beside: &'a [Beside],
    }
    escaped(&Both { document: Document::of(session, findings), beside }) + "\n"
}

/// JSON in which nothing can act on a terminal or end a script element.
///
/// A value that is not a number becomes `null`.
pub fn escaped(value: &impl Serialize) -> String {
    let mut out = Vec::new();
    let mut serializer = serde_json::Serializer::with_formatter(&mut out, Escaping);
    value.serialize(&mut serializer).expect("the document's keys are strings and a vector takes every byte");
    String::from_utf8(out).expect("JSON is UTF-8")
}

/// Escapes what is not plain writing, and `<`, `>` and `&`, so that the text can stand inside a page.
struct Escaping;

impl Formatter for Escaping {
    fn write_string_fragment<W: ?Sized + io::Write>(
        &mut self,
        writer: &mut W,
        fragment: &str,
    ) -> io::Result<()> {
        write_escaped(writer, fragment)
    }
}

/// Writes part of a JSON string; what is not plain writing, or means something in HTML, becomes a four-digit escape.
pub(crate) fn write_escaped<W: ?Sized + io::Write>(writer: &mut W, fragment: &str) -> io::Result<()> {
    let mut rest = fragment;
    while let Some(at) = rest.find(must_escape) {
        let (plain, from) = rest.split_at(at);
        writer.write_all(plain.as_bytes())?;
        let escaped = from.chars().next().expect("find() points at a character");
        for unit in escaped.encode_utf16(&mut [0; 2]) {
            write!(writer, "\\u{unit:04x}")?;
        }
        rest = &from[escaped.len_utf8()..];
    }
    writer.write_all(rest.as_bytes())
}

fn must_escape(c: char) -> bool {
    matches!(c, '<' | '>' | '&') || !is_plain(c)
}
