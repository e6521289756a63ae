//! The tables that articles printed, filled from a session: their lines in their units, an environment a column.
//!
//! They count as the articles' tools do: trials of all rounds as one long run (or each as a run, where it is as long), the best
//! pass, scores of the better passes. tare's
//! own results never do.

use tare_data::metric::{Metric, Reading};
use tare_data::request::Amount;
use tare_data::session::{PlannedCase, Role, Session, Trial};

use super::Published;
use super::conditions::speaks_of;
use crate::article_table::{Line, Table, TableCell, TableForm};
use crate::pooled::{Middle, Pooled, Runs, Times, collect_runs, find_middle};
use crate::unixbench::{Entry, TESTS, compute_scores};
use crate::verdicts::doubts::comparable;

/// The lines that a probe's cases have in a form.
pub(super) struct Block {
    pub probe: &'static str,
    /// Suffix of the case's name, unit and decimals of each line.
    pub lines: &'static [(&'static str, &'static str, usize)],
    /// A value a line; none where nothing was measured.
    values: fn(&Runs<'_>) -> Option<Vec<f64>>,
}

const NETPERF: &[Block] = &[Block {
    probe: "net.rr",
    lines: &[("MIN_LATENCY", "us", 1), ("MEAN_LATENCY", "us", 1), ("MAX_LATENCY", "us", 1)],
    values: |run| {
        let times = Pooled::from_trials(&run.trials).merge_times(&["round"])?;
        Some([times.min_ns, times.mean_ns, times.max_ns].map(|ns| ns / 1e3).to_vec())
    },
}];

const DD: &[Block] = &[Block {
    probe: "file.seq",
    lines: &[("", "MB/s", 1)],
    values: |run| Some(vec![found(run, Reading::BytesPerSecond)?.value / 1e6]),
}];

/// The best pass, with the least mean latency of any, as that program keeps them.
const CRYSTAL_DISK_MARK: &[Block] = &[Block {
    probe: "file.queue",
    lines: &[("", "MB/s", 3), ("", "IOPS", 1), ("", "us", 2)],
    values: |run| {
        let rate = found(run, Reading::BytesPerSecond)?.most / 1e6;
        let requests = found(run, Reading::OperationsPerSecond)?.most;
        Some(vec![rate, requests, found(run, Reading::Mean)?.least / 1e3])
    },
}];

const PROCESSES: &[Block] = &[
    Block { probe: "proc.fork_hold", lines: &[("time", "ms", 4), ("memory", "MB", 3)], values: held },
    Block { probe: "proc.thread_hold", lines: &[("time", "ms", 4), ("memory", "MB", 3)], values: held },
];

const SYSBENCH: &[Block] = &[
    Block {
        probe: "cpu.primes",
        lines: &[
            ("events", "/s", 2),
            ("latency min", "ms", 2),
            ("latency avg", "ms", 2),
            ("latency max", "ms", 2),
            ("latency 95th percentile", "ms", 2),
        ],
        values: |run| {
            let pooled = Pooled::from_trials(&run.trials);
            let rate = pooled.per_second(pooled.find_series("event").operations);
            Some([vec![rate], latencies(pooled.merge_times(&["event"])?)].concat())
        },
    },
    Block {
        probe: "file.random",
        lines: &[
            ("reads", "/s", 2),
            ("writes", "/s", 2),
            ("fsyncs", "/s", 2),
            ("events", "/s", 2),
            ("read", "MiB/s", 2),
            ("written", "MiB/s", 2),
            ("latency min", "ms", 2),
            ("latency avg", "ms", 2),
            ("latency max", "ms", 2),
            ("latency 95th percentile", "ms", 2),
        ],
        values: |run| {
            let pooled = Pooled::from_trials(&run.trials);
            let kinds = ["read", "write", "fsync"];
            let [reads, writes, fsyncs] = kinds.map(|kind| pooled.find_series(kind));
            let mut values: Vec<f64> =
                [&reads, &writes, &fsyncs].map(|series| pooled.per_second(series.operations)).to_vec();
            values.push(values.iter().sum());
            values.extend([&reads, &writes].map(|series| pooled.per_second(series.bytes) / 1_048_576.0));
            values.extend(latencies(pooled.merge_times(&kinds)?));
            Some(values)
        },
    },
];

/// Fills a table in each of these forms, except those for which the session measured nothing.
pub(super) fn fill_tables(article: &Published, session: &Session) -> Vec<Table> {
    let sides = &session.plan.targets;
    let shown = sides.of_role(Role::Baseline).chain(sides.of_role(Role::Subject));
    let targets: Vec<String> = shown.map(|target| target.name.clone()).collect();
    let table = |form: &TableForm| {
        let lines = match form {
            TableForm::Netperf => block_lines(session, &targets, article, NETPERF),
            TableForm::Dd => block_lines(session, &targets, article, DD),
            TableForm::CrystalDiskMark => block_lines(session, &targets, article, CRYSTAL_DISK_MARK),
            TableForm::Processes => block_lines(session, &targets, article, PROCESSES),
            TableForm::Sysbench => block_lines(session, &targets, article, SYSBENCH),
            TableForm::UnixBench => score_lines(session, &targets),
        };
        let by_run = lines.iter().flat_map(|line| &line.cells).any(|cell| cell.range.is_some());
        Table { form: *form, by_run, targets: targets.clone(), lines }
    };
    article.tables.iter().map(table).filter(|table| !table.lines.is_empty()).collect()
}

/// Finds the lines that a probe has in the tool's output.
pub(super) fn find_block(probe: &str) -> Option<&'static Block> {
    let all = [NETPERF, DD, CRYSTAL_DISK_MARK, PROCESSES, SYSBENCH];
    all.into_iter().flatten().find(|block| block.probe == probe)
}

