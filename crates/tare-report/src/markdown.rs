//! The findings as Markdown, for pull requests and issues on the usual forges.

use tare_analysis::findings::{Cell, Comparison, Findings, Kind, Missing, Row};
use tare_data::session::Session;
use tare_data::unit::Unit;

use crate::answers::signs::{self, Sign};
use crate::language::Language;
use crate::notes::{CellWarnings, Notes, baseline_missing};
use crate::number::Figure;
use crate::summary::{self, sides};
use crate::text::clean_text;
use crate::{published, view, words};

/// Language of exports: they read the same wherever they were made.
const ENGLISH: Language = Language::English;

/// Renders a table of the headline metrics, with notes and checks; the words are those of the terminal.
pub fn render_markdown(session: &Session, findings: &Findings) -> String {
    let rows = view::select_rows(findings, false);
    let mut notes = Notes::default();
    let mut out = String::new();
    let sentences = sides::describe_commands(session, findings, ENGLISH);
    push(&mut out, &escape_markdown(&sentences.join("\n")));
    let heading = view::make_heading(session, findings, ENGLISH);
    push(&mut out, &heading.iter().map(|line| escape_markdown(line)).collect::<Vec<_>>().join("<br>\n"));
    if let Some(banner) = view::make_baseline_banner(findings, ENGLISH) {
        push(&mut out, &format!("> [!WARNING]\n> {}", escape_markdown(&banner)));
    }
    for note in view::describe_early_end(findings, None, ENGLISH)
        .into_iter()
        .chain(view::summarise_failed_trials(findings, ENGLISH))
    {
        push(&mut out, &format!("> [!NOTE]\n> {}", escape_markdown(&note)));
    }
    if rows.is_empty() {
        push(&mut out, "Nothing was measured.");
    } else {
        push(&mut out, &table(session, findings, &rows, &mut notes));
    }
    let sentences = match findings.commands_in {
        None => summary::summarise_environments(findings, ENGLISH),
        // Above the table.
        Some(_) => Vec::new(),
    };
    let sentence = |(target, text): &(String, String)| {
        format!("- **{}** {}", escape_markdown(target), escape_markdown(text))
    };
    push(&mut out, &sentences.iter().map(sentence).collect::<Vec<_>>().join("\n"));
    if let Some((caption, lines)) = sides::compare_across(findings, ENGLISH) {
        push(&mut out, &escape_markdown(&caption));
        push(&mut out, &lines.iter().map(sentence).collect::<Vec<_>>().join("\n"));
    }
    push(&mut out, &explanations(session, findings, &rows, &notes));
    push(&mut out, &published_table(findings));
    out
}

/// Adds a paragraph, if it holds anything.
fn push(out: &mut String, paragraph: &str) {
    if paragraph.is_empty() {
        return;
    }
    if !out.is_empty() {
        out.push('\n');
    }
    out.push_str(paragraph);
    out.push('\n');
}

fn table(session: &Session, findings: &Findings, rows: &[&Row], notes: &mut Notes) -> String {
    let warnings = CellWarnings::of_rows(rows, false, ENGLISH);
    let names = findings.subjects.iter().map(|name| escape_markdown(&clean_text(name)));
    let mut lines = vec![
        line(["probe".to_owned(), escape_markdown(&clean_text(&findings.baseline))].into_iter().chain(names)),
        line(["---", "---:"].into_iter().chain(findings.subjects.iter().map(|_| "---")).map(str::to_owned)),
    ];
    for row in rows {
        let unit = row.metric.unit;
        let label = format!(
            "{}<br><sub>{}</sub>",
            escape_markdown(&clean_text(&row.label)),
            escape_markdown(&view::where_it_runs(row, ENGLISH))
        );
        let baseline = match &row.baseline {
            Some(level) => Figure::of_level(level, unit).text_with_half(),
            None => missing(&baseline_missing(session, row, &findings.baseline), unit, notes),
        };
        let cells = row.cells.iter().enumerate().map(|(at, cell)| match cell {
            Cell::Compared(comparison) => compared((findings, row, at), comparison, &warnings, notes),
            Cell::Observed(level) => Figure::without_interval(level.median, unit).to_text(),
            Cell::Missing(found) => missing(found, unit, notes),
        });
        lines.push(line([label, baseline].into_iter().chain(cells)));
    }
    lines.join("\n")
}

fn line(cells: impl Iterator<Item = String>) -> String {
    format!("| {} |", cells.collect::<Vec<_>>().join(" | "))
}

fn compared(
    (findings, row, at): (&Findings, &Row, usize),
    comparison: &Comparison,
    warnings: &CellWarnings,
    notes: &mut Notes,
) -> String {
    let answer = escape_markdown(&words::format_answer(comparison, ENGLISH));
    let is_difference = matches!(comparison.answer().kind(), Kind::Slower | Kind::AtLeast | Kind::Faster);
    let head = if is_difference { format!("**{answer}**") } else { answer };
    let signs = escape_markdown(&signs::write_signs(findings, at, comparison));
    let value = words::format_value(row, comparison);
    let interval = escape_markdown(&words::format_interval(comparison, ENGLISH));
    let interval = if interval.is_empty() { interval } else { format!(" {interval}") };
    let marks = warnings.list_marks(comparison, notes).join("·");
    let mean = words::mean_where_it_differs(comparison, ENGLISH);
    let mean = mean.map(|mean| format!(", mean {}", escape_markdown(&mean))).unwrap_or_default();
    format!("{head}{signs}{interval}<br><sub>{value}{mean}</sub>{marks}")
}

