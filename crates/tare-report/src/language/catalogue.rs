//! A catalogue: the translation of each English message.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde::Deserialize;

/// The Japanese catalogue, parsed when it is first needed.
pub(super) static JAPANESE: LazyLock<Catalogue> = LazyLock::new(|| Catalogue::parse(include_str!("ja.toml")));

type Section = BTreeMap<String, String>;

/// Translations by English message, in a section for each part of tare that says them.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Catalogue {
    /// Said by the program and by the page.
    pub shared: Section,
    /// Said by the program alone.
    pub program: Section,
    /// Said by the page alone.
    pub page: Section,
    /// Headings of rows and of the steps of ladders. Values are found by the text around them, here and
    /// below.
    pub titles: Section,
    /// Said by other crates, or written in records: reasons and errors.
    pub texts: Section,
    /// Descriptions in lists, articles and help. They have no values.
    pub descriptions: Section,
}

impl Catalogue {
    /// Parses a catalogue. It is part of the program and read by a test; one that does not parse has no
    /// messages.
    fn parse(text: &str) -> Catalogue {
        toml::from_str(text).unwrap_or_default()
    }

    pub fn get(&self, message: &str) -> Option<&str> {
        self.program.get(message).or_else(|| self.shared.get(message)).map(String::as_str)
    }
}

/// Translates a text with values in it. If several messages fit, the one with the longest fixed text counts.
pub(super) fn translate_text(section: &Section, english: &str) -> Option<String> {
    if let Some(known) = section.get(english) {
        return Some(known.clone());
    }
    let fitting = section.iter().filter_map(|(message, instead)| {
        let values = extract_values(message, english)?;
        Some((message.len(), instead, values))
    });
    let (_, instead, values) = fitting.max_by_key(|(length, ..)| *length)?;
    Some(fill_template(instead, |name| {
        let value = values.iter().find(|(known, _)| *known == name).map(|(_, value)| *value)?;
        // A sentence in a sentence; a path is what it is.
        let is_said = value.len() < english.len() && value.contains(' ') && !value.contains('/');
        let said = if is_said { translate_text(section, value) } else { section.get(value).cloned() };
        Some(said.unwrap_or_else(|| value.to_owned()))
    }))
}

/// Replaces `{names}` in a template with values; a name without a value stays.
pub(super) fn fill_template(template: &str, value: impl Fn(&str) -> Option<String>) -> String {
    let mut out = String::new();
    for piece in split_template(template) {
        match piece {
            Piece::Text(text) => out.push_str(text),
            Piece::Name(name) => out.push_str(&value(name).unwrap_or_else(|| format!("{{{name}}}"))),
        }
    }
    out
}

/// A part of a template.
#[derive(Debug, PartialEq)]
pub(super) enum Piece<'a> {
    Text(&'a str),
    Name(&'a str),
}

pub(super) fn split_template(template: &str) -> Vec<Piece<'_>> {
    let mut pieces = Vec::new();
    let mut rest = template;
    while let Some((text, (name, after))) =
        rest.split_once('{').and_then(|(text, behind)| Some((text, behind.split_once('}')?)))
    {
        pieces.extend((!text.is_empty()).then_some(Piece::Text(text)));
        pieces.push(Piece::Name(name));
        rest = after;
    }
    pieces.extend((!rest.is_empty()).then_some(Piece::Text(rest)));
    pieces
}

/// Extracts the values from a text that a template made; none if another text is given.
pub(super) fn extract_values<'a>(template: &'a str, text: &'a str) -> Option<Vec<(&'a str, &'a str)>> {
    let pieces = split_template(template);
    if !pieces.iter().any(|piece| matches!(piece, Piece::Name(_))) {
        return None;
    }
    let (mut values, mut open, mut rest) = (Vec::new(), None, text);
    for (at, piece) in pieces.iter().enumerate() {
        match (piece, open.take()) {
            (Piece::Name(name), _) => open = Some(*name),
            (Piece::Text(fixed), None) => rest = rest.strip_prefix(fixed)?,
            (Piece::Text(fixed), Some(name)) => {
                // The last piece closes the text; any other is the first that fits.
                let begins = if at + 1 == pieces.len() {
                    rest.len().checked_sub(fixed.len()).filter(|begin| rest.get(*begin..) == Some(*fixed))?
                } else {
                    rest.find(fixed)?
                };
                values.push((name, &rest[..begins]));
                rest = &rest[begins + fixed.len()..];
            }
        }
    }
    if let Some(name) = open {
        values.push((name, std::mem::take(&mut rest)));
    }
    rest.is_empty().then_some(values)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_template_finds_its_values_again() {
        assert_eq!(extract_values("{a} of {b} failed", "3 of 4 failed"), Some(vec![("a", "3"), ("b", "4")]));
        assert_eq!(extract_values("no file {name}", "no file a b"), Some(vec![("name", "a b")]));
        assert_eq!(extract_values("{name} is gone", "x is gone is gone"), Some(vec![("name", "x is gone")]));
        assert_eq!(extract_values("{name} is gone", "x is here"), None);
        assert_eq!(extract_values("plain", "plain"), None);
        assert_eq!(fill_template("{b}のうち{a}", |name| Some(name.to_uppercase())), "BのうちA");
        assert_eq!(fill_template("{a} {", |_| None), "{a} {");
    }

    #[test]
    fn a_sentence_in_a_sentence_is_translated_and_a_path_is_not() {
        let pairs = [("left: {why}", "L {why}"), ("{n} runs", "{n} R"), ("{any}", "<{any}>")];
        let section: Section = pairs.map(|(one, other)| (one.to_owned(), other.to_owned())).into();
        let translated = |english: &str| translate_text(&section, english).unwrap();
        assert_eq!(translated("left: 3 runs"), "L 3 R");
        assert_eq!(translated("left: /home/3 runs"), "L /home/3 runs");
        assert_eq!(translated("a b"), "<a b>", "what is all of it ends");
    }
}
