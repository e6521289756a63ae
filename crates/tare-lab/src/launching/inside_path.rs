//! A path from inside: an environment's own word for one of its folders, believed only where it can be one.

use std::ops::Deref;

use serde::{Deserialize, Serialize};

/// Longest path in bytes; those that people have are below 200.
const LONGEST: usize = 1024;
/// Characters of a refused path that are shown.
const SHOWN: usize = 60;

/// A whole path, without `..` and controls.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub(super) struct InsidePath(String);

impl TryFrom<String> for InsidePath {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let is_plain = text.starts_with('/') && !text.split('/').any(|part| part == "..");
        if is_plain && text.len() <= LONGEST && !text.contains(char::is_control) {
            return Ok(InsidePath(text));
        }
        let shown: String = text.chars().take(SHOWN).collect();
        Err(format!("it answers with a folder that cannot be one: {shown:?}"))
    }
}

impl From<InsidePath> for String {
    fn from(path: InsidePath) -> String {
        path.0
    }
}

impl Deref for InsidePath {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_from_inside_is_whole_bounded_and_plain() {
        let take = |text: &str| InsidePath::try_from(text.to_owned());
        for text in ["/", "/var/tmp", "/home/me/..hidden/ä b"] {
            assert_eq!(&*take(text).unwrap(), text);
        }
        let long = format!("/{}", "x".repeat(LONGEST));
        for text in
            ["", "--help", "relative", "../../..", "/var/tmp/../../etc", "/..", "/a\nb", "/\u{9b}2J", &long]
        {
            assert!(take(text).is_err(), "{text}");
        }
        let refused = take("/a\u{1b}]0;x\u{7}\u{202e}").unwrap_err();
        assert!(refused.ends_with(r#": "/a\u{1b}]0;x\u{7}\u{202e}""#), "{refused}");
        assert!(take(&long).unwrap_err().len() < 150);
        assert!(serde_json::from_str::<InsidePath>("\"../x\"").is_err());
    }
}
