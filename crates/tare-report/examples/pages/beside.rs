//! Handmade values of other tools next to a session's, and hostile ones.

use std::collections::BTreeMap;

use tare_analysis::findings::{Cell, Findings, Missing};
use tare_data::imported::{Counterpart, Imported, ImportedFigure, Source, Stated, Statistic};
use tare_data::names::Parameters;
use tare_data::session::Session;
use tare_data::unit::Unit;

use crate::{rich, specimen};

/// Measurements of a round trip.
const ROUND_TRIP: [(&str, &str); 5] =
    [("request", "1"), ("response", "1"), ("protocol", "tcp"), ("burst", "1"), ("rate", "0")];

/// Builds a session, and the results of three tools on its round trips, primes and processes.
pub fn page() -> (Session, Findings, Vec<Imported>) {
    let (mut session, mut findings) = rich::page(3);
    session.plan.cases[6].case.parameters = parameters(&ROUND_TRIP);
    let round_trip = findings.rows[6].clone();
    findings.rows.push(rich::further(&round_trip, "p99", Unit::Nanoseconds, 48_200.0));
    let mut rate = rich::further(&round_trip, "rate", Unit::PerSecond, 46_900.0);
    rate.baseline = None;
    rate.cells = (0..3)
        .map(|i| Cell::Missing(Missing::NoBaseline(specimen::make_level(9_100.0 * (i + 1) as f64, i))))
        .collect();
    findings.rows.push(rate);
    let netperf = [("native", 1.04), ("container", 1.09), ("gvisor", 6.1)]
        .map(|(environment, cost)| file("netperf", Some(environment), vec![round_trips(cost)]));
    let sockperf = file("sockperf", None, vec![round_trips(0.93)]);
    let primes = figure("cpu", "cpu.primes", &[], &[(Statistic::Mean, 655_000.0, "0.66", Some("time"))]);
    let sysbench = file("sysbench", Some("wsl2-like"), vec![primes]);
    (session, findings, netperf.into_iter().chain([sockperf, sysbench]).collect())
}

/// Builds the result of netperf at a cost of this many times the specimens' baseline.
fn round_trips(cost: f64) -> ImportedFigure {
    let values = [
        (Statistic::Minimum, 18_000.0, "18", Some("min")),
        (Statistic::Mean, 21_000.0, "21.00", Some("mean")),
        (Statistic::TimePerOperation, 20_700.0, "20.70", Some("time")),
        (Statistic::Percentile(99.0), 47_000.0, "47", Some("p99")),
        (Statistic::Maximum, 312_000.0, "312", Some("max")),
    ];
    let values = values.map(|(statistic, value, written, metric)| (statistic, value * cost, written, metric));
    let mut figure = figure("TCP REQUEST/RESPONSE", "net.rr", &ROUND_TRIP[..3], &values);
    figure.values.push(Stated {
        unit: Some(Unit::PerSecond),
        ..stated(&(Statistic::Rate, 47_600.0 / cost, "47600.1", Some("rate")))
    });
    figure
}

/// Builds an import in which every text is `text`, no axis can show the numbers, and the probe is `probe`.
pub fn hostile(text: &str, probe: &str) -> Vec<Imported> {
    let numbers = [0.0, -1.0, 21_000.0, 40_000.0, 1e-300, f64::MAX, f64::MIN];
    let statistics = [Statistic::Minimum, Statistic::Mean, Statistic::Percentile(-1e9), Statistic::Rate];
    let values: Vec<Stated> = statistics
        .iter()
        .flat_map(|statistic| numbers.map(|number| stated(&(*statistic, number, text, Some(text)))))
        .chain([Stated { unit: None, ..stated(&(Statistic::Value, 1.0, text, None)) }])
        .collect();
    let names = || -> BTreeMap<String, String> {
        [(text, text), ("__proto__", text)].map(|(key, value)| (key.into(), value.into())).into()
    };
    let figure =
        ImportedFigure { name: text.into(), parameters: names(), values, ..figure("", probe, &[], &[]) };
    let hostile = |environment| Imported {
        version: Some(text.into()),
        parameters: names(),
        source: Source { name: text.into(), bytes: u64::MAX, sha256: text.into() },
        ..file(text, environment, vec![figure.clone()])
    };
    vec![hostile(Some(text)), hostile(None), hostile(Some(text))]
}

/// A value in nanoseconds, as the tool wrote it, and the corresponding metric of tare.
type Value<'a> = (Statistic, f64, &'a str, Option<&'a str>);

fn stated((statistic, value, written, metric): &Value) -> Stated {
    Stated {
        statistic: *statistic,
        value: *value,
        unit: Some(Unit::Nanoseconds),
        written: (*written).into(),
        metric: metric.map(Into::into),
    }
}

fn figure(name: &str, probe: &str, fixed: &[(&str, &str)], values: &[Value]) -> ImportedFigure {
    ImportedFigure {
        name: name.into(),
        parameters: BTreeMap::new(),
        counterpart: Some(Counterpart { probe: probe.into(), parameters: parameters(fixed), peer: None }),
        values: values.iter().map(stated).collect(),
    }
}

fn file(tool: &str, environment: Option<&str>, figures: Vec<ImportedFigure>) -> Imported {
    Imported {
        tool: tool.into(),
        version: None,
        parameters: BTreeMap::new(),
        environment: environment.map(Into::into),
        source: Source {
            name: format!("{tool}-{}.txt", environment.unwrap_or("somewhere")),
            bytes: 871,
            sha256: "5c".repeat(32),
        },
        figures,
        not_kept: Vec::new(),
    }
}

fn parameters(pairs: &[(&str, &str)]) -> Parameters {
    Parameters(pairs.iter().map(|(key, value)| ((*key).into(), (*value).into())).collect())
}
