//! Every number of every fixture: an imported one is as the file has it, and any other is reported.

#![allow(clippy::disallowed_methods, reason = "tests write the files that they read")]

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use tare_data::imported::{Imported, Stated};
use tare_data::unit::Unit;
use tare_import::{Text, import_file};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/imported")
}

fn fixtures() -> BTreeMap<String, Vec<u8>> {
    let files = fs::read_dir(folder()).unwrap().map(|entry| entry.unwrap().path());
    let files =
        files.map(|path| (path.file_name().unwrap().to_str().unwrap().to_owned(), fs::read(path).unwrap()));
    files.filter(|(name, _)| name != "README.md").collect()
}

fn imported(name: &str, bytes: &[u8]) -> Imported {
    let mut imports = import_file(bytes, name, None).unwrap_or_else(|refusal| panic!("{name}: {refusal}"));
    assert_eq!(imports.len(), 1, "{name} holds several tools' outputs");
    imports.remove(0)
}

/// Converts a tool's unit to tare's. A second copy on purpose: a wrong factor in one of them shows.
fn factor(written: &str) -> (f64, Option<Unit>) {
    let (kibi, mebi, gibi) = (1024.0, 1_048_576.0, 1_073_741_824.0);
    let known = |factor, unit| (factor, Some(unit));
    match written {
        "" => known(1.0, Unit::Count),
        "s" => known(1e9, Unit::Nanoseconds),
        "ms" => known(1e6, Unit::Nanoseconds),
        "us" | "µs" => known(1e3, Unit::Nanoseconds),
        "ns" => known(1.0, Unit::Nanoseconds),
        "/s" | "lps" | "Trans/s" => known(1.0, Unit::PerSecond),
        "lpm" => known(1.0, Unit::PerMinute),
        "MWIPS" => known(1.0, Unit::Mwips),
        "%" => known(1.0, Unit::Percent),
        "bytes" => known(1.0, Unit::Bytes),
        "KBytes" => known(kibi, Unit::Bytes),
        "MBytes" => known(mebi, Unit::Bytes),
        "GBytes" => known(gibi, Unit::Bytes),
        "bits/s" => known(1.0, Unit::BitsPerSecond),
        "10^6bits/s" | "Mbits/sec" => known(1e6, Unit::BitsPerSecond),
        "Gbits/sec" => known(1e9, Unit::BitsPerSecond),
        "B/s" | "bytes/s" => known(1.0, Unit::BytesPerSecond),
        "kB/s" => known(1e3, Unit::BytesPerSecond),
        "MB/s" => known(1e6, Unit::BytesPerSecond),
        "GB/s" => known(1e9, Unit::BytesPerSecond),
        "KBps" => known(kibi, Unit::BytesPerSecond),
        "MBytes/s" | "MiB/s" | "MBytes/sec" => known(mebi, Unit::BytesPerSecond),
        other => panic!("no unit '{other}' is known here"),
    }
}

fn number(text: &str) -> Option<f64> {
    text.replace(',', ".").parse().ok()
}

/// Collects the numbers of a text: digits with a mark and a power, or without, whatever surrounds them.
fn numbers(text: &str) -> BTreeSet<u64> {
    let cut_at = |marks: &'static str| {
        let words = text.split(move |c: char| !(c.is_ascii_digit() || marks.contains(c)));
        words.map(|word| word.trim_matches(|c: char| !c.is_ascii_digit()))
    };
    let words = cut_at(".,eE+-").chain(cut_at(".eE+-")).chain(cut_at(".,")).chain(cut_at("."));
    words.filter_map(number).map(f64::to_bits).collect()
}

