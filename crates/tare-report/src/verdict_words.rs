//! The one table of everything that a cell can show: signs, words, meanings and colours. Terminal, page, exports and
//! documents use it.

use anstyle::{AnsiColor, Style};
use tare_analysis::findings::{Shown, Side, Verdict};

use crate::language::message;

/// Mark of a difference that does not survive the correction for many cells.
pub const MAY_BE_CHANCE: &str = "†";

/// A line of the table.
#[derive(Clone, Copy, Debug)]
pub struct VerdictWords {
    /// Sign of one character that distinguishes it without colour.
    pub sign: &'static str,
    pub word: &'static str,
    /// Follows the word in a cell; empty for most.
    pub mark: &'static str,
    /// Explanation in a legend, with `{margin}` in the place of the margin.
    pub meaning: &'static str,
    /// Direction of the factor before the word; `None` if a cell states no factor.
    pub factor: Option<Side>,
    pub colour: Colour,
}

/// A colour on both outputs; the words say the same without it.
#[derive(Clone, Copy, Debug)]
pub struct Colour {
    pub terminal: Style,
    /// On light and on dark paper, as CSS has it.
    pub page: [&'static str; 2],
}

const fn colour(terminal: Style, light: &'static str, dark: &'static str) -> Colour {
    Colour { terminal, page: [light, dark] }
}

const fn ansi(colour: AnsiColor) -> Style {
    Style::new().fg_color(Some(anstyle::Color::Ansi(colour)))
}

// These stay apart for most colour-blind readers.
const SLOWER: Colour = colour(ansi(AnsiColor::Red).bold(), "#a8400c", "#ff9d66");
const FASTER: Colour = colour(ansi(AnsiColor::Cyan).bold(), "#1a5aa8", "#7db8ff");
const SLOWER_UNSURE: Colour = colour(ansi(AnsiColor::Yellow), "#7d5700", "#e9bd5b");
const FASTER_UNSURE: Colour = colour(ansi(AnsiColor::Yellow), "#4a55a0", "#a9b4ff");
const SLOWER_BY_CHANCE: Colour = colour(Style::new(), "#7d5700", "#e9bd5b");
const FASTER_BY_CHANCE: Colour = colour(Style::new(), "#4a55a0", "#a9b4ff");
const SLIGHTLY_SLOWER: Colour = colour(Style::new(), "#8a5a3c", "#e0b090");
const SLIGHTLY_FASTER: Colour = colour(Style::new(), "#3f6690", "#a5c8ee");
const SAME: Colour = colour(Style::new(), "#4b6457", "#9dbfae");
const OPEN: Colour = colour(Style::new().dimmed(), "#59616b", "#a3acb6");
const ABSENT: Colour = colour(Style::new().dimmed(), "#5d656e", "#9aa3ac");

const BY_MORE: &str = message!("by more than {margin}");
const UNCLEAR: &str = message!("more rounds would show whether by more than {margin}");
const FEW_STARTS: &str = message!("other starts may differ: more starts are needed");
const BY_CHANCE: &str = message!("may be chance, given how many cells there are");
const SLIGHT: &str = message!("a real difference within ±{margin}");
const REASON: &str = message!("for the reason given");

/// Finds the line for the content of a cell.
pub const fn verdict_words(shown: Shown) -> VerdictWords {
    const fn line(
        sign: &'static str,
        word: &'static str,
        meaning: &'static str,
        colour: Colour,
    ) -> VerdictWords {
        VerdictWords { sign, word, mark: "", meaning, factor: None, colour }
    }
    const fn with_factor(line: VerdictWords, side: Side) -> VerdictWords {
        VerdictWords { factor: Some(side), ..line }
    }
    const fn by_chance(line: VerdictWords) -> VerdictWords {
        VerdictWords { mark: MAY_BE_CHANCE, ..line }
    }
    match shown {
        Shown::Verdict(Verdict::Slower) => {
            with_factor(line("▲", message!("slower"), BY_MORE, SLOWER), Side::Slower)
        }
        Shown::Verdict(Verdict::SlowerUnclear) => {
            line("△", message!("slower (size unclear)"), UNCLEAR, SLOWER_UNSURE)
        }
        Shown::Verdict(Verdict::SlowerInFewStarts) => with_factor(
            line("▵", message!("slower in few starts"), FEW_STARTS, SLOWER_BY_CHANCE),
            Side::Slower,
        ),
        Shown::Verdict(Verdict::SlowerUnconfirmed) => {
            let line = line("▵", message!("slower"), BY_CHANCE, SLOWER_BY_CHANCE);
            by_chance(with_factor(line, Side::Slower))
        }
        Shown::Verdict(Verdict::SlightlySlower) => {
            line("▴", message!("slightly slower"), SLIGHT, SLIGHTLY_SLOWER)
        }
        Shown::Verdict(Verdict::Faster) => {
            with_factor(line("▼", message!("faster"), BY_MORE, FASTER), Side::Faster)
        }
        Shown::Verdict(Verdict::FasterUnclear) => {
            line("▽", message!("faster (size unclear)"), UNCLEAR, FASTER_UNSURE)
        }
        Shown::Verdict(Verdict::FasterInFewStarts) => with_factor(
            line("▿", message!("faster in few starts"), FEW_STARTS, FASTER_BY_CHANCE),
            Side::Faster,
        ),
        Shown::Verdict(Verdict::FasterUnconfirmed) => {
            let line = line("▿", message!("faster"), BY_CHANCE, FASTER_BY_CHANCE);
            by_chance(with_factor(line, Side::Faster))
        }
        Shown::Verdict(Verdict::SlightlyFaster) => {
            line("▾", message!("slightly faster"), SLIGHT, SLIGHTLY_FASTER)
        }
        Shown::Verdict(Verdict::TypicallySame) => {
            line("≈", message!("typically the same"), message!("but the mean cost may not be"), SLOWER_UNSURE)
        }
        Shown::Verdict(Verdict::Same) => line("=", message!("same"), message!("within ±{margin}"), SAME),
        Shown::Verdict(Verdict::Inconclusive) => {
            line("?", message!("inconclusive"), message!("more rounds are needed"), OPEN)
        }
        Shown::Observed => line(
            "·",
            message!("observed, never compared"),
            message!("a value without a verdict, such as a maximum"),
            OPEN,
        ),
        Shown::NotComparable => line("×", message!("not comparable"), REASON, ABSENT),
        Shown::NotMeasured => line("–", message!("not measured"), REASON, ABSENT),
    }
}

impl VerdictWords {
    /// Returns the line of a verdict.
    pub const fn from_verdict(verdict: Verdict) -> VerdictWords {
        verdict_words(Shown::Verdict(verdict))
    }

