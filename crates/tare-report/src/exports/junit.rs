//! JUnit XML: a test case for each headline cell, for the test views of forges and build servers.

use std::fmt::Write;

use tare_analysis::findings::Cell;
use tare_analysis::gate::{Judged, Ruling};

use super::export::{Export, Headline, Source, Writing};
use crate::answers::outcomes::describe_outcome_of_cell;
use crate::language::Language;
use crate::number::Figure;
use crate::text::clean_text;
use crate::words;

pub static EXPORT: Export = Export {
    name: "junit",
    summary: "JUnit XML, a test case for each cell: failed where a --fail-if condition is met, an error where it shuts the gate undecided, skipped where there is no comparison",
    writing: Writing::Whole,
    render,
};

enum Result {
    Passed,
    /// The reason, in one line.
    Failed(String),
    /// It shuts the gate without meeting a condition.
    Error(String),
    Skipped(String),
}

/// Writes a suite for each environment. Without --fail-if nothing fails: a slowdown is a finding, not a
/// fault.
fn render(source: &Source) -> Vec<u8> {
    let cells: Vec<(Headline, Result)> =
        source.headlines().map(|cell| (cell, result(source, &cell))).collect();
    let mut xml = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    let name = attribute(&format!("tare {}", source.session.plan.study));
    // The schema of Jenkins' xUnit plugin allows no `skipped` here.
    let (all, _) = counts(cells.iter());
    let _ = writeln!(xml, "<testsuites name=\"{name}\" {all}>");
    for (at, target) in source.findings.subjects.iter().enumerate() {
        let of_target = || cells.iter().filter(|(cell, _)| cell.at.1 == at);
        let (all, skipped) = counts(of_target());
        let _ = writeln!(
            xml,
            "  <testsuite name=\"{}\" {all} skipped=\"{skipped}\" timestamp=\"{}\">",
            attribute(target),
            attribute(&source.session.header.started)
        );
        of_target().for_each(|(cell, result)| test_case(&mut xml, source, cell, result));
        xml.push_str("  </testsuite>\n");
    }
    xml.push_str("</testsuites>\n");
    xml.into_bytes()
}

/// Counts cells, failed ones and errors for the attributes, and the skipped ones.
fn counts<'a, 'b: 'a>(cells: impl Iterator<Item = &'a (Headline<'b>, Result)>) -> (String, usize) {
    let (mut tests, mut failures, mut errors, mut skipped) = (0, 0, 0, 0);
    for (_, result) in cells {
        tests += 1;
        failures += usize::from(matches!(result, Result::Failed(_)));
        errors += usize::from(matches!(result, Result::Error(_)));
        skipped += usize::from(matches!(result, Result::Skipped(_)));
    }
    (format!("tests=\"{tests}\" failures=\"{failures}\" errors=\"{errors}\""), skipped)
}

fn result(source: &Source, cell: &Headline) -> Result {
    let judged = source
        .gate
        .and_then(|gate| gate.find_answer(cell.at.0, cell.at.1).filter(|judged| gate.is_shut_by(judged)));
    match judged {
        Some(Judged { answer: Ruling::Trips, condition, .. }) => {
            Result::Failed(format!("{condition}: {}", finding(source, cell)))
        }
        Some(Judged { condition, .. }) => {
            Result::Error(format!("{condition} could not be decided: {}", finding(source, cell)))
        }
        None if words::find_comparison(cell.cell).is_none() => Result::Skipped(finding(source, cell)),
        None => Result::Passed,
    }
}

/// Describes a finding in one line: what a command does otherwise, then its time.
fn finding(source: &Source, cell: &Headline) -> String {
    let of_cell = (cell.row, cell.target, cell.cell);
    let told = describe_outcome_of_cell(source.findings, of_cell, Language::English);
    told.into_iter().chain([describe_time(source, cell)]).collect::<Vec<_>>().join(" ")
}

fn describe_time(source: &Source, cell: &Headline) -> String {
    match cell.cell {
        Cell::Observed(level) => {
            let value = Figure::without_interval(level.median, cell.row.metric.unit).to_text();
            format!("{value}, {}", words::describe_cell(cell.cell, Language::English))
        }
        Cell::Compared(_) => {
            format!(
                "against {}: {}",
                clean_text(&source.findings.baseline),
                words::describe_cell(cell.cell, Language::English)
            )
        }
        Cell::Missing(_) => clean_text(&words::describe_cell(cell.cell, Language::English)),
    }
}

