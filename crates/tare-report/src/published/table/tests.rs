//! Tables of articles, filled from handmade sessions.

use tare_analysis::findings::Findings;
use tare_analysis::published::{Published, place_beside};
use tare_data::batch::{Batch, Histogram, Phase, Sample};
use tare_data::failure::{Failure, FailureKind};
use tare_data::metric::{Metric, Reading};
use tare_data::names::{Case, Parameters};
use tare_data::request::Amount;
use tare_data::session::Interference;
use tare_data::session::*;
use tare_data::unit::{Direction, Unit};
use tare_specimen::{make_sides, plan_case};

use super::{TableTexts, table_lines};
use crate::language::Language;
use crate::specimen;
use crate::terminal::{TerminalOptions, render_terminal};
use crate::text::count_columns;

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
    PlannedCase { definition: "d0".into(), ..plan_case(case, Vec::new()) }
}

/// Builds a session of these cases in a baseline and one subject, without trials.
fn session(cases: Vec<PlannedCase>) -> Session {
    let mut session = specimen::make_session(1);
    session.plan.targets = make_sides([("native", Role::Baseline), ("gvisor", Role::Subject)]);
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

/// Adds the next round of a case in an environment: its batches, or its failure.
fn add(session: &mut Session, case: usize, target: &str, outcome: Result<Vec<Batch>, Failure>) {
    let id = session.plan.cases[case].id.clone();
    let round = session.trials.iter().filter(|trial| trial.case == id && trial.target == target).count();
    let (batches, failure) = match outcome {
        Ok(batches) => (batches, None),
        Err(failure) => (Vec::new(), Some(failure)),
    };
    session.trials.push(Trial {
        partner: None,
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

/// Renders the table in a form.
fn shown(form: &str, session: &Session) -> String {
    let text = format!(
        "id = 'a'\ntitle = 'a'\nkind = 'article'\ntool = 'a'\nenvironment = []\ntables = ['{form}']\n"
    );
    let article: Published = toml::from_str(&text).unwrap();
    let mut findings = tare_analysis::compute_findings(session, &tare_analysis::Options::default());
    place_beside(&mut findings, session, &[article]);
    let tables = &findings.articles[0].tables;
    tables
        .iter()
        .flat_map(|table| table_lines(TableTexts::of_table(table, Language::English), 80))
        .collect::<Vec<_>>()
        .join("\n")
}

/// Finds the values of the line that begins so, one per environment.
fn values<'t>(text: &'t str, name: &str) -> Vec<&'t str> {
    let line =
        text.lines().find(|line| line.starts_with(name)).unwrap_or_else(|| panic!("no '{name}' in {text}"));
    line[name.len()..].split_whitespace().collect()
}

/// Lists the twelve cases, each with the metric that is its result.
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

/// Adds rounds of 1 s with the work that makes every score 10, a hundred, a thousand ...
fn with_scores(session: &mut Session, target: &str, rounds: u32, times: u64) {
    // Baselines in the order of `twelve`; a copy counts bytes, and a shell's work takes 60 s.
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
    let text = shown("unixbench", &session);
    assert_eq!(values(&text, "Process Creation"), ["1000.0", "100.0"]);
    assert_eq!(values(&text, "Pipe Throughput"), ["1000.0", "-"]);
    assert_eq!(values(&text, "Index of the twelve scores"), ["1000.0", "-"]);
    assert!(text.contains("\n- gvisor: the index needs all twelve scores"), "{text}");
    assert!(text.contains("pipes here") && !text.contains('\u{1b}'), "{text}");
}

#[test]
fn scores_of_ten_times_the_baseline_are_a_hundred() {
    let mut session = session(twelve());
    with_scores(&mut session, "native", 3, 10);
    let scores = tare_analysis::unixbench::compute_scores(&session);
    // Three of ten passes were measured: still a third, the slow one, is dropped.
    assert!((scores[0].index.unwrap() - 100.0).abs() < 1e-9);
    assert_eq!(scores[1].index, None);
}

#[test]
fn sysbench_has_its_rates_and_latencies() {
    let files = [("bs", "16KiB"), ("mode", "rndrw")];
    let mut cases = vec![case("cpu.primes", &[("threads", "1")], (None, None))];
    cases.push(case("file.random", &files, (Some("own"), None)));
    cases[1].metrics = vec![metric("time", "request", Reading::TimePerOperation, Unit::Nanoseconds)];
    let mut session = session(cases);
    for _ in 0..2 {
        add(&mut session, 0, "native", Ok(vec![latency("event", 0, &[600_000, 700_000, 700_000])]));
        let requests = vec![
            latency("read", 3 * 16_384, &[5_000, 6_000, 7_000]),
            latency("write", 2 * 16_384, &[9_000, 10_000]),
            latency("fsync", 0, &[800_000]),
        ];
        add(&mut session, 1, "native", Ok(requests));
    }
    add(&mut session, 1, "gvisor", Err(Failure::new(FailureKind::Broken, "disk full")));
    let text = shown("sysbench", &session);
    assert_eq!(values(&text, "cpu.primes, events, /s")[0], "1500.00");
    assert_eq!(values(&text, "cpu.primes, latency min, ms")[0], "0.60");
    assert_eq!(values(&text, "cpu.primes, latency max, ms")[0], "0.70");
    // Kinds of requests that ran side by side count once, by the longest: 0.8 ms of each trial.
    assert_eq!(values(&text, "file.random, own, fsyncs, /s")[0], "1250.00");
    assert_eq!(values(&text, "file.random, own, latency max, ms"), ["0.80", "-"]);
    assert!(text.contains("- gvisor: ") && text.contains("disk full"), "{text}");
}

#[test]
fn dd_has_the_rate_of_the_trial_in_the_middle() {
    let mut cases = vec![case("file.seq", &[("bs", "64KiB"), ("op", "write")], (Some("share"), None))];
    cases[0].metrics = vec![metric("rate", "block", Reading::BytesPerSecond, Unit::BytesPerSecond)];
    let mut session = session(cases);
    for elapsed_ns in [2_000_000, 1_000_000, 4_000_000] {
        add(&mut session, 0, "native", Ok(vec![throughput("block", 16, 1_000_000, elapsed_ns)]));
    }
    assert_eq!(values(&shown("dd", &session), "file.seq, share, MB/s"), ["500.0", "-"]);
}

#[test]
fn round_trips_of_all_rounds_are_one_run() {
    let mut session = session(vec![case("net.rr", &[], (None, Some("host")))]);
    let times: Vec<u64> = (1..=100).map(|us| us * 1000).collect();
    for part in times.chunks(50) {
        add(&mut session, 0, "native", Ok(vec![latency("round", 200, part)]));
    }
    let text = shown("netperf", &session);
    for (name, value) in [("MIN", "1.0"), ("MEAN", "50.5"), ("MAX", "100.0")] {
        assert_eq!(values(&text, &format!("net.rr, host, {name}_LATENCY, us"))[0], value);
    }
}

/// Computes the findings of a session that repeats a shipped article, in environments that stand for its own.
fn repeat(article: &str, environments: &[(&str, Role)], session: &mut Session) -> Findings {
    let article: Published = toml::from_str(article).unwrap();
    session.header.command = ["tare", "run", "--like", &article.id].map(str::to_owned).to_vec();
    session.plan.targets = make_sides(environments.iter().copied());
    let mut findings = tare_analysis::compute_findings(session, &tare_analysis::Options::default());
    place_beside(&mut findings, session, &[article]);
    findings
}

/// Renders the table of such an article.
fn repeated(article: &str, environments: &[(&str, Role)], mut session: Session) -> String {
    let findings = repeat(article, environments, &mut session);
    let tables = super::super::article_tables(&findings.articles[0], Language::English);
    assert_eq!(tables.len(), 1, "an article has one table");
    tables.into_iter().flat_map(|table| table_lines(table, 80)).collect::<Vec<_>>().join("\n")
}

#[test]
fn an_article_s_figures_are_left_and_a_session_s_right_with_the_article_s_ratio() {
    let mut session = session(vec![case("net.rr", &[("protocol", "tcp")], (None, Some("host")))]);
    for (target, times_us) in [("wsl1-like", [31, 40, 900]), ("wsl2-like", [62, 80, 1_800])] {
        add(&mut session, 0, target, Ok(vec![latency("round", 200, &times_us.map(|us| us * 1_000))]));
    }
    let targets = [("native", Role::Baseline), ("wsl1-like", Role::Subject), ("wsl2-like", Role::Subject)];
    let text = repeated(include_str!("../../../../../published/qiita-wsl-rtt.toml"), &targets, session);
    assert_eq!(
        values(&text, "TCP, longest round trip, us"),
        ["3599", "9155", "2.54x", "899.8", "1799.7", "2.00x"]
    );
    assert_eq!(text.matches("round trip,").count(), 3, "UDP was not measured: {text}");
    assert!(!text.contains("native"), "the article does not know of it: {text}");
}

#[test]
fn reads_a_second_are_those_of_the_whole_run() {
    let files = [("mode", "rndrw"), ("threads", "4"), ("files", "16"), ("total", "32MiB")];
    let mut session = session(vec![case("file.random", &files, (Some("own"), None))]);
    for (target, all_ns) in [("native", 10_000_000), ("wsl2-like", 20_000_000)] {
        let requests = vec![
            throughput("request", 5, 5 * 16_384, all_ns),
            latency("read", 3 * 16_384, &[5_000; 3]),
            latency("write", 2 * 16_384, &[9_000; 2]),
            latency("fsync", 0, &[8_000_000]),
        ];
        add(&mut session, 0, target, Ok(requests));
    }
    let targets = [("native", Role::Baseline), ("wsl2-like", Role::Subject)];
    let text = repeated(include_str!("../../../../../published/tuni-wsl2-linux.toml"), &targets, session);
    let line = values(&text, "fileio, reads a second, /s");
    assert_eq!(line, ["552.50", "265.74", "0.48x", "300.00", "150.00", "0.50x"]);
    let events = values(&text, "fileio, events in 300 s,");
    assert_eq!(events, ["629929", "303079", "0.48x", "180000", "90000", "0.50x"]);
}

#[test]
fn a_first_screen_has_the_answer_and_twelve_rows_and_the_rest_is_below() {
    let files = [("mode", "rndrw"), ("threads", "4"), ("files", "16"), ("total", "32MiB")];
    let primes = case("cpu.primes", &[("max_prime", "20000"), ("threads", "4")], (None, None));
    let mut session = session(vec![primes, case("file.random", &files, (Some("own"), None))]);
    for target in ["native", "wsl2-like"] {
        let requests = ["read", "write", "fsync"].map(|series| latency(series, 3 * 16_384, &[5_000; 3]));
        add(&mut session, 0, target, Ok(vec![latency("event", 0, &[600_000, 700_000])]));
        let whole = throughput("request", 5, 5 * 16_384, 20_000_000);
        add(&mut session, 1, target, Ok(std::iter::once(whole).chain(requests).collect()));
    }
    let targets = [("native", Role::Baseline), ("wsl2-like", Role::Subject)];
    let thesis = include_str!("../../../../../published/tuni-wsl2-linux.toml");
    let findings = repeat(thesis, &targets, &mut session);
    let text = render_terminal(&session, &findings, &TerminalOptions::default());
    let lines: Vec<&str> = text.lines().collect();
    assert!(lines[0].starts_with("tuni-wsl2-linux: ") && lines[0].contains(" conclusions "), "{text}");
    let is_row = |line: &&&str| line.starts_with("cpu, ") || line.starts_with("fileio, ");
    let rows = |of: &[&str]| of.iter().filter(is_row).count();
    let table = lines.iter().skip(1).position(|line| line.contains("figures as printed")).unwrap() + 1;
    let end = table + lines[table..].iter().position(|line| line.is_empty()).unwrap();
    assert_eq!(rows(&lines[table..end]), 12, "{text}");
    assert!(end <= 24 && lines[..end].iter().all(|line| count_columns(line) <= 80), "{end}: {text}");
    assert!(text.matches("fileio, longest event").count() >= 1 && rows(&lines[end..]) >= 4, "{text}");
}

#[test]
fn columns_below_others_keep_the_head_of_their_group() {
    let texts = |of: [&str; 5]| of.map(str::to_owned).to_vec();
    let table = TableTexts {
        heading: "As printed, and here:".into(),
        groups: texts(["article", "", "here", "", ""]),
        heads: texts(["linux", "wsl2", "native", "wsl2-like", "ratio"]),
        lines: vec![(
            "time a process, ms".into(),
            texts(["0.0448", "0.0820 (1.83x)", "0.0460", "0.0920", "2.00x"]),
        )],
        notes: Vec::new(),
    };
    let lines = table_lines(table, 60);
    assert!(lines.iter().all(|line| !line.is_empty() && count_columns(line) <= 60), "{lines:#?}");
    let groups: Vec<&str> =
        lines.iter().map(|line| line.trim()).filter(|line| line.ends_with("here")).collect();
    assert_eq!(groups.len(), 2, "{lines:#?}");
    assert_eq!(groups[1], "here");
}

#[test]
fn a_table_without_rows_keeps_its_notes() {
    let note = "- wsl2-like: its trials do not give it".to_owned();
    let table = TableTexts {
        heading: "As dd prints its rate:".into(),
        groups: Vec::new(),
        heads: vec!["native".into(), "wsl2-like".into()],
        lines: Vec::new(),
        notes: vec![note.clone()],
    };
    let mut room = [20, 12];
    let [first, rest] = table.split_rows(80, &mut room);
    assert_eq!((first.len(), rest.last(), room), (0, Some(&note), [20, 12]));
}

#[test]
fn trials_as_long_as_netperf_s_are_runs_and_not_pooled() {
    let mut planned = case("net.rr", &[], (None, Some("host")));
    planned.amount = Amount::Duration { batch: 50, seconds: 10.0 };
    let mut session = session(vec![planned]);
    for longest_us in [9_000, 3_000, 4_000] {
        add(
            &mut session,
            0,
            "native",
            Ok(vec![latency("round", 200, &[80_000, 100_000, longest_us * 1000])]),
        );
    }
    let text = shown("netperf", &session);
    assert!(text.starts_with("As netperf prints round trips, of the run in the middle"), "{text}");
    let longest = values(&text, "net.rr, host, MAX_LATENCY, us");
    // To the width of a histogram's bin.
    let near = |at: usize, begin: &str| longest[at].starts_with(begin);
    assert!(near(0, "400") && near(1, "(299") && longest[2] == "to" && near(3, "899"), "{text}");
}

#[test]
fn processes_have_milliseconds_and_megabytes() {
    let mut cases = vec![case("proc.fork_hold", &[("ballast", "none")], (None, None))];
    cases[0].metrics = vec![
        metric("time", "process", Reading::TimePerOperation, Unit::Nanoseconds),
        metric("memory", "memory", Reading::Gauge, Unit::Bytes),
    ];
    let mut session = session(cases);
    let memory = Batch {
        series: "memory".into(),
        phase: Phase::Warm,
        started_ns: 0,
        sample: Sample::Gauge { value: 2.19e6 },
    };
    add(&mut session, 0, "native", Ok(vec![throughput("process", 100, 0, 453_000_000), memory]));
    let text = shown("processes", &session);
    assert_eq!(values(&text, "proc.fork_hold, time, ms")[0], "4.5300");
    assert_eq!(values(&text, "proc.fork_hold, memory, MB")[0], "2.190");
}

#[test]
fn crystaldiskmark_keeps_the_best_pass() {
    let mut cases = vec![case("file.queue", &[("op", "read")], (Some("own"), None))];
    cases.push(case("file.queue", &[("op", "write")], (Some("share"), None)));
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
    let text = shown("crystaldiskmark", &session);
    assert_eq!(values(&text, "file.queue, own, MB/s"), ["1048.576", "-"]);
    assert_eq!(values(&text, "file.queue, own, IOPS")[0], "1000.0");
    assert_eq!(values(&text, "file.queue, share, us"), ["-", "-"]);
    assert!(text.contains("no O_DIRECT"), "{text}");
}

#[test]
fn what_a_session_did_not_measure_has_no_table() {
    let empty = session(Vec::new());
    for form in ["netperf", "dd", "unixbench", "crystaldiskmark", "processes", "sysbench"] {
        assert_eq!(shown(form, &empty), "");
    }
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
    for form in ["netperf", "sysbench", "dd"] {
        let text = shown(form, &session);
        assert!(!text.contains("NaN") && !text.contains("inf"), "{text}");
    }
}
