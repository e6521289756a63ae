//! A case (a probe with its parameters fixed, in a place or to a peer), its name, and the parameters; and enums whose variants have names.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::RangeInclusive;

use serde::{Deserialize, Serialize};

/// Prefix of the cases of user commands.
pub const USER: &str = "user.";

/// Parameters of a probe, sorted by key, with the values as a person writes them (`4KiB`, `fdatasync`, `20000`).
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Parameters(pub BTreeMap<String, String>);

/// A parameter that is missing or has a value that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadParameter {
    pub key: String,
    pub value: Option<String>,
    pub wanted: String,
}

impl fmt::Display for BadParameter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.value {
            Some(value) => write!(f, "parameter {}={value} is not {}", self.key, self.wanted),
            None => write!(f, "parameter {} is missing ({})", self.key, self.wanted),
        }
    }
}

impl std::error::Error for BadParameter {}

impl Parameters {
    fn bad(&self, key: &str, wanted: impl Into<String>) -> BadParameter {
        BadParameter { key: key.to_owned(), value: self.0.get(key).cloned(), wanted: wanted.into() }
    }

    pub fn get_text(&self, key: &str) -> Result<&str, BadParameter> {
        self.0.get(key).map(String::as_str).ok_or_else(|| self.bad(key, "a value"))
    }

    /// Parses a whole number with an optional binary suffix: `20000`, `4KiB`, `64K`, `1GiB`.
    pub fn get_integer(&self, key: &str) -> Result<u64, BadParameter> {
        let wanted = "a whole number such as 20000 or 4KiB";
        parse_size(self.get_text(key)?).ok_or_else(|| self.bad(key, wanted))
    }

    /// Parses a whole number within bounds.
    pub fn get_integer_within(&self, key: &str, bounds: RangeInclusive<u64>) -> Result<u64, BadParameter> {
        let wanted = || format!("from {} to {}", bounds.start(), bounds.end());
        let number = self.get_integer(key)?;
        if bounds.contains(&number) { Ok(number) } else { Err(self.bad(key, wanted())) }
    }

    /// Maps one of several words to its value.
    pub fn one_of<T: Copy>(&self, key: &str, words: &[(&str, T)]) -> Result<T, BadParameter> {
        let text = self.get_text(key)?;
        let found = words.iter().find(|(word, _)| *word == text);
        found.map(|(_, value)| *value).ok_or_else(|| {
            let words: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
            self.bad(key, format!("one of {}", words.join(", ")))
        })
    }
}

/// Reads `4096`, `4KiB`, `4K`, `1MiB`, `2G`: suffixes are powers of 1024, as dd and fio read `K`, `M`, `G`.
pub fn parse_size(text: &str) -> Option<u64> {
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let number: u64 = text[..digits].parse().ok()?;
    let shift = match &text[digits..] {
        "" | "B" => 0,
        "K" | "KiB" => 10,
        "M" | "MiB" => 20,
        "G" | "GiB" => 30,
        _ => return None,
    };
    number.checked_mul(1 << shift)
}

/// A probe with its parameters fixed, in a place or to a peer where it needs one: a row of the table.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Case {
    pub probe: String,
    /// Every parameter of the probe, defaults included.
    pub parameters: Parameters,
    /// Place of its files: `own`, `share` or a name that the study gives. None for probes without files.
    pub place: Option<String>,
    /// The other end of a network probe. None for probes without one.
    pub peer: Option<String>,
}

impl fmt::Display for Case {
    /// Formats `file.seq?bs=4KiB&op=write@own`: the name of a case in a record.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.probe)?;
        for (i, (key, value)) in self.parameters.0.iter().enumerate() {
            write!(f, "{}{key}={value}", if i == 0 { '?' } else { '&' })?;
        }
        if let Some(place) = &self.place {
            write!(f, "@{place}")?;
        }
        if let Some(peer) = &self.peer {
            write!(f, "->{peer}")?;
        }
        Ok(())
    }
}

