//! One's own: files and folders that nobody else can change, over their whole path.

use std::fmt;
use std::io;
use std::path::PathBuf;

use tare_data::shell::quote_word;

pub use crate::platform::{check_opened, check_ours};

/// A file or folder that somebody else can change, on the way to the one that was asked about.
#[derive(Debug)]
pub struct NotOurs {
    pub path: PathBuf,
    pub why: Why,
}

#[derive(Debug)]
pub enum Why {
    /// Number of the owner, who is neither this user nor root.
    Owner(u32),
    AllWrite,
    /// Number of a group that has, or may have, other members.
    GroupWrites(u32),
    /// Neither a file nor a folder.
    Other,
    Unseen(io::Error),
}

impl NotOurs {
    /// Returns the command that would make it one's own; none where there is no such command.
    pub fn find_help(&self) -> Option<String> {
        let (program, word) = match self.why {
            Why::Owner(_) => ("chown", "\"$(id -u)\""),
            Why::AllWrite => ("chmod", "go-w"),
            Why::GroupWrites(_) => ("chmod", "g-w"),
            Why::Other | Why::Unseen(_) => return None,
        };
        Some(format!("{program} {word} {}", quote_word(&self.path.to_string_lossy())))
    }

    /// Suggests that command, or another way.
    pub fn hint(&self, otherwise: &str) -> String {
        self.find_help().map_or_else(|| otherwise.to_owned(), |help| format!("{help}, or {otherwise}"))
    }
}

impl fmt::Display for NotOurs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = self.path.display();
        match &self.why {
            Why::Owner(user) => write!(f, "{path} belongs to another user ({user})"),
            Why::AllWrite => write!(f, "all others may write in {path}"),
            Why::GroupWrites(group) => write!(f, "others may write in {path} (group {group})"),
            Why::Other => write!(f, "{path} is neither a file nor a folder"),
            Why::Unseen(error) => write!(f, "{path}: {error}"),
        }
    }
}

impl std::error::Error for NotOurs {}

impl From<NotOurs> for io::Error {
    fn from(not_ours: NotOurs) -> io::Error {
        io::Error::new(io::ErrorKind::PermissionDenied, not_ours)
    }
}
