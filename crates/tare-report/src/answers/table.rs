//! The one table of answers: signs, words, meanings and colours. Terminal, page, exports and documents use it.

use anstyle::{AnsiColor, Style};
use tare_analysis::findings::Kind;

use crate::language::message;

/// A line of the table.
#[derive(Clone, Copy, Debug)]
pub struct AnswerWords {
    /// Sign of one character that distinguishes it without colour.
    pub sign: &'static str,
    /// Name in lists and sentences; a cell says it with its number, by `words::format_answer`.
    pub word: &'static str,
    /// Explanation in a legend, with `{margin}` in the place of the margin.
    pub meaning: &'static str,
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
const SAME: Colour = colour(Style::new(), "#4b6457", "#9dbfae");
const BOUNDED: Colour = colour(Style::new(), "#6b5a3c", "#d3bf90");
const UNSURE: Colour = colour(ansi(AnsiColor::Yellow), "#7d5700", "#e9bd5b");
const ABSENT: Colour = colour(Style::new().dimmed(), "#5d656e", "#9aa3ac");

/// Finds the line of an answer.
pub const fn answer_words(answer: Kind) -> AnswerWords {
    const fn line(
        sign: &'static str,
        word: &'static str,
        meaning: &'static str,
        colour: Colour,
    ) -> AnswerWords {
        AnswerWords { sign, word, meaning, colour }
    }
    const BY_MORE: &str = message!("by more than {margin}");
    match answer {
        Kind::Slower => line("▲", message!("slower"), BY_MORE, SLOWER),
        Kind::Faster => line("▼", message!("faster"), BY_MORE, FASTER),
        Kind::Same => line("=", message!("same"), message!("less than {margin} apart"), SAME),
        Kind::AtLeast => line(
            "≥",
            message!("slower, by an unknown size"),
            message!("less is excluded, and more is open"),
            SLOWER,
        ),
        Kind::AtMost => line(
            "≤",
            message!("at most a little slower"),
            message!("more is excluded, and less is not decided"),
            BOUNDED,
        ),
        Kind::NotSure => line(
            "?",
            message!("not sure"),
            message!("the estimate so far; more runs would decide it"),
            UNSURE,
        ),
        Kind::None => line("–", message!("not compared"), message!("for the reason given"), ABSENT),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::fs;
    use std::path::Path;

    use serde_json::Value;
    use tare_analysis::findings::{Cell, Findings, Reach, Why};
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

    fn render(session: &Session, findings: &Findings, wide: bool, language: Language) -> String {
        let options = TerminalOptions { width: 120, wide, language, ..TerminalOptions::default() };
        crate::terminal::render_terminal(session, findings, &options).replace('\u{a0}', " ")
    }

    /// Checks what the document says of the work that an answer holds for.
    fn check_reach(cell: &Value, given: Option<Reach>, word: &str) {
        let stop = given.and_then(Reach::stop);
        assert_eq!(cell["stop"].is_object(), stop.is_some());
        let ends = stop.map(|stop| stop.factor().unwrap().interval).filter(|of| of.is_bounded());
        let ends = ends.map(|interval| interval.ends(f64::from));
        let read = ["low", "high"].map(|end| cell["stop"][end].as_f64());
        assert_eq!([0, 1].map(|at| ends.map(|ends| ends[at])), read);
        let (sign, explained) = match given {
            Some(Reach::Open) => ('+', "what work that lasts takes is not known closely enough"),
            Some(Reach::Differs(_)) => ('!', "work that lasts takes 5.1x (4.9 to 5.2x)"),
            _ if ends.is_some() => {
                ('!', "throttled in 94 % of periods: work that lasts takes 5.1x (4.9 to 5.2x)")
            }
            _ => ('!', "throttled in 94 % of periods: work that lasts takes about 5x"),
        };
        let [signs, doubt] = ["signs", "doubt"].map(|field| cell[field].as_str().unwrap_or_default());
        let is_short = word.ends_with(", short");
        assert_eq!(signs.starts_with(['!', '+']), is_short, "{word}");
        assert_eq!(doubt.starts_with(&format!("for short operations; {explained}")), is_short, "{doubt}");
        assert!(!is_short || signs.starts_with(sign), "{signs}");
    }

    #[test]
    fn every_output_says_the_same_of_a_cell() {
        let all = specimen::one_cell_of_each();
        let kinds: BTreeSet<&str> = all.iter().map(|cell| cell.answer().kind().name()).collect();
        assert_eq!(kinds, Kind::ALL.map(Kind::name).into(), "there is a cell of each");
        for cell in all {
            let given = cell.comparison().map(|found| found.reach);
            let reach = given.map(Reach::name);
            let (answer, why) = (cell.answer().kind().name(), cell.answer().why().map(Why::name));
            let word = words::cell_word(&cell, Language::English);
            let japanese = words::cell_word(&cell, Language::Japanese);
            let whole = words::describe_cell(&cell, Language::English);
            // Tables show only the value of a cell that is never compared.
            let is_observed = matches!(cell, Cell::Observed(_));
            let (session, findings) = with_cell(cell);

            let document: Value =
                serde_json::from_str(&crate::json::render_json(&session, &findings)).unwrap();
            let cell = &document["rows"][0]["cells"][0];
            assert_eq!([&cell["answer"], &cell["words"]], [answer, word.as_str()]);
            assert_eq!(cell["why"].as_str(), why);
            assert_eq!(cell["reach"].as_str(), reach);
            check_reach(cell, given, &word);
            let interval = cell["interval"].as_str().unwrap_or_default();
            assert!(whole.contains(interval), "{whole}");

            let text = exported("csv", &session, &findings);
            let mut reader = ::csv::Reader::from_reader(text.as_bytes());
            let heads = reader.headers().unwrap().clone();
            let lines: Vec<_> = reader.records().map(|line| line.unwrap()).collect();
            let field = |name: &str| &lines[1][heads.iter().position(|head| head == name).unwrap()];
            assert_eq!([field("answer"), field("why")], [answer, why.unwrap_or_default()]);
            assert_eq!(field("reach"), reach.unwrap_or_default());

            let text = exported("openmetrics", &session, &findings);
            assert!(text.contains(&format!("tare_answer=\"{answer}\"}} 1")), "{answer}: {text}");

            let is_in = |reach: &str| text.contains(&format!("tare_reach=\"{reach}\"}} 1"));
            assert!(reach.is_none_or(is_in), "{reach:?}: {text}");

            let text = exported("junit", &session, &findings);
            assert!(text.contains(&whole.replace('<', "&lt;")), "{whole}: {text}");

            let in_table = |text: &str, part: &str| is_observed || text.contains(part);
            let text = crate::markdown::render_markdown(&session, &findings).replace('\\', "");
            assert!(in_table(&text, &word) && in_table(&text, interval), "{word} {interval}: {text}");
            for wide in [false, true] {
                let text = render(&session, &findings, wide, Language::English);
                assert!(in_table(&text, &word), "{word}: {text}");
                assert!(in_table(&text, interval) || !wide, "{interval}: {text}");
                let text = render(&session, &findings, wide, Language::Japanese);
                assert!(in_table(&text, &japanese), "{japanese}: {text}");
            }
        }
    }

    #[test]
    fn cells_have_the_words_of_the_answers_and_no_other() {
        let mut all = BTreeSet::new();
        for cell in specimen::one_cell_of_each() {
            let Cell::Compared(found) = &cell else {
                assert_eq!(words::cell_word(&cell, Language::English), "–");
                continue;
            };
            for text in [
                words::format_answer(found, Language::English),
                words::format_short_answer(found, Language::English),
            ] {
                let is_number = |word: &&str| word.chars().any(|c| c.is_ascii_digit()) || *word == "%";
                all.extend(
                    text.split([' ', ',']).filter(|w| !w.is_empty() && !is_number(w)).map(str::to_owned),
                );
            }
        }
        let expected = ["at", "most", "not", "over", "same", "short", "slower", "sure"];
        assert_eq!(all, expected.map(str::to_owned).into());
    }

    fn document(path: &str) -> String {
        fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs").join(path)).unwrap()
    }

    /// Splits the first cells of a table's rows at their commas.
    fn first_column(text: &str, heading: &str) -> BTreeSet<String> {
        let rows = text.split(heading).nth(1).expect("the table is there").lines().skip(1);
        let cells = rows.take_while(|row| row.starts_with('|')).filter_map(|row| row.split('|').nth(1));
        let words = cells.flat_map(|cell| cell.split(", "));
        words.map(|word| word.trim().trim_matches('`').to_owned()).collect()
    }

    #[test]
    fn guide_and_reference_have_every_answer_and_no_other() {
        let reference = document("reference/report-json.md");
        let answers: BTreeSet<String> = Kind::ALL.map(|answer| answer.name().to_owned()).into();
        assert_eq!(first_column(&reference, "| `answer` | means |\n"), answers);
        let reasons: BTreeSet<String> = Why::ALL.map(|why| why.name().to_owned()).into();
        assert_eq!(first_column(&reference, "| `why` | `answer` | means |\n"), reasons);
        let reaches = Reach::NAMES.map(str::to_owned).into();
        assert_eq!(first_column(&reference, "| `reach` | the answer holds for |\n"), reaches);
        let guide = document("guide/reading-a-report.md");
        assert_eq!(first_column(&guide, "| `answer` | in a cell | means |\n"), answers);
    }

    #[test]
    fn the_schema_has_every_answer_and_reason_and_no_other() {
        let schema: Value = serde_json::from_str(&document("reference/report.schema.json")).unwrap();
        let names = |of: &str| -> BTreeSet<String> {
            let all = schema["$defs"]["cell"]["properties"][of]["enum"].as_array().unwrap();
            all.iter().filter_map(|name| name.as_str().map(str::to_owned)).collect()
        };
        assert_eq!(names("answer"), Kind::ALL.map(|kind| kind.name().to_owned()).into());
        assert_eq!(names("reach"), Reach::NAMES.map(str::to_owned).into());
        assert_eq!(names("why"), Why::ALL.map(|why| why.name().to_owned()).into());
    }
}
