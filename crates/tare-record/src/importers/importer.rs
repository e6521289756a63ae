//! The description of an importer, which each importer fills in.

use super::output::ToolOutput;
use super::text::{Refusal, Text};

/// Another tool's output: how it is recognised, and how it is read.
pub struct Importer {
    /// The tool.
    pub name: &'static str,
    /// The outputs that are read.
    pub about: &'static str,
    /// What distinguishes a whole output from one that was cut at the end of a line; None where the format has no such mark.
    pub end_mark: Option<&'static str>,
    /// Whether a text is of this tool. Cheap; may be wrong about texts that no tool wrote.
    pub recognises: fn(&Text) -> bool,
    pub read: fn(&Text) -> Result<ToolOutput, Refusal>,
}
