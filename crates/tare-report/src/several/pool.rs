//! Several sessions joined, for a terminal, as Markdown and as JSON.

use serde::Serialize;
use tare_analysis::across::{Joined, JoinedCell, JoinedRow, Slowdown};
use tare_analysis::change::Judged;

use crate::answers::table::answer_words;
use crate::language::{Language, message, say};
use crate::number::{format_percent, format_ratio, ratio_interval};
use crate::several::diff::{Record, record_of};
use crate::text::{clean_text, count_columns, wrap_text};

/// Name of the JSON document's format, and its version, which a changed or removed field raises.
const SCHEMA: &str = "tare-pool";
const VERSION: u32 = 2;

/// Records with their sessions and files, and their joint findings.
#[derive(Clone, Copy)]
pub struct Pool<'a> {
    pub records: &'a [(&'a Judged, &'a str)],
    pub joined: &'a Joined,
    /// Every metric.
    pub wide: bool,
    /// Columns of the terminal.
    pub width: usize,
    pub language: Language,
}

const HEADINGS: [&str; 5] =
    ["", message!("slowdown"), message!("between sessions"), message!("a further session"), ""];

const NOTE: &str = message!(
    "slowdown = the mean over sessions with its 95 % confidence interval, from how the sessions differ; between sessions \
     = the standard deviation that their own intervals do not explain; a further session = where its slowdown lies, with \
     a chance of 95 %."
);

/// Formats label, slowdown, spread, a further session and verdict.
fn row_texts(row: &JoinedRow, cell: &JoinedCell, language: Language) -> [String; 5] {
    let title = language.translate_title(&clean_text(&row.label));
    let label = if row.headline { title } else { format!("{title}, {}", clean_text(&row.metric)) };
    match cell {
        JoinedCell::Joined(slowdown) => {
            let Slowdown { ratio: mean, interval, next_low, next_high, between, .. } = *slowdown;
            [
                label,
                format!("{} {}", format_ratio(mean), ratio_interval(interval.ends(f64::from), mean)),
                format_percent(libm::expm1(between)),
                ratio_interval([next_low, next_high], mean),
                language.word(answer_words(slowdown.answer.kind()).word).to_owned(),
            ]
        }
        JoinedCell::NotJoined { reason } => {
            let none = || "-".to_owned();
            let reason = language.translate_text(&clean_text(reason));
            [label, none(), none(), none(), say!(language, "not joined: {reason}", reason)]
        }
    }
}

impl Pool<'_> {
    fn rows(&self) -> impl Iterator<Item = &JoinedRow> {
        self.joined.rows.iter().filter(|row| self.wide || row.headline)
    }

    /// Describes each record.
    fn heads(&self) -> Vec<String> {
        let head = |(record, file): &(&Judged, &str)| {
            let (study, started) = (clean_text(&record.plan.study), clean_text(&record.header.started));
            say!(
                self.language,
                "{file}  {study}, started {started}, tare {version}",
                file = clean_text(file),
                study,
                started,
                version = clean_text(&record.header.tare)
            )
        };
        self.records.iter().map(head).collect()
    }
}

/// Renders a table for each environment.
pub fn render_pool_terminal(pool: &Pool) -> String {
    let mut out = pool.heads().join("\n") + "\n";
    for (at, target) in pool.joined.targets.iter().enumerate() {
        out.push_str(&format!("\n{}\n", clean_text(&target.name)));
        let mut rows = vec![HEADINGS.map(|head| pool.language.word(head).to_owned())];
        rows.extend(pool.rows().map(|row| row_texts(row, &row.cells[at], pool.language)));
        let widths: [usize; 4] = std::array::from_fn(|column| {
            rows.iter().map(|row| count_columns(&row[column])).max().unwrap_or(0)
        });
        for row in &rows {
            let mut line = String::from("  ");
            for (text, width) in row.iter().zip(widths) {
                line.push_str(&format!("{text}{}  ", " ".repeat(width - count_columns(text))));
            }
            // A reason gets separate lines: it may be long.
            let (verdict, reason) =
                row[4].split_once(": ").map_or((row[4].as_str(), None), |(v, r)| (v, Some(r)));
            out.push_str(format!("{line}{verdict}").trim_end());
            out.push('\n');
            for part in reason.iter().flat_map(|reason| wrap_text(reason, pool.width.saturating_sub(4))) {
                out.push_str(&format!("    {part}\n"));
            }
        }
    }
    out.push('\n');
    wrap_text(pool.language.word(NOTE), pool.width)
        .iter()
        .for_each(|line| out.push_str(&format!("{line}\n")));
    out
}

