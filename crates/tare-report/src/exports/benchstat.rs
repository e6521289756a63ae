//! Go's benchmark format: a line for each trial, from which benchstat computes its own medians and intervals.

use std::collections::BTreeMap;
use std::fmt::Write;

use tare_analysis::findings::Row;
use tare_data::request::Amount;
use tare_data::unit::{Direction, Unit};

use super::export::{Export, Source, Writing};
use crate::text::clean_text;
use crate::words::machine_name;

pub static EXPORT: Export = Export {
    name: "benchstat",
    summary: "Go's benchmark format, a line for each trial: benchstat -col /environment FILE compares the environments",
    writing: Writing::Whole,
    render,
};

fn render(source: &Source) -> Vec<u8> {
    let mut text = String::new();
    let header = &source.session.header;
    for (key, value) in
        [("study", &source.session.plan.study), ("tare", &header.tare), ("started", &header.started)]
    {
        let _ = writeln!(text, "{key}: {}", clean_text(value));
    }
    for (unit, better) in directions(source) {
        let _ = writeln!(text, "Unit {unit} better={better}");
    }
    for row in &source.findings.rows {
        let (name, unit) = (name(source, row), unit(row.metric.unit));
        let operations = operations(source, row);
        for (target, level) in source.list_levels(row) {
            let target = word(target);
            for value in level.values.iter().filter(|value| value.is_finite()) {
                // The metric last: a number at the end of a name would be read as a number of processors.
                let metric = word(&row.metric.name);
                let _ =
                    writeln!(text, "{name}/environment={target}/metric={metric} {operations} {value} {unit}");
            }
        }
    }
    text.into_bytes()
}

/// Finds the better direction of each unit; units that go both ways in this session are left out.
fn directions(source: &Source) -> BTreeMap<&'static str, String> {
    let mut known: BTreeMap<&str, Option<Direction>> = BTreeMap::new();
    for row in &source.findings.rows {
        let better = row.metric.direction;
        let entry = known.entry(unit(row.metric.unit)).or_insert(Some(better));
        *entry = entry.filter(|known| *known == better);
    }
    known.into_iter().filter_map(|(unit, better)| Some((unit, machine_name(&better?)))).collect()
}

/// Builds a name such as `BenchmarkFile.seq/bs=4KiB/op=write/place=own`, by whose parts benchstat filters and
/// groups.
fn name(source: &Source, row: &Row) -> String {
    let mut probe = word(&row.probe);
    if let Some(first) = probe.get(..1) {
        probe = first.to_uppercase() + &probe[1..];
    }
    let mut name = format!("Benchmark{probe}");
    let parameters = source.find_planned_case(row).map(|planned| &planned.case.parameters.0);
    for (key, value) in parameters.into_iter().flatten() {
        let _ = write!(name, "/{}={}", word(key), word(value));
    }
    for (key, value) in [("place", &row.place), ("peer", &row.peer)] {
        if let Some(value) = value {
            let _ = write!(name, "/{key}={}", word(value));
        }
    }
    name
}

/// Makes a text one word of a name: no blank, no `/`, and no `-` before digits that could be taken for a
/// number of processors.
fn word(text: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || "._+:@,%".contains(c) { c } else { '_' };
    clean_text(text).chars().map(plain).collect()
}

/// Counts the operations of a planned trial; 1 for a trial that runs for a fixed time.
fn operations(source: &Source, row: &Row) -> u64 {
    match source.find_planned_case(row).map(|planned| planned.amount) {
        // benchstat reads a signed number.
        Some(Amount::Operations { batch, batches }) => {
            batch.saturating_mul(u64::from(batches)).clamp(1, i32::MAX as u64)
        }
        Some(Amount::Duration { .. } | Amount::Calibrate) | None => 1,
    }
}

fn unit(unit: Unit) -> &'static str {
    match unit {
        Unit::Nanoseconds => "ns/op",
        Unit::PerSecond => "op/s",
        Unit::PerMinute => "op/min",
        Unit::BytesPerSecond => "B/s",
        Unit::BitsPerSecond => "bit/s",
        Unit::Bytes => "B",
        Unit::Mwips => "MWIPS",
        Unit::Percent => "percent",
        Unit::Count => "count",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::specimen;

    #[test]
    fn every_trial_has_a_line() {
        let (session, findings) = (specimen::make_session(2), specimen::make_findings(2));
        let bytes = render(&Source { session: &session, findings: &findings, gate: None });
        let text = String::from_utf8(bytes).unwrap();
        let of = |beginning: &str| text.lines().filter(|line| line.starts_with(beginning)).count();
        assert_eq!(of("BenchmarkSys.getppid/environment=gvisor/metric=time 10000 "), 18);
        assert_eq!(of("BenchmarkSys.getppid/environment=native__again_/metric=time "), 18);
        assert_eq!(of("BenchmarkFile.sync/place=own/environment=gvisor"), 0, "a gap has no trials");
        assert_eq!(of("Unit ns/op better=lower"), 1);
        assert!(text.lines().filter(|l| l.starts_with('B')).all(|l| l.split(' ').count() == 4));
    }

    #[test]
    fn a_unit_that_goes_both_ways_is_not_explained() {
        let (session, mut findings) = (specimen::make_session(1), specimen::make_findings(1));
        findings.rows[0].metric.direction = Direction::Higher;
        assert!(directions(&Source { session: &session, findings: &findings, gate: None }).is_empty());
    }
}
