//! What the views of other tools print of sessions made by hand.

use std::collections::BTreeMap;

use insta::assert_snapshot;
use tare_data::batch::{Batch, Histogram, Phase, Sample};
use tare_data::failure::{Failure, FailureKind};
use tare_data::metric::{Metric, Reading};
use tare_data::names::{Case, Parameters};
use tare_data::request::Amount;
use tare_data::session::Interference;
use tare_data::session::*;
use tare_data::unit::{Direction, Unit};

use super::*;
use crate::specimen;

fn metric(name: &str, series: &str, reading: Reading, unit: Unit) -> Metric {
    let direction = if unit == Unit::Nanoseconds { Direction::Lower } else { Direction::Higher };
    Metric { name: name.into(), series: series.into(), reading, unit, direction }
}

fn rate(series: &str) -> Metric {
    metric("rate", series, Reading::OperationsPerSecond, Unit::PerSecond)
}

fn case(probe: &str, parameters: &[(&str, &str)], somewhere: (Option<&str>, Option<&str>)) -> PlannedCase {
    let parameters = parameters.iter().map(|(key, value)| (key.to_string(), value.to_string())).collect();
    let (place, peer) = somewhere;
    let case = Case {
        probe: probe.into(),
        parameters: Parameters(parameters),
        place: place.map(Into::into),
        peer: peer.map(Into::into),
    };
    PlannedCase {
        id: case.to_string(),
        label: probe.into(),
        case,
        metrics: Vec::new(),
        decide: Vec::new(),
        definition: "d0".into(),
        amount: Amount::Calibrate,
        margin: libm::log(1.02),
        missing: BTreeMap::new(),
    }
}

/// A session of these cases in a baseline and one subject, without trials yet.
fn session(cases: Vec<PlannedCase>) -> Session {
    let mut session = specimen::session(1);
    session.plan.targets.retain(|target| target.role != Role::Control);
    session.plan.targets[1].name = "gvisor".into();
    session.facts.clear();
    session.plan.cases = cases;
    session
}

fn latency(series: &str, bytes: u64, times_ns: &[u64]) -> Batch {
    let mut histogram = Histogram::new();
    times_ns.iter().for_each(|ns| histogram.record(*ns));
    let (operations, elapsed_ns) = (times_ns.len() as u64, times_ns.iter().sum());
    let sample = Sample::Latency { operations, bytes, elapsed_ns, histogram: histogram.encode() };
    Batch { series: series.into(), phase: Phase::Warm, started_ns: 0, sample }
}

fn throughput(series: &str, operations: u64, bytes: u64, elapsed_ns: u64) -> Batch {
    let sample = Sample::Throughput { operations, bytes, elapsed_ns };
    Batch { series: series.into(), phase: Phase::Warm, started_ns: 0, sample }
}

/// Adds the next round of a case in an environment: its batches, or why it failed.
fn add(session: &mut Session, case: usize, target: &str, outcome: Result<Vec<Batch>, Failure>) {
    let id = session.plan.cases[case].id.clone();
    let round = session.trials.iter().filter(|trial| trial.case == id && trial.target == target).count();
    let (batches, failure) = match outcome {
        Ok(batches) => (batches, None),
        Err(failure) => (Vec::new(), Some(failure)),
    };
    session.trials.push(Trial {
        number: session.trials.len() as u64,
        case: id,
        target: target.into(),
        round: round as u32,
        attempt: 0,
        position: 0,
        start: round as u32,
        started_ns: 0,
        host_elapsed_ns: 1,
        agent_elapsed_ns: Some(1),
        batches: batches.into(),
        inside: Interference::default(),
        outside: Interference::default(),
        failure,
        notes: Vec::new(),
    });
}

fn shown(tool: Tool, session: &Session) -> String {
    let findings = tare_analysis::findings(session, &tare_analysis::Options::default());
    let text = render(tool, session, &findings);
    assert!(!text.contains("\n\n\n"), "two blank lines: {text}");
    text
}

