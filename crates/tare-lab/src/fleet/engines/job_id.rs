//! The id of a job, as its engine prints it: a word that other commands are given.

use std::fmt;

/// An id of a job. There is no other way to one than [`JobId::parse`], wherever its text comes from.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct JobId(String);

impl JobId {
    /// Reads an id; None where the text is none, or would be an option of a command.
    pub(crate) fn parse(text: &str) -> Option<JobId> {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "._-/:[]".contains(c);
        let text = text.trim();
        (!text.is_empty() && text.chars().all(is_plain) && !text.starts_with('-'))
            .then(|| JobId(text.to_owned()))
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for JobId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_a_word_and_no_option() {
        for id in ["17", "job.batch/tare-ab-x7", "1234[3].server", "a:b_c"] {
            assert_eq!(JobId::parse(&format!("{id}\n")).unwrap().as_str(), id);
        }
        for text in ["", "-x", "--kubeconfig=/shared/evil", "a b", "a=b", "$(x)", "a\nb", "\u{1b}[31m"] {
            assert!(JobId::parse(text).is_none(), "{text}");
        }
    }
}
