//! Values that another party may have written: shown through the escaping function alone, and executed only once they are trusted.

pub mod plain;

use std::fmt;

use serde::{Deserialize, Serialize};

use self::plain::{REPLACEMENT, is_plain, plain_line};

/// A value from elsewhere. What prints a text of it gets it without controls, and what executes it needs a [`Trust`].
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Foreign<T>(T);

/// The reason for which a foreign value may be executed here.
#[derive(Debug)]
pub struct Trust(());

impl Trust {
    /// Trusts what began on this machine: its hash is in a folder that only this user can write.
    pub fn because_it_began_here() -> Trust {
        Trust(())
    }

    /// Trusts what the user named, or said to trust, on this command line.
    pub fn because_the_user_says_so() -> Trust {
        Trust(())
    }
}

impl<T> Foreign<T> {
    pub fn new(value: T) -> Self {
        Foreign(value)
    }

    /// Returns the value, to be executed.
    pub fn trust(self, _: &Trust) -> T {
        self.0
    }

    /// Computes from the value, without executing it; the result is foreign, too.
    pub fn map<U>(&self, compute: impl FnOnce(&T) -> U) -> Foreign<U> {
        Foreign(compute(&self.0))
    }

    /// Computes from two values.
    pub fn map_with<U, V>(&self, other: &Foreign<U>, compute: impl FnOnce(&T, &U) -> V) -> Foreign<V> {
        Foreign(compute(&self.0, &other.0))
    }
}

impl<T, E> Foreign<Result<T, E>> {
    /// Takes the error out, which this program wrote.
    pub fn transpose(self) -> Result<Foreign<T>, E> {
        self.0.map(Foreign)
    }
}

impl Foreign<String> {
    /// Shows a text of several lines, with its tabs and nothing else that moves a cursor.
    pub fn to_lines(&self) -> String {
        let shown = |c: char| if is_plain(c) || c == '\n' || c == '\t' { c } else { REPLACEMENT };
        self.0.chars().map(shown).collect()
    }

    /// Tells whether its lines cannot be shown as they are.
    pub fn is_altered(&self) -> bool {
        self.to_lines() != self.0
    }
}

impl fmt::Display for Foreign<String> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&plain_line(&self.0))
    }
}

impl<T: fmt::Debug> fmt::Debug for Foreign<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&plain_line(&format!("Foreign({:?})", self.0)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_foreign_text_is_shown_without_controls_and_used_only_when_it_is_trusted() {
        let text = "a\u{1b}]0;b\u{7}\n\tc\u{202e}";
        let foreign = Foreign::new(text.to_owned());
        assert_eq!(foreign.to_string(), "a\u{fffd}]0;b\u{fffd}\u{fffd}\u{fffd}c\u{fffd}");
        assert_eq!(foreign.to_lines(), "a\u{fffd}]0;b\u{fffd}\n\tc\u{fffd}");
        assert!(foreign.is_altered() && !Foreign::new("a\n\tb".to_owned()).is_altered());
        let debugged = format!("{foreign:?}");
        assert!(debugged.chars().all(is_plain), "{debugged}");
        assert_eq!(foreign.trust(&Trust::because_the_user_says_so()), text);
    }
}