fn test_case(xml: &mut String, source: &Source, cell: &Headline, result: &Result) {
    // A command that is a side is the name, in the environment of all.
    let (class, name) = match &source.findings.commands_in {
        None => (cell.target, cell.row.label.as_str()),
        Some(environment) => (environment.as_str(), cell.target),
    };
    let (class, name, case) = (attribute(class), attribute(name), attribute(&cell.row.case));
    let _ = writeln!(xml, "    <testcase classname=\"{class}\" name=\"{name} ({case})\">");
    let _ = match result {
        Result::Passed => Ok(()),
        Result::Failed(why) => writeln!(xml, "      <failure message=\"{}\"/>", attribute(why)),
        Result::Error(why) => writeln!(xml, "      <error message=\"{}\"/>", attribute(why)),
        Result::Skipped(why) => writeln!(xml, "      <skipped message=\"{}\"/>", attribute(why)),
    };
    let _ = writeln!(xml, "      <system-out>{}</system-out>", attribute(&finding(source, cell)));
    xml.push_str("    </testcase>\n");
}

/// Escapes a text for an attribute or an element.
fn attribute(text: &str) -> String {
    let mut out = String::new();
    for c in clean_text(text).chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            // XML 1.0 has no place for these, escaped or not.
            '\u{fffe}' | '\u{ffff}' => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use tare_analysis::gate::{TargetNames, judge_findings};
    use tare_analysis::outcome::Word;

    use super::*;
    use crate::specimen;

    fn shown(condition: Option<&str>) -> String {
        let (session, findings) = (specimen::make_session(3), specimen::make_findings(3));
        let targets: Vec<TargetNames> =
            findings.subjects.iter().map(|name| TargetNames::of_column(name)).collect();
        let gate = condition.map(|text| judge_findings(&findings, &targets, &[text.parse().unwrap()]));
        let source = Source { session: &session, findings: &findings, gate: gate.as_ref() };
        String::from_utf8(render(&source)).unwrap()
    }

    #[test]
    fn a_slowdown_fails_nothing_without_a_condition() {
        let plain = shown(None);
        assert!(
            plain.contains("<testsuites name=\"tare quick\" tests=\"21\" failures=\"0\" errors=\"0\">"),
            "{plain}"
        );
        assert_eq!(plain.matches("<testsuite name=").count(), plain.matches(" skipped=\"").count());
        let gated = shown(Some("slower:gvisor>10"));
        assert_eq!(gated.matches("<failure").count(), 3);
        assert!(
            gated.contains("message=\"slower:gvisor&gt;10: against native: 24x (23.9 to 24.4x)\""),
            "{gated}"
        );
        assert!(gated.contains("<skipped message=\"not comparable: emulated processor (TCG)"), "{gated}");
        assert_eq!(shown(Some("missing")).matches("<failure").count(), 2);
        let undecided = shown(Some("slower:container"));
        assert!(undecided.matches("<error message=\"slower:container could not be decided: ").count() > 0);
        let errors = undecided.matches("<error ").count();
        assert!(undecided.contains(&format!("failures=\"0\" errors=\"{errors}\">")), "{undecided}");
    }

    #[test]
    fn a_command_that_differs_fails_by_what_it_does() {
        let (session, mut findings) = (specimen::make_session(1), specimen::make_findings(1));
        let case = findings.rows[0].case.clone();
        findings.outcomes = vec![specimen::make_outcome(&case, ["native", "container"], Word::FailsOnly)];
        let targets = [TargetNames::of_column("container")];
        let gate = judge_findings(&findings, &targets, &["differs".parse().unwrap()]);
        let xml = render(&Source { session: &session, findings: &findings, gate: Some(&gate) });
        let xml = String::from_utf8(xml).unwrap();
        let told = "<failure message=\"differs: container alone fails: exit code 1 in 10 of 10, native 0 of 10. against native: same";
        assert!(xml.contains(told), "{xml}");
    }

    #[test]
    fn a_command_that_is_a_side_is_the_name_of_its_test() {
        let (session, mut findings) = (specimen::make_session(1), specimen::make_findings(1));
        (findings.subjects[0], findings.commands_in) = ("./new".into(), Some("native".into()));
        let xml = render(&Source { session: &session, findings: &findings, gate: None });
        let xml = String::from_utf8(xml).unwrap();
        assert!(xml.contains("classname=\"native\" name=\"./new ("), "{xml}");
    }

    #[test]
    fn the_document_keeps_its_shape() {
        insta::assert_snapshot!(shown(Some("slower:gvisor:sys.*")));
    }
}
