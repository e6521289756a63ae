//! JSON in which nothing can act on a terminal or end a script element.

use std::io;

use serde::Serialize;
use serde_json::ser::Formatter;

use super::is_plain;

/// Writes a value as such JSON, with a line break at its end.
pub(crate) fn render_json_line(value: &impl Serialize) -> String {
    render_escaped_json(value) + "\n"
}

/// Writes a value as such JSON. Numbers that are not finite become `null`.
pub(crate) fn render_escaped_json(value: &impl Serialize) -> String {
    render_formatted_json(value, Escaping)
}

/// Writes a value with a formatter.
pub(crate) fn render_formatted_json(value: &impl Serialize, formatter: impl Formatter) -> String {
    let mut out = Vec::new();
    let mut serializer = serde_json::Serializer::with_formatter(&mut out, formatter);
    value.serialize(&mut serializer).expect("the document's keys are strings and a vector takes every byte");
    String::from_utf8(out).expect("JSON is UTF-8")
}

/// Writes a value as JSON on many lines, safe for a terminal too.
pub fn render_pretty_json(value: &serde_json::Value) -> String {
    let mut out = String::new();
    // Outside of its strings JSON is ASCII, and they hold no line break.
    for c in format!("{value:#}\n").chars() {
        match is_plain(c) || c == '\n' {
            true => out.push(c),
            false => {
                c.encode_utf16(&mut [0; 2]).iter().for_each(|unit| out.push_str(&format!("\\u{unit:04x}")))
            }
        }
    }
    out
}

/// Formatter that escapes control characters and `<`, `>` and `&`, so that the text can be put into a page.
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

/// Writes part of a JSON string; characters that are not plain, or that mean something in HTML, become
/// four-digit escapes.
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
