//! Options of environments: each has a key, and either an enum of values or a text that its provider parses.

use std::borrow::Cow;

use tare_data::facts::Facts;
use tare_data::session;
use tare_data::session::specification::Specification;

use crate::error::LabError;
use crate::nearest::add_known_words_hint;

/// Declares an option's values as an enum, with their names in specifications; the first is the default.
macro_rules! choice {
    ($(#[$meta:meta])* $visibility:vis enum $Name:ident: $key:literal, $about:literal
        { $($Value:ident = $name:literal),+ $(,)? }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        $visibility enum $Name { $($Value),+ }

        impl $crate::provider::options::Choice for $Name {
            const OPTION: $crate::provider::options::OptionDescription =
                $crate::provider::options::OptionDescription {
                    key: $key,
                    default: ::std::borrow::Cow::Borrowed([$($name),+][0]),
                    values: &[$($name),+],
                    about: ::std::borrow::Cow::Borrowed($about),
                };
            const ALL: &'static [Self] = &[$($Name::$Value),+];

            fn name(self) -> &'static str {
                match self { $($Name::$Value => $name),+ }
            }
        }
    };
}
pub(crate) use choice;

/// The option that every environment takes: its trials work longer by this many percent, on purpose.
pub const SLOWER: OptionDescription = OptionDescription::new_text(
    session::SLOWER,
    "0%",
    "slows trials down by this share on purpose, to see whether a session detects it",
);

choice! {
    /// Permission for an environment's trials to take turns with the baseline's; every environment takes this option.
    pub enum Turns: "turns",
        "yes: trials take turns with the baseline's, where both can; no: each trial runs alone, to see whether that \
         comes to the same"
        { Possible = "yes", Never = "no" }
}

#[derive(Clone, Debug)]
pub struct OptionDescription {
    pub key: &'static str,
    /// Value if none is given.
    pub default: Cow<'static, str>,
    /// Possible values; empty for free text.
    pub values: &'static [&'static str],
    pub about: Cow<'static, str>,
}

impl OptionDescription {
    /// Describes an option with free text.
    pub(crate) const fn new_text(key: &'static str, default: &'static str, about: &'static str) -> Self {
        OptionDescription { key, default: Cow::Borrowed(default), values: &[], about: Cow::Borrowed(about) }
    }

    /// Reads the option's text from a specification, or its default.
    pub fn read_text<'a>(&'a self, specification: &'a Specification) -> &'a str {
        specification.get_option(self.key).unwrap_or(&self.default)
    }

    /// Reads the option's text from a specification, if it is not empty.
    pub(crate) fn read_non_empty(&self, specification: &Specification) -> Option<String> {
        Some(self.read_text(specification)).filter(|text| !text.is_empty()).map(str::to_owned)
    }

    /// Reads the path of a folder, which must need no quoting in any shell.
    pub(crate) fn plain_folder(&self, specification: &Specification) -> Result<String, LabError> {
        let path = self.read_text(specification);
        match is_plain(path) {
            true => Ok(path.to_owned()),
            false => Err(self
                .invalid_value_error(specification)
                .with_hint("give an absolute path of plain letters")),
        }
    }

    /// Builds the error for a value that this option cannot have.
    pub(crate) fn invalid_value_error(&self, specification: &Specification) -> LabError {
        let (provider, key, text) = (&specification.provider, self.key, self.read_text(specification));
        LabError::usage_error(format!("{provider}: '{key}' cannot be '{text}'"))
    }
}

/// An option whose values are an enum, declared by `choice`.
pub trait Choice: Copy + 'static {
    const OPTION: OptionDescription;
    const ALL: &'static [Self];

    /// Returns the value's name in a specification.
    fn name(self) -> &'static str;

    /// Parses the value in a specification, or the default.
    fn from_specification(specification: &Specification) -> Result<Self, LabError> {
        let option = Self::OPTION;
        let given = option.read_text(specification);
        let named = Self::ALL.iter().find(|value| value.name() == given).copied();
        named.ok_or_else(|| {
            add_known_words_hint(Self::OPTION.invalid_value_error(specification), given, Self::OPTION.values)
        })
    }

    /// Notes the value among the facts of the runtime.
    fn note_choice(self, facts: &mut Facts) {
        facts.add_fact(format!("runtime.{}", Self::OPTION.key), self.name());
    }
}

fn is_plain(path: &str) -> bool {
    path.starts_with('/') && path.chars().all(|c| c.is_ascii_alphanumeric() || "/_.-".contains(c))
}

#[cfg(test)]
mod tests {
    use super::*;

    choice! {
        enum Colour: "colour", "which it has" { Red = "red", Green = "green" }
    }

    #[test]
    fn the_first_value_is_the_default_and_every_value_is_found_by_its_name() {
        let of = |text: &str| Colour::from_specification(&text.parse().unwrap());
        assert_eq!(of("x").unwrap(), Colour::Red);
        assert_eq!(of("x?colour=green").unwrap(), Colour::Green);
        assert_eq!(Colour::OPTION.values, ["red", "green"]);
        let refused = of("x?colour=gren").unwrap_err();
        assert_eq!(refused.to_string(), "x: 'colour' cannot be 'gren'");
        assert_eq!(refused.hint.as_deref(), Some("did you mean 'green'?"));
    }

    #[test]
    fn a_folder_needs_no_quoting() {
        assert!(is_plain("/var/tmp"));
        for path in ["tmp", "/a b", "/a'b", "/$HOME", "/a;b", ""] {
            assert!(!is_plain(path), "{path}");
        }
    }
}
