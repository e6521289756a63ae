//! A reading: words as they are to be parsed, and the machine that they are read on.

use std::path::PathBuf;

use super::line::show_line;

/// This machine, as far as the meaning of words depends on it.
pub struct Machine<'a> {
    /// Tells whether a word names a program: in PATH, or by its path.
    pub is_program: &'a dyn Fn(&str) -> bool,
    /// Tells whether a word names an environment of this user.
    pub is_own_environment: &'a dyn Fn(&str) -> bool,
    /// Lists the records of a folder, the newest first; none where it is not one.
    pub list_records: &'a dyn Fn(&str) -> Option<Vec<String>>,
    /// Finds the folder with this user's records of commands that worked in a folder.
    pub find_records_folder: &'a dyn Fn(&str) -> Option<PathBuf>,
}

/// Words as they are to be parsed.
#[derive(Debug, PartialEq)]
pub struct Reading {
    pub words: Vec<String>,
    /// The reading, where the words could be read otherwise.
    pub note: Option<String>,
}

impl Reading {
    pub fn as_typed(words: &[String]) -> Reading {
        Reading { words: words.to_vec(), note: None }
    }

    /// Has other words in place of those that were typed, and says so.
    pub fn told(words: Vec<String>) -> Reading {
        let note = Some(format!("read as {}", show_line(&words)));
        Reading { words, note }
    }
}
