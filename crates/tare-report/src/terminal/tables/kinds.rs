//! The table of kinds of work: in a cell the range of the answers of its rows, for a first look at several environments.

use std::ops::Range;

use anstyle::Style;
use tare_analysis::findings::{Cell, Comparison, Family, Findings, Kind, Row};

use super::cells::quiet_style;
use crate::answers::signs::{Sign, list_signs};
use crate::answers::table::answer_words;
use crate::language::{Language, message, say};
use crate::notes::Notes;
use crate::terminal::grid::{GridCell, Part, least_width, make_span, natural_width, render_row, total_width};
use crate::text::{GLUE, clean_text};
use crate::words::{NOT_COMPARED, Said, describe_missing, find_loosest};

/// Environments from which on kinds of work come first: the rows of fewer are taken in at a glance.
const FEWEST_ENVIRONMENTS: usize = 3;
/// Reasons for which one cell refers to notes.
const MOST_REASONS: usize = 3;

/// Rows of one kind of work, with its name.
pub type WorkKind<'a> = (&'static str, Vec<&'a Row>);

/// Returns the name of the kind of work that a probe is about.
fn name_kind(probe: &str) -> &'static str {
    match Family::from_probe(probe) {
        Family::SystemCall | Family::Ipc | Family::Time => message!("system calls"),
        Family::Process | Family::Start => message!("programs"),
        Family::File => message!("files"),
        Family::Network => message!("network"),
        Family::Memory => message!("memory"),
        Family::Cpu => message!("computing"),
        Family::Other => message!("other"),
    }
}

/// Groups rows by kinds of work; none where there are few environments, or nothing that kinds would shorten.
pub fn group_rows<'a>(findings: &Findings, rows: &[&'a Row]) -> Option<Vec<WorkKind<'a>>> {
    let mut kinds: Vec<WorkKind> = Vec::new();
    for row in rows.iter().copied() {
        let name = name_kind(&row.probe);
        match kinds.iter_mut().find(|(known, _)| *known == name) {
            Some((_, rows)) => rows.push(row),
            None => kinds.push((name, vec![row])),
        }
    }
    let is_shorter = kinds.len() > 1 && kinds.len() < rows.len();
    (is_shorter && findings.subjects.len() >= FEWEST_ENVIRONMENTS).then_some(kinds)
}

/// Renders the table, or several below each other, each a list of lines. `notes` take the reasons of cells without any answer.
pub fn render_kinds(
    findings: &Findings,
    kinds: &[WorkKind],
    notes: &mut Notes,
    (width, coloured): (usize, bool),
    language: Language,
) -> Vec<Vec<String>> {
    let words = |text: &str, style| -> GridCell { vec![Part::Words(make_span(text, style))] };
    let names = kinds.iter().map(|(name, _)| words(language.word(name), Style::new()));
    let heading = words(language.word("kind of work"), Style::new().bold());
    let labels: Vec<GridCell> = std::iter::once(heading).chain(names).collect();
    // Notes are numbered in the order of reading.
    let mut line_of = |rows: &[&Row]| -> Vec<GridCell> {
        let cells =
            (0..findings.subjects.len()).map(|at| summarise_cells(findings, rows, at, notes, language));
        cells.map(|(text, style)| words(&text, style)).collect()
    };
    let lines: Vec<Vec<GridCell>> = kinds.iter().map(|(_, rows)| line_of(rows)).collect();
    let column = |(at, name): (usize, &String)| {
        let heading = words(&clean_text(name), Style::new().bold());
        std::iter::once(heading).chain(lines.iter().map(|line| line[at].clone())).collect()
    };
    let subjects: Vec<Vec<GridCell>> = findings.subjects.iter().enumerate().map(column).collect();
    let all = subjects.len();
    let widths = |range: Range<usize>, of: fn(&GridCell) -> usize| -> Vec<usize> {
        let columns = std::iter::once(&labels).chain(&subjects[range]);
        columns.map(|cells| cells.iter().map(of).max().unwrap_or(0)).collect()
    };
    let split = |tables: usize| {
        let each = all.div_ceil(tables).max(1);
        (0..all).step_by(each).map(move |from| from..(from + each).min(all)).collect::<Vec<_>>()
    };
    let fits = |range: &Range<usize>| total_width(&widths(range.clone(), least_width)) <= width;
    let tables = (1..=all).map(split).find(|ranges| ranges.iter().all(fits)).unwrap_or_else(|| split(all));
    let render = |range: Range<usize>| -> Vec<String> {
        let least = widths(range.clone(), least_width);
        let mut widths = widths(range.clone(), natural_width);
        // The widest column gives way first.
        while total_width(&widths) > width {
            let wider = (0..widths.len()).filter(|at| widths[*at] > least[*at]);
            let Some(at) = wider.max_by_key(|at| widths[*at]) else { break };
            widths[at] -= 1;
        }
        let line = |at: usize| {
            let cells = std::iter::once(&labels).chain(&subjects[range.clone()]);
            render_row(&cells.map(|column| column[at].clone()).collect::<Vec<_>>(), &widths, coloured)
        };
        (0..labels.len()).flat_map(line).collect()
    };
    tables.into_iter().map(render).collect()
}

