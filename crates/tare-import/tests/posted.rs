//! Outputs as people post them: each is read with the values that stand in it, or refused where it is wrong.
//!
//! Each folder of `fixtures/posted` has an `expected.txt`, typed from the texts, not from what the importers read.

#![allow(clippy::disallowed_methods, reason = "tests read fixtures by their paths")]

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use tare_data::imported::{Imported, ImportedFigure};
use tare_data::unit::Unit;
use tare_import::import_file;

/// Lists the folder of posted outputs, and those in it.
fn folders() -> Vec<PathBuf> {
    let outer = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/posted");
    let inner = fs::read_dir(&outer).unwrap().map(|entry| entry.unwrap().path());
    let inner: Vec<PathBuf> = inner.filter(|path| path.is_dir()).collect();
    [vec![outer], inner].concat()
}

/// Figures that are expected of a text, with all of their values or with the count of all figures; or its refusal.
struct Expected<'a> {
    file: &'a str,
    outcome: &'a str,
    figures: Vec<&'a str>,
}

fn parse_expected(text: &str) -> Vec<Expected<'_>> {
    let mut all: Vec<Expected> = Vec::new();
    for line in text.lines().filter(|line| !line.is_empty() && !line.starts_with("# ")) {
        match line.strip_prefix("== ") {
            Some(head) => {
                let (file, outcome) = head.split_once(": ").expect("a file and its outcome");
                all.push(Expected { file, outcome, figures: Vec::new() });
            }
            None => all.last_mut().expect("a file above").figures.push(line),
        }
    }
    all
}

/// Converts a unit. A second copy of the importers' factors on purpose.
fn convert(written: &str) -> (f64, Option<Unit>) {
    let known = |factor, unit| (factor, Some(unit));
    match written {
        "" => known(1.0, Unit::Count),
        "?" => (1.0, None),
        "s" => known(1e9, Unit::Nanoseconds),
        "ms" => known(1e6, Unit::Nanoseconds),
        "us" => known(1e3, Unit::Nanoseconds),
        "ns" => known(1.0, Unit::Nanoseconds),
        "/s" => known(1.0, Unit::PerSecond),
        "/min" => known(1.0, Unit::PerMinute),
        "MWIPS" => known(1.0, Unit::Mwips),
        "%" => known(1.0, Unit::Percent),
        "bytes" => known(1.0, Unit::Bytes),
        "KBytes" => known(1024.0, Unit::Bytes),
        "MBytes" => known(1_048_576.0, Unit::Bytes),
        "GBytes" => known(1_073_741_824.0, Unit::Bytes),
        "Kbits/sec" => known(1e3, Unit::BitsPerSecond),
        "Mbits/sec" => known(1e6, Unit::BitsPerSecond),
        "Gbits/sec" => known(1e9, Unit::BitsPerSecond),
        "B/s" => known(1.0, Unit::BytesPerSecond),
        "kB/s" => known(1e3, Unit::BytesPerSecond),
        "MB/s" => known(1e6, Unit::BytesPerSecond),
        "GB/s" => known(1e9, Unit::BytesPerSecond),
        "KiB/s" => known(1024.0, Unit::BytesPerSecond),
        "MiB/s" => known(1_048_576.0, Unit::BytesPerSecond),
        other => panic!("no unit '{other}' is known here"),
    }
}

/// Finds a figure with a name and all the values, which an earlier line has not taken. With `is_whole`, it has no others.
fn find_figure<'a>(
    imports: &'a [Imported],
    taken: &mut BTreeSet<*const ImportedFigure>,
    expected: &str,
    is_whole: bool,
) -> Result<&'a ImportedFigure, String> {
    let mut parts = expected.split(" | ");
    let (tool, name) = parts.next().unwrap_or_default().split_once(": ").expect("a tool and a figure");
    let values: Vec<&str> = parts.collect();
    let figures = imports.iter().filter(|import| import.tool == tool).flat_map(|import| &import.figures);
    let mut others = Vec::new();
    for figure in figures.filter(|figure| figure.name == name) {
        let lacking: Vec<&&str> = values.iter().filter(|value| !has_value(figure, value)).collect();
        let is_fitting = !is_whole || figure.values.len() == values.len();
        if lacking.is_empty() && is_fitting && taken.insert(figure) {
            return Ok(figure);
        }
        others.push(format!("{lacking:?} in {:?}", figure.values));
    }
    Err(format!("no '{expected}': {others:?}"))
}

fn has_value(figure: &ImportedFigure, expected: &str) -> bool {
    let words: Vec<&str> = expected.split(' ').collect();
    let (factor, unit) = convert(words.get(2).copied().unwrap_or_default());
    let number = words[1].parse::<f64>().expect("a number") * factor;
    figure.values.iter().any(|stated| {
        let is_close = (stated.value - number).abs() <= 1e-9 * number.abs();
        stated.statistic.to_string() == words[0] && stated.unit == unit && is_close
    })
}

