//! Injected costs and the share of them that a session found, as a table.

use std::fmt::Write;

use tare_analysis::findings::Kind;
use tare_analysis::selftest::{Injected, Proportion};

use crate::answers::table::answer_words;
use crate::number::{format_duration, format_fixed};
use crate::text::wrap_text;

/// Renders a table with a row for each share, the smallest first, and explains its columns.
pub fn render_selftest_terminal(injected: &[Injected], width: usize) -> String {
    let head = [
        "injected",
        "cells",
        "seen as slower",
        "seen as faster",
        "interval has it",
        "found after",
        "answers",
    ];
    let mut rows: Vec<Vec<String>> = vec![head.map(str::to_owned).to_vec()];
    rows.extend(injected.iter().map(row));
    let widths: Vec<usize> =
        (0..head.len()).map(|at| rows.iter().map(|row| row[at].chars().count()).max().unwrap_or(0)).collect();
    let mut text = String::new();
    for row in &rows {
        let cells = row.iter().zip(&widths).map(|(cell, width)| format!("{cell:<width$}"));
        let _ = writeln!(text, "{}", cells.collect::<Vec<_>>().join("  ").trim_end());
    }
    text.push('\n');
    let meaning = "Every environment here is the baseline again, slower on purpose by the share in the first column. At \
                   0 %, slower and faster are both false; elsewhere faster is false, and slower is true. [ ] = 95 % \
                   confidence interval of the share of cells. Found after: seconds of trials on both sides until half \
                   of the cells seen as slower were.";
    for line in wrap_text(meaning, width) {
        let _ = writeln!(text, "{line}");
    }
    text
}

fn row(of: &Injected) -> Vec<String> {
    vec![
        format!("{} %", percent(of.share)),
        of.cells.to_string(),
        proportion(of.slower),
        proportion(of.faster),
        proportion(of.covered),
        of.seconds.map_or_else(String::new, format_duration),
        list_answers(of),
    ]
}

/// Lists the answers of cells in the words of every table.
fn list_answers(of: &Injected) -> String {
    let counted =
        Kind::ALL.into_iter().filter_map(|kind| Some((of.answers.get(kind.name())?, answer_words(kind))));
    counted.map(|(count, words)| format!("{count} {}", words.word)).collect::<Vec<_>>().join(", ")
}

/// Formats a count and the interval of its share as `3 [1, 8 %]`.
fn proportion(of: Proportion) -> String {
    format!("{} [{}, {} %]", of.count, percent(of.low), percent(of.high))
}

fn percent(share: f64) -> String {
    let percent = share * 100.0;
    format_fixed(percent, usize::from(percent < 10.0 && percent.fract() != 0.0))
}