    /// Tells whether the difference may be chance, as one of many cells.
    pub const fn may_be_chance(&self) -> bool {
        !self.mark.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::fs;
    use std::path::Path;

    use serde_json::Value;
    use tare_analysis::findings::{Answer, Cell, Findings};
    use tare_data::session::Session;

    use super::*;
    use crate::exports::{EXPORTS, Source};
    use crate::language::Language;
    use crate::terminal::TerminalOptions;
    use crate::{specimen, words};

    /// Builds a session of one row and one environment with this cell.
    fn with_cell(cell: Cell) -> (Session, Findings) {
        let (session, mut findings) = (specimen::make_session(1), specimen::make_findings(1));
        findings.rows.truncate(1);
        findings.rows[0].cells[0] = cell;
        (session, findings)
    }

    fn exported(name: &str, session: &Session, findings: &Findings) -> String {
        let export = EXPORTS.iter().find(|export| export.name == name).unwrap();
        String::from_utf8((export.render)(&Source { session, findings, gate: None })).unwrap()
    }

    #[test]
    fn every_output_says_the_same_of_a_cell() {
        for (shown, cell) in specimen::one_cell_of_each() {
            let (name, answer) = (shown.name(), cell.answer().name());
            let word = words::cell_word(&cell, Language::English);
            let line = verdict_words(shown);
            assert!(word.contains(line.mark), "{word}");
            let (session, findings) = with_cell(cell);
            let is_observed = shown == Shown::Observed;

            let document: Value =
                serde_json::from_str(&crate::json::render_json(&session, &findings)).unwrap();
            let cell = &document["rows"][0]["cells"][0];
            assert_eq!([&cell["answer"], &cell["verdict"], &cell["words"]], [answer, name, word.as_str()]);

            let text = exported("csv", &session, &findings);
            let mut reader = ::csv::Reader::from_reader(text.as_bytes());
            let heads = reader.headers().unwrap().clone();
            let lines: Vec<_> = reader.records().map(|line| line.unwrap()).collect();
            let field = |name: &str| &lines[1][heads.iter().position(|head| head == name).unwrap()];
            assert_eq!([field("answer"), field("verdict")], [answer, name]);

            let text = exported("openmetrics", &session, &findings);
            assert!(text.contains(&format!("tare_verdict=\"{name}\"}} 1")), "{name}: {text}");
            assert!(text.contains(&format!("tare_answer=\"{answer}\"}} 1")), "{answer}: {text}");

            let text = exported("junit", &session, &findings);
            assert!(text.contains(&word), "{word}: {text}");

            // Tables show only the value of a cell that is never compared.
            let in_table = |text: &str| is_observed || text.replace('\u{a0}', " ").contains(&word);
            let text = crate::markdown::render_markdown(&session, &findings);
            assert!(in_table(&text), "{word}: {text}");
            let text = crate::terminal::render_terminal(
                &session,
                &findings,
                &TerminalOptions { width: 120, ..TerminalOptions::default() },
            );
            assert!(in_table(&text), "{word}: {text}");
        }
    }

    fn document(path: &str) -> String {
        fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs").join(path)).unwrap()
    }

    /// Splits the first cells of a table's rows at their commas.
    fn first_column(text: &str, heading: &str) -> BTreeSet<String> {
        let rows = text.split(heading).nth(1).expect("the table is there").lines().skip(1);
        let cells = rows.take_while(|row| row.starts_with('|')).filter_map(|row| row.split('|').nth(1));
        // A word may contain a comma.
        let words = cells.flat_map(|cell| match cell.trim() {
            "observed, never compared" => vec!["observed, never compared"],
            cell => cell.split(", ").collect(),
        });
        words.map(|word| word.trim_matches('`').to_owned()).collect()
    }

    #[test]
    fn guide_and_reference_have_every_verdict_and_no_other() {
        let words = |shown| {
            let VerdictWords { word, mark, .. } = verdict_words(shown);
            format!("{word}{mark}")
        };
        let guide = document("guide/reading-a-report.md");
        assert_eq!(first_column(&guide, "| verdict | means |\n"), Shown::list_all().map(words).collect());
        let reference = document("reference/report-json.md");
        let names: BTreeSet<String> = Shown::list_all().map(|shown| shown.name().to_owned()).collect();
        assert_eq!(first_column(&reference, "| `verdict` | `answer` | means |\n"), names);
        let answers: BTreeSet<String> = Answer::ALL.map(|answer| answer.name().to_owned()).into();
        assert_eq!(first_column(&reference, "| `answer` | means |\n"), answers);
        assert!(answers.iter().all(|answer| guide.contains(&format!("`{answer}`"))));
    }

    #[test]
    fn the_schema_has_every_verdict_and_no_other() {
        let schema: Value = serde_json::from_str(&document("reference/report.schema.json")).unwrap();
        let cell = &schema["$defs"]["cell"];
        let names = |of: &Value| -> BTreeSet<String> {
            of["enum"].as_array().unwrap().iter().map(|name| name.as_str().unwrap().to_owned()).collect()
        };
        assert_eq!(
            names(&cell["properties"]["verdict"]),
            Shown::list_all().map(|s| s.name().to_owned()).collect()
        );
        assert_eq!(
            names(&cell["properties"]["answer"]),
            Answer::ALL.map(|answer| answer.name().to_owned()).into()
        );
        let kinds: Vec<BTreeSet<String>> = cell["oneOf"]
            .as_array()
            .unwrap()
            .iter()
            .map(|kind| names(&kind["properties"]["verdict"]))
            .collect();
        let verdicts = Verdict::ALL.iter().map(|verdict| verdict.name().to_owned()).collect();
        assert!(kinds.contains(&verdicts), "{kinds:?}");
    }
}
