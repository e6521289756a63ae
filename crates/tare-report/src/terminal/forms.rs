//! Every form of one session is read back, and says the same of each cell: words, signs, intervals and numbers.

use std::collections::BTreeMap;

use serde_json::Value;
use tare_analysis::change::{Judged, compare_records};
use tare_analysis::findings::{Cell, Findings, Level};
use tare_data::session::{Role, Session};
use tare_specimen::make_sides;

use crate::answers::signs;
use crate::exports::{EXPORTS, Source};
use crate::language::Language;
use crate::several::diff::{Diff, render_diff_terminal};
use crate::terminal::{TerminalOptions, render_terminal};
use crate::text::count_columns;
use crate::{html, json, markdown, specimen, words};

/// Texts of cells by label and environment.
type Cells = BTreeMap<(String, String), String>;

fn make(targets: usize) -> (Session, Findings) {
    let (session, mut findings) = (specimen::make_session(targets), specimen::make_findings(targets));
    findings.warnings.push((Some("gvisor".into()), tare_data::warning::Warning::EmulatedProcessor));
    (session, findings)
}

/// Makes all rows of one kind of work: several would be a table of kinds.
fn make_one_kind(targets: usize) -> (Session, Findings) {
    let (session, mut findings) = make(targets);
    findings.rows.iter_mut().for_each(|row| row.probe = "sys.mix".into());
    (session, findings)
}

/// Builds the expected text of every headline cell.
fn expect(findings: &Findings, text: impl Fn(usize, &Cell) -> String) -> Cells {
    let rows = findings.rows.iter().filter(|row| row.headline);
    let of_row = |row: &tare_analysis::findings::Row| {
        let cells = row.cells.iter().zip(&findings.subjects).enumerate();
        cells
            .map(|(at, (cell, name))| ((row.label.clone(), name.clone()), text(at, cell)))
            .collect::<Vec<_>>()
    };
    rows.flat_map(of_row).collect()
}

fn signs_of(findings: &Findings, at: usize, cell: &Cell) -> String {
    cell.comparison().map(|found| signs::write_signs(findings, at, found)).unwrap_or_default()
}

/// Cuts a text at columns of a terminal.
fn cut(line: &str, from: usize, to: usize) -> String {
    let mut column = 0;
    let inside = line.chars().filter(|c| {
        let at = column;
        column += count_columns(&c.to_string());
        (from..to).contains(&at)
    });
    inside.collect::<String>().trim().to_owned()
}

/// Reads the tables of a terminal by the columns of their heads.
fn read_terminal(text: &str, findings: &Findings, language: Language) -> Cells {
    let head = language.word("probe");
    let mut cells = Cells::new();
    let mut columns: Vec<(String, usize)> = Vec::new();
    for line in text.lines() {
        if line.starts_with(head) {
            let column =
                |name: &str| line.find(&format!("  {name}")).map(|at| count_columns(&line[..at]) + 2);
            columns = std::iter::once(&findings.baseline)
                .chain(&findings.subjects)
                .filter_map(|name| Some((name.clone(), column(name)?)))
                .collect();
        } else if line.is_empty() {
            columns.clear();
        } else if let Some((_, first)) = columns.first() {
            for (at, (name, from)) in columns.iter().enumerate().skip(1) {
                let to = columns.get(at + 1).map_or(usize::MAX, |(_, next)| *next);
                cells.insert((cut(line, 0, *first), name.clone()), cut(line, *from, to));
            }
        }
    }
    cells
}

fn exported(name: &str, session: &Session, findings: &Findings) -> String {
    let export = EXPORTS.iter().find(|export| export.name == name).unwrap();
    String::from_utf8((export.render)(&Source { session, findings, gate: None })).unwrap()
}

/// Strips the mark of a dash's reason.
fn without_marks(cells: Cells) -> Cells {
    let strip = |text: String| if text.starts_with('–') { "–".to_owned() } else { text };
    cells.into_iter().map(|(key, text)| (key, strip(text))).collect()
}

