//! The text of another tool's output: decoded, taken apart in lines, and every part of it with its position.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use tare_data::encoding::Utf16Order;
use tare_data::imported::Statistic;

use super::front::Undecorated;

/// Longest file that is imported. A report is a few kilobytes; fio's JSON with all its bins is a megabyte.
pub const LONGEST_SOURCE: u64 = 16 << 20;

/// Position in a file; all from 1 but `byte`, which counts from 0 in the decoded text (UTF-8).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Position {
    pub line: usize,
    /// In characters.
    pub column: usize,
    pub byte: usize,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{position}: {cause}")]
pub struct Refusal {
    pub position: Position,
    pub cause: String,
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}, column {} (byte {})", self.line, self.column, self.byte)
    }
}

/// A file's text, or a part of it, without decoration. Everything that is read from it is a slice of it, so that its
/// position in the file is known.
pub struct Text {
    file: Arc<File>,
    part: Range<usize>,
}

struct File {
    original: String,
    plain: Undecorated,
    /// Bytes of the plain text up to the end of the last line that ends.
    ended: usize,
}

impl Text {
    fn new(original: String) -> Text {
        let plain = Undecorated::new(&original);
        let ended = plain.as_str().rfind('\n').map_or(0, |at| at + 1);
        let part = 0..plain.as_str().len();
        Text { file: Arc::new(File { original, plain, ended }), part }
    }

    /// Decodes UTF-8, or UTF-16 where the file begins with a byte order mark, as Windows programs and shells write it.
    pub fn decode(bytes: &[u8]) -> Result<Text, Refusal> {
        let Some(order) = Utf16Order::from_mark(bytes) else {
            let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
            return match std::str::from_utf8(bytes) {
                Ok(text) => Ok(Text::new(text.to_owned())),
                Err(error) => Err(refuse_encoding(&bytes[..error.valid_up_to()], "UTF-8")),
            };
        };
        let text: String = order.decode(bytes).map_while(Result::ok).collect();
        let decoded = 2 * (text.encode_utf16().count() + 1);
        if decoded < bytes.len() {
            Err(refuse_encoding(text.as_bytes(), "UTF-16"))
        } else {
            Ok(Text::new(text))
        }
    }

    pub fn as_str(&self) -> &str {
        &self.file.plain.as_str()[self.part.clone()]
    }

    /// Cuts a part out of this text; positions in it are still those in the file.
    pub(super) fn cut_part(&self, range: Range<usize>) -> Text {
        let part = self.part.start + range.start..self.part.start + range.end;
        Text { file: Arc::clone(&self.file), part }
    }

    /// Splits the text into lines without their indentation.
    pub(crate) fn lines(&self) -> impl DoubleEndedIterator<Item = &str> {
        self.as_str().lines().map(str::trim)
    }

    /// Splits the text into lines with their indentation, for tables whose columns are known by it.
    pub(crate) fn indented_lines(&self) -> impl Iterator<Item = &str> {
        self.as_str().lines().map(str::trim_end)
    }

    /// Locates a part of this text in the file. Any other text is taken to be at the end.
    pub(crate) fn find_position(&self, part: &str) -> Position {
        self.position_at(self.offset(part))
    }

    fn offset(&self, part: &str) -> usize {
        let text = self.as_str();
        (part.as_ptr() as usize).wrapping_sub(text.as_ptr() as usize).min(text.len())
    }

    /// Locates a byte of this text in the file. An offset inside a character is that character's.
    pub(crate) fn position_at(&self, offset: usize) -> Position {
        let original = &self.file.original;
        let mut byte = self.file.plain.find_origin(self.part.start + offset).min(original.len());
        while !original.is_char_boundary(byte) {
            byte -= 1;
        }
        let before = &original[..byte];
        let start = before.rfind('\n').map_or(0, |at| at + 1);
        let line = before.bytes().filter(|b| *b == b'\n').count() + 1;
        Position { line, column: before[start..].chars().count() + 1, byte }
    }

    /// Refuses the text because of one of its parts.
    pub(crate) fn refuse_part(&self, part: &str, cause: impl Into<String>) -> Refusal {
        Refusal { position: self.find_position(part), cause: cause.into() }
    }

    /// Refuses the text because of a number in its JSON, and points to it; to the end if the number is not found.
    pub(crate) fn refuse_number(&self, number: f64, cause: impl Into<String>) -> Refusal {
        let is_part = |c: char| c.is_ascii_digit() || "+-.eE".contains(c);
        let mut words = self.as_str().split(|c| !is_part(c));
        match words.find(|word| word.parse() == Ok(number)) {
            Some(word) => self.refuse_part(word, cause),
            None => self.refuse_end(cause),
        }
    }

    /// Refuses the text because something is missing at its end.
    pub(crate) fn refuse_end(&self, cause: impl Into<String>) -> Refusal {
        Refusal { position: self.position_at(self.as_str().len()), cause: cause.into() }
    }