/// Renders all environments as one table.
pub fn render_pool_markdown(pool: &Pool) -> String {
    let literal = crate::markdown::escape_markdown;
    let heads: Vec<String> = pool.heads().iter().map(|head| format!("- {}", literal(head))).collect();
    let mut out = heads.join("\n");
    out.push_str("\n\n| environment | probe | slowdown | between sessions | a further session | |\n|---|---|---|---|---|---|\n");
    for (at, target) in pool.joined.targets.iter().enumerate() {
        for row in pool.rows() {
            let texts = row_texts(row, &row.cells[at], Language::English).map(|text| literal(&text));
            out.push_str(&format!("| {} | {} |\n", literal(&clean_text(&target.name)), texts.join(" | ")));
        }
    }
    out.push_str(&format!("\n<sub>{}</sub>\n", literal(NOTE)));
    out
}

#[derive(Serialize)]
struct Document<'a> {
    schema: &'static str,
    version: u32,
    records: Vec<Record<'a>>,
    #[serde(flatten)]
    joined: &'a Joined,
}

/// Writes one JSON document on one line: every metric.
pub fn render_pool_json(pool: &Pool) -> String {
    let records = pool.records.iter().copied().map(record_of).collect();
    let document = Document { schema: SCHEMA, version: VERSION, records, joined: pool.joined };
    crate::text::json::render_escaped_json(&document) + "\n"
}

#[cfg(test)]
mod tests {
    use tare_analysis::across::join_records;
    use tare_analysis::findings::Cell;

    use super::*;
    use crate::specimen;

    /// Renders three sessions: gvisor's system calls cost 24x, 25x and 26x, and the definition of the third
    /// case changed once.
    fn shown(show: fn(&Pool) -> String) -> String {
        let judged = [24.0, 25.0, 26.0].map(|slowdown| {
            let (mut session, mut findings) = (specimen::make_session(2), specimen::make_findings(2));
            let cell = specimen::make_comparison(173.4, slowdown, 1);
            findings.rows[0].cells[1] = Cell::Compared(Box::new(cell));
            if slowdown > 25.5 {
                session.plan.cases[2].definition = "d1".into();
            }
            Judged::new(session, findings)
        });
        let joined = join_records(&judged.each_ref());
        let records: Vec<(&Judged, &str)> = judged.iter().zip(["a.tare", "b.tare", "c.tare"]).collect();
        show(&Pool {
            records: &records,
            joined: &joined,
            wide: false,
            width: 100,
            language: Language::English,
        })
    }

    #[test]
    fn sessions_are_joined_in_a_table() {
        insta::assert_snapshot!(shown(render_pool_terminal));
    }

    #[test]
    fn markdown_has_a_row_a_cell() {
        let text = shown(render_pool_markdown);
        assert!(text.contains("| gvisor | system call | 25.0x \\[22.6, 27.6\\] |"), "{text}");
        assert_eq!(text.lines().filter(|line| line.starts_with("| ")).count(), 1 + 2 * 7);
    }

    #[test]
    fn json_has_every_session_of_a_cell() {
        let read: serde_json::Value = serde_json::from_str(&shown(render_pool_json)).unwrap();
        assert_eq!((&read["schema"], &read["version"]), (&"tare-pool".into(), &2.into()));
        assert_eq!(read["records"][2]["file"], "c.tare");
        let cell = &read["rows"][0]["cells"][1]["joined"];
        assert_eq!((&cell["sessions"], &cell["answer"]), (&3.into(), &"slower".into()));
        assert_eq!(cell["ratios"].as_array().unwrap().len(), 3);
        let reason = &read["rows"][2]["cells"][0]["not_joined"]["reason"];
        assert!(reason.as_str().unwrap().contains("definitions"), "{reason}");
    }
}
