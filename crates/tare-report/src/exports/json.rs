//! The JSON document of a report, as `--json` prints it.

use super::export::{Export, Source, Writing};

pub static EXPORT: Export = Export {
    name: "json",
    summary: "everything, as one JSON document; its schema is docs/reference/report.schema.json",
    writing: Writing::Whole,
    render: |Source { session, findings, .. }| crate::json::render(session, findings).into_bytes(),
};
