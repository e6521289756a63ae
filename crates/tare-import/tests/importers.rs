//! Importers: every fixture is read as it was meant, and no cut of one passes for a whole.

#![allow(clippy::disallowed_methods, reason = "tests write the files that they read")]

use std::fs;
use std::path::{Path, PathBuf};

use tare_data::imported::{Imported, ImportedFigure, Stated, Statistic};
use tare_data::peer::PeerKind;
use tare_data::unit::Unit;
use tare_import::{IMPORTERS, LONGEST_SOURCE, MOST_FIGURES, Refusal, Text, find_importer, import_file};
use tare_record::Entry;
use tare_record::entry::{from_line, to_line};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/imported")
}

fn bytes(name: &str) -> Vec<u8> {
    fs::read(folder().join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// Imports a file that holds the outputs of one tool.
fn import_one(bytes: &[u8], name: &str, environment: Option<&str>) -> Result<Imported, Refusal> {
    let mut imports = import_file(bytes, name, environment)?;
    assert_eq!(imports.len(), 1, "{name} holds several tools' outputs");
    Ok(imports.remove(0))
}

fn imported(name: &str) -> Imported {
    import_one(&bytes(name), name, None).unwrap_or_else(|refusal| panic!("{name}: {refusal}"))
}

fn fixtures() -> Vec<String> {
    let names =
        fs::read_dir(folder()).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = names.filter(|name| name != "README.md").collect();
    names.sort();
    assert!(names.len() > 40, "fixtures are missing: {names:?}");
    names
}

fn figure<'a>(imported: &'a Imported, name: &str) -> &'a ImportedFigure {
    let found = imported.figures.iter().find(|figure| figure.name == name);
    found.unwrap_or_else(|| {
        let names: Vec<&str> = imported.figures.iter().map(|figure| figure.name.as_str()).collect();
        panic!("there is no '{name}' in {names:?}")
    })
}

fn stated<'a>(figure: &'a ImportedFigure, statistic: &str) -> &'a Stated {
    let found = figure.values.iter().find(|value| value.statistic.to_string() == statistic);
    found.unwrap_or_else(|| panic!("'{}' has no {statistic}: {:?}", figure.name, figure.values))
}

fn refusal(bytes: &[u8]) -> Refusal {
    import_one(bytes, "file", None).expect_err("this must be refused")
}

#[test]
fn every_importer_is_listed_and_has_fixtures() {
    let sources = fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("src")).unwrap();
    let sources = sources.map(|entry| entry.unwrap().path()).map(|path| match path.is_dir() {
        true => path.join("mod.rs"),
        false => path,
    });
    let importers = sources.filter(|path| fs::read_to_string(path).unwrap().contains("pub static IMPORTER:"));
    assert_eq!(importers.count(), IMPORTERS.len());
    for importer in IMPORTERS {
        let tool = importer.name.to_lowercase();
        let tool = tool.split(' ').next().unwrap();
        let own: Vec<String> = fixtures().into_iter().filter(|name| name.starts_with(tool)).collect();
        assert!(!own.is_empty(), "{tool} has no fixture");
        for name in own {
            let text = Text::decode(&bytes(&name)).unwrap();
            assert_eq!(find_importer(&text).map(|found| found.name), Some(importer.name), "{name}");
            assert_eq!(imported(&name).tool, importer.name);
        }
    }
}

