//! The table as Markdown, appended to the summary of a GitHub job.

use super::export::{Export, Source, Writing};
use crate::gate;
use crate::language::Language;

pub static EXPORT: Export = Export {
    name: "github-summary",
    summary: "the table and the answer to --fail-if as Markdown, appended to the summary of a GitHub job",
    writing: Writing::Appended { variable: "GITHUB_STEP_SUMMARY" },
    render,
};

fn render(source: &Source) -> Vec<u8> {
    let mut text = String::new();
    if let Some(outcome) = source.gate {
        let mark = if outcome.is_shut() { "> [!CAUTION]" } else { "> [!NOTE]" };
        text.push_str(&format!("{mark}\n> {}\n\n", gate::describe_outcome(outcome, Language::English)));
    }
    text.push_str(&crate::markdown::render_markdown(source.session, source.findings));
    // Another step's summary may follow.
    text.push('\n');
    text.into_bytes()
}
