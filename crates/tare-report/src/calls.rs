//! Calls of a command in a sentence: the price of an hour with many of them, and the parts of one.

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
    let hour = |ns: f64| time(ns * CALLS);
    let (name, count) = (clean_text(&findings.baseline), format!("{CALLS:.0}"));
    let cost = |ratio: f64| baseline * (ratio - 1.0);
    let ([least, most], more) = (comparison.interval.ends(cost), cost(comparison.ratio));
    let is_known = comparison.interval.is_bounded();
    let price = match () {
        () if !is_known => None,
        () if least > 0.0 => Some(say!(
            language,
            "An hour of {count} calls costs {time} more than in {baseline} ({least} to {most}).",
            count = count,
            time = hour(more),
            baseline = name,
            least = hour(least),
            most = hour(most)
        )),
        () if most < 0.0 => Some(say!(
            language,
            "An hour of {count} calls costs {time} less than in {baseline} ({least} to {most}).",
            count = count,
            time = hour(-more),
            baseline = name,
            least = hour(-most),
            most = hour(-least)
        )),
        () => Some(say!(
            language,
            "An hour of {count} calls differs from {baseline} by less than {most}.",
            count = count,
            baseline = name,
            most = hour(most.max(-least))
        )),
    };
    let part = |metric: &str| {
        let row = findings.rows.iter().find(|other| other.case == row.case && is_call(other, metric))?;
        Some(words::format_value(row, row.cells.get(subject)?.comparison()?))
    };
    let call = words::format_value(row, comparison);
    let division = match PARTS.map(part) {
        [Some(enter), Some(command), Some(leave)] => say!(
            language,
            "A call takes {call}. One that is divided starts tare inside as well: enter {enter}, command {command}, leave {leave}.",
            call = call,
            enter = enter,
            command = command,
            leave = leave
        ),
        _ => say!(language, "A call takes {call}.", call = call),
    };
    Some(language.join_sentences(&price.into_iter().chain([division]).collect::<Vec<_>>()))
}

fn is_call(row: &Row, metric: &str) -> bool {
    // Several at once are another case, of which the last one counts.
    row.probe == PROBE && row.metric.name == metric && !row.label.contains("at once")
}

#[cfg(test)]
mod tests {
    use tare_analysis::findings::Cell;

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
    fn an_hour_of_calls_has_a_price_and_a_call_its_parts() {
        let text = describe_calls(&calls(10.0), 0, Language::English).unwrap();
        assert!(text.starts_with("An hour of 100 calls costs 1.8"), "{text}");
        assert!(text.contains(" s more than in native (1."), "{text}");
        assert!(text.contains("A call takes 20.") && text.contains("as well: enter "), "{text}");
        let faster = describe_calls(&calls(0.5), 0, Language::English).unwrap();
        assert!(faster.contains("less than in native"), "{faster}");
    }

    #[test]
    fn a_session_without_calls_has_no_such_sentence() {
        assert_eq!(describe_calls(&specimen::make_findings(1), 0, Language::English), None);
    }
}
