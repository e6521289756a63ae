//! UnixBench 5: the report of `Run`. Results and index values of each set of copies, and the index of the set.

use crate::prelude::*;

const HEAD: &str = "BYTE UNIX Benchmarks (Version ";
/// Some copies of the report have a small letter.
const RUNS: [&str; 2] = ["Benchmark Run:", "Benchmark run:"];
const INDEX: &str = "System Benchmarks Index Score";
/// Heads of the table of index values, of the whole suite and of a part of it.
const TABLES: [&str; 2] = ["System Benchmarks Index Values", "System Benchmarks Partial Index"];

pub static IMPORTER: Importer = Importer {
    name: "UnixBench",
    about: "the report of `Run`, version 5: results and index",
    end_mark: Some("the line 'System Benchmarks Index Score' of each run"),
    begins: |line, _| line.contains(HEAD) || begins_run(line) || begins_table(line) || begins_set(line),
    read: read_output,
    json: None,
};

fn begins_run(line: &str) -> bool {
    RUNS.iter().any(|beginning| line.starts_with(beginning))
}

/// Recognises `2 CPUs in system; running 1 parallel copy of tests`, where a quotation without the banner begins.
fn begins_set(line: &str) -> bool {
    line.contains(" in system; running ") && line.contains(" parallel cop")
}

fn begins_table(line: &str) -> bool {
    TABLES.iter().any(|beginning| line.starts_with(beginning))
}

/// Limit on the results of a run; the whole suite, graphics included, has under forty.
const MOST_RESULTS: usize = 100;

/// A set of copies while it is read.
#[derive(Default)]
struct Set<'a> {
    copies: String,
    /// The table of index values was quoted without the results above it.
    is_table: bool,
    results: Vec<TestResult<'a>>,
    indexes: Vec<f64>,
}

struct TestResult<'a> {
    name: &'a str,
    /// As it is written among the results, and again beside the index.
    value: &'a str,
    figure: FigureBuilder,
}

fn read_output(text: &Text) -> Result<ToolOutput, Refusal> {
    let mut reading = ToolOutput::new("UnixBench");
    let mut set: Option<Set<'_>> = None;
    for line in text.lines() {
        if let Some(version) = find_text_after(line, HEAD) {
            reading.version = Some(fit_into_record(version.trim_end_matches(')')));
        } else if begins_run(line) {
            if set.replace(Set::default()).is_some() {
                return Err(
                    text.refuse_part(line, format!("a run begins before the one above has its '{INDEX}'"))
                );
            }
        } else if let Some(open) = &mut set {
            if let Some(score) = strip_label(line, INDEX) {
                let score = score.strip_prefix("(Partial Only)").map(str::trim).unwrap_or(score);
                let set = set.take().unwrap_or_default();
                finish(text, &mut reading, set, score)?;
            } else {
                open.read_line(text, line)?;
            }
        } else if begins_set(line) {
            let mut open = Set::default();
            open.read_line(text, line)?;
            set = Some(open);
        } else if begins_table(line) {
            set = Some(Set { is_table: true, ..Set::default() });
        } else {
            for (label, key) in [("System:", "system"), ("OS:", "os"), ("Machine:", "machine")] {
                reading.add_parameter(key, strip_label(line, label).unwrap_or_default());
            }
        }
    }
    match set {
        Some(_) => Err(text.refuse_end(format!("the run stops before its '{INDEX}'"))),
        None => Ok(reading),
    }
}

