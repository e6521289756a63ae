//! Snapshots of the terminal in Japanese, and tests that wide characters stay within their columns.

use insta::assert_snapshot;
use tare_analysis::findings::{Findings, Kind};

use super::ladder;
use super::tests::is_word;
use super::*;
use crate::answers::table::answer_words;
use crate::specimen;

fn options(width: usize) -> TerminalOptions<'static> {
    TerminalOptions {
        width,
        record: Some("tare-2026-11-21T20-41.tare"),
        html: Some("tare-2026-11-21T20-41.html"),
        again: Some("tare run quick --seed 7f3a91c2 --in native,container,gvisor,wsl2-like"),
        language: Language::Japanese,
        ..TerminalOptions::default()
    }
}

fn shown(targets: usize, options: &TerminalOptions) -> String {
    render_terminal(&specimen::make_session(targets), &specimen::make_findings(targets), options)
}

/// Builds the findings of a user command, with its processor times.
fn own_command() -> Findings {
    let mut findings = specimen::make_findings(3);
    findings.rows.truncate(3);
    for (row, metric) in findings.rows.iter_mut().zip(["time", "user", "system"]) {
        row.probe = "user.make".into();
        row.case = "user.make?command=x".into();
        row.label = "make -j4".into();
        row.metric.name = metric.into();
        row.headline = metric == "time";
    }
    findings
}

fn climbed(width: usize) -> String {
    let steps = ["mount namespace", "network namespace", "system call filter"].map(str::to_owned);
    let (session, findings) = (specimen::make_session(3), specimen::make_findings(3));
    ladder::render_ladder(&session, &findings, (&steps, &[]), (width, false), Language::Japanese)
}

#[test]
fn the_table_with_its_sentences() {
    assert_snapshot!(shown(3, &options(80)));
}

#[test]
fn the_wide_table() {
    assert_snapshot!(shown(2, &TerminalOptions { wide: true, ..options(80) }));
}

#[test]
fn a_command_of_ones_own() {
    assert_snapshot!(render_terminal(&specimen::make_session(3), &own_command(), &options(80)));
}

#[test]
fn a_ladder() {
    assert_snapshot!(climbed(80));
}

/// Counts the columns that are blank in every line of a table, where two or more are adjacent.
fn gaps(lines: &[&str]) -> usize {
    let mut used = Vec::new();
    for line in lines {
        let mut at = 0;
        for c in line.chars() {
            let width = count_columns(&c.to_string());
            used.resize(used.len().max(at + width), false);
            used[at..at + width].iter_mut().for_each(|column| *column |= c != ' ');
            at += width;
        }
    }
    let text: String = used.iter().map(|used| if *used { 'x' } else { ' ' }).collect();
    text.trim().split("  ").filter(|part| !part.trim().is_empty()).count() - 1
}

#[test]
fn columns_stand_below_each_other() {
    for (targets, width) in [(1, 68), (3, 80), (3, 120), (6, 150)] {
        let text = shown(targets, &options(width));
        let (name, columns) =
            if targets < 3 { ("測定項目", targets + 1) } else { ("仕事の種類", targets) };
        let head = text.lines().position(|line| line.starts_with(name)).unwrap();
        let lines: Vec<&str> = text.lines().skip(head).take_while(|line| !line.is_empty()).collect();
        assert_eq!(gaps(&lines), columns, "{text}");
    }
}

#[test]
fn no_line_is_wider_than_asked() {
    for width in [40, 68, 80, 120] {
        for targets in 0..7 {
            for wide in [false, true] {
                let text = shown(targets, &TerminalOptions { wide, ..options(width) });
                let lines = text.lines().filter(|line| !is_word(line));
                let widest = lines.map(count_columns).max().unwrap_or(0);
                assert!(widest <= width.max(NARROWEST), "{width}: {text}");
            }
        }
        let text = render_terminal(&specimen::make_session(3), &own_command(), &options(width));
        assert!(text.lines().all(|line| count_columns(line) <= width.max(80)), "{width}: {text}");
    }
}

#[test]
fn every_answer_has_its_own_word() {
    let word = |answer: Kind| Language::Japanese.word(answer_words(answer).word);
    let words: std::collections::BTreeSet<_> = Kind::ALL.map(word).into();
    assert_eq!(words.len(), Kind::ALL.len(), "{words:?}");
}
