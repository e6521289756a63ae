//! The outcome of a command's run: how it ended, its output, and the files that it wrote.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::batch::RunEnd;

/// Bytes of a stream of output that are compared.
pub const MOST_OUTPUT: usize = 64 << 10;
/// Limit on the files that a run may have changed.
pub const MOST_FILES: usize = 500;
/// Mark in the line of a file: before the path of one that was removed, and between path and contents. No path has it.
pub const FILE_MARK: &str = "//";

/// Output and files of a run, as the agent saw them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Said {
    /// The process number of the command.
    pub pid: u32,
    pub output: Captured,
    pub errors: Captured,
    /// Files below the working folder that are not as they were before; none where there are too many to look at.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub files: Option<Vec<Written>>,
}

impl Said {
    /// Leaves out what is beyond the limits, which the agent keeps and a stranger in its place need not.
    pub fn keep_limits(&mut self) {
        for captured in [&mut self.output, &mut self.errors] {
            // A byte of text is at most one character, or the end of a line, which the last one need not have.
            let mut left = Some(MOST_OUTPUT + 1);
            captured.lines.retain(|line| {
                left = left.and_then(|left| left.checked_sub(line.chars().count() + 1));
                left.is_some()
            });
            captured.is_cut |= left.is_none();
        }
        self.files.take_if(|files| files.len() > MOST_FILES);
    }
}

/// The beginning of a stream of output.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Captured {
    /// Lines without control characters.
    pub lines: Vec<String>,
    /// True where there was more than [`MOST_OUTPUT`].
    pub is_cut: bool,
}

/// A file that a run made or changed; without a size, one that it removed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Written {
    pub path: String,
    pub size: Option<u64>,
    /// Hash of its contents; none of a long one.
    pub hash: Option<u64>,
}

/// Things that are compared beside the end of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Part {
    Output,
    Errors,
    Files,
}

impl Part {
    pub const ALL: [Part; 3] = [Part::Output, Part::Errors, Part::Files];
}

/// The first run of a command in a start in which nothing is timed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OutcomeRun {
    pub case: String,
    #[serde(rename = "environment")]
    pub target: String,
    /// Number of the start among those for this, from 0.
    pub start: u32,
    pub end: RunEnd,
    /// Empty where sides share a folder, or nothing came.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub parts: BTreeMap<Part, Lines>,
}

/// Lines of a part, by their hashes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Lines {
    /// Two hashes a line: as it is, and without times, process numbers, addresses and temporary names.
    pub hashes: Vec<[u64; 2]>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_cut: bool,
    /// Text of a few short lines that not all runs have, by their hash as they are.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub shown: BTreeMap<u64, String>,
}

/// Hashes bytes to a number that JSON keeps exactly (FNV-1a, folded). It tells lines apart, and proves nothing.
pub fn hash_bytes(bytes: &[u8]) -> u64 {
    const FOLDED: u32 = 52;
    let step = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3);
    let hash = bytes.iter().fold(0xcbf2_9ce4_8422_2325, step);
    (hash >> FOLDED) ^ (hash & ((1 << FOLDED) - 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_than_an_agent_may_say_is_left_out() {
        let lines = |count: usize| Captured { lines: vec!["é".repeat((1 << 10) - 1); count], is_cut: false };
        let written = |count: usize| vec![Written { path: "a".into(), size: None, hash: None }; count];
        let of = |count: usize, files: usize| {
            let mut said = Said { output: lines(count), files: Some(written(files)), ..Said::default() };
            said.keep_limits();
            (
                said.output.lines.len(),
                said.output.is_cut,
                said.errors.is_cut,
                said.files.map(|files| files.len()),
            )
        };
        assert_eq!(of(64, MOST_FILES), (64, false, false, Some(MOST_FILES)));
        assert_eq!(of(65, MOST_FILES + 1), (64, true, false, None));
    }
}