#[test]
fn what_a_fixture_says_is_what_is_read() {
    let facts: &[(&str, &str, &str, f64, Unit)] = &[
        ("netperf-tcp-rr.txt", "TCP REQUEST/RESPONSE", "rate", 121_714.6, Unit::PerSecond),
        ("netperf-tcp-rr-2.4.txt", "TCP REQUEST/RESPONSE", "rate", 5_120.25, Unit::PerSecond),
        ("netperf-tcp-rr-cpu.txt", "TCP REQUEST/RESPONSE", "rate", 128_402.23, Unit::PerSecond),
        ("netperf-tcp-rr-v2.txt", "TCP REQUEST/RESPONSE", "time", 7_275.0, Unit::Nanoseconds),
        ("netperf-tcp-crr.txt", "TCP Connect/Request/Response", "rate", 23_385.6, Unit::PerSecond),
        ("netperf-tcp-stream.txt", "TCP STREAM", "throughput", 34_242.30e6, Unit::BitsPerSecond),
        ("netperf-udp-stream.txt", "UDP STREAM: received", "throughput", 1_808.73e6, Unit::BitsPerSecond),
        ("netperf-omni.txt", "OMNI Send|Recv", "rate", 139_681.57, Unit::PerSecond),
        ("netperf-omni-selected.txt", "TCP REQUEST/RESPONSE", "mean", 8_110.0, Unit::Nanoseconds),
        ("netperf-omni-all.txt", "OMNI Send|Recv", "sd", 15_560.0, Unit::Nanoseconds),
        ("netperf-keys.txt", "TCP REQUEST/RESPONSE", "p99", 25_000.0, Unit::Nanoseconds),
        ("netperf-keys-all.txt", "TCP REQUEST/RESPONSE", "max", 4_427_000.0, Unit::Nanoseconds),
        ("netperf-csv.txt", "TCP REQUEST/RESPONSE", "p90", 7_000.0, Unit::Nanoseconds),
        ("iperf3-tcp.json", "received", "count", 4_431_937_536.0, Unit::Bytes),
        ("iperf3-udp.json", "received: jitter and loss", "mean", 40_256.459_983_464_55, Unit::Nanoseconds),
        ("sysbench-cpu.txt", "cpu", "p95", 4_410_000.0, Unit::Nanoseconds),
        ("sysbench-cpu-histogram.txt", "cpu", "mean", 480_000.0, Unit::Nanoseconds),
        ("sysbench-fileio.txt", "fileio rndrw fsyncs", "rate", 354.22, Unit::PerSecond),
        ("sysbench-memory.txt", "memory", "throughput", 1_958.75 * 1_048_576.0, Unit::BytesPerSecond),
        ("sysbench-threads.txt", "events", "count", 2_560.0, Unit::Count),
        ("unixbench.txt", "Double-Precision Whetstone", "rate", 6_843.2, Unit::Mwips),
        (
            "unixbench.txt",
            "File Copy 256 bufsize 500 maxblocks",
            "throughput",
            226_405_068.8,
            Unit::BytesPerSecond,
        ),
        ("unixbench.txt", "Pipe-based Context Switching", "score", 246.9, Unit::Count),
        ("unixbench-partial.txt", "System Benchmarks Index Score", "score", 1_244.2, Unit::Count),
        ("dd-c.txt", "dd", "throughput", 27.8e9, Unit::BytesPerSecond),
        ("dd-busybox.txt", "dd", "throughput", 1.9 * 1_073_741_824.0, Unit::BytesPerSecond),
        ("dd-bsd.txt", "dd", "throughput", 2_084_110_030.0, Unit::BytesPerSecond),
        ("dd-de-comma.txt", "dd", "elapsed", 642_771_000.0, Unit::Nanoseconds),
        ("dd-fr-comma.txt", "dd", "elapsed", 84_512.0, Unit::Nanoseconds),
        ("dd-es-comma.txt", "dd", "throughput", 1.7e9, Unit::BytesPerSecond),
        ("dd-ja.txt", "dd", "throughput", 2.1e9, Unit::BytesPerSecond),
        ("dd-uk.txt", "dd", "count", 209_715_200.0, Unit::Bytes),
        ("dd-zh_CN.txt", "dd", "throughput", 17.1e9, Unit::BytesPerSecond),
        ("fio-randrw.json", "a: read", "rate", 20_857.142_857, Unit::PerSecond),
        ("fio-randrw.json", "a: write, completion latency", "p99.9", 28_288.0, Unit::Nanoseconds),
        ("crystaldiskmark-8.txt", "SEQ 1MiB Q1T1 read", "throughput", 2_105_660_000.0, Unit::BytesPerSecond),
        ("crystaldiskmark-8.txt", "RND 4KiB Q32T1 write", "mean", 262_200.0, Unit::Nanoseconds),
        ("crystaldiskmark-8-mix.txt", "SEQ 1MiB Q8T1 mix", "throughput", 450_113_000.0, Unit::BytesPerSecond),
        (
            "crystaldiskmark-6.txt",
            "Sequential Read Q=32,T=1",
            "throughput",
            3_011_204_000.0,
            Unit::BytesPerSecond,
        ),
        ("crystaldiskmark-6.txt", "Random Write 4KiB Q=1,T=1", "rate", 32_558.6, Unit::PerSecond),
        ("sysbench-cpu-results.txt", "cpu", "p95", 4_410_000.0, Unit::Nanoseconds),
        ("sysbench-fileio-results.txt", "fileio fsyncs", "rate", 354.22, Unit::PerSecond),
        ("netperf-keys-foreign.txt", "TCP REQUEST/RESPONSE", "p99", 25_000.0, Unit::Nanoseconds),
        ("netperf-omni-three.txt", "TCP REQUEST/RESPONSE", "max", 18_133_000.0, Unit::Nanoseconds),
        ("dd-last-line.txt", "dd", "throughput", 27.8e9, Unit::BytesPerSecond),
        ("hyperfine.json", "sleep 0.01", "p50", 11_233_876.620_000_001, Unit::Nanoseconds),
    ];
    for (file, name, statistic, expected, unit) in facts {
        let imported = imported(file);
        let stated = stated(figure(&imported, name), statistic);
        assert_eq!((stated.value, stated.unit), (*expected, Some(*unit)), "{file}: {name} {statistic}");
    }
}

