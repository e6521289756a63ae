//! OpenMetrics text: values, slowdowns and verdicts as gauges and state sets, for Prometheus and other readers.

use std::collections::BTreeMap;
use std::fmt::Write;

use tare_analysis::findings::{Comparison, Estimate, Kind, Reach, Row};
use tare_data::unit::Unit;

use super::export::{Export, Source, Writing};
use crate::text::clean_text;
use crate::words;

pub static EXPORT: Export = Export {
    name: "openmetrics",
    summary: "OpenMetrics text: values in base units, slowdowns with their bounds, answers and verdicts",
    writing: Writing::Whole,
    render,
};

/// A family: its name and its help.
struct Family {
    name: &'static str,
    unit: &'static str,
    help: &'static str,
    kind: &'static str,
}

/// Families by name, each with its sample lines; a sample is written once.
#[derive(Default)]
struct Exposition(BTreeMap<&'static str, (Family, BTreeMap<String, String>)>);

impl Exposition {
    fn add(&mut self, family: Family, suffix: &str, labels: &[(&str, &str)], value: f64) {
        let sample = format!("{}{suffix}{{{}}}", family.name, listed(labels));
        let (_, samples) = self.0.entry(family.name).or_insert_with(|| (family, BTreeMap::new()));
        samples.entry(sample).or_insert_with(|| number(value));
    }

    fn text(&self) -> String {
        let mut text = String::new();
        for (Family { name, unit, help, kind }, samples) in self.0.values() {
            let _ = writeln!(text, "# TYPE {name} {kind}");
            if !unit.is_empty() {
                let _ = writeln!(text, "# UNIT {name} {unit}");
            }
            let _ = writeln!(text, "# HELP {name} {help}");
            samples.iter().for_each(|(sample, value)| {
                let _ = writeln!(text, "{sample} {value}");
            });
        }
        text.push_str("# EOF\n");
        text
    }
}

fn render(source: &Source) -> Vec<u8> {
    let mut all = Exposition::default();
    session(&mut all, source);
    for cost in &source.findings.lasting {
        let labels = [("environment", cost.target.as_str()), ("work", cost.work.name())];
        [("ratio", cost.ratio), ("excess", cost.excess)]
            .into_iter()
            .filter_map(|(of, estimate)| Some((of, estimate?)))
            .for_each(|(of, estimate)| lasting(&mut all, &labels, of, estimate));
    }
    for row in &source.findings.rows {
        let (family, factor) = family(row.metric.unit);
        for (target, level) in source.list_levels(row) {
            let (name, unit, help) = family;
            let figure = Family { name, unit, help, kind: "gauge" };
            all.add(figure, "", &labels(row, target), level.median * factor);
        }
        for (target, cell) in source.findings.subjects.iter().zip(&row.cells) {
            if let Some(comparison) = words::find_comparison(cell) {
                slowdown(&mut all, row, target, comparison);
                let about = ("tare_reach", "Work that the answer holds for.");
                states(&mut all, about, labels(row, target), (&Reach::NAMES, comparison.reach.name()));
            }
            let answers = Kind::ALL.map(Kind::name);
            states(
                &mut all,
                ("tare_answer", "Whether it is slower."),
                labels(row, target),
                (&answers, cell.answer().kind().name()),
            );
        }
    }
    all.text().into_bytes()
}

/// Adds the session, and the measures of its reliability.
fn session(all: &mut Exposition, source: &Source) {
    let header = &source.session.header;
    let about = Family {
        name: "tare_session",
        unit: "",
        help: "Study, start and program of the session, and its baseline.",
        kind: "info",
    };
    let labels = [
        ("baseline", source.findings.baseline.as_str()),
        ("started", &header.started),
        ("study", &source.session.plan.study),
        ("version", &header.tare),
    ];
    all.add(about, "_info", &labels, 1.0);
    let banner = Family {
        name: "tare_untrusted",
        unit: "",
        help: "1 where the baseline differs from itself more than chance allows.",
        kind: "gauge",
    };
    all.add(banner, "", &[], f64::from(u8::from(source.findings.certificate.banner)));
}

fn slowdown(all: &mut Exposition, row: &Row, target: &str, comparison: &Comparison) {
    let labels = labels(row, target);
    let gauge = |name, help| Family { name, unit: "ratio", help, kind: "gauge" };
    let cost = gauge(
        "tare_slowdown_ratio",
        "Slowdown of the environment against the baseline; above 1 it is slower.",
    );
    all.add(cost, "", &labels, comparison.ratio);
    if let Some(stop) = comparison.reach.stop() {
        let stopped =
            gauge("tare_stopped_ratio", "Share of periods in which a limit stopped the environment alone.");
        all.add(stopped, "", &labels, stop.share());
    }
    let low = gauge("tare_slowdown_low_ratio", "Lower end of the slowdown's 95 % confidence interval.");
    let high = gauge("tare_slowdown_high_ratio", "Upper end of the slowdown's 95 % confidence interval.");
    let ends = comparison.interval.ends(f64::from);
    [low, high].into_iter().zip(ends).for_each(|(gauge, end)| all.add(gauge, "", &labels, end));
}

/// Adds what work that lasts takes in an environment: its long ratio, or the excess of it over that of short turns.
fn lasting(all: &mut Exposition, labels: &[(&str, &str)], of: &str, Estimate { ratio, interval }: Estimate) {
    let [low, high] = interval.ends(f64::from);
    let names = ["tare_lasting_ratio", "tare_lasting_low_ratio", "tare_lasting_high_ratio"];
    for (name, value) in names.into_iter().zip([ratio, low, high]) {
        let help = "Time of work that lasts over the baseline's, and its excess over that of short turns, with their intervals.";
        let labels: Vec<_> = labels.iter().copied().chain([("of", of)]).collect();
        all.add(Family { name, unit: "ratio", help, kind: "gauge" }, "", &labels, value);
    }
}

/// Adds a state set: all its states, of which one is true.
fn states<'a>(
    all: &mut Exposition,
    (name, help): (&'static str, &'static str),
    labels: Vec<(&'static str, &'a str)>,
    (names, current): (&[&'a str], &str),
) {
    for state in names {
        let family = Family { name, unit: "", help, kind: "stateset" };
        let labels: Vec<_> = labels.iter().copied().chain([(name, *state)]).collect();
        all.add(family, "", &labels, f64::from(u8::from(*state == current)));
    }
}

fn labels<'a>(row: &'a Row, target: &'a str) -> Vec<(&'static str, &'a str)> {
    vec![
        ("environment", target),
        ("case", &row.case),
        ("probe", &row.probe),
        ("metric", &row.metric.name),
        ("headline", if row.headline { "true" } else { "false" }),
    ]
}

fn listed(labels: &[(&str, &str)]) -> String {
    let escaped = |text: &str| clean_text(text).replace('\\', "\\\\").replace('"', "\\\"");
    let label = |(key, value): &(&str, &str)| format!("{key}=\"{}\"", escaped(value));
    labels.iter().map(label).collect::<Vec<_>>().join(",")
}

/// Returns name, unit and help of a unit's family, and the factor to its base unit.
fn family(unit: Unit) -> ((&'static str, &'static str, &'static str), f64) {
    let rate = "Median over rounds; higher is better.";
    let amount = "Median over rounds.";
    match unit {
        Unit::Nanoseconds => {
            (("tare_time_seconds", "seconds", "Median over rounds of an operation's time."), 1e-9)
        }
        Unit::PerSecond => (("tare_rate_hertz", "hertz", rate), 1.0),
        Unit::PerMinute => (("tare_rate_hertz", "hertz", rate), 1.0 / 60.0),
        Unit::BytesPerSecond => (("tare_throughput_bytes_per_second", "bytes_per_second", rate), 1.0),
        Unit::BitsPerSecond => (("tare_throughput_bytes_per_second", "bytes_per_second", rate), 0.125),
        Unit::Bytes => (("tare_size_bytes", "bytes", amount), 1.0),
        Unit::Mwips => (("tare_whetstone_mwips", "mwips", rate), 1.0),
        Unit::Percent => (("tare_share_ratio", "ratio", amount), 0.01),
        Unit::Count => (("tare_count", "", amount), 1.0),
    }
}

fn number(value: f64) -> String {
    match value {
        v if v.is_nan() => "NaN".into(),
        v if v.is_infinite() => if v > 0.0 { "+Inf" } else { "-Inf" }.into(),
        v => v.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::specimen;

    #[test]
    fn exactly_one_state_is_true_whatever_a_cell_shows() {
        for cell in specimen::one_cell_of_each() {
            let name = cell.answer().kind().name();
            let mut findings = specimen::make_findings(1);
            findings.rows.truncate(1);
            findings.rows[0].cells[0] = cell;
            let session = specimen::make_session(1);
            let source = Source { session: &session, findings: &findings, gate: None };
            let text = String::from_utf8(render(&source)).unwrap();
            let states = text.lines().filter(|line| line.starts_with("tare_answer{"));
            assert_eq!(states.filter(|line| line.ends_with(" 1")).count(), 1, "{name}: {text}");
            assert!(text.contains(&format!("tare_answer=\"{name}\"}} 1\n")), "{name}: {text}");
        }
    }

    #[test]
    fn figures_are_in_base_units_and_one_state_is_true() {
        let (session, findings) = (specimen::make_session(2), specimen::make_findings(2));
        let bytes = render(&Source { session: &session, findings: &findings, gate: None });
        let text = String::from_utf8(bytes).unwrap();
        let labels = "environment=\"gvisor\",case=\"sys.getppid\",probe=\"sys.getppid\",metric=\"time\",headline=\"true\"";
        assert!(text.contains(&format!("tare_slowdown_ratio{{{labels}}} 24.13\n")), "{text}");
        assert!(text.contains(&format!("tare_answer{{{labels},tare_answer=\"same\"}} 0\n")));
        assert!(text.contains(&format!("tare_answer{{{labels},tare_answer=\"slower\"}} 1\n")));
        let native = labels.replace("gvisor", "native");
        assert!(text.contains(&format!("tare_time_seconds{{{native}}} 0.0000001734")), "{text}");
        assert!(text.ends_with("\n# EOF\n"));
        assert_eq!(listed(&[("a", "x\"y\\z\n")]), "a=\"x\\\"y\\\\z\u{fffd}\"");
    }
}