fn check(folder: &Path, expected: &Expected<'_>) -> Result<(), String> {
    let bytes = fs::read(folder.join(expected.file)).map_err(|error| error.to_string())?;
    let outcome = import_file(&bytes, expected.file, None);
    if let Some(refusal) = expected.outcome.strip_prefix("refused at line ") {
        let (line, cause) = refusal.split_once(": ").expect("a line and a cause");
        return match outcome {
            Err(refusal) if refusal.position.line.to_string() == line && refusal.cause.contains(cause) => {
                Ok(())
            }
            Err(refusal) => Err(format!("refused otherwise: {refusal}")),
            Ok(imports) => Err(format!("it is read: {imports:?}")),
        };
    }
    let imports = outcome.map_err(|refusal| format!("refused: {refusal}"))?;
    let mut taken = BTreeSet::new();
    for figure in &expected.figures {
        find_figure(&imports, &mut taken, figure, expected.outcome == "all")?;
    }
    let count: usize = imports.iter().map(|import| import.figures.len()).sum();
    let is_count = match expected.outcome {
        "all" => count == expected.figures.len(),
        outcome => outcome == format!("{count} figures"),
    };
    if !is_count {
        let names: Vec<&str> =
            imports.iter().flat_map(|import| &import.figures).map(|figure| figure.name.as_str()).collect();
        return Err(format!("{count} figures in place of {}: {names:?}", expected.outcome));
    }
    Ok(())
}

#[test]
fn every_posted_output_is_read_as_it_was_typed_from_the_text() {
    let mut wrong = Vec::new();
    for folder in folders() {
        let text = fs::read_to_string(folder.join("expected.txt")).unwrap();
        let all = parse_expected(&text);
        let failed = all.iter().filter_map(|expected| Some((expected.file, check(&folder, expected).err()?)));
        wrong.extend(failed.map(|(file, error)| format!("{file}: {error}")));
        let listed: BTreeSet<String> = all.iter().map(|expected| expected.file.to_owned()).collect();
        let files = fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path());
        let files = files.filter(|path| path.is_file());
        let files = files.map(|path| path.file_name().unwrap().to_str().unwrap().to_owned());
        let files: BTreeSet<String> =
            files.filter(|name| name != "expected.txt" && name != "README.md").collect();
        assert_eq!(files, listed, "every file of {} is listed once", folder.display());
        assert_eq!(all.len(), listed.len());
    }
    assert!(wrong.is_empty(), "{} differ:\n{}", wrong.len(), wrong.join("\n"));
}

/// Checks that a text that was cut gives no value that the whole does not give.
fn check_cut(text: &[u8], whole: &[Imported], file: &str) -> Result<(), String> {
    let Ok(imports) = import_file(text, file, None) else { return Ok(()) };
    for (import, figure) in imports.iter().flat_map(|import| import.figures.iter().map(move |f| (import, f)))
    {
        let of_tool = whole.iter().filter(|whole| whole.tool == import.tool);
        let mut same = of_tool.flat_map(|whole| &whole.figures).filter(|other| other.name == figure.name);
        let has_all = |other: &ImportedFigure| {
            figure.values.iter().all(|value| {
                other.values.iter().any(|v| (v.statistic, v.value) == (value.statistic, value.value))
            })
        };
        if !same.any(has_all) {
            return Err(format!("{file} cut to {} bytes gives {figure:?}", text.len()));
        }
    }
    Ok(())
}

#[test]
fn a_cut_of_a_posted_output_has_no_value_of_its_own() {
    let mut wrong = Vec::new();
    for folder in folders().iter().skip(1) {
        let text = fs::read_to_string(folder.join("expected.txt")).unwrap();
        for expected in parse_expected(&text).iter().filter(|expected| expected.outcome == "all") {
            let bytes = fs::read(folder.join(expected.file)).unwrap();
            let whole = import_file(&bytes, expected.file, None).unwrap();
            let ends = bytes.iter().enumerate().filter(|(_, byte)| **byte == b'\n').map(|(at, _)| at + 1);
            // At every end of a line, and within every line.
            let cuts = ends.flat_map(|end| [end, end.saturating_sub(4)]);
            let checked = cuts.filter_map(|cut| check_cut(&bytes[..cut], &whole, expected.file).err());
            wrong.extend(checked.take(1));
        }
    }
    assert!(wrong.is_empty(), "{} differ:\n{}", wrong.len(), wrong.join("\n"));
}

/// Reads a posted output of one tool.
fn read_figures(file: &str) -> Vec<ImportedFigure> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/posted/series").join(file);
    import_file(&fs::read(path).unwrap(), file, None).unwrap().remove(0).figures
}

#[test]
fn a_line_of_text_between_runs_ends_a_series_and_names_the_next() {
    let series = |file| {
        let figures = read_figures(file);
        figures.iter().map(|figure| figure.parameters.get("series").cloned()).collect::<Vec<_>>()
    };
    let named = |name: &str| Some(name.to_owned());
    let two = series("dd-two-headings.txt");
    assert_eq!(two, [["Write"; 3], ["Overwrite"; 3]].concat().into_iter().map(named).collect::<Vec<_>>());
    assert_eq!(series("dd-write-and-read.txt"), ["Write", "Write", "Read"].map(named));
    assert_eq!(series("dd-in-a-list.txt"), [None], "one alone needs no name");
}

#[test]
fn a_percentile_below_the_least_time_is_kept_with_a_remark() {
    for file in ["sysbench-mutex.txt", "sysbench-after-7z.txt"] {
        let figures = read_figures(file);
        let remark = figures[0].remark();
        assert!(remark.is_some_and(|remark| remark.contains("below the tool's own minimum")), "{figures:?}");
    }
    assert_eq!(read_figures("unixbench-two-sets.txt")[0].parameters.get("copies").unwrap(), "1");
    assert_eq!(read_figures("unixbench-two-sets.txt")[25].parameters.get("copies").unwrap(), "2");
}