fn missing(missing: &Missing, unit: Unit, notes: &mut Notes) -> String {
    let text = escape_markdown(&notes.mark_missing(missing, ENGLISH));
    match missing {
        Missing::NoBaseline(level) => {
            format!("{text}<br>{}", Figure::without_interval(level.median, unit).to_text())
        }
        _ => text,
    }
}

/// Renders the values of articles for these rows as a separate table: other machines, other days.
fn published_table(findings: &Findings) -> String {
    let rows = published::beside_rows(findings, ENGLISH);
    let beyond = published::list_articles_beyond_rows(findings, ENGLISH);
    if rows.is_empty() {
        return claims(&beyond);
    }
    let head = ["published, on another machine", "printed", "its ratio", "this session", ""];
    let mut lines =
        vec![line(head.map(str::to_owned).into_iter()), line(["---"; 5].map(str::to_owned).into_iter())];
    for row in rows {
        let first = format!("{}<br><sub>{}</sub>", escape_markdown(&row.label), escape_markdown(&row.source));
        lines.push(line(
            [first]
                .into_iter()
                .chain([row.printed, row.ratio, row.session, row.holds].iter().map(|t| escape_markdown(t))),
        ));
    }
    match claims(&beyond) {
        claims if claims.is_empty() => lines.join("\n"),
        claims => format!("{}\n\n{claims}", lines.join("\n")),
    }
}

/// Lists articles' conclusions with this session's answers, and printed values that it does not measure.
fn claims(articles: &[published::Beyond]) -> String {
    let mut lines = Vec::new();
    for article in articles {
        lines.extend([escape_markdown(&article.heading(ENGLISH)), String::new()]);
        for (claim, checks) in &article.claims {
            lines.push(format!("- {}", escape_markdown(claim)));
            lines.extend(checks.iter().map(|(states, answer)| {
                format!("  - {}: {}", escape_markdown(states), escape_markdown(answer))
            }));
        }
        if !article.without_row.is_empty() {
            lines.extend([String::new(), escape_markdown(&article.without_heading(ENGLISH)), String::new()]);
        }
        let without = article.without_row.iter();
        lines.extend(without.map(|texts| {
            let [name, printed, reason] = texts.each_ref().map(|text| escape_markdown(text));
            format!("- {name} ({printed}): {reason}")
        }));
        lines.push(String::new());
    }
    lines.join("\n").trim_end().to_owned()
}

/// Adds warnings and notes, then legend and checks in small letters.
fn explanations(session: &Session, findings: &Findings, rows: &[&Row], notes: &Notes) -> String {
    let mut lines: Vec<String> = view::list_warnings(findings, true, ENGLISH)
        .iter()
        .map(|c| format!("- {}", escape_markdown(c)))
        .collect();
    let (shown, more) = notes.list_notes();
    lines.extend(shown.iter().map(|(mark, note)| format!("- {mark} {}", escape_markdown(note))));
    if more > 0 {
        lines.push(format!("- {more} more notes"));
    }
    let mut legend = view::explain_table_signs(session, rows, ENGLISH);
    legend.extend(signs::explain_signs(findings, rows, ENGLISH, &Sign::ALL));
    let legend = legend.join("; ");
    lines.push(String::new());
    let legend = if legend.is_empty() { legend } else { format!("{}. ", escape_markdown(&legend)) };
    lines.push(format!(
        "<sub>{legend}{}</sub>",
        escape_markdown(&view::list_checks(session, findings, ENGLISH).join(" "))
    ));
    if lines[0].is_empty() {
        lines.remove(0);
    }
    lines.join("\n")
}

/// Escapes every character that means something to Markdown, to HTML or to a forge (mentions, references,
/// links).
pub(crate) fn escape_markdown(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            // A backslash does not stop a mention or a reference; an empty comment does.
            '@' | '#' => {
                out.push(c);
                out.push_str("<!-- -->");
            }
            '\u{a0}' => out.push(' '),
            c if "\\`*_{}[]|~:$!^".contains(c) => {
                out.push('\\');
                out.push(c);
            }
            // "www." begins a link.
            '.' if out.to_ascii_lowercase().ends_with("www") => out.push_str("\\."),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::specimen;

    #[test]
    fn a_table_for_a_pull_request() {
        insta::assert_snapshot!(render_markdown(&specimen::make_session(3), &specimen::make_findings(3)));
    }

    #[test]
    fn text_from_a_record_stays_text() {
        assert_eq!(
            escape_markdown("<script>|[a](http://x) @all #1 www.x.y `z`"),
            "&lt;script&gt;\\|\\[a\\](http\\://x) @<!-- -->all #<!-- -->1 www\\.x.y \\`z\\`"
        );
        let mut findings = specimen::make_findings(1);
        findings.rows[0].label = "a|b\n\n# x".into();
        findings.subjects[0] = "<img src=x onerror=alert(1)>".into();
        let shown = render_markdown(&specimen::make_session(1), &findings);
        assert!(!shown.contains("<img"), "{shown}");
        assert!(shown.lines().filter(|l| l.starts_with('|')).all(|l| l.ends_with('|')), "{shown}");
    }
}