#[test]
fn terminal_tables_in_every_form_and_language_have_the_cells() {
    for (targets, language) in
        [2, 6].into_iter().flat_map(|n| [(n, Language::English), (n, Language::Japanese)])
    {
        let (session, findings) = make_one_kind(targets);
        let translate = |cells: Cells| -> Cells {
            let key = |((label, name), text): ((String, String), String)| {
                ((language.translate_title(&label), name), text)
            };
            cells.into_iter().map(key).collect()
        };
        let options = |width| TerminalOptions { width, language, ..TerminalOptions::default() };
        let read = |width| {
            let text = render_terminal(&session, &findings, &options(width));
            without_marks(read_terminal(&text, &findings, language))
        };
        let word = |at: usize, cell: &Cell| words::cell_word(cell, language) + &signs_of(&findings, at, cell);
        let whole = read(400).into_iter().map(|(key, text)| {
            // Intervals line up behind the answers.
            (key, text.split(" (").next().unwrap_or_default().trim().to_owned())
        });
        // A Japanese answer may have a bracket of its own.
        let first = |cells: Cells| -> Cells {
            let cut = |text: String| text.split(" (").next().unwrap_or_default().to_owned();
            cells.into_iter().map(|(key, text)| (key, cut(text))).collect()
        };
        assert_eq!(
            whole.collect::<Cells>(),
            first(translate(expect(&findings, word))),
            "{targets} {language:?}"
        );
        let short = |at: usize, cell: &Cell| match cell.comparison() {
            Some(found) => words::format_short_answer(found, language) + &signs_of(&findings, at, cell),
            None => words::NOT_COMPARED.to_owned(),
        };
        if targets == 6 {
            assert_eq!(read(72), translate(expect(&findings, short)), "{language:?}");
        }
    }
}

#[test]
fn markdown_and_junit_have_the_cells_with_their_intervals() {
    let (session, findings) = make(6);
    let text = markdown::render_markdown(&session, &findings).replace('\\', "").replace("&lt;", "<");
    let lines: Vec<&str> = text.lines().filter(|line| line.starts_with('|')).collect();
    let split = |line: &str| -> Vec<String> {
        line.trim_matches('|').split(" | ").map(|cell| cell.trim().replace("**", "")).collect()
    };
    let heads = split(lines[0]);
    let mut read = Cells::new();
    for line in &lines[2..] {
        let cells = split(line);
        let label = cells[0].split("<br>").next().unwrap_or_default().to_owned();
        for (name, cell) in heads.iter().zip(&cells).skip(2) {
            read.insert(
                (label.clone(), name.clone()),
                cell.split("<br>").next().unwrap_or_default().to_owned(),
            );
        }
    }
    let whole = |at: usize, cell: &Cell| match cell.comparison() {
        Some(found) => {
            let interval = words::format_interval(found, Language::English);
            format!(
                "{}{} {interval}",
                words::cell_word(cell, Language::English),
                signs_of(&findings, at, cell)
            )
        }
        None => words::NOT_COMPARED.to_owned(),
    };
    assert_eq!(without_marks(read), expect(&findings, whole));
    let text = exported("junit", &session, &findings).replace("&lt;", "<");
    for row in findings.rows.iter().filter(|row| row.headline) {
        for cell in &row.cells {
            let said = words::describe_cell(cell, Language::English);
            assert!(text.contains(&format!("{said}</system-out>")), "{said}");
        }
    }
}

#[test]
fn documents_have_the_same_numbers_and_the_page_the_same_words() {
    let (session, findings) = make(6);
    let document: Value = serde_json::from_str(&json::render_json(&session, &findings)).unwrap();
    let table = exported("csv", &session, &findings);
    let mut reader = ::csv::Reader::from_reader(table.as_bytes());
    let heads = reader.headers().unwrap().clone();
    let lines: Vec<::csv::StringRecord> = reader.records().map(Result::unwrap).collect();
    let field = |line: &::csv::StringRecord, name: &str| {
        line[heads.iter().position(|h| h == name).unwrap()].to_owned()
    };
    let metrics = exported("openmetrics", &session, &findings);
    let page = html::render_html(&session, &findings, &html::Options::default());
    let number = |value: &Value| value.as_f64().map_or(String::new(), |value| value.to_string());
    let mut compared = 0;
    for row in document["rows"].as_array().unwrap() {
        for cell in row["cells"].as_array().unwrap() {
            let line = lines.iter().find(|line| {
                let is = |name: &str, value: &Value| field(line, name) == *value;
                is("case", &row["case"])
                    && is("metric", &row["metric"]["name"])
                    && is("environment", &cell["environment"])
            });
            let line = line.unwrap();
            let found = &cell["comparison"];
            for (name, value) in
                [("slowdown", "slowdown"), ("slowdown_low", "low"), ("slowdown_high", "high")]
            {
                assert_eq!(field(line, name), number(&found[value]), "{name}");
            }
            assert_eq!(field(line, "answer"), cell["answer"]);
            for text in ["words", "interval", "signs"].map(|name| cell[name].as_str().unwrap_or_default()) {
                let quoted = serde_json::to_string(text).unwrap();
                assert!(
                    text.is_empty() || page.contains(&quoted.replace('<', "\\u003c")),
                    "{text} is not in the page"
                );
            }
            if let Some(slowdown) = found["slowdown"].as_f64() {
                let labels =
                    format!("tare_slowdown_ratio{{environment={},case={}", cell["environment"], row["case"]);
                assert!(
                    metrics.contains(&labels) && metrics.contains(&format!("}} {slowdown}\n")),
                    "{labels}"
                );
                compared += 1;
            }
        }
    }
    assert!(compared > 30, "{compared}");
    let sentences = document["sentences"].as_array().unwrap().iter();
    let terminal =
        render_terminal(&session, &findings, &TerminalOptions { width: 400, ..Default::default() });
    let joined = terminal.split_whitespace().collect::<Vec<_>>().join(" ");
    for sentence in sentences.map(|sentence| sentence["sentence"].as_str().unwrap()) {
        let first = sentence.split_inclusive(". ").next().unwrap_or_default().trim();
        assert!(page.contains(sentence) && joined.contains(first), "{sentence}");
    }
}