/// Checks that a stated value is the number of the file in tare's unit, to the last digit that a conversion
/// keeps.
fn is_converted(name: &str, stated: &Stated) -> bool {
    let (digits, unit) = stated.written.split_once(' ').unwrap_or((&stated.written, ""));
    let value = number(digits).unwrap_or_else(|| panic!("{name}: {stated:?}"));
    if stated.unit.is_none() {
        return stated.value == value;
    }
    // BusyBox counts by 1024 and writes the units of those who count by 1000.
    let (factor, unit) = match (name, unit) {
        ("dd-busybox.txt", "GB/s") => (1_073_741_824.0, Some(Unit::BytesPerSecond)),
        (_, unit) => factor(unit),
    };
    stated.unit == unit && (stated.value - value * factor).abs() <= 1e-12 * stated.value.abs()
}

#[test]
fn every_number_that_is_imported_stands_in_the_file() {
    let files = fixtures();
    assert!(files.len() >= 120, "{}", files.len());
    for (name, bytes) in &files {
        let text = Text::decode(bytes).unwrap();
        let present = numbers(text.as_str());
        for figure in &imported(name, bytes).figures {
            for stated in &figure.values {
                let digits = stated.written.split(' ').next().unwrap();
                assert!(present.contains(&number(digits).unwrap().to_bits()), "{name}: {stated:?}");
                assert!(is_converted(name, stated), "{name}: {stated:?}");
            }
        }
    }
}

/// Fails when any value changes: the list was compared with the files, and changes only on purpose.
#[test]
fn every_value_is_the_one_that_was_compared_with_its_file() {
    let mut all = String::new();
    for (name, bytes) in &fixtures() {
        let imported = imported(name, bytes);
        writeln!(all, "{name}").unwrap();
        for figure in &imported.figures {
            let values =
                figure.values.iter().map(|stated| format!("{} {}", stated.statistic, stated.written));
            writeln!(all, "  {}: {}", figure.name, values.collect::<Vec<_>>().join("; ")).unwrap();
        }
        imported.not_kept.iter().for_each(|line| writeln!(all, "  not kept: {line}").unwrap());
    }
    insta::assert_snapshot!(all);
}

