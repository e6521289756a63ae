//! A dry run: the actions of a session, under four headings.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use serde_json::json;
use tare_lab::session::DryRun;
use tare_report::json::render_pretty_json;
use tare_report::text::plain_line;

use crate::ui;

/// Formats a dry run, including the output files with their descriptions, as text or as JSON.
pub fn format_dry_run(
    mut dry: DryRun,
    announced: Option<String>,
    files: &[(PathBuf, String)],
    as_json: bool,
) -> String {
    let whole = |file: &Path| std::path::absolute(file).unwrap_or_else(|_| file.to_owned());
    let lines = files.iter().map(|(file, what)| format!("{}: {what}", whole(file).display()));
    dry.write.splice(1..1, lines);
    let parts = [("start", &dry.start), ("mount", &dry.mount), ("write", &dry.write), ("send", &dry.send)];
    if as_json {
        let parts: serde_json::Map<String, serde_json::Value> =
            parts.iter().map(|(name, lines)| ((*name).to_owned(), json!(lines))).collect();
        return render_pretty_json(&parts.into());
    }
    let mut text = "This session would do the following. Nothing of it was done.\n".to_owned();
    for line in announced.iter().flat_map(|needs| ui::wrap_text(needs, ui::measure_width())) {
        let _ = writeln!(text, "{line}");
    }
    for (name, lines) in parts {
        let _ = write!(text, "\n{name}\n");
        for line in lines {
            let lines = ui::wrap_text(&plain_line(line), ui::measure_width().saturating_sub(4));
            for (i, line) in lines.iter().enumerate() {
                let _ = writeln!(text, "{}{line}", if i == 0 { "  " } else { "    " });
            }
        }
    }
    text
}