#[test]
fn counterparts_are_what_the_output_fixes() {
    let facts = [
        (
            "netperf-tcp-rr.txt",
            "TCP REQUEST/RESPONSE",
            "net.rr?burst=1&protocol=tcp&rate=0&request=1&response=1",
        ),
        ("netperf-tcp-crr.txt", "TCP Connect/Request/Response", ""),
        ("sysbench-cpu.txt", "cpu", "cpu.primes?max_prime=10000&threads=2"),
        (
            "sysbench-fileio.txt",
            "fileio rndrw reads",
            "file.random?bs=16KiB&files=4&fsync_every=100&mode=rndrw&threads=1&total=4MiB",
        ),
        ("unixbench.txt", "Process Creation", "proc.spawn"),
        ("fio-randrw.json", "a: read", ""),
        (
            "crystaldiskmark-8.txt",
            "RND 4KiB Q32T1 read",
            "file.queue?bs=4KiB&depth=32&op=read&pattern=random&threads=1",
        ),
    ];
    for (file, name, expected) in facts {
        let imported = imported(file);
        let counterpart = figure(&imported, name).counterpart.as_ref();
        assert_eq!(counterpart.map(ToString::to_string).unwrap_or_default(), expected, "{file}");
    }
    let peer = |text: &str| {
        let imported = import_one(text.as_bytes(), "x", None).unwrap();
        imported.figures[0].counterpart.as_ref().and_then(|counterpart| counterpart.peer)
    };
    let text = String::from_utf8(bytes("netperf-tcp-rr.txt")).unwrap();
    assert_eq!(peer(&text), Some(PeerKind::Loopback));
    assert_eq!(peer(&text.replace(" to 127.0.0.1 ", " to 10.0.0.10 ")), Some(PeerKind::Outside));
    let keys = imported("netperf-keys.txt");
    assert_eq!(stated(&keys.figures[0], "sd").metric.as_deref(), Some("sd"));
    let two = imported("unixbench-two-sets.txt");
    let copies: Vec<bool> = two.figures.iter().map(|figure| figure.counterpart.is_some()).collect();
    assert_eq!(
        (two.figures.len(), copies.iter().filter(|has| **has).count()),
        (26, 12),
        "only one copy is a probe"
    );
}