/// Explains a cell.
pub fn explain_kinds(language: Language) -> String {
    language
        .word("a cell is the range of all rows of its kind, which tare report --wide shows; open = not sure; – = not compared")
        .to_owned()
}

/// Says the range of the answers of rows in an environment, and in how many there is none: `same`, `5x to 9x`, `up to 118x, 2 of 5
/// open`. A dash has the marks of its reasons.
fn summarise_cells(
    findings: &Findings,
    rows: &[&Row],
    target: usize,
    notes: &mut Notes,
    language: Language,
) -> (String, Style) {
    let compared: Vec<&Comparison> =
        rows.iter().filter_map(|row| row.cells.get(target).and_then(Cell::comparison)).collect();
    let (open, known): (Vec<&Comparison>, Vec<&Comparison>) =
        compared.iter().partition(|found| found.answer().kind() == Kind::NotSure);
    let missing = rows.len() - compared.len();
    if compared.is_empty() {
        return (NOT_COMPARED.to_owned() + &mark_reasons(rows, target, notes, language), quiet_style());
    }
    let signs = compared.iter().flat_map(|found| list_signs(findings, target, found)).collect::<Vec<_>>();
    let signs = Sign::ALL.into_iter().filter(|sign| signs.contains(sign)).map(Sign::character);
    let range = say_range(&known, open.len() + missing == 0, language);
    let whole = range.map(|range| range + &signs.collect::<String>());
    let count = |count: usize| {
        say!(language, "{count} of {all}", count, all = rows.len()).replace(' ', &GLUE.to_string())
    };
    let of_open = (!open.is_empty()).then(|| say!(language, "{count} open", count = count(open.len())));
    let of_missing = (missing > 0).then(|| format!("{} {NOT_COMPARED}", count(missing)));
    let parts: Vec<String> = whole.into_iter().chain(of_open).chain(of_missing).collect();
    let worst = known.iter().max_by(|a, b| a.ratio.total_cmp(&b.ratio)).or(open.first());
    let style = worst.map_or_else(quiet_style, |found| answer_words(found.answer().kind()).colour.terminal);
    (language.join_with_commas(&parts), style)
}

/// Lists the marks of the reasons why rows have no answer in an environment.
fn mark_reasons(rows: &[&Row], target: usize, notes: &mut Notes, language: Language) -> String {
    let mut reasons: Vec<String> = Vec::new();
    for cell in rows.iter().filter_map(|row| row.cells.get(target)) {
        let Cell::Missing(missing) = cell else { continue };
        let reason = describe_missing(missing, language);
        if !reasons.contains(&reason) {
            reasons.push(reason);
        }
    }
    let marks: Vec<String> = reasons.iter().take(MOST_REASONS).map(|reason| notes.add_note(reason)).collect();
    marks.join("·")
}