    /// Parses a part of this text as a finite number with a point.
    ///
    /// A line that does not end may be cut, and a figure with it; it gives no number.
    pub(crate) fn parse_number(&self, part: &str) -> Result<f64, Refusal> {
        self.check_line_ends(part)?;
        let digits = |c: char| c.is_ascii_digit() || "+-.eE".contains(c);
        let number = part.parse::<f64>().ok().filter(|n| n.is_finite() && part.chars().all(digits));
        number.ok_or_else(|| self.refuse_part(part, format!("'{}' is not a number", shorten_text(part))))
    }

    /// Parses a part of this text as a percentile.
    pub(crate) fn parse_percentile(&self, part: &str) -> Result<Statistic, Refusal> {
        let percent = self.parse_number(part)?;
        if !(0.0..=100.0).contains(&percent) {
            return Err(self.refuse_part(part, format!("there is no percentile {}", shorten_text(part))));
        }
        Ok(Statistic::Percentile(percent))
    }

    /// Checks that the line of a part of this text ends.
    pub(crate) fn check_line_ends(&self, part: &str) -> Result<(), Refusal> {
        if self.part.start + self.offset(part) >= self.file.ended {
            let cause =
                "the last line does not end: the file may be cut (a whole one ends with a line break)";
            return Err(self.refuse_end(cause));
        }
        Ok(())
    }
}

/// Refuses a file at the first byte that is not text.
fn refuse_encoding(good: &[u8], encoding: &str) -> Refusal {
    let good = Text::new(String::from_utf8_lossy(good).into_owned());
    good.refuse_end(format!("the text here is not {encoding}; save the file as UTF-8"))
}

/// Cuts a text before the first of some marks, and trims it; the whole text where there is none.
pub fn cut_before<'a>(text: &'a str, marks: &[char]) -> &'a str {
    text.split(marks).next().unwrap_or(text).trim()
}

/// Finds the text after a label, trimmed.
pub fn find_text_after<'a>(line: &'a str, label: &str) -> Option<&'a str> {
    line.split_once(label).map(|(_, rest)| rest.trim())
}

/// Finds the text after a label with which a line begins, trimmed.
pub fn strip_label<'a>(line: &'a str, label: &str) -> Option<&'a str> {
    line.trim_start().strip_prefix(label).map(str::trim)
}

pub fn leading_digits(text: &str) -> &str {
    &text[..text.bytes().take_while(u8::is_ascii_digit).count()]
}

/// Splits a line of CSV into slices of it, quotes taken off. Doubled quotes inside stay as they are.
pub fn csv_fields(line: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let (mut quoted, mut start) = (false, 0);
    for (at, c) in line.char_indices() {
        match c {
            '"' => quoted = !quoted,
            ',' if !quoted => {
                found.push(&line[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    found.push(&line[start..]);
    found.into_iter().map(unquoted).collect()
}

fn unquoted(field: &str) -> &str {
    let field = field.trim();
    field.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')).unwrap_or(field)
}

/// Longest name or parameter that is kept; a command can be a whole script.
const LONGEST_KEPT: usize = 200;

/// Fits a text into a record: on one line, and not too long.
pub fn fit_into_record(text: &str) -> String {
    let mut kept: String =
        text.trim().chars().take(LONGEST_KEPT).map(|c| if c == '\n' { ' ' } else { c }).collect();
    if text.trim().chars().nth(LONGEST_KEPT).is_some() {
        kept.push('…');
    }
    kept
}

/// Shortens a text for a message.
pub fn shorten_text(text: &str) -> String {
    let mut short: String = text.chars().take(40).collect();
    if short.len() < text.len() {
        short.push('…');
    }
    short
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decoded(text: &str) -> Text {
        Text::decode(text.as_bytes()).unwrap()
    }

    #[test]
    fn every_part_has_its_position() {
        let text = decoded("a\nbü 12.5\r\nc 1");
        let line = text.lines().nth(1).unwrap();
        let number = find_text_after(line, "ü").unwrap();
        assert_eq!(text.find_position(number), Position { line: 2, column: 4, byte: 6 });
        assert_eq!(text.parse_number(number), Ok(12.5));
        let last = find_text_after(text.lines().nth(2).unwrap(), "c").unwrap();
        assert_eq!(text.parse_number(last).unwrap_err().position, Position { line: 3, column: 4, byte: 15 });
        let no = text.parse_number(line).unwrap_err();
        assert_eq!(no.to_string(), "line 2, column 1 (byte 2): 'bü 12.5' is not a number");
        for bad in ["nan", "inf", "infinity", "1e999", ""] {
            let text = decoded(&format!("{bad}\n"));
            assert!(text.parse_number(text.lines().next().unwrap()).is_err(), "{bad}");
        }
    }

    #[test]
    fn both_encodings_of_windows_are_read() {
        let utf16: Vec<u8> = "\u{feff}a ü\r\n".encode_utf16().flat_map(u16::to_le_bytes).collect();
        assert_eq!(Text::decode(&utf16).unwrap().as_str(), "a ü\n");
        assert_eq!(Text::decode(b"\xef\xbb\xbfa").unwrap().as_str(), "a");
        assert!(Text::decode(&utf16[..5]).is_err(), "half a character");
        let bad = Text::decode(b"copi\n\xe9s").err().unwrap();
        assert_eq!((bad.position.line, bad.position.column, bad.position.byte), (2, 1, 5));
    }
}