/// The twelve cases, each with the metric that is its result.
fn twelve() -> Vec<PlannedCase> {
    let own = (Some("own"), None);
    let nowhere = (None, None);
    let with = |mut case: PlannedCase, metric: Metric| {
        case.metrics = vec![metric];
        case
    };
    let copy = |bs: &str, size: &str| {
        let bytes = metric("rate", "work", Reading::BytesPerSecond, Unit::BytesPerSecond);
        with(case("file.copy", &[("bs", bs), ("size", size)], own), bytes)
    };
    let shell = |parallel: &str| {
        let minute = metric("rate", "work", Reading::OperationsPerMinute, Unit::PerMinute);
        with(case("proc.shell", &[("parallel", parallel), ("variant", "carried")], own), minute)
    };
    let mwips = metric("mwips", "work", Reading::OperationsPerSecond, Unit::Mwips);
    vec![
        with(case("sys.mix", &[], nowhere), rate("work")),
        with(case("cpu.dhrystone", &[], nowhere), rate("work")),
        with(case("cpu.whetstone", &[], nowhere), mwips),
        with(case("proc.exec", &[("target", "static")], nowhere), rate("work")),
        copy("1KiB", "2000KiB"),
        copy("256", "500K"),
        copy("4096", "8000KiB"),
        with(case("ipc.pipe", &[], nowhere), rate("work")),
        with(case("ipc.context", &[("pin", "same")], nowhere), rate("work")),
        with(case("ipc.context", &[("pin", "none")], nowhere), rate("work")),
        with(case("proc.spawn", &[], nowhere), rate("work")),
        shell("1"),
        shell("8"),
    ]
}

/// Rounds of 1 s in which as much was done as makes every score 10, a hundred, a thousand ...
fn with_scores(session: &mut Session, target: &str, rounds: u32, times: u64) {
    // Baselines in the order of `twelve`; what a copy moves is bytes, what a shell does is done in 60 s.
    let baselines =
        [15_000, 116_700, 55, 43, 3_960, 1_655, 5_800, 12_440, 1, 4_000, 126, 424, 6].map(|n: u64| n * times);
    for (at, baseline) in baselines.into_iter().enumerate() {
        // The second of three rounds is the slow one, to be dropped.
        for round in 0..rounds {
            let done = if round % 3 == 1 { baseline / 2 } else { baseline };
            let batch = match at {
                4..=6 => throughput("work", 1, done * 1024, 1_000_000_000),
                11 => throughput("work", done, 0, 600_000_000_000),
                12 => throughput("work", done, 0, 60_000_000_000),
                _ => throughput("work", done, 0, 1_000_000_000),
            };
            add(session, at, target, Ok(vec![batch]));
        }
    }
}

#[test]
fn twelve_scores_have_an_index_and_eleven_have_none() {
    let mut session = session(twelve());
    with_scores(&mut session, "native", 12, 100);
    with_scores(&mut session, "gvisor", 9, 10);
    let refused = Failure::new(FailureKind::NotSupported, "no \u{1b}[31mpipes here");
    session.trials.retain(|trial| trial.target == "native" || !trial.case.starts_with("ipc.pipe"));
    add(&mut session, 7, "gvisor", Err(refused));
    assert_snapshot!(shown(Tool::UnixBench, &session));
}

#[test]
fn scores_of_ten_times_the_baseline_are_a_hundred() {
    let mut session = session(twelve());
    with_scores(&mut session, "native", 3, 10);
    let scores = tare_analysis::unixbench::scores(&session);
    // Of ten passes three were measured: still a third, the slow one, is dropped.
    assert!((scores[0].index.unwrap() - 100.0).abs() < 1e-9);
    assert_eq!(scores[1].index, None);
}

