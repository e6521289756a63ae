//! The table as Markdown, as `--markdown` prints it.

use super::export::{Export, Source, Writing};

pub static EXPORT: Export = Export {
    name: "markdown",
    summary: "the table, for pull requests and issues",
    writing: Writing::Whole,
    render: |Source { session, findings, .. }| crate::markdown::render(session, findings).into_bytes(),
};