#[test]
fn requests_a_second_are_of_the_whole_run_and_bytes_of_one_kind() {
    let text = String::from_utf8(bytes("sysbench-fileio.txt")).unwrap();
    let metrics = |mode: &str| {
        let text = text.replace("random r/w test", mode);
        let imported = import_one(text.as_bytes(), "x", None).unwrap();
        let named = imported.figures.iter().flat_map(|figure| &figure.values);
        named.filter_map(|value| Some((value.statistic, value.metric.clone()?))).collect::<Vec<_>>()
    };
    let [reads, writes, fsyncs] =
        ["reads", "writes", "fsyncs"].map(|metric| (Statistic::Rate, metric.to_owned()));
    let bytes = (Statistic::Throughput, "rate".to_owned());
    assert_eq!(metrics("random r/w test"), [reads.clone(), writes.clone(), fsyncs.clone()]);
    assert_eq!(metrics("random read test"), [reads, bytes.clone()]);
    assert_eq!(metrics("random write test"), [writes, bytes, fsyncs]);
}

#[test]
fn a_file_is_named_with_its_origin() {
    let imported = import_one(&bytes("dd-two.txt"), "two.txt", Some("gvisor")).unwrap();
    assert_eq!((imported.figures.len(), imported.environment.as_deref()), (2, Some("gvisor")));
    assert_eq!(
        (imported.source.name.as_str(), imported.source.bytes),
        ("two.txt", bytes("dd-two.txt").len() as u64)
    );
    assert_eq!(imported.source.sha256.len(), 64);
    let windows = import_one(&bytes("crystaldiskmark-8-utf16.txt"), "a", None).unwrap();
    let plain = import_one(&bytes("crystaldiskmark-8.txt"), "a", None).unwrap();
    assert_eq!(windows.figures, plain.figures);
    assert_eq!(stated(&imported.figures[0], "elapsed").written, "0.00754201 s");
}

/// Every cut is refused with a position in it, or gives figures as the whole gives them: the first ones, each with
/// the first of its values. Where a format has an end mark, each figure that is there is whole.
#[test]
fn a_cut_file_never_passes_for_another() {
    let names = fixtures();
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for first in 0..threads {
            let share = names.iter().skip(first).step_by(threads);
            scope.spawn(move || share.for_each(|name| check_cuts(name)));
        }
    });
}

fn check_cuts(name: &str) {
    let whole = bytes(name);
    let all = imported(name);
    let text = Text::decode(&whole).unwrap();
    let importer = find_importer(&text).unwrap();
    let mut last = 0;
    // At every byte of a short file; a long one repeats itself.
    for cut in (0..whole.len()).step_by(1 + whole.len() / 2000) {
        match import_one(&whole[..cut], name, None) {
            Err(refusal) => {
                assert!(
                    refusal.position.byte <= cut && refusal.position.line >= 1,
                    "{name} at {cut}: {refusal}"
                );
                assert!(refusal.cause.len() > 10, "{name} at {cut}: {refusal}");
            }
            Ok(part) => {
                assert!(part.figures.len() >= last, "{name} at {cut}: fewer figures than in a shorter cut");
                last = part.figures.len();
                for (found, full) in part.figures.iter().zip(&all.figures) {
                    assert_eq!(found.name, full.name, "{name} at {cut}");
                    if importer.end_mark.is_some() {
                        assert_eq!(found.values, full.values, "{name} at {cut}");
                    } else {
                        let same =
                            found.values.iter().all(|value| full.values.iter().any(|v| same(v, value)));
                        assert!(same, "{name} at {cut}: {:?}", found.values);
                    }
                }
            }
        }
    }
    let runs = ["dd-two.txt", "dd-three.txt", "unixbench-two-sets.txt", "unixbench-5.1.3.txt"];
    if importer.end_mark.is_some() && !runs.contains(&name) {
        assert!(last == 0 || last == all.figures.len(), "{name}: a cut has {last} of {}", all.figures.len());
    }
}