#[test]
fn the_lines_of_sysbench_are_all_there() {
    let primes = [("max_prime", "20000"), ("threads", "1")];
    let files =
        [("bs", "16KiB"), ("files", "128"), ("fsync_every", "100"), ("mode", "rndrw"), ("total", "2GiB")];
    let mut cases = vec![case("cpu.primes", &primes, (None, None))];
    cases.push(case("cpu.primes", &[("max_prime", "20000"), ("threads", "4")], (None, None)));
    cases.push(case("file.random", &files, (Some("own"), None)));
    for case in &mut cases {
        let series = if case.case.probe == "cpu.primes" { "event" } else { "request" };
        case.metrics = vec![metric("time", series, Reading::TimePerOperation, Unit::Nanoseconds)];
    }
    let mut session = session(cases);
    for _ in 0..2 {
        for (at, threads) in [(0, 1), (1, 4)] {
            let mut batch = latency("event", 0, &[600_000, 660_000, 700_000].repeat(threads));
            if let Sample::Latency { elapsed_ns, .. } = &mut batch.sample {
                *elapsed_ns /= threads as u64;
            }
            add(&mut session, at, "native", Ok(vec![batch]));
        }
        let requests = vec![
            throughput("request", 5, 5 * 16_384, 900_000),
            latency("read", 3 * 16_384, &[5_000, 6_000, 7_000]),
            latency("write", 2 * 16_384, &[9_000, 10_000]),
            latency("fsync", 0, &[800_000]),
        ];
        add(&mut session, 2, "native", Ok(requests));
    }
    add(&mut session, 2, "gvisor", Err(Failure::new(FailureKind::Broken, "disk full")));
    assert_snapshot!(shown(Tool::Sysbench, &session));
}

#[test]
fn dd_closes_with_the_trial_in_the_middle() {
    let write = [
        ("bs", "64KiB"),
        ("cache", "warm"),
        ("data", "random"),
        ("loop", "plain"),
        ("op", "write"),
        ("size", "1000000"),
        ("sync", "fdatasync"),
    ];
    let mut read = write;
    (read[3].1, read[4].1) = ("dd", "read");
    let mut cases = vec![case("file.seq", &write, (Some("own"), None))];
    cases.push(case("file.seq", &read, (Some("share"), None)));
    for case in &mut cases {
        let reading = metric("rate", "block", Reading::BytesPerSecond, Unit::BytesPerSecond);
        case.metrics = vec![reading];
    }
    let mut session = session(cases);
    for elapsed_ns in [2_000_000, 1_000_000, 4_000_000] {
        let batches = vec![throughput("block", 16, 1_000_000, elapsed_ns), throughput("sync", 1, 0, 500_000)];
        add(&mut session, 0, "native", Ok(batches));
    }
    add(&mut session, 1, "native", Ok(vec![throughput("block", 16, 1_000_000, 123_456)]));
    assert_snapshot!(shown(Tool::Dd, &session));
}

#[test]
fn round_trips_have_netperfs_names() {
    let parameters = [("nodelay", "yes"), ("request", "1"), ("response", "1")];
    let mut cases = vec![case("net.rr", &parameters, (None, Some("loopback")))];
    cases[0].metrics = vec![metric("p50", "round", Reading::Quantile(0.5), Unit::Nanoseconds)];
    let mut session = session(cases);
    let times: Vec<u64> = (1..=100).map(|us| us * 1000).collect();
    add(&mut session, 0, "native", Ok(vec![latency("round", 200, &times)]));
    assert_snapshot!(shown(Tool::Netperf, &session));
}