/// Matches a text against a pattern in which `*` matches anything.
///
/// Goes through the text once and falls back only to the last star, so that no pattern takes long.
pub fn matches_pattern(pattern: &str, text: &str) -> bool {
    let (pattern, text) = (pattern.as_bytes(), text.as_bytes());
    let (mut p, mut t) = (0, 0);
    // The last star, and the end of the text that it matches.
    let mut star: Option<(usize, usize)> = None;
    while t < text.len() {
        match pattern.get(p) {
            Some(b'*') => {
                star = Some((p, t));
                p += 1;
            }
            Some(byte) if *byte == text[t] => (p, t) = (p + 1, t + 1),
            _ => {
                let Some((at, end)) = star else { return false };
                star = Some((at, end + 1));
                (p, t) = (at + 1, end + 1);
            }
        }
    }
    pattern[p..].iter().all(|byte| *byte == b'*')
}

/// Declares an enum with the name of each variant, by which serde knows it as well.
#[macro_export]
macro_rules! named {
    (
        $(#[$about:meta])*
        pub enum $Name:ident { $($(#[$of:meta])* $Variant:ident = $name:literal,)+ }
    ) => {
        $(#[$about])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, ::serde::Serialize, ::serde::Deserialize)]
        pub enum $Name { $($(#[$of])* #[serde(rename = $name)] $Variant,)+ }

        impl $Name {
            /// Every variant, in this order.
            pub const ALL: [$Name; [$($name),+].len()] = [$($Name::$Variant),+];

            /// Returns the name that records and programs read.
            pub const fn name(self) -> &'static str {
                match self { $($Name::$Variant => $name),+ }
            }
        }
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_as_dd_reads_them() {
        assert_eq!(parse_size("512"), Some(512));
        assert_eq!(parse_size("4KiB"), Some(4096));
        assert_eq!(parse_size("1G"), Some(1 << 30));
        assert_eq!(parse_size("4kb"), None);
        assert_eq!(parse_size(""), None);
        assert_eq!(parse_size("99999999999G"), None);
    }

    #[test]
    fn a_star_stands_for_anything() {
        for (pattern, text) in
            [("*", ""), ("a*c", "abbc"), ("*b*b*", "abab"), ("", ""), ("ü*", "üä"), ("a", "a")]
        {
            assert!(matches_pattern(pattern, text), "{pattern} {text}");
        }
        for (pattern, text) in [("a*c", "abcd"), ("", "a"), ("*b*b*b*", "abab"), ("a", "A"), ("a*", "")] {
            assert!(!matches_pattern(pattern, text), "{pattern} {text}");
        }
        // Would take until the end of days if every star tried every place.
        assert!(!matches_pattern(&"a*".repeat(40), &"a".repeat(39)));
        assert!(!matches_pattern(&("a*".repeat(40) + "b"), &"a".repeat(4000)));
    }

    #[test]
    fn a_case_is_named_by_all_that_fixes_it() {
        let case = Case {
            probe: "file.seq".into(),
            parameters: Parameters([("op".into(), "write".into()), ("bs".into(), "4KiB".into())].into()),
            place: Some("own".into()),
            peer: None,
        };
        assert_eq!(case.to_string(), "file.seq?bs=4KiB&op=write@own");
    }

    crate::named! {
        pub enum Sample {
            First = "1st",
            SecondOne = "MB/s",
        }
    }

    #[test]
    fn a_variant_has_one_name_in_code_and_in_documents() {
        assert_eq!(Sample::ALL.map(Sample::name), ["1st", "MB/s"]);
        for sample in Sample::ALL {
            let text = serde_json::to_string(&sample).unwrap();
            assert_eq!(text, format!("\"{}\"", sample.name()));
            assert_eq!(serde_json::from_str::<Sample>(&text).unwrap(), sample);
        }
    }
}