/// A way in which people save or paste a text, and the bytes that result.
type Change = (&'static str, fn(&str) -> Vec<u8>);

const CHANGES: &[Change] = &[
    ("CRLF", |text| text.replace('\n', "\r\n").into_bytes()),
    ("a byte order mark", |text| [b"\xef\xbb\xbf", text.as_bytes()].concat()),
    ("UTF-16", |text| format!("\u{feff}{text}").encode_utf16().flat_map(u16::to_le_bytes).collect()),
    ("UTF-16, big end first", |text| {
        format!("\u{feff}{text}").encode_utf16().flat_map(u16::to_be_bytes).collect()
    }),
    ("a shell's prompt", |text| {
        format!("user@host:~$ the tool --with options\n{text}user@host:~$ \n").into_bytes()
    }),
    ("a Markdown fence", |text| format!("My result:\n\n```text\n{text}```\n\nThat is all.\n").into_bytes()),
    ("blank lines around it", |text| format!("\n\n{text}\n\n").into_bytes()),
    ("the marks of a mail", |text| prefix(text, "> ")),
    ("the marks of a mail, twice", |text| prefix(text, "> > ")),
    ("the marks of a table", |text| prefix(text, "| ")),
    ("the marks of a comment", |text| prefix(text, "# ")),
    ("stamps of GitHub", |text| prefix(text, "2026-01-31T12:00:00.1234567Z ")),
    ("columns of GitHub", |text| prefix(text, "job\tRun it\t2026-01-31T12:00:00.1234567Z ")),
    ("stamps of GitLab", |text| prefix(text, "2026-01-31T12:00:00.123456Z 01O ")),
    ("stamps of Jenkins", |text| prefix(text, "[2026-01-31T12:00:00.123Z] ")),
    ("stamps of a clock", |text| prefix(text, "12:00:00  ")),
    ("stamps of a system's log", |text| prefix(text, "Jan 31 12:00:00 host tool[123]: ")),
    ("stamps of a logger", |text| prefix(text, "2026-01-31 12:00:00,123 - root - INFO - ")),
    ("steps of a build", |text| prefix(text, "#12 3.456 ")),
    ("the name of a container", |text| prefix(text, "client-1  | ")),
    ("the label of a script", |text| match text.lines().count() {
        // It is known by its repetition.
        ..3 => text.as_bytes().to_vec(),
        _ => prefix(text, "Client on 10.0.0.1: "),
    }),
    ("an indent", |text| prefix(text, "    ")),
    ("a tab", |text| prefix(text, "\t")),
    ("wide blanks before it", |text| prefix(text, "\u{3000}\u{a0}")),
    ("blanks at the ends of lines", |text| text.replace('\n', "   \n").into_bytes()),
    ("blanks that do not break", |text| text.replace(' ', "\u{a0}").into_bytes()),
    ("colours", |text| {
        let coloured = |line: &str| format!("\x1b[1;32m{}\x1b[0m\n", line.replace(' ', " \x1b[36m"));
        text.lines().map(coloured).collect::<String>().into_bytes()
    }),
    ("returns alone", |text| text.replace('\n', "\r").into_bytes()),
    ("HTML's entities", |text| {
        let escaped = text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
        format!("<pre>{}</pre>\n", escaped.replace('%', "&#37;")).into_bytes()
    }),
    ("a mail's encoding", |text| encode_quoted_printable(text).into_bytes()),
    ("a mail's encoding and its marks", |text| {
        encode_quoted_printable(&String::from_utf8(prefix(text, "> ")).unwrap()).into_bytes()
    }),
    ("a label in brackets", |text| match text.lines().count() {
        ..3 => text.as_bytes().to_vec(),
        _ => prefix(text, "[OUTPUT] "),
    }),
    ("a quoted stamp", |text| prefix(text, ">     2026-01-31T12:00:00.123Z ")),
];

/// Encodes a text as mails are stored: what is not plain as `=3D`, and lines of at most 76 characters.
fn encode_quoted_printable(text: &str) -> String {
    let mut encoded = String::new();
    for line in text.split_inclusive('\n') {
        let body = line.trim_end_matches('\n');
        let mut length = 0;
        for (at, byte) in body.bytes().enumerate() {
            let is_last_blank = matches!(byte, b' ' | b'\t') && at + 1 == body.len();
            let is_plain = (b' '..0x7f).contains(&byte) || byte == b'\t';
            let unit = match is_plain && byte != b'=' && !is_last_blank {
                true => char::from(byte).to_string(),
                false => format!("={byte:02X}"),
            };
            if length + unit.len() > 75 {
                encoded.push_str("=\n");
                length = 0;
            }
            length += unit.len();
            encoded.push_str(&unit);
        }
        encoded.push_str(&line[body.len()..]);
    }
    encoded
}

fn prefix(text: &str, mark: &str) -> Vec<u8> {
    text.lines().map(|line| format!("{mark}{line}\n")).collect::<String>().into_bytes()
}

#[test]
fn a_text_is_read_however_it_was_saved_or_pasted() {
    let mut wrong = Vec::new();
    for (name, bytes) in &fixtures() {
        // UTF-16 is one of the changes itself.
        let Ok(text) = std::str::from_utf8(bytes) else { continue };
        let plain = imported(name, bytes).figures;
        for (change, changed) in CHANGES {
            match import_file(&changed(text), name, None) {
                Ok(imports) if imports.len() == 1 && imports[0].figures == plain => {}
                Ok(imports) => wrong.push(format!("{name} with {change}: {} imports differ", imports.len())),
                Err(refusal) => wrong.push(format!("{name} with {change}: {refusal}")),
            }
        }
    }
    assert!(wrong.is_empty(), "{} differ:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn reports_without_indents_and_two_in_a_file_are_read() {
    let files = fixtures();
    for name in ["sysbench-cpu.txt", "sysbench-fileio.txt", "sysbench-threads.txt", "sysbench-memory.txt"] {
        let text = String::from_utf8(files[name].clone()).unwrap();
        let plain = imported(name, text.as_bytes()).figures;
        let flat: String = text.lines().map(|line| format!("{}\n", line.trim())).collect();
        assert_eq!(imported(name, flat.as_bytes()).figures, plain, "{name} without indents");
        assert_eq!(
            imported(name, text.repeat(2).as_bytes()).figures,
            [plain.clone(), plain].concat(),
            "{name} twice"
        );
    }
    for name in [
        "iperf3-text-tcp.txt",
        "iperf3-text-bidir.txt",
        "netperf-udp-rr.txt",
        "dd-three.txt",
        "hyperfine-1.15.0.txt",
    ] {
        let text = String::from_utf8(files[name].clone()).unwrap();
        let plain = imported(name, text.as_bytes()).figures;
        assert_eq!(
            imported(name, text.repeat(2).as_bytes()).figures,
            [plain.clone(), plain].concat(),
            "{name} twice"
        );
    }
}

#[test]
fn outputs_of_two_tools_in_a_file_are_read_as_in_two_files() {
    let files = fixtures();
    let texts = [
        "fio-direct.json",
        "fio-text.txt",
        "iperf3-tcp.json",
        "iperf3-text-tcp.txt",
        "iperf3-text-server.txt",
        "hyperfine-1.20.0.json",
        "hyperfine-1.20.0.csv",
        "hyperfine-1.20.0.md",
        "hyperfine-1.20.0.txt",
        "sysbench-cpu.txt",
        "sysbench-fileio-results.txt",
        "unixbench.txt",
        "crystaldiskmark-8.txt",
        "netperf-tcp-rr.txt",
        "netperf-keys.txt",
        "netperf-csv.txt",
        "netperf-omni-three.txt",
        "dd-c.txt",
    ];
    let mut wrong = Vec::new();
    for (first, second) in texts.iter().flat_map(|first| texts.iter().map(move |second| (first, second))) {
        let (a, b) = (&files[*first], &files[*second]);
        let expected = [imported(first, a), imported(second, b)];
        if expected[0].tool == expected[1].tool {
            continue;
        }
        let both = [a.as_slice(), b"\nAnd then I ran this:\n\n$ the other tool\n", b.as_slice()].concat();
        match import_file(&both, "both", None) {
            Ok(imports)
                if imports.len() == 2 && (0..2).all(|i| imports[i].figures == expected[i].figures) => {}
            Ok(imports) => wrong.push(format!("{first} and {second}: {} imports differ", imports.len())),
            Err(refusal) => wrong.push(format!("{first} and {second}: {refusal}")),
        }
    }
    assert!(wrong.is_empty(), "{} differ:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn what_is_read_and_not_kept_is_reported() {
    let files = fixtures();
    let facts = [
        ("sysbench-cpu-interval.txt", "[ 1s ] thds: 1 eps: 77491.86"),
        ("sysbench-fileio-interval.txt", "[ 1s ] reads: "),
        ("sysbench-cpu-histogram.txt", "|***"),
        ("iperf3-text-3.1-tcp.txt", "[  4]   0.00-1.00   sec  1.61 GBytes"),
        ("iperf3-bidir.json", "intervals."),
        ("fio-plus.json", "jobs.read.clat_ns.bins ("),
        ("netperf-tcp-stream-interim.txt", "Interim result: 6973.61"),
        ("hyperfine-1.20.0.json", "results.memory_usage_byte (8 numbers)"),
        ("dd-progress.txt", "33069989888 bytes"),
    ];
    for (name, line) in facts {
        let lost = imported(name, &files[name]).not_kept;
        assert!(lost.iter().any(|lost| lost.contains(line)), "{name}: {lost:?}");
    }
    for name in ["dd-c.txt", "dd-de.txt", "sysbench-cpu.txt", "netperf-tcp-rr.txt", "crystaldiskmark-8.txt"] {
        let lost = imported(name, &files[name]).not_kept;
        assert!(lost.is_empty(), "{name}: {lost:?}");
    }
}