fn same(a: &Stated, b: &Stated) -> bool {
    (a.statistic, a.value, &a.written) == (b.statistic, b.value, &b.written)
}

#[test]
fn what_is_wrong_is_refused_where_it_stands() {
    let changed = |name: &str, from: &str, to: &str| {
        let text = String::from_utf8(bytes(name)).unwrap();
        assert!(text.contains(from), "{name}");
        let refusal = refusal(text.replacen(from, to, 1).as_bytes());
        (refusal.position.line, refusal.position.column, refusal.cause)
    };
    let (line, column, cause) = changed("sysbench-cpu.txt", "2750.97", "27x0.97");
    assert_eq!((line, column), (15, 25), "{cause}");
    let (line, column, cause) = changed("sysbench-cpu.txt", "95th", "1e309th");
    assert_eq!((line, column, cause.as_str()), (25, 10, "'1e309' is not a number"));
    let (line, _, cause) = changed("netperf-keys.txt", "P99_LATENCY=25", "P90_LATENCY=25");
    assert_eq!((line, cause.as_str()), (6, "P90_LATENCY stands here for the second time"));
    let (line, _, cause) = changed("netperf-csv.txt", "1.00,TCP", "1.00");
    assert_eq!((line, cause.as_str()), (3, "12 values under 13 names"));
    let (_, _, cause) = changed("fio-randrw.json", "\"error\": 0", "\"error\": 5");
    assert_eq!(cause, "fio reports that the job 'a' failed with error 5");
    let (line, column, cause) = changed("hyperfine.json", "\"mean\": 0", "\"mean\": x");
    assert_eq!((line, column, cause.as_str()), (5, 15, "expected value"));
    let (line, column, cause) = changed("dd-c.txt", "27.8 GB/s", "27.8 GX/s");
    assert_eq!((line, column, cause.as_str()), (3, 62, "'GX/s' is not a rate"));
    let (_, _, cause) = changed("iperf3-tcp.json", "\"start\":", "\"error\": \"interrupted\", \"start\":");
    assert!(cause.contains("the test failed: interrupted"), "{cause}");
    assert!(refusal(b"").cause.starts_with("no known output begins here"));
    assert!(refusal(b"copi\xe9s").cause.contains("UTF-8"));
}

#[test]
fn what_is_hostile_is_bounded() {
    let deep = format!("{{\"fio version\": \"x\", \"jobs\": {}", "[".repeat(1 << 20));
    assert!(
        refusal(deep.as_bytes()).cause.contains("recursion")
            || refusal(deep.as_bytes()).cause.contains("type")
    );
    let many = format!("{{\"fio version\": \"x\", \"jobs\": [{}0]}}", "{\"jobname\":\"\"},".repeat(20_000));
    assert!(refusal(many.as_bytes()).cause.contains("at most"), "{}", refusal(many.as_bytes()));
    let runs = String::from_utf8(bytes("dd-c.txt")).unwrap().repeat(MOST_FIGURES + 1);
    assert!(refusal(runs.as_bytes()).cause.contains("more than"));
    let long = vec![b'1'; LONGEST_SOURCE as usize + 1];
    assert!(refusal(&long).cause.contains("longer than"));
    // Even the longest names fit into a line of a record, unless there are too many.
    let name = "x".repeat(400);
    let result = format!("{{\"command\":\"{name}\",\"mean\":1,\"median\":1,\"min\":1,\"max\":1}},");
    let wide = |count| format!("{{\"results\": [{}]}}", result.repeat(count).trim_end_matches(','));
    assert_eq!(import_one(wide(1000).as_bytes(), "wide", None).unwrap().figures.len(), 1000);
    assert!(refusal(wide(MOST_FIGURES).as_bytes()).cause.contains("fill more than"));
}

