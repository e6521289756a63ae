//! The language of texts for people: English, as in the code, or a catalogue's translation.
//!
//! A message is identified by its English text. One that a catalogue lacks stays English. Formats for programs are always
//! in English: their writers pass [`Language::English`].

mod catalogue;
mod locale;
#[cfg(test)]
pub(crate) mod messages;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::fmt::Display;

use self::catalogue::{Catalogue, JAPANESE};
pub use self::locale::is_limited_to_ascii;

/// A language of tare's reports.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Language {
    #[default]
    English,
    Japanese,
}

/// Formats a message with its values: in English as `format!` does, else by the catalogue, in its order. A value in a variable of its name
/// is given by that alone.
macro_rules! say {
    (@value $name:ident) => {
        $name
    };
    (@value $name:ident = $value:expr) => {
        $value
    };
    ($language:expr, $message:literal $(, $name:ident $(= $value:expr)?)* $(,)?) => {
        match $language {
            $crate::language::Language::English => ::std::fmt::format(format_args!(
                $message $(, $name = $crate::language::say!(@value $name $(= $value)?))*
            )),
            language => language.translate_with_values(
                $message,
                &[$((stringify!($name), &$crate::language::say!(@value $name $(= $value)?))),*],
            ),
        }
    };
}
pub(crate) use say;

/// Marks a message that is translated elsewhere.
macro_rules! message {
    ($message:literal) => {
        $message
    };
}
pub(crate) use message;

/// Words by their English text.
pub(crate) type Words = BTreeMap<&'static str, &'static str>;

impl Language {
    fn catalogue(self) -> Option<&'static Catalogue> {
        match self {
            Language::English => None,
            Language::Japanese => Some(&JAPANESE),
        }
    }

    /// Returns the tag by which HTML knows the language.
    pub(crate) fn language_tag(self) -> &'static str {
        match self {
            Language::English => "en",
            Language::Japanese => "ja",
        }
    }

    /// Translates a message without values.
    pub fn word(self, message: &'static str) -> &'static str {
        self.catalogue().and_then(|catalogue| catalogue.get(message)).unwrap_or(message)
    }

    /// Translates a message, with values in place of `{names}`.
    pub(crate) fn translate_with_values(self, message: &str, values: &[(&str, &dyn Display)]) -> String {
        let known = self.catalogue().and_then(|catalogue| catalogue.get(message)).unwrap_or(message);
        catalogue::fill_template(known, |name| {
            values.iter().find(|(known, _)| *known == name).map(|(_, value)| value.to_string())
        })
    }

    /// Translates an English text of another crate or of a record: a reason, an error.
    pub fn translate_text(self, english: &str) -> String {
        let known =
            self.catalogue().and_then(|catalogue| catalogue::translate_text(&catalogue.texts, english));
        known.unwrap_or_else(|| english.to_owned())
    }

    /// Translates the title of a row or a step of a ladder. A place or a peer after it stays as it is.
    pub fn translate_title(self, english: &str) -> String {
        let ends = [" @", " >"].iter().filter_map(|sign| english.find(sign)).min();
        let (title, behind) = english.split_at(ends.unwrap_or(english.len()));
        let known =
            self.catalogue().and_then(|catalogue| catalogue::translate_text(&catalogue.titles, title));
        known.map_or_else(|| english.to_owned(), |known| known + behind)
    }

    /// Translates the description of something that lists, articles and help name: a probe, a study, a claim, a command.
    pub fn describe(self, english: &str) -> &str {
        self.find_description(english).unwrap_or(english)
    }

    /// Finds the translation of a description, unless the language is English or lacks it.
    pub fn find_description(self, english: &str) -> Option<&'static str> {
        self.catalogue()?.descriptions.get(english).map(String::as_str)
    }

    /// Collects the words of the page, by their English text; `None` in English.
    pub(crate) fn page_words(self) -> Option<Words> {
        let catalogue = self.catalogue()?;
        let all = catalogue.shared.iter().chain(&catalogue.page);
        Some(all.map(|(english, other)| (english.as_str(), other.as_str())).collect())
    }

    /// Formats a count with its noun, `1 round` or `2 rounds`; the catalogue has `{count} rounds`.
    pub fn counted(self, count: usize, one: &str, many: &str) -> String {
        match self.catalogue().and_then(|catalogue| catalogue.get(&format!("{{count}} {many}"))) {
            None => crate::number::format_count(count, one, many),
            Some(template) => catalogue::fill_template(template, |_| Some(count.to_string())),
        }
    }

    /// Joins items as `a`, `a and b` or `a, b and c`.
    pub fn join_with_and(self, items: &[String]) -> String {
        match items {
            [] => String::new(),
            [one] => one.clone(),
            [first @ .., last] => {
                say!(self, "{first} and {last}", first = self.join_with_commas(first), last)
            }
        }
    }

    /// Joins items as `a, b, c`.
    pub(crate) fn join_with_commas(self, items: &[String]) -> String {
        items.join(self.word(", "))
    }

    /// Joins sentences.
    pub(crate) fn join_sentences(self, sentences: &[String]) -> String {
        sentences.join(self.word(" "))
    }

    /// Formats a time as `38 s`, `2 min 38 s` or `3 h 2 min`; one that is not finite is unknown.
    pub fn format_duration(self, seconds: f64) -> String {
        let english = crate::number::format_duration(seconds);
        if self == Language::English {
            return english;
        }
        if !seconds.is_finite() || seconds < 0.0 {
            return self.word("unknown time").to_owned();
        }
        let word = |word| match word {
            "h" => self.word("h"),
            "min" => self.word("min"),
            "s" => self.word("s"),
            digits => digits,
        };
        english.split(' ').map(word).collect()
    }

    /// Formats a ratio as `24.1x`, in Japanese `24.1倍`.
    pub(crate) fn translate_ratio(self, ratio: &str) -> String {
        say!(self, "{factor}x", factor = ratio.strip_suffix('x').unwrap_or(ratio))
    }
}