#[test]
fn every_test_of_netperfs_has_its_own_lines() {
    let nanoseconds = |name, series, reading| metric(name, series, reading, Unit::Nanoseconds);
    let datagrams = [("burst", "4"), ("protocol", "udp"), ("request", "16"), ("response", "1")];
    let mut cases = vec![
        case("net.rr", &datagrams, (None, Some("host"))),
        case("net.connect", &[("request", "16"), ("response", "1")], (None, Some("host"))),
        case("net.stream", &[("direction", "send"), ("size", "16KiB")], (None, Some("host"))),
        case("net.stream", &[("congestion", "cubic"), ("direction", "receive")], (None, Some("host"))),
    ];
    cases[0].metrics = vec![nanoseconds("p50", "round", Reading::Quantile(0.5))];
    cases[1].metrics = vec![nanoseconds("p50", "transaction", Reading::Quantile(0.5))];
    for case in &mut cases[2..] {
        case.metrics = vec![metric("bytes", "stream", Reading::BytesPerSecond, Unit::BytesPerSecond)];
    }
    let mut session = session(cases);
    add(&mut session, 0, "native", Ok(vec![latency("round", 17 * 4, &[20_000; 4])]));
    let connections = vec![latency("transaction", 17 * 4, &[50_000; 4]), latency("connect", 0, &[20_000; 4])];
    add(&mut session, 1, "native", Ok(connections));
    for at in [2, 3] {
        add(&mut session, at, "native", Ok(vec![throughput("stream", 1000, 16_384_000, 10_000_000)]));
    }
    assert_snapshot!(shown(Tool::Netperf, &session));
}

#[test]
fn crystaldiskmark_keeps_the_best_pass() {
    let queue = |op: &'static str| {
        [("bs", "1MiB"), ("depth", "8"), ("op", op), ("pattern", "sequential"), ("threads", "1")]
    };
    let mut cases = vec![case("file.queue", &queue("read"), (Some("own"), None))];
    cases.push(case("file.queue", &queue("write"), (Some("own"), None)));
    for case in &mut cases {
        case.metrics = vec![
            metric("rate", "request", Reading::BytesPerSecond, Unit::BytesPerSecond),
            metric("iops", "request", Reading::OperationsPerSecond, Unit::PerSecond),
            metric("mean", "request", Reading::Mean, Unit::Nanoseconds),
        ];
    }
    let mut session = session(cases);
    for each_ns in [2_000_000, 1_000_000, 4_000_000] {
        add(&mut session, 0, "native", Ok(vec![latency("request", 4 << 20, &[each_ns; 4])]));
    }
    add(&mut session, 1, "native", Err(Failure::new(FailureKind::NotSupported, "no O_DIRECT")));
    assert_snapshot!(shown(Tool::CrystalDiskMark, &session));
}

#[test]
fn a_session_without_the_probes_says_which_study_has_them() {
    let empty = session(Vec::new());
    assert!(shown(Tool::Dd, &empty).contains("did not measure file.seq"));
    assert!(shown(Tool::UnixBench, &empty).contains("measured none of the twelve tests"));
    assert!(shown(Tool::Sysbench, &empty).contains("neither cpu.primes nor file.random"));
    assert!(shown(Tool::Netperf, &empty).contains("measured neither net.rr"));
    assert!(shown(Tool::CrystalDiskMark, &empty).contains("did not measure file.queue"));
}

#[test]
fn a_damaged_record_prints_no_numbers_that_are_none() {
    let mut cases = vec![case("net.rr", &[], (None, None)), case("cpu.primes", &[], (None, None))];
    cases.push(case("file.seq", &[], (None, None)));
    cases[2].metrics = vec![metric("rate", "block", Reading::BytesPerSecond, Unit::BytesPerSecond)];
    let mut session = session(cases);
    for at in 0..3 {
        let batches =
            vec![throughput("round", u64::MAX, u64::MAX, 0), throughput("block", 0, u64::MAX, u64::MAX)];
        add(&mut session, at, "native", Ok(batches));
    }
    for tool in [Tool::Netperf, Tool::Sysbench, Tool::Dd] {
        let text = shown(tool, &session);
        assert!(!text.contains("NaN") && !text.contains("inf"), "{text}");
    }
}