/// Fills the lines of every case of some probes, case by case.
fn block_lines(session: &Session, targets: &[String], article: &Published, blocks: &[Block]) -> Vec<Line> {
    let mut lines = Vec::new();
    for block in blocks {
        let mut all = collect_runs(session, &[block.probe]);
        all.retain(|run| speaks_of(article, run.case));
        for of_case in all.chunk_by(|a, b| a.case.id == b.case.id) {
            let shown = targets.iter().filter_map(|target| of_case.iter().find(|run| run.target == target));
            let columns: Vec<Vec<TableCell>> = shown.map(|run| block_cells(session, block, run)).collect();
            let case = of_case[0].case;
            for (at, (part, unit, decimals)) in block.lines.iter().enumerate() {
                let cells = columns.iter().map(|column| column[at].clone()).collect();
                let (title, place) = (case.label.clone(), find_untitled_place(case));
                let part = (!part.is_empty()).then_some(*part);
                lines.push(Line { title, place, part, unit, decimals: *decimals, cells });
            }
        }
    }
    lines
}

/// Fills the cells of a case in an environment, one for each line of the block.
pub(super) fn block_cells(session: &Session, block: &Block, run: &Runs<'_>) -> Vec<TableCell> {
    let Some(values) = fill_values(block, run) else {
        let is_measured = run.trials.iter().any(|trial| trial.failure.is_none());
        let note = if is_measured { "its trials do not give it".into() } else { run.explain_absence() };
        return vec![TableCell { value: None, range: None, note: Some(note) }; block.lines.len()];
    };
    let facts = session.facts.iter().find(|facts| facts.target == run.target);
    let metric = run.case.metrics.first();
    let objection =
        metric.and_then(|metric| comparable::find_comparison_objection(run.case, metric, facts, None));
    let cell = |(value, range)| TableCell { value: Some(value), range, note: objection.clone() };
    values.into_iter().map(cell).collect()
}

/// A value of a line, with its range where trials are runs.
type Filled = (f64, Option<(f64, f64)>);

/// Computes a value for each line of a block. Trials of the tool's own length are runs of it, and are not pooled: the longest round
/// trip of fifty runs is longer than that of one.
fn fill_values(block: &Block, run: &Runs<'_>) -> Option<Vec<Filled>> {
    let finite = |values: &Vec<f64>| values.iter().all(|value| value.is_finite());
    if !matches!(run.case.amount, Amount::Duration { .. }) {
        let values = (block.values)(run).filter(finite)?;
        return Some(values.into_iter().map(|value| (value, None)).collect());
    }
    let single =
        |trial: &&Trial| (block.values)(&Runs { trials: vec![*trial], ..run.clone() }).filter(finite);
    let whole = run.trials.iter().filter(|trial| trial.failure.is_none());
    let runs: Vec<Vec<f64>> = whole.filter_map(single).collect();
    let of_line = |at: usize| {
        let mut values: Vec<f64> = runs.iter().map(|run| run[at]).collect();
        values.sort_unstable_by(f64::total_cmp);
        let middle = *values.get(values.len().checked_sub(1)? / 2)?;
        Some((middle, Some((*values.first()?, *values.last()?))))
    };
    (0..block.lines.len()).map(of_line).collect()
}

/// Finds the place or peer of a case, where its label does not name it.
fn find_untitled_place(planned: &PlannedCase) -> Option<String> {
    let is_titled = [" @", " >"].iter().any(|sign| planned.label.contains(sign));
    let somewhere = planned.case.place.as_ref().or(planned.case.peer.as_ref());
    somewhere.filter(|_| !is_titled).cloned()
}

/// Fills UnixBench's twelve scores and their index, which needs them all.
fn score_lines(session: &Session, targets: &[String]) -> Vec<Line> {
    if TESTS.iter().all(|test| test.find_case(session).is_none()) {
        return Vec::new();
    }
    let all = compute_scores(session);
    let columns: Vec<_> =
        targets.iter().filter_map(|name| all.iter().find(|scored| scored.target == *name)).collect();
    let line = |name: &str, cells| Line {
        title: name.to_owned(),
        place: None,
        part: None,
        unit: "",
        decimals: 1,
        cells,
    };
    let cell = |entry: &Entry| match entry {
        Entry::Scored(score) => {
            TableCell { value: Some(score.score), range: None, note: score.objection.clone() }
        }
        Entry::Missing(reason) => TableCell { value: None, range: None, note: Some(reason.clone()) },
    };
    let tests = TESTS.iter().enumerate();
    let mut lines: Vec<Line> = tests
        .map(|(at, test)| line(test.name, columns.iter().map(|column| cell(&column.entries[at])).collect()))
        .collect();
    let index = columns.iter().map(|column| {
        let note = column.index.is_none().then(|| "the index needs all twelve scores".to_owned());
        TableCell { value: column.index, range: None, note }
    });
    lines.push(line("Index of the twelve scores", index.collect()));
    lines
}

/// Finds the middle and the range of a reading over the trials.
fn found(run: &Runs<'_>, reading: Reading) -> Option<Middle> {
    find_middle(&run.trials, run.case.metrics.iter().find(|metric| metric.reading == reading)?)
}

/// Reads milliseconds and megabytes of a process or a thread that is kept.
fn held(run: &Runs<'_>) -> Option<Vec<f64>> {
    let named = |name: &str| {
        let metric: &Metric = run.case.metrics.iter().find(|metric| metric.name == name)?;
        Some(find_middle(&run.trials, metric)?.value / 1e6)
    };
    Some(vec![named("time")?, named("memory")?])
}

fn latencies(times: Times) -> Vec<f64> {
    [times.min_ns, times.mean_ns, times.max_ns, times.p95_ns].map(|ns| ns / 1e6).to_vec()
}
