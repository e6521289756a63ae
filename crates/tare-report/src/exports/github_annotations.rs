//! Workflow commands of GitHub Actions: what a job's page shows at its top.

use tare_analysis::findings::{Cell, Verdict};
use tare_analysis::gate::Answer;

use super::{Export, Headline, Source, Writing};
use crate::number::{counted, ratio, ratio_interval};
use crate::text::clean;
use crate::{gate, view, words};

pub static EXPORT: Export = Export {
    name: "github-annotations",
    summary: "lines ::error for cells that trip a gate, ::warning for slower cells and doubts, ::notice for gaps",
    writing: Writing::Whole,
    render,
};

/// GitHub shows so many annotations of a level for one step, and drops the others without a word.
const MOST_SHOWN: usize = 10;

/// A level, with its annotations: title and message.
struct Level(&'static str, Vec<(String, String)>);

fn render(source: &Source) -> Vec<u8> {
    let mut out = String::new();
    for Level(level, mut annotations) in [errors(source), warnings(source), notices(source)] {
        let more = annotations.len().saturating_sub(MOST_SHOWN - 1);
        if more > 1 {
            annotations.truncate(MOST_SHOWN - 1);
            annotations.push(("tare".into(), format!("{more} more, in the report")));
        }
        for (title, message) in annotations {
            out.push_str(&format!("::{level} title={}::{}\n", property(&title), data(&message)));
        }
    }
    out.into_bytes()
}

fn trips(source: &Source, cell: &Headline) -> bool {
    source.gate.and_then(|gate| gate.of(cell.at.0, cell.at.1)).is_some_and(|j| j.answer == Answer::Trips)
}

fn title(cell: &Headline) -> String {
    format!("tare: {} in {}", clean(&cell.row.label), clean(cell.target))
}

fn errors(source: &Source) -> Level {
    let mut all = Vec::new();
    if let Some(outcome) = source.gate.filter(|outcome| outcome.is_shut()) {
        all.push(("tare".to_owned(), gate::line(outcome)));
    }
    let tripped = source.headlines().filter(|cell| trips(source, cell));
    all.extend(tripped.map(|cell| (title(&cell), said(source, &cell))));
    Level("error", all)
}

/// What casts doubt first, then what is dear.
fn warnings(source: &Source) -> Level {
    let findings = source.findings;
    let about = |text: String| ("tare".to_owned(), text);
    let mut all: Vec<(String, String)> =
        view::banner(findings).into_iter().chain(view::ending(findings, None)).map(about).collect();
    let compared = || source.headlines().filter_map(|cell| words::comparison(cell.cell));
    let is_open =
        |verdict| matches!(verdict, Verdict::Inconclusive | Verdict::SlowerUnclear | Verdict::FasterUnclear);
    let open = compared().filter(|comparison| is_open(comparison.verdict)).count();
    if open > 0 {
        all.push(about(format!(
            "{open} of {} could not be decided",
            counted(compared().count(), "cell", "cells")
        )));
    }
    let slower = source.headlines().filter(|cell| {
        words::comparison(cell.cell).is_some_and(|c| c.verdict == Verdict::Slower) && !trips(source, cell)
    });
    all.extend(slower.map(|cell| (title(&cell), said(source, &cell))));
    Level("warning", all)
}

fn notices(source: &Source) -> Level {
    let missing =
        source.headlines().filter(|cell| matches!(cell.cell, Cell::Missing(_)) && !trips(source, cell));
    Level("notice", missing.map(|cell| (title(&cell), said(source, &cell))).collect())
}

fn said(source: &Source, cell: &Headline) -> String {
    match cell.cell {
        Cell::Compared(c) => format!(
            "{} of {}, {} {} ({})",
            ratio(c.ratio),
            clean(&source.findings.baseline),
            ratio_interval(c.low, c.high, c.ratio),
            words::verdict(c.verdict),
            clean(&cell.row.case),
        ),
        Cell::Observed(_) => "observed and not judged".into(),
        Cell::Missing(missing) => match words::missing(missing) {
            (word, Some(reason)) => format!("{word}: {}", clean(reason)),
            (word, None) => word.to_owned(),
        },
    }
}

/// The message of a command: what would end the line is escaped.
fn data(text: &str) -> String {
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

/// A property of a command: what would end the property as well.
fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}

#[cfg(test)]
mod tests {
    use tare_analysis::gate::{TargetNames, judge};

    use super::*;
    use crate::specimen;

    /// Reads a command as the runner does: level, title, message; none where the line is no command.
    fn read(line: &str) -> Option<(String, String, String)> {
        let (command, message) = line.strip_prefix("::")?.split_once("::")?;
        let (level, properties) = command.split_once(' ')?;
        let mut properties = properties.split(',');
        let title = properties.next()?.strip_prefix("title=")?;
        assert_eq!(properties.next(), None, "{line}");
        let plain = |text: &str| {
            let text = text.replace("%2C", ",").replace("%3A", ":");
            text.replace("%0A", "\n").replace("%0D", "\r").replace("%25", "%")
        };
        Some((level.to_owned(), plain(title), plain(message)))
    }

    fn shown(condition: Option<&str>, label: &str) -> Vec<(String, String, String)> {
        let (session, mut findings) = (specimen::session(3), specimen::findings(3));
        findings.rows[0].label = label.into();
        let targets: Vec<TargetNames> =
            findings.subjects.iter().map(|name| TargetNames { name, specification: name }).collect();
        let gate = condition.map(|text| judge(&findings, &targets, &[text.parse().unwrap()]));
        let source = Source { session: &session, findings: &findings, gate: gate.as_ref() };
        let text = String::from_utf8(render(&source)).unwrap();
        text.lines().map(|line| read(line).unwrap_or_else(|| panic!("no command: {line}"))).collect()
    }

    #[test]
    fn a_gate_makes_errors_of_what_else_is_a_warning() {
        let of = |all: &[(String, String, String)], level: &str| all.iter().filter(|a| a.0 == level).count();
        let free = shown(None, "system call");
        assert_eq!((of(&free, "error"), of(&free, "notice")), (0, 2));
        assert!(free.iter().any(|a| a.0 == "warning" && a.1 == "tare: system call in gvisor"), "{free:?}");
        let gated = shown(Some("slower:gvisor:sys.*"), "system call");
        assert_eq!(of(&gated, "error"), 2);
        assert!(gated[0].2.starts_with("gate shut: 1 of 1 cell trips it"));
        assert_eq!(gated[1].2, "24.1x of native, [23.9, 24.4] slower (sys.getppid)");
    }

    #[test]
    fn no_level_has_more_than_are_shown() {
        let all = shown(Some("slower"), "system call");
        for level in ["error", "warning", "notice"] {
            assert!(all.iter().filter(|a| a.0 == level).count() <= MOST_SHOWN);
        }
        assert!(all.iter().any(|a| a.2.ends_with("more, in the report")), "{all:?}");
    }

    #[test]
    fn a_label_ends_neither_the_property_nor_the_line() {
        let hostile = "50 %: a,b\n::error title=x::y";
        let all = shown(Some("slower:gvisor:sys.*"), hostile);
        // A line break is taken out before it can be escaped.
        assert_eq!(all[1].1, "tare: 50 %: a,b\u{fffd}::error title=x::y in gvisor");
        assert_eq!(data("100 %\r\n"), "100 %25%0D%0A");
        assert_eq!(property("a:b,c%"), "a%3Ab%2Cc%25");
    }
}