/// Builds findings of many rows and environments, with answers of every kind.
fn make_large(rows: usize, targets: usize) -> (Session, Findings) {
    let (mut session, mut findings) = (specimen::make_session(6), specimen::make_findings(6));
    session.plan.targets.retain(|side| side.repeats.is_none() && side.name == "native");
    findings.rows.truncate(7);
    findings.warnings.clear();
    let labels = ["write 1M + fdatasync", "small file lifecycle", "context switch pair"];
    let first = findings.rows[0].clone();
    findings.subjects = (0..targets).map(|at| format!("environm-{at}")).collect();
    let ratios = [1.0, 26.3, 1.012, 0.5, 57.0, 1.1];
    let cell = |row: usize, at: usize| {
        let mut found = specimen::make_comparison(100.0, ratios[(row + at) % ratios.len()], 1);
        if found.ratio == 57.0 {
            found.verdict = tare_analysis::findings::Verdict::SlowerUnconfirmed;
        }
        Cell::Compared(Box::new(found))
    };
    findings.rows = (0..rows)
        .map(|row| {
            let mut new = first.clone();
            new.label = format!("{} {row}", labels[row % labels.len()].split_at(16).0);
            new.baseline = Some(Level { median: 1.18e6, ..specimen::make_level(1.18e6, 1) });
            new.cells = (0..targets).map(|at| cell(row, at)).collect();
            new
        })
        .collect();
    (session, findings)
}

#[test]
fn four_environments_and_sixteen_rows_fit_a_terminal() {
    let (session, findings) = make_large(16, 4);
    let text = render_terminal(&session, &findings, &TerminalOptions::default());
    assert!(text.lines().all(|line| count_columns(line) <= 80), "{text}");
    let table = text
        .lines()
        .skip_while(|line| !line.starts_with("Times the time"))
        .take_while(|line| !line.is_empty());
    assert_eq!(table.count(), 18, "a caption, a head and a line a row: {text}");
    assert!(text.lines().count() <= 33, "{}: {text}", text.lines().count());
}

#[test]
fn the_first_screen_of_four_environments_has_the_answers_and_all_kinds_of_work_in_24_lines() {
    for (name, language) in [("probe", Language::English), ("測定項目", Language::Japanese)] {
        let (session, mut findings) = make_large(16, 4);
        let probes = ["sys.mix", "proc.exec", "file.meta", "net.rr", "mem.map", "cpu.primes"];
        let rows = findings.rows.iter_mut().zip(probes.into_iter().cycle());
        rows.for_each(|(row, probe)| row.probe = probe.into());
        let text = render_terminal(&session, &findings, &TerminalOptions { language, ..Default::default() });
        assert!(text.starts_with("environm-0"), "{text}");
        assert!(!text.lines().any(|line| line.starts_with(name)), "{text}");
        assert!(text.lines().all(|line| count_columns(line) <= 80), "{text}");
        let last = text.lines().position(|line| line.starts_with(language.word("computing"))).unwrap();
        let rest = text.lines().skip(last).take_while(|line| !line.is_empty()).count();
        assert!(last + rest <= 24, "{}: {text}", last + rest);
    }
}