#[test]
fn figures_are_read_as_they_were_written_to_the_last_bit() {
    let text =
        String::from_utf8(bytes("sysbench-cpu.txt")).unwrap().replace("1995.37", "118446744073709551616.1");
    let entry = Entry::Imported(import_one(text.as_bytes(), "file", None).unwrap());
    assert_eq!(from_line(to_line(&entry).as_bytes()), Some(entry));
}

/// In these shares no probe reads and writes at once.
#[test]
fn a_mixed_section_is_not_a_write() {
    let imported = imported("crystaldiskmark-8-mix.txt");
    let writes = imported.figures.iter().filter(|figure| figure.name.ends_with(" write")).count();
    assert_eq!(writes, 4);
    assert!(figure(&imported, "SEQ 1MiB Q8T1 mix").counterpart.is_none());
}

/// An excerpt is compared with a case only where it says that both did the same work.
#[test]
fn a_part_of_a_report_has_no_counterpart() {
    for name in ["sysbench-cpu-results.txt", "sysbench-fileio-results.txt", "crystaldiskmark-6.txt"] {
        assert!(imported(name).figures.iter().all(|figure| figure.counterpart.is_none()), "{name}");
    }
}

#[test]
fn forms_that_are_not_read_are_refused_with_the_ones_that_are() {
    let terse = "3;fio-3.33;a;0;0;256;36571;9142;7\n";
    assert!(refusal(terse.as_bytes()).cause.contains("--output-format=json"));
    let iperf =
        "Client connecting to 10.0.0.2, TCP port 5001\n[  3]  0.0-10.0 sec  1.10 GBytes   943 Mbits/sec\n";
    assert!(refusal(iperf.as_bytes()).cause.contains("iperf 2"));
    let progress = "4403455488 bytes (4.4 GB, 4.1 GiB) copied, 17 s, 259 MB/s\n";
    assert!(refusal(progress.as_bytes()).cause.contains("progress"));
}

/// hyperfine runs a command of half a millisecond thousands of times.
#[test]
fn the_number_of_runs_is_no_limit() {
    let times = "0.000646763,".repeat(4_999) + "0.000568791";
    let text = format!(
        "{{\"results\": [{{\"command\": \"a\", \"mean\": 0.000599251, \"stddev\": 2.17644e-05, \"median\": 0.000594625, \
         \"min\": 0.000568791, \"max\": 0.000889666, \"times\": [{times}]}}]}}\n"
    );
    let imported = import_one(text.as_bytes(), "many", None).unwrap();
    let value = |statistic| stated(&imported.figures[0], statistic).value;
    assert_eq!(
        ["mean", "min", "p50", "max"].map(value),
        [599_251.0, 568_791.0, 594_625.0, 889_666.0],
        "{:?}",
        imported.figures
    );
}

/// 0.00 ms is less than 0.005 ms, and is compared with nothing.
#[test]
fn a_time_below_the_resolution_is_no_metric() {
    let text = fs::read(folder().join("../posted/case-sysbench-unresolved.txt")).unwrap();
    let imported = import_one(&text, "unresolved", None).unwrap();
    let metric = |statistic| {
        let stated = stated(&imported.figures[0], statistic);
        (stated.written.clone(), stated.metric.clone())
    };
    for statistic in ["min", "mean", "p95"] {
        assert_eq!(metric(statistic), ("0.00 ms".to_owned(), None));
    }
    assert_eq!(metric("max").1.as_deref(), Some("max"));
    assert_eq!(metric("rate").1.as_deref(), Some("rate"));
}
