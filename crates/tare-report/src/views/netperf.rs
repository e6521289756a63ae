//! The netperf view: round trips under the names that netperf's omni output gives them.

use tare_analysis::findings::Findings;
use tare_analysis::pooled::{Pooled, Runs, runs};
use tare_data::session::Session;

use super::{Lines, block_head, fixed, push_own};
use crate::text::clean;

/// Nanoseconds of a microsecond, netperf's unit of latency.
const MICROSECOND: f64 = 1e3;

pub fn render(session: &Session, findings: &Findings) -> String {
    let mut out = Lines::default();
    out.prose(
        "",
        "netperf view: netperf's names for what tare measured; netperf did not run. A block is the trials of all \
         rounds together. Times are microseconds and keep their fractions, which netperf cuts off; connecting is \
         not the first round trip, as it is with netperf's TCP_RR.",
    );
    let all = runs(session, &["net.rr"]);
    if all.is_empty() {
        out.blank();
        out.prose("", "This session did not measure net.rr: tare run --only net.rr does.");
    }
    for run in &all {
        out.blank();
        let pooled = Pooled::of(&run.trials);
        let peer = run.case.case.peer.as_deref().unwrap_or("?");
        let label = format!("{} · peer {}", run.case.label, clean(peer));
        out.line(&block_head(&label, run.lane, pooled.trials, pooled.failed));
        if pooled.trials == 0 {
            out.prose("    ", &clean(&run.absence()));
            continue;
        }
        block(&mut out, run, &pooled);
        let headline = run.case.metrics.first().map_or("", |metric| metric.name.as_str());
        push_own(&mut out, session, findings, (&run.case.id, headline, run.lane));
    }
    out.text()
}

fn block(out: &mut Lines, run: &Runs<'_>, pooled: &Pooled) {
    let parameters = &run.case.case.parameters;
    let text = |key: &str, default: &str| clean(parameters.text(key).unwrap_or(default));
    let transactions = pooled.series("round").operations;
    let rate = pooled.per_second(transactions);
    let micros = |ns: f64| fixed(ns / MICROSECOND, 3);
    let mut lines = vec![
        ("PROTOCOL", text("protocol", "tcp").to_uppercase()),
        ("REQUEST_SIZE", text("request", "1")),
        ("RESPONSE_SIZE", text("response", "1")),
        ("LOCAL_NODELAY", String::from(if text("nodelay", "no") == "yes" { "1" } else { "0" })),
        ("ELAPSED_TIME", fixed(pooled.total_ns as f64 / 1e9, 2)),
        ("THROUGHPUT", fixed(rate, 2)),
        ("THROUGHPUT_UNITS", "Trans/s".into()),
        ("TRANSACTION_RATE", fixed(rate, 3)),
        ("RT_LATENCY", micros(pooled.total_ns as f64 / transactions as f64)),
    ];
    if let Some(t) = pooled.times(&["round"]) {
        lines.extend([
            ("MIN_LATENCY", micros(t.min_ns)),
            ("MEAN_LATENCY", micros(t.mean_ns)),
            ("MAX_LATENCY", micros(t.max_ns)),
            ("P50_LATENCY", micros(t.p50_ns)),
            ("P90_LATENCY", micros(t.p90_ns)),
            ("P99_LATENCY", micros(t.p99_ns)),
            ("STDDEV_LATENCY", micros(t.deviation_ns)),
        ]);
    }
    for (name, value) in lines {
        out.line(&format!("{name}={value}"));
    }
}