#[test]
fn the_first_screen_of_a_comparison_of_four_environments_answers_for_each_in_24_lines() {
    for (slower, language) in [("became slower", Language::English), ("遅くなりました", Language::Japanese)]
    {
        let record = |at: usize| {
            let (mut session, mut findings) = make_large(16, 4);
            let subjects = findings.subjects.iter().map(|name| (name.as_str(), Role::Subject));
            session.plan.targets = make_sides([("native", Role::Baseline)].into_iter().chain(subjects));
            for (number, row) in findings.rows.iter_mut().enumerate() {
                row.case = format!("case-{number}");
                row.cells.rotate_left(at);
            }
            Judged::new(session, findings)
        };
        let [old, new] = [0, 1].map(record);
        let changes = compare_records(&[&old], &[&new], 0.005);
        let [old, new] = [&[(&old, "monday.tare")], &[(&new, "tuesday.tare")]];
        let (spread, wide, width) = (0.005, false, 80);
        let (reversed, changes) = (None, &changes);
        let text = render_diff_terminal(&Diff { old, new, reversed, changes, spread, wide, width, language });
        let screen: Vec<&str> = text.lines().take(24).collect();
        assert!(screen[..2].concat().contains(slower), "{text}");
        for at in 0..4 {
            let name = format!("environm-{at}  ");
            assert_eq!(screen.iter().filter(|line| line.starts_with(&name)).count(), 1, "{text}");
        }
        assert!(screen.iter().all(|line| count_columns(line) <= 80), "{text}");
        let rows = screen.iter().filter(|line| line.starts_with("  ")).count();
        assert!((1..=16).contains(&rows), "{rows}: {text}");
    }
}

#[test]
fn a_kind_of_work_is_the_same_only_if_every_row_is() {
    let range = |changes: &[(usize, f64)], open: &[usize], absent: &[usize]| {
        let (session, mut findings) = make_large(4, 3);
        for (at, row) in findings.rows.iter_mut().enumerate() {
            row.probe = if at == 3 { "cpu.primes" } else { "sys.mix" }.into();
            let ratio = changes.iter().find(|(of, _)| *of == at).map_or(1.0, |(_, ratio)| *ratio);
            let mut found = specimen::make_comparison(100.0, ratio, 1);
            if open.contains(&at) {
                found.verdict = tare_analysis::findings::Verdict::SlowerUnconfirmed;
            }
            row.cells[0] = match absent.contains(&at) {
                true => Cell::Missing(tare_analysis::findings::Missing::NotReached),
                false => Cell::Compared(Box::new(found)),
            };
        }
        let text =
            render_terminal(&session, &findings, &TerminalOptions { width: 200, ..Default::default() });
        let line = text.lines().find(|line| line.starts_with("system calls")).unwrap();
        line.split("  ").filter(|part| !part.is_empty()).nth(1).unwrap().trim().to_owned()
    };
    assert_eq!(range(&[], &[], &[]), "same");
    assert_eq!(range(&[(1, 1.03)], &[], &[]), "at most 5 %");
    assert_eq!(range(&[(0, 5.0), (1, 9.0), (2, 7.0)], &[], &[]), "5x to 9x");
    assert_eq!(range(&[(1, 9.0)], &[], &[]), "up to 9x");
    assert_eq!(range(&[(0, 0.5), (1, 9.0)], &[], &[]), "0.5x to 9x");
    assert_eq!(range(&[(0, 5.0), (1, 9.0), (2, 57.0)], &[2], &[]), "up to 9x, 1 of 3 open");
    assert_eq!(range(&[(2, 57.0)], &[2], &[]), "at most 2 %, 1 of 3 open");
    assert_eq!(range(&[], &[], &[1]), "at most 2 %, 1 of 3 –");
    assert_eq!(range(&[(0, 57.0), (1, 57.0), (2, 57.0)], &[0, 1, 2], &[]), "3 of 3 open");
}

#[test]
fn twelve_environments_have_short_cells_in_blocks() {
    let (session, findings) = make_large(40, 12);
    let text = render_terminal(&session, &findings, &TerminalOptions::default());
    assert!(text.lines().all(|line| count_columns(line) <= 80), "{text}");
    let blocks: Vec<&str> = text.split("\n\n").filter(|block| block.contains("probe ")).collect();
    assert!(blocks.iter().all(|block| block.lines().count() <= 25), "{text}");
    for name in &findings.subjects {
        assert!(blocks.iter().any(|block| block.contains(&format!("  {name}"))), "{name}: {text}");
    }
    let is_cell = |word: &&str| word.contains('x') || ["same", "<3%"].contains(word) || word.starts_with('<');
    for line in blocks.iter().flat_map(|block| block.lines()).filter(|line| line.contains(" ms ")) {
        let cells = line.split(" ms ").nth(1).unwrap_or_default();
        assert!(cells.split_whitespace().all(|cell| is_cell(&cell)), "{line}");
    }
    assert_eq!(text.matches("10x = takes ten times as long").count(), 1);
}