/// Says from where to where answers reach that are known; none where there are none. Only `are_all` of a kind may be the same.
fn say_range(known: &[&Comparison], are_all: bool, language: Language) -> Option<String> {
    let is = |wanted: fn(Kind) -> bool| known.iter().copied().filter(move |of| wanted(of.answer().kind()));
    let say = |found: &Comparison| Said::of_comparison(found).without_reach(language);
    // The lower end of "over 3x" is what is known.
    let factor = |of: &Comparison| match of.answer().kind() {
        Kind::AtLeast => of.interval.ends(f64::from)[0],
        _ => of.ratio,
    };
    let by_factor = |a: &&Comparison, b: &&Comparison| factor(a).total_cmp(&factor(b));
    let (least, most) = (is(Kind::is_slower).min_by(by_factor), is(Kind::is_slower).max_by(by_factor));
    let is_faster = |kind: Kind| kind == Kind::Faster;
    let (fastest, least_fast) = (is(is_faster).min_by(by_factor), is(is_faster).max_by(by_factor));
    let all_slower = is(Kind::is_slower).count() == known.len() && are_all;
    let loosest = || {
        let share = find_loosest(is(|kind| kind != Kind::Faster))?.share_above();
        Some(match are_all && is(|kind| kind == Kind::Same).count() == known.len() {
            true => language.word("same").to_owned(),
            false => say!(language, "at most {share}", share),
        })
    };
    let high = most.map(say).or_else(loosest).or_else(|| least_fast.map(say));
    match (fastest.map(say).or_else(|| least.filter(|_| all_slower).map(say)), high) {
        (Some(low), Some(high)) if low != high => Some(say!(language, "{low} to {high}", low, high)),
        (Some(low), _) => Some(low),
        (None, Some(high)) if most.is_some_and(|of| of.answer().kind() == Kind::AtLeast) => {
            Some(say!(language, "some {high}", high))
        }
        (None, Some(high)) if most.is_some() => Some(say!(language, "up to {high}", high)),
        (None, high) => high,
    }
}

#[cfg(test)]
mod tests {
    use tare_analysis::findings::{Interval, Missing};

    use super::*;
    use crate::specimen;

    fn range(known: &[Comparison], are_all: bool) -> String {
        say_range(&known.iter().collect::<Vec<_>>(), are_all, Language::English).unwrap_or_default()
    }

    fn make(ratio: f64) -> Comparison {
        specimen::make_comparison(100.0, ratio, 1)
    }

    /// Makes a comparison that is known to be beyond a factor alone, wherever its estimate is.
    fn make_beyond(low: f64, ratio: f64) -> Comparison {
        Comparison { interval: Interval::new(low, f64::INFINITY), ..make(ratio) }
    }

    #[test]
    fn a_range_of_faster_rows_has_both_ends() {
        assert_eq!(range(&[make(0.5), make(0.9)], true), "0.5x to 0.9x");
        assert_eq!(range(&[make(0.5)], true), "0.5x");
        assert_eq!(range(&[make(0.5), make(0.9), make(1.0)], true), "0.5x to at most 2 %");
    }

    #[test]
    fn an_unknown_size_counts_as_its_lower_end() {
        let of = |low| [make(2.0), make(5.0), make_beyond(low, 41.0)];
        assert_eq!([range(&of(3.0), true), range(&of(3.0), false)], ["2x to 5x", "up to 5x"]);
        assert_eq!([range(&of(8.0), true), range(&of(8.0), false)], ["2x to over 8x", "some over 8x"]);
    }

    #[test]
    fn a_dash_has_its_reasons_below_the_table() {
        let mut findings = specimen::make_findings(3);
        findings.rows.iter_mut().for_each(|row| row.cells[2] = Cell::Missing(Missing::NotReached));
        let rows: Vec<&Row> = findings.rows.iter().filter(|row| row.headline).collect();
        let mut notes = Notes::default();
        let kinds = group_rows(&findings, &rows).unwrap();
        let lines = render_kinds(&findings, &kinds, &mut notes, (100, false), Language::English).concat();
        let of = |name: &str| lines.iter().find(|line| line.starts_with(name)).unwrap().clone();
        assert!(of("system calls").ends_with(" –¹") && of("files").contains(" –² "), "{lines:?}");
        let (listed, _) = notes.list_notes();
        let reasons: Vec<&str> = listed.iter().map(|(_, reason)| *reason).collect();
        assert_eq!(
            reasons,
            [
                "not measured: the session ended before it",
                "not comparable: fsync costs nothing in this place: memory overlay"
            ]
        );
    }
}
