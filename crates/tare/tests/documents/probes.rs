//! `docs/reference/probes.md`: every probe, as described in the list of probes.

use std::fmt::Write;

use tare_data::metric::Reading;
use tare_data::session::declared::{Batching, Promise, Times};
use tare_data::unit::{Direction, Unit};
use tare_lab::study::list_probes;
use tare_probes::Probe;
use tare_probes::probe::{Family, MetricDescription, Size};

use crate::book;

const OPENING: &str = "\
# Probes
The exact definition of each probe. This page is generated from the list of probes in
`crates/tare-probes/src/descriptions/mod.rs`; a test compares it. [The glossary](glossary.md) explains the terms, and
[methodology.md](../method/methodology.md) how a session runs the probes.

Every probe proves its work: it counts what really happened (calls answered, bytes moved, primes found), and a wrong
count fails the trial. Each parameter has two defaults: *short*, sized for short rounds, and *reference*, that
of the tool which the probe stands for (`tare run --full-size`). The first metric is the headline, which determines the
table's verdict. Metrics named `first` are the first call of a fresh process, kept separate from the rest.

The definition of a case is a hash over probe, revision, parameters and the way its metrics are read. Results of
different definitions are never compared.
";

fn unit(unit: Unit) -> &'static str {
    match unit {
        Unit::Nanoseconds => "ns",
        Unit::PerSecond => "operations/s",
        Unit::PerMinute => "operations/min",
        Unit::BytesPerSecond => "bytes/s",
        Unit::BitsPerSecond => "bit/s",
        Unit::Bytes => "bytes",
        Unit::Mwips => "MWIPS",
        Unit::Percent => "%",
        Unit::Count => "a number",
    }
}

fn reading(reading: Reading) -> String {
    match reading {
        Reading::TimePerOperation => "elapsed time over operations".into(),
        Reading::OperationsPerSecond => "operations over elapsed seconds".into(),
        Reading::OperationsPerMinute => "operations over elapsed minutes".into(),
        Reading::BytesPerSecond => "bytes over elapsed seconds".into(),
        Reading::BitsPerSecond => "bits over elapsed seconds".into(),
        Reading::Quantile(q) => format!("quantile {q} of single operations"),
        Reading::Minimum => "shortest single operation".into(),
        Reading::Maximum => "longest single operation; shown, never judged".into(),
        Reading::Mean => "mean of single operations".into(),
        Reading::StandardDeviation => "standard deviation of single operations".into(),
        Reading::Gauge => "median of readings".into(),
        Reading::Cold => "the first operation of the process".into(),
    }
}

fn needs(probe: &Probe) -> Option<&'static str> {
    match probe.family {
        Family::Files { apart: false, .. } | Family::Command => Some("a place to write in"),
        Family::Files { apart: true, .. } => Some("a place to write in, away from other trials'"),
        Family::Network { .. } => Some("a peer"),
        Family::Processor
        | Family::Kernel
        | Family::Program
        | Family::Memory
        | Family::Held
        | Family::Pair { .. } => None,
    }
}

fn promise(promise: Promise) -> &'static str {
    match promise {
        Promise::Sync => "a sync that waits for the disk",
        Promise::EachWrite => "writes with O_DSYNC that wait for the disk",
        Promise::Direct => "O_DIRECT past the page cache",
        Promise::CacheControl => "a page cache that drops what it is asked to drop",
        Promise::MemoryCounters => "the environment's counters of memory",
    }
}

/// Writes the declarations of a probe in both sizes, because a study may choose parameters that change them.
fn declarations(page: &mut String, probe: &Probe) {
    let [short, reference] =
        [Size::Short, Size::Reference].map(|size| probe.declare_case(&probe.default_parameters(size)));
    assert_eq!(short, reference, "{}: the sizes would need a line each", probe.name);
    if let Some(needs) = needs(probe) {
        writeln!(page, "- **Needs:** {needs}.").unwrap();
    }
    let promises: Vec<&str> = short.rests_on.into_iter().map(promise).collect();
    if !promises.is_empty() {
        let default = if probe.parameters.is_empty() { "" } else { ", with its default parameters" };
        writeln!(page, "- **Rests on:** {}{default}.", promises.join(", ")).unwrap();
    }
    if short.times == Times::Processor {
        writeln!(page, "- **Times** instructions alone; not comparable on an emulated processor.").unwrap();
    }
    if short.batching == Batching::Placed {
        writeln!(
            page,
            "- **Batches** are few, unless pinned: each has new processes, which the scheduler places."
        )
        .unwrap();
    }
}

/// Escapes a text for a table cell.
fn cell(text: &str) -> String {
    text.replace('|', "\\|")
}

fn metric(page: &mut String, metric: &MetricDescription) {
    let better = match metric.direction {
        Direction::Lower => "lower",
        Direction::Higher => "higher",
    };
    let (unit, reading) = (unit(metric.unit), reading(metric.reading));
    let (name, series) = (metric.name, metric.series);
    writeln!(page, "| `{name}` | {unit} | {better} | {reading} | `{series}` |").unwrap();
}

fn section(page: &mut String, probe: &Probe) {
    write!(page, "\n## {}\n{}\n\n", probe.name, probe.summary).unwrap();
    writeln!(page, "- **Timed:** {}.", probe.timed).unwrap();
    writeln!(page, "- **Not timed:** {}.", probe.not_timed).unwrap();
    writeln!(page, "- **Distorted by:** {}.", probe.distorted_by).unwrap();
    declarations(page, probe);
    let label = (probe.label)(&probe.default_parameters(Size::Short));
    writeln!(page, "- **Revision** {}; its row is headed \"{label}\".", probe.revision).unwrap();
    if !probe.parameters.is_empty() {
        page.push_str("\n| parameter | short | reference | |\n|---|---|---|---|\n");
        for p in probe.parameters {
            writeln!(page, "| `{}` | {} | {} | {} |", p.name, p.short, p.reference, cell(p.about)).unwrap();
        }
    }
    page.push_str("\n| metric | unit | better | read as | series |\n|---|---|---|---|---|\n");
    probe.metrics.iter().for_each(|description| metric(page, description));
}

#[test]
fn every_probe_is_documented() {
    let _lock = book::lock_documents();
    let mut page = OPENING.to_owned();
    page.push_str("\n| probe | row | headline |\n|---|---|---|\n");
    for probe in list_probes() {
        let headline = &probe.metrics[0];
        // Headings lose their dots in anchors.
        let anchor = probe.name.replace('.', "");
        writeln!(page, "| [{}](#{anchor}) | {} | {} |", probe.name, probe.title, unit(headline.unit))
            .unwrap();
    }
    list_probes().for_each(|probe| section(&mut page, probe));
    book::compare_or_rewrite(&book::repository_root().join("docs/reference/probes.md"), &page);
}
