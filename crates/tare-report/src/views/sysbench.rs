//! The sysbench view: the lines of sysbench 1.0's cpu and fileio reports.

use tare_analysis::findings::Findings;
use tare_analysis::pooled::{Pooled, Runs, Times};
use tare_data::names::{Parameters, parse_size};
use tare_data::session::Session;

use super::view_text::{ViewText, fixed, pooled_view};
use crate::text::clean;

/// Nanoseconds of a millisecond, sysbench's unit of latency.
const MILLISECOND: f64 = 1e6;
const MIB: f64 = 1_048_576.0;

const ABOUT: &str = "sysbench view: the lines of sysbench 1.0's report, measured by tare and not by sysbench. A block \
                     is the trials of all rounds together, as one run that went on as long; first calls are left out.";
const ABSENT: &str =
    "This session measured neither cpu.primes nor file.random: tare run sysbench measures both.";

pub fn render(session: &Session, findings: &Findings) -> String {
    let probes = ["cpu.primes", "file.random"];
    let label = |run: &Runs<'_>| run.case.label.clone();
    pooled_view((session, findings), (ABOUT, ABSENT), &probes, label, |out, run, pooled| {
        match run.case.case.probe.as_str() {
            "cpu.primes" => cpu(out, run, pooled),
            _ => fileio(out, run, pooled),
        }
    })
}

fn text<'p>(parameters: &'p Parameters, key: &str) -> &'p str {
    parameters.text(key).unwrap_or("?")
}

fn cpu(out: &mut ViewText, run: &Runs<'_>, pooled: &Pooled) {
    let parameters = &run.case.case.parameters;
    let events = pooled.series("event").operations;
    out.line(&format!("Number of threads: {}", clean(text(parameters, "threads"))));
    out.line(&format!("Prime numbers limit: {}", clean(text(parameters, "max_prime"))));
    out.blank();
    out.line("CPU speed:");
    out.line(&format!("    events per second: {}", fixed(pooled.per_second(events), 2)));
    out.blank();
    general(out, pooled, events);
    let times = pooled.times(&["event"]);
    latency(out, times);
    let threads = parameters.integer("threads").unwrap_or(1);
    fairness(out, threads, events, times);
}

fn fileio(out: &mut ViewText, run: &Runs<'_>, pooled: &Pooled) {
    let parameters = &run.case.case.parameters;
    let threads = parameters.integer("threads").unwrap_or(1);
    out.line(&format!("Number of threads: {threads}"));
    setting(out, parameters);
    let [reads, writes, fsyncs] = ["read", "write", "fsync"].map(|series| pooled.series(series));
    out.blank();
    out.line("File operations:");
    let rates = [("reads/s:", &reads), ("writes/s:", &writes), ("fsyncs/s:", &fsyncs)];
    for (name, series) in rates {
        out.line(&format!("    {name:30}{}", fixed(pooled.per_second(series.operations), 2)));
    }
    out.blank();
    out.line("Throughput:");
    for (name, series) in [("read, MiB/s:", &reads), ("written, MiB/s:", &writes)] {
        out.line(&format!("    {name:30}{}", fixed(pooled.per_second(series.bytes) / MIB, 2)));
    }
    out.blank();
    let events = [&reads, &writes, &fsyncs].iter().fold(0u64, |sum, s| sum.saturating_add(s.operations));
    general(out, pooled, events);
    let times = pooled.times(&["read", "write", "fsync"]);
    latency(out, times);
    fairness(out, threads, events, times);
    out.prose(
        "    ",
        "sysbench puts reads, writes and fsyncs into one latency. Apart, by tare, avg / 95th / max:",
    );
    for name in ["read", "write", "fsync"] {
        if let Some(t) = pooled.times(&[name]) {
            let of = [t.mean_ns, t.p95_ns, t.max_ns].map(|ns| fixed(ns / MILLISECOND, 4)).join(" / ");
            out.line(&format!("    {:30}{of} ms", format!("{name}:")));
        }
    }
}

/// What was done to which files.
fn setting(out: &mut ViewText, parameters: &Parameters) {
    let files = parameters.integer("files").unwrap_or(0);
    let total = parameters.integer("total").unwrap_or(0);
    let each = total.checked_div(files).unwrap_or(0);
    out.line(&format!("{files} files, {} each", size(each)));
    out.line(&format!("{} total file size", size(total)));
    out.line(&format!("Block size {}", size(parse_size(text(parameters, "bs")).unwrap_or(0))));
    match parameters.integer("fsync_every") {
        Ok(0) | Err(_) => {}
        Ok(every) => out.line(&format!("Periodic FSYNC enabled, calling fsync() each {every} requests.")),
    }
    out.line("Calling fsync() at the end of test, Enabled.");
    out.line("Using synchronous I/O mode");
    match parameters.text("mode") {
        Ok("rndrw") => {
            out.line("Read/Write ratio for combined random IO test: 1.50");
            out.line("Doing random r/w test");
        }
        Ok("rndrd") => out.line("Doing random read test"),
        Ok("rndwr") => out.line("Doing random write test"),
        other => out.line(&format!("Doing {} test", clean(other.unwrap_or("?")))),
    }
}

/// `16KiB`, `2GiB`: the largest unit that divides the size, with three decimals where none does.
fn size(bytes: u64) -> String {
    let units = [(1u64 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")];
    match units.iter().find(|(unit, _)| bytes >= *unit) {
        None => format!("{bytes}B"),
        Some((unit, name)) if bytes.is_multiple_of(*unit) => format!("{}{name}", bytes / unit),
        Some((unit, name)) => format!("{}{name}", fixed(bytes as f64 / *unit as f64, 3)),
    }
}

fn general(out: &mut ViewText, pooled: &Pooled, events: u64) {
    out.line("General statistics:");
    out.line(&format!("    {:37}{}s", "total time:", fixed(pooled.total_ns as f64 / 1e9, 4)));
    out.line(&format!("    {:37}{events}", "total number of events:"));
    out.blank();
}

fn latency(out: &mut ViewText, times: Option<Times>) {
    out.line("Latency (ms):");
    match times {
        None => out.line("    not known: the record's histograms do not give it"),
        Some(t) => {
            let lines = [
                ("min:", t.min_ns),
                ("avg:", t.mean_ns),
                ("max:", t.max_ns),
                ("95th percentile:", t.p95_ns),
                ("sum:", t.sum_ns),
            ];
            for (name, ns) in lines {
                out.line(&format!("         {name:25}{:>19}", fixed(ns / MILLISECOND, 2)));
            }
        }
    }
    out.blank();
}

/// Each thread does the same number of events here; how long each took is known of a single one only.
fn fairness(out: &mut ViewText, threads: u64, events: u64, times: Option<Times>) {
    out.line("Threads fairness:");
    let each = events as f64 / threads.max(1) as f64;
    out.line(&format!("    {:31}{}/0.00", "events (avg/stddev):", fixed(each, 4)));
    match times.filter(|_| threads == 1) {
        Some(t) => {
            out.line(&format!("    {:31}{}/0.00", "execution time (avg/stddev):", fixed(t.sum_ns / 1e9, 4)));
        }
        None => out.line("    execution time (avg/stddev):   not known: threads are timed together"),
    }
    out.blank();
}