impl<'a> Set<'a> {
    fn read_line(&mut self, text: &Text, line: &'a str) -> Result<(), Refusal> {
        // `2 CPUs in system; running 1 parallel copy of tests`
        if let Some(copies) = find_text_after(line, "; running ") {
            self.copies = leading_digits(copies).to_owned();
            return Ok(());
        }
        // `Pipe Throughput    1197962.2 lps   (10.0 s, 7 samples)`
        if line.ends_with(" samples)")
            && let Some((result, run)) = line.rsplit_once(" (")
        {
            return self.result(text, result.trim_end(), run);
        }
        if self.is_table {
            self.add_row(text, line)?;
        }
        // `Pipe Throughput    12440.0   123147.2    99.0`, under the names of the lines above.
        let Some(found) = self.results.iter_mut().find(|found| line.starts_with(found.name)) else {
            return Ok(());
        };
        let fields: Vec<&str> = line[found.name.len()..].split_whitespace().take(4).collect();
        if let [baseline, result, index] = fields[..] {
            found.figure.add_parameter("baseline", baseline);
            found.figure.add_text_value(text, Statistic::Score, index, COUNT)?;
            self.indexes.push(text.parse_number(index)?);
            check_index(text, [baseline, result, index], found.value)?;
        }
        Ok(())
    }

    /// Adds the result of a row of the table, which names no unit: that of the test.
    fn add_row(&mut self, text: &Text, line: &'a str) -> Result<(), Refusal> {
        let mut numbers = line.split_whitespace().rev().take_while(|word| Span::written(word).is_some());
        let (Some(_), Some(value), Some(baseline)) = (numbers.next(), numbers.next(), numbers.next()) else {
            return Ok(());
        };
        let name = line[..baseline.as_ptr() as usize - line.as_ptr() as usize].trim();
        let mut figure = FigureBuilder::new(name);
        let unit = find_unit(name);
        let (statistic, scale) = scale(unit);
        figure.add_text_value(text, statistic, value, scale)?;
        figure.add_parameter("unit", unit);
        self.push(text, TestResult { name, value, figure })
    }

    fn push(&mut self, text: &Text, result: TestResult<'a>) -> Result<(), Refusal> {
        if self.results.len() >= MOST_RESULTS {
            let cause = format!("a run has more than {MOST_RESULTS} results");
            return Err(text.refuse_part(result.name, cause));
        }
        self.results.push(result);
        Ok(())
    }

    fn result(&mut self, text: &Text, result: &'a str, run: &str) -> Result<(), Refusal> {
        let before_last = |words: &'a str| words.trim_end().rsplit_once(char::is_whitespace);
        let parts = before_last(result).and_then(|(rest, unit)| Some((before_last(rest)?, unit)));
        let Some(((name, value), unit)) = parts.filter(|((name, _), _)| !name.trim().is_empty()) else {
            let cause = format!("'{}' is not a result and its unit", shorten_text(result));
            return Err(text.refuse_part(result, cause));
        };
        let name = name.trim();
        let mut figure = FigureBuilder::new(name);
        if self.copies == "1" {
            counterpart(&mut figure, name);
        }
        let (statistic, scale) = scale(unit);
        figure.add_text_value(text, statistic, value, scale)?;
        figure.set_metric(metric(name));
        if let Some((seconds, samples)) = run.split_once(" s, ") {
            figure.add_text_value(text, Statistic::Elapsed, seconds, SECONDS)?;
            figure.add_parameter("samples", leading_digits(samples));
        }
        figure.add_parameter("copies", &self.copies);
        figure.add_parameter("unit", unit);
        self.push(text, TestResult { name, value, figure })
    }
}

/// Refuses an index that is not ten times the result over the baseline, and a result that is written in two ways.
fn check_index(text: &Text, fields: [&str; 3], stated: &str) -> Result<(), Refusal> {
    let [baseline, result, index] = fields.map(Span::written);
    if let (Some(baseline), Some(result), Some(index), Some(above)) =
        (baseline, result, index, Span::written(stated))
    {
        check_agreement(text, fields[1], result, above, "the result here and above")?;
        let computed = result.scaled(10.0).over(baseline).widened(0.001);
        check_agreement(text, fields[2], index, computed, "baseline, result and index")?;
    }
    Ok(())
}

