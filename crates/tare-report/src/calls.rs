//! Calls of a command in a sentence: the time of one and its parts, what entering adds, and the factor last.

use tare_analysis::findings::{Findings, Row};
use tare_data::unit::Unit;

use crate::language::{Language, say};
use crate::number::Figure;
use crate::text::clean_text;
use crate::words;

/// The probe of calls, and the names of its metrics.
const PROBE: &str = "env.call";
const CALL: &str = "call";
const PARTS: [&str; 3] = ["enter", "command", "leave"];
/// Calls of an hour: a coding agent makes some hundred.
const CALLS: f64 = 100.0;

/// Describes the calls of an environment, if the session has any of one at a time.
pub fn describe_calls(findings: &Findings, subject: usize, language: Language) -> Option<String> {
    let row = findings.rows.iter().find(|row| is_call(row, CALL))?;
    let comparison = row.cells.get(subject)?.comparison()?;
    let baseline = row.baseline.as_ref()?.median;
    let time = |ns: f64| Figure::without_interval(ns, Unit::Nanoseconds).to_text();
    let (name, count) = (clean_text(&findings.baseline), format!("{CALLS:.0}"));
    let cost = |ratio: f64| baseline * (ratio - 1.0);
    let ([least, most], more) = (comparison.interval.ends(cost), cost(comparison.ratio));
    let factor = words::format_factor(comparison, language);
    let price = match () {
        () if !comparison.interval.is_bounded() => None,
        () if least > 0.0 => Some(say!(
            language,
            "Entering adds {more} ({least} to {most}) to the {base} in {baseline}: {hour} in an hour of {count} calls, {factor}.",
            more = time(more),
            least = time(least),
            most = time(most),
            base = time(baseline),
            baseline = name,
            hour = time(more * CALLS),
            count,
            factor
        )),
        () if most < 0.0 => Some(say!(
            language,
            "That is {less} ({least} to {most}) less than in {baseline}, {factor}.",
            less = time(-more),
            least = time(-most),
            most = time(-least),
            baseline = name,
            factor
        )),
        () => Some(say!(
            language,
            "That differs from the {base} in {baseline} by less than {most}.",
            base = time(baseline),
            baseline = name,
            most = time(most.max(-least))
        )),
    };
    let part = |metric: &str| {
        let row = findings.rows.iter().find(|other| other.case == row.case && is_call(other, metric))?;
        // A part of no time in the baseline has no ratio.
        Some(row.cells.get(subject)?.level()?.median)
    };
    let call = words::format_value(row, comparison);
    let division = match (PARTS.map(part), row.scale_baseline(comparison.ratio)) {
        ([Some(enter), Some(command), Some(leave)], Some(whole)) => {
            // Each is typical by itself: scaled to their sum, they are parts of the call beside them.
            let of_whole = |part: f64| time(whole * part / (enter + command + leave));
            say!(
                language,
                "A call takes {call}: enter {enter}, command {command}, leave {leave}.",
                call,
                enter = of_whole(enter),
                command = of_whole(command),
                leave = of_whole(leave)
            )
        }
        _ => say!(language, "A call takes {call}.", call),
    };
    Some(language.join_sentences(&[division].into_iter().chain(price).collect::<Vec<_>>()))
}

fn is_call(row: &Row, metric: &str) -> bool {
    // Several at once are another case, of which the last one counts.
    row.probe == PROBE && row.metric.name == metric && !row.label.contains("at once")
}

#[cfg(test)]
mod tests {
    use tare_analysis::findings::{Cell, Missing};

    use super::*;
    use crate::specimen;

    /// Builds findings of calls that take 2 ms natively, and this many times as much.
    fn calls(ratio: f64) -> Findings {
        let mut findings = specimen::make_findings(1);
        findings.rows.truncate(4);
        for (row, name) in findings.rows.iter_mut().zip([CALL, PARTS[0], PARTS[1], PARTS[2]]) {
            (row.case, row.probe, row.label) = ("env.call".into(), PROBE.into(), "call".into());
            row.metric.name = name.into();
            row.baseline = Some(specimen::make_level(2e6, 1));
            row.cells = vec![Cell::Compared(Box::new(specimen::make_comparison(2e6, ratio, 1)))];
        }
        findings
    }

    #[test]
    fn a_call_has_its_parts_then_a_price_and_last_a_factor() {
        let text = describe_calls(&calls(10.0), 0, Language::English).unwrap();
        assert!(text.starts_with("A call takes 20.") && text.contains(" ms: enter "), "{text}");
        assert!(
            text.contains("Entering adds 18.") && text.contains(" to the 2.00 ms in native: 1.8"),
            "{text}"
        );
        assert!(text.contains(" s in an hour of 100 calls, 10"), "{text}");
        let faster = describe_calls(&calls(0.5), 0, Language::English).unwrap();
        assert!(faster.contains(" less than in native, 0.5"), "{faster}");
    }

    #[test]
    fn a_part_that_takes_no_time_in_the_baseline_is_told_and_all_parts_are_those_of_the_call() {
        let mut findings = calls(10.0);
        let level = specimen::make_level(2e7, 1);
        let reason = "a value of zero or less has no ratio".into();
        findings.rows[3].cells = vec![Cell::Missing(Missing::NotComparable { reason, level })];
        for row in &mut findings.rows[1..3] {
            row.cells = vec![Cell::Observed(specimen::make_level(2e7, 1))];
        }
        let text = describe_calls(&findings, 0, Language::English).unwrap();
        assert!(
            text.contains("enter 6.6") && text.contains("command 6.6") && text.contains("leave 6.6"),
            "{text}"
        );
    }

    #[test]
    fn a_session_without_calls_has_no_such_sentence() {
        assert_eq!(describe_calls(&specimen::make_findings(1), 0, Language::English), None);
    }
}
