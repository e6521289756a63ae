//! Workflow commands of GitHub Actions, shown at the top of a job's page.

use tare_analysis::findings::Cell;
use tare_analysis::gate::Ruling;

use super::export::{Export, Headline, Source, Writing};
use crate::answers::outcomes::describe_outcome_of_cell;
use crate::language::Language;
use crate::number::format_count;
use crate::text::clean_text;
use crate::{gate, view, words};

pub static EXPORT: Export = Export {
    name: "github-annotations",
    summary: "lines ::error for cells that meet a --fail-if condition, ::warning for slower cells and warnings, ::notice for cells without a comparison",
    writing: Writing::Whole,
    render,
};

/// Limit on the annotations of a level that GitHub shows for one step; it drops further ones silently.
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

fn is_met(source: &Source, cell: &Headline) -> bool {
    source
        .gate
        .and_then(|gate| gate.find_answer(cell.at.0, cell.at.1))
        .is_some_and(|j| j.answer == Ruling::Trips)
}

fn title(source: &Source, cell: &Headline) -> String {
    format!("tare: {}", source.name_cell(cell.row, cell.target))
}

fn errors(source: &Source) -> Level {
    let mut all = Vec::new();
    if let Some(outcome) = source.gate.filter(|outcome| outcome.is_shut()) {
        all.push(("tare".to_owned(), gate::describe_outcome(outcome, Language::English)));
    }
    let met = source.headlines().filter(|cell| is_met(source, cell));
    all.extend(met.map(|cell| (title(source, &cell), finding(source, &cell))));
    Level("error", all)
}

/// Lists reasons for doubt first, then slower cells.
fn warnings(source: &Source) -> Level {
    let findings = source.findings;
    let about = |text: String| ("tare".to_owned(), text);
    let mut all: Vec<(String, String)> = view::make_baseline_banner(findings, Language::English)
        .into_iter()
        .chain(view::describe_early_end(findings, None, Language::English))
        .map(about)
        .collect();
    let compared = || source.headlines().filter_map(|cell| words::find_comparison(cell.cell));
    let open = compared().filter(|comparison| !comparison.answer().is_decided()).count();
    if open > 0 {
        all.push(about(format!(
            "{open} of {} could not be decided",
            format_count(compared().count(), "cell", "cells")
        )));
    }
    let slower = source.headlines().filter(|cell| {
        words::find_comparison(cell.cell).is_some_and(|c| c.answer().kind().is_slower())
            && !is_met(source, cell)
    });
    all.extend(slower.map(|cell| (title(source, &cell), finding(source, &cell))));
    Level("warning", all)
}

fn notices(source: &Source) -> Level {
    let missing =
        source.headlines().filter(|cell| matches!(cell.cell, Cell::Missing(_)) && !is_met(source, cell));
    Level("notice", missing.map(|cell| (title(source, &cell), finding(source, &cell))).collect())
}

/// Tells what a command does that the other doesn't, and what was found of its time.
fn finding(source: &Source, cell: &Headline) -> String {
    let of_cell = (cell.row, cell.target, cell.cell);
    let told = describe_outcome_of_cell(source.findings, of_cell, Language::English);
    let time = match cell.cell {
        Cell::Compared(_) => format!(
            "against {}: {} ({})",
            clean_text(&source.findings.baseline),
            words::describe_cell(cell.cell, Language::English),
            clean_text(&cell.row.case),
        ),
        Cell::Observed(_) | Cell::Missing(_) => {
            clean_text(&words::describe_cell(cell.cell, Language::English))
        }
    };
    told.into_iter().chain([time]).collect::<Vec<_>>().join(" ")
}

/// Escapes the message of a command, so that it cannot end the line.
fn data(text: &str) -> String {
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

/// Escapes a property of a command, so that it cannot end the property either.
fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}

#[cfg(test)]
mod tests {
    use tare_analysis::gate::{TargetNames, judge_findings};
    use tare_analysis::outcome::Word;

    use super::*;
    use crate::specimen;

    /// Parses a command as the runner does: level, title, message; `None` if the line is not a command.
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
        let (session, mut findings) = (specimen::make_session(3), specimen::make_findings(3));
        findings.rows[0].label = label.into();
        let targets: Vec<TargetNames> =
            findings.subjects.iter().map(|name| TargetNames::of_column(name)).collect();
        let gate = condition.map(|text| judge_findings(&findings, &targets, &[text.parse().unwrap()]));
        let source = Source { session: &session, findings: &findings, gate: gate.as_ref() };
        let text = String::from_utf8(render(&source)).unwrap();
        text.lines().map(|line| read(line).unwrap_or_else(|| panic!("no command: {line}"))).collect()
    }

    #[test]
    fn a_condition_makes_errors_of_what_is_otherwise_a_warning() {
        let of = |all: &[(String, String, String)], level: &str| all.iter().filter(|a| a.0 == level).count();
        let free = shown(None, "system call");
        assert_eq!((of(&free, "error"), of(&free, "notice")), (0, 2));
        assert!(free.iter().any(|a| a.0 == "warning" && a.1 == "tare: system call in gvisor"), "{free:?}");
        let gated = shown(Some("slower:gvisor:sys.*"), "system call");
        assert_eq!(of(&gated, "error"), 2);
        assert!(gated[0].2.starts_with("condition met: in 1 of 1 cell"));
        assert_eq!(gated[1].2, "against native: 24x (23.9 to 24.4x) (sys.getppid)");
    }

    #[test]
    fn a_command_that_is_a_side_is_named_alone() {
        let (session, mut findings) = (specimen::make_session(3), specimen::make_findings(3));
        findings.subjects.iter_mut().for_each(|name| *name = format!("./{name}"));
        findings.commands_in = Some("native".into());
        let text = render(&Source { session: &session, findings: &findings, gate: None });
        let text = String::from_utf8(text).unwrap();
        assert!(text.contains(" title=tare%3A ./gvisor::") && !text.contains("system call in ./"), "{text}");
    }

    #[test]
    fn an_outcome_that_meets_a_condition_is_named_before_the_time() {
        let (session, mut findings) = (specimen::make_session(3), specimen::make_findings(3));
        let case = findings.rows[0].case.clone();
        findings.outcomes = vec![specimen::make_outcome(&case, ["native", "gvisor"], Word::FailsOnly)];
        let text = render(&Source { session: &session, findings: &findings, gate: None });
        let text = String::from_utf8(text).unwrap();
        let told = "gvisor::gvisor alone fails: exit code 1 in 10 of 10, native 0 of 10. against native: 24x";
        assert!(text.contains(told), "{text}");
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