fn finish(text: &Text, reading: &mut ToolOutput, set: Set<'_>, score: &str) -> Result<(), Refusal> {
    let mut index = FigureBuilder::new(INDEX);
    index.add_parameter("copies", &set.copies);
    index.add_text_value(text, Statistic::Score, score, COUNT)?;
    if set.indexes.len() == set.results.len()
        && !set.indexes.is_empty()
        && set.indexes.iter().all(|i| *i > 0.0)
    {
        let logarithms: f64 = set.indexes.iter().map(|index| libm::log(*index)).sum();
        let mean = Span::exact(libm::exp(logarithms / set.indexes.len() as f64)).widened(0.002);
        let stated = Span::written(score).unwrap_or(mean);
        check_agreement(text, score, stated, mean, "the score and the geometric mean of the indexes")?;
    }
    set.results.into_iter().try_for_each(|found| reading.push(text, found.figure))?;
    reading.push(text, index)
}

/// Reads the unit of a result. UnixBench's KBps are 1024 bytes a second.
fn scale(unit: &str) -> (Statistic, Scale) {
    let known = |written, unit, factor| Scale { written, unit: Some(unit), factor };
    match unit {
        "lps" => (Statistic::Rate, Scale { written: "lps", ..PER_SECOND }),
        "lpm" => (Statistic::Rate, known("lpm", Unit::PerMinute, 1.0)),
        "KBps" => (Statistic::Throughput, known("KBps", Unit::BytesPerSecond, 1024.0)),
        "MWIPS" => (Statistic::Rate, known("MWIPS", Unit::Mwips, 1.0)),
        _ => (Statistic::Value, UNNAMED),
    }
}

/// Finds the unit of a test of the suite; empty for any other test.
fn find_unit(name: &str) -> &'static str {
    const UNITS: &[(&str, &str)] = &[
        ("Dhrystone", "lps"),
        ("Double-Precision Whetstone", "MWIPS"),
        ("Execl Throughput", "lps"),
        ("File Copy", "KBps"),
        ("Pipe", "lps"),
        ("Process Creation", "lps"),
        ("Shell Scripts", "lpm"),
        ("System Call Overhead", "lps"),
    ];
    UNITS.iter().find(|(beginning, _)| name.starts_with(beginning)).map_or("", |(_, unit)| unit)
}

/// Sets the probe that follows the definition of a test, in one copy.
fn counterpart(figure: &mut FigureBuilder, name: &str) {
    let (probe, parameters): (_, &[(&str, &str)]) = match name {
        "Dhrystone 2 using register variables" => ("cpu.dhrystone", &[]),
        "Double-Precision Whetstone" => ("cpu.whetstone", &[]),
        "Execl Throughput" => ("proc.exec", &[("target", "static")]),
        "File Copy 1024 bufsize 2000 maxblocks" => ("file.copy", &[("bs", "1KiB"), ("size", "2000KiB")]),
        "File Copy 256 bufsize 500 maxblocks" => ("file.copy", &[("bs", "256"), ("size", "500KiB")]),
        "File Copy 4096 bufsize 8000 maxblocks" => ("file.copy", &[("bs", "4KiB"), ("size", "8000KiB")]),
        "Pipe Throughput" => ("ipc.pipe", &[]),
        "Pipe-based Context Switching" => ("ipc.context", &[("pin", "none")]),
        "Process Creation" => ("proc.spawn", &[]),
        "Shell Scripts (1 concurrent)" => ("proc.shell", &[("parallel", "1"), ("variant", "host")]),
        "Shell Scripts (8 concurrent)" => ("proc.shell", &[("parallel", "8"), ("variant", "host")]),
        "System Call Overhead" => ("sys.mix", &[]),
        _ => return,
    };
    figure.set_counterpart(probe, parameters);
}

/// Finds the metric of the counterpart.
fn metric(name: &str) -> &'static str {
    match name {
        "Double-Precision Whetstone" => "mwips",
        "System Call Overhead" => "turns",
        _ => "rate",
    }
}
