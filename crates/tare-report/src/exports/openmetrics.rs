//! OpenMetrics text: values, slowdowns and verdicts as gauges and state sets, for Prometheus and other readers.

use std::collections::BTreeMap;
use std::fmt::Write;

use tare_analysis::findings::{Comparison, Row, Verdict};
use tare_data::unit::Unit;

use super::export::{Export, Source, Writing};
use crate::text::clean;
use crate::words;

pub static EXPORT: Export = Export {
    name: "openmetrics",
    summary: "OpenMetrics text: values in base units, slowdowns with their bounds, verdicts",
    writing: Writing::Whole,
    render,
};

/// Every verdict: each is a state of a state set.
const VERDICTS: [Verdict; 6] = [
    Verdict::Slower,
    Verdict::Faster,
    Verdict::Same,
    Verdict::SlowerUnclear,
    Verdict::FasterUnclear,
    Verdict::Inconclusive,
];

/// A family: its name, and what it is.
struct Family {
    name: &'static str,
    unit: &'static str,
    help: &'static str,
    kind: &'static str,
}

/// Families by name, each with its sample lines; a sample is only ever written once.
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
    for row in &source.findings.rows {
        let (family, factor) = family(row.metric.unit);
        for (target, level) in source.levels(row) {
            let (name, unit, help) = family;
            let figure = Family { name, unit, help, kind: "gauge" };
            all.add(figure, "", &labels(row, target), level.median * factor);
        }
        for (target, cell) in source.findings.subjects.iter().zip(&row.cells) {
            if let Some(comparison) = words::comparison(cell) {
                compared(&mut all, row, target, comparison);
            }
        }
    }
    all.text().into_bytes()
}

/// What was run, and how far it can be trusted.
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

fn compared(all: &mut Exposition, row: &Row, target: &str, comparison: &Comparison) {
    let labels = labels(row, target);
    let gauge = |name, help| Family { name, unit: "ratio", help, kind: "gauge" };
    let cost =
        gauge("tare_cost_ratio", "Slowdown of the environment against the baseline; above 1 it is slower.");
    all.add(cost, "", &labels, comparison.ratio);
    let low = gauge("tare_cost_low_ratio", "Lower end of the slowdown's 95 % confidence interval.");
    all.add(low, "", &labels, comparison.low);
    let high = gauge("tare_cost_high_ratio", "Upper end of the slowdown's 95 % confidence interval.");
    all.add(high, "", &labels, comparison.high);
    for verdict in VERDICTS {
        let states =
            Family { name: "tare_verdict", unit: "", help: "What the interval says.", kind: "stateset" };
        let mut labels = labels.clone();
        let verdict_name = words::machine_name(&verdict);
        labels.push(("tare_verdict", &verdict_name));
        all.add(states, "", &labels, f64::from(u8::from(verdict == comparison.verdict)));
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
    let escaped = |text: &str| clean(text).replace('\\', "\\\\").replace('"', "\\\"");
    let label = |(key, value): &(&str, &str)| format!("{key}=\"{}\"", escaped(value));
    labels.iter().map(label).collect::<Vec<_>>().join(",")
}

/// Name, unit and help of a unit's family, and the factor to its base unit.
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
    fn figures_are_in_base_units_and_one_state_is_true() {
        let (session, findings) = (specimen::session(2), specimen::findings(2));
        let bytes = render(&Source { session: &session, findings: &findings, gate: None });
        let text = String::from_utf8(bytes).unwrap();
        let labels = "environment=\"gvisor\",case=\"sys.getppid\",probe=\"sys.getppid\",metric=\"time\",headline=\"true\"";
        assert!(text.contains(&format!("tare_cost_ratio{{{labels}}} 24.13\n")), "{text}");
        assert!(text.contains(&format!("tare_verdict{{{labels},tare_verdict=\"slower\"}} 1\n")));
        assert!(text.contains(&format!("tare_verdict{{{labels},tare_verdict=\"same\"}} 0\n")));
        let native = labels.replace("gvisor", "native");
        assert!(text.contains(&format!("tare_time_seconds{{{native}}} 0.0000001734")), "{text}");
        assert!(text.ends_with("\n# EOF\n"));
        assert_eq!(listed(&[("a", "x\"y\\z\n")]), "a=\"x\\\"y\\\\z\u{fffd}\"");
    }
}
