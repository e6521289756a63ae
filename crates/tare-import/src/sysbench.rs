//! sysbench 0.4 to 1.1: the report of `run`, whole or from its results on, for cpu, fileio, memory and databases, and for
//! the lines that threads and mutex have in common.

use crate::prelude::*;

/// The line with which a report ends; in version 1.1 that of fileio ends with the sum.
const LAST: &str = "execution time (avg/stddev):";
const SUM: &str = "sum:";

pub static IMPORTER: Importer = Importer {
    name: "sysbench",
    about: "the report of `run`: cpu, fileio, memory, threads, mutex, oltp",
    end_mark: Some("the line 'execution time (avg/stddev)'"),
    begins: |line, _| find_version(line).is_some() || begins_results(line),
    read: read_output,
    json: None,
};

fn read_output(text: &Text) -> Result<ToolOutput, Refusal> {
    let mut reading = ToolOutput::new("sysbench");
    let mut run: Option<SysbenchRun> = None;
    for line in text.lines() {
        if let Some(version) = find_version(line) {
            if run.replace(SysbenchRun::default()).is_some() {
                let cause = format!("a report begins before the one above has '{LAST}'");
                return Err(text.refuse_part(line, cause));
            }
            reading.version = Some(fit_into_record(version));
        } else if let Some(open) = match begins_results(line) {
            // Quotations often begin here, without the banner.
            true => Some(run.get_or_insert_default()),
            false => run.as_mut(),
        } {
            open.read_line(text, line)?;
            let sum = strip_label(line, SUM).filter(|_| open.ends_with_sum);
            if let Some(last) = strip_label(line, LAST).or(sum) {
                text.check_line_ends(last)?;
                if let Some(run) = run.take() {
                    run.check_statements(text)?;
                    run.into_figures().into_iter().try_for_each(|figure| reading.push(text, figure))?;
                }
            }
        }
    }
    match run {
        Some(_) => Err(text.refuse_end(format!("the report stops before its '{LAST}'"))),
        None => Ok(reading),
    }
}

/// Finds the version in the banner: `sysbench 1.0.20 (using ...)`, `sysbench 0.4.12:  multi-threaded ...`.
fn find_version(line: &str) -> Option<&str> {
    let rest = line.strip_prefix("sysbench ")?;
    let version = rest.split([' ', ':']).next()?.trim_start_matches('v');
    (version.starts_with("0.") || version.starts_with("1.")).then_some(version)
}

/// Recognises the first line of a report's results.
fn begins_results(line: &str) -> bool {
    const BEGINNINGS: &[&str] = &[
        "CPU speed:",
        "File operations:",
        "SQL statistics:",
        "OLTP test statistics:",
        "General statistics:",
        "Test execution summary:",
        "Latency (ms):",
    ];
    let is_memory = line.starts_with("Total operations: ") || line.starts_with("Operations performed: ");
    BEGINNINGS.contains(&line) || is_memory
}

/// Report that is being read.
struct SysbenchRun<'a> {
    /// `cpu`, `fileio`, `memory` or `oltp`; `events` where the report does not name its test, as for threads.
    test: &'static str,
    mode: String,
    parameters: Vec<(&'static str, String)>,
    main: FigureBuilder,
    /// Reads, writes and fsyncs of fileio; each is a separate figure.
    parts: Vec<(&'static str, FigureBuilder)>,
    /// Figures of all threads together, and of each.
    threads: Vec<FigureBuilder>,
    /// Numbers of the run as a whole as they are written, to be compared with each other.
    written: Vec<(Statistic, &'a str)>,
    ends_with_sum: bool,
}

impl Default for SysbenchRun<'_> {
    fn default() -> Self {
        let main = FigureBuilder::new("events");
        SysbenchRun {
            test: "events",
            mode: String::new(),
            parameters: Vec::new(),
            main,
            parts: Vec::new(),
            threads: Vec::new(),
            written: Vec::new(),
            ends_with_sum: false,
        }
    }
}

/// Labels of numbers that belong to the run as a whole.
const NUMBERS: &[(&str, Statistic, Scale)] = &[
    ("events per second:", Statistic::Rate, PER_SECOND),
    ("total time:", Statistic::Elapsed, SECONDS),
    ("time elapsed:", Statistic::Elapsed, SECONDS),
    ("total number of events:", Statistic::Count, COUNT),
    ("min:", Statistic::Minimum, MILLISECONDS),
    ("avg:", Statistic::Mean, MILLISECONDS),
    ("max:", Statistic::Maximum, MILLISECONDS),
];

/// Labels of numbers that are separate figures.
const PARTS: &[(&str, &str, Statistic, Scale)] = &[
    ("reads/s:", "reads", Statistic::Rate, PER_SECOND),
    ("writes/s:", "writes", Statistic::Rate, PER_SECOND),
    ("fsyncs/s:", "fsyncs", Statistic::Rate, PER_SECOND),
    ("read, MiB/s:", "reads", Statistic::Throughput, MEBIBYTES_PER_SECOND),
    ("written, MiB/s:", "writes", Statistic::Throughput, MEBIBYTES_PER_SECOND),
];

const PARAMETERS: &[(&str, &str)] = &[
    ("Number of threads:", "threads"),
    ("Prime numbers limit:", "max_prime"),
    ("Maximum prime number checked in CPU test:", "max_prime"),
    ("Block size ", "block size"),
    ("block size:", "block size"),
    ("total size:", "total size"),
    ("operation:", "operation"),
    ("scope:", "scope"),
    ("Periodic FSYNC enabled, calling fsync() each ", "fsync each"),
    ("Using ", "engine"),
    ("Extra file open flags:", "open flags"),
];

impl<'a> SysbenchRun<'a> {
    fn read_line(&mut self, text: &Text, line: &'a str) -> Result<(), Refusal> {
        for (label, statistic, scale) in NUMBERS {
            if let Some(rest) = strip_label(line, label) {
                let (number, scale) = split_unit(rest, *scale);
                // Zero events have no mean.
                if number.trim_start_matches('-') == "nan" {
                    return Ok(());
                }
                self.written.push((*statistic, number));
                return self.main.add_text_value(text, *statistic, number, scale);
            }
        }
        for (label, name, statistic, scale) in PARTS {
            if let Some(rest) = strip_label(line, label) {
                self.test = "fileio";
                return self.part(name).add_text_value(text, *statistic, rest, *scale);
            }
        }
        for name in ["read", "write", "fsync"] {
            if let Some(rest) = strip_label(line, name)
                .and_then(|rest| strip_label(rest, ":"))
                .and_then(|rest| strip_label(rest, "IOPS="))
            {
                return self.operations(text, name, rest);
            }
        }
        if self.threads(text, line)? {
            return Ok(());
        }
        if let Some((percent, rest)) = line.split_once("th percentile:").or_else(|| {
            // `approx.  95 percentile:   2.62ms`
            line.strip_prefix("approx.")?.split_once(" percentile:")
        }) {
            let percentile = text.parse_percentile(percent.trim().trim_end_matches("th"))?;
            let (number, scale) = split_unit(rest.trim(), MILLISECONDS);
            return self.main.add_text_value(text, percentile, number, scale);
        }
        if self.read_amounts(text, line)? {
            return Ok(());
        }
        self.describe(line);
        Ok(())
    }

    /// Reads lines with an amount and its rate in brackets. Version 0.4 writes Mb and MB for 2^20 bytes.
    fn read_amounts(&mut self, text: &Text, line: &str) -> Result<bool, Refusal> {
        let bracket = || find_text_after(line, "(").map(|rest| cut_before(rest, &[' ', 'M', ')']));
        // `Total operations: 65536 (2005760.26 per second)`
        let memory = ["Total operations:", "Operations performed:"];
        if memory.into_iter().any(|label| line.starts_with(label)) {
            let Some(rate) = bracket().filter(|rate| !rate.is_empty()) else { return Ok(false) };
            self.test = "memory";
            self.main.add_text_value(text, Statistic::Rate, rate, PER_SECOND)?;
            return Ok(true);
        }
        // `64.00 MiB transferred (1958.75 MiB/sec)`, `Read 6Mb  Written 4Mb  Total transferred 10Mb  (2.5Mb/sec)`
        if line.contains("transferred ") && (line.contains("B/sec)") || line.contains("Mb/sec)")) {
            let Some(rate) = bracket() else { return Ok(false) };
            if line.contains("Mb/sec)") {
                self.test = "fileio";
            }
            self.main.add_text_value(text, Statistic::Throughput, rate, MEBIBYTES_PER_SECOND)?;
            return Ok(true);
        }
        // `  160.00 Requests/sec executed`
        if let Some(rate) = line.strip_suffix("Requests/sec executed") {
            self.main.add_text_value(text, Statistic::Rate, rate.trim(), PER_SECOND)?;
            return Ok(true);
        }
        // `transactions:                        31128  (259.39 per sec.)`
        for (label, name) in
            [("transactions:", "transactions"), ("queries:", "queries"), ("read/write requests:", "requests")]
        {
            let Some((count, rate)) = strip_label(line, label).and_then(|rest| rest.split_once('(')) else {
                continue;
            };
            self.test = "oltp";
            let part = self.part(name);
            part.add_text_value(text, Statistic::Count, count.trim(), COUNT)?;
            part.add_text_value(text, Statistic::Rate, cut_before(rate, &[' ']), PER_SECOND)?;
            return Ok(true);
        }
        Ok(false)
    }

    /// Refuses numbers of the run that contradict each other.
    fn check_statements(&self, text: &Text) -> Result<(), Refusal> {
        let find =
            |statistic| self.written.iter().find(|(known, _)| *known == statistic).map(|(_, part)| *part);
        let span = |statistic| find(statistic).and_then(Span::written);
        let times = [Statistic::Minimum, Statistic::Mean, Statistic::Maximum];
        if let Some(mean) = find(Statistic::Mean) {
            check_order(text, mean, &times.map(span))?;
        }
        if let (Some(part), Some(rate), Some(count), Some(elapsed)) =
            (find(Statistic::Rate), span(Statistic::Rate), span(Statistic::Count), span(Statistic::Elapsed))
        {
            // The rate is of the time without the start of threads.
            let computed = count.over(elapsed).widened(0.05);
            check_agreement(text, part, rate, computed, "events, time and events per second")?;
        }
        Ok(())
    }

    /// Reads the lines that version 1.1 writes of fileio: `read:  IOPS=50356.11 786.81 MiB/s (825.03 MB/s)`.
    fn operations(&mut self, text: &Text, name: &str, rest: &str) -> Result<(), Refusal> {
        (self.test, self.ends_with_sum) = ("fileio", true);
        let part = match name {
            "read" => self.part("reads"),
            "write" => self.part("writes"),
            _ => self.part("fsyncs"),
        };
        part.add_text_value(text, Statistic::Rate, cut_before(rest, &[' ']), PER_SECOND)?;
        match rest.split_once(' ').and_then(|(_, rest)| rest.split_once(" MiB/s")) {
            Some((rate, _)) => {
                part.add_text_value(text, Statistic::Throughput, rate.trim(), MEBIBYTES_PER_SECOND)
            }
            None => Ok(()),
        }
    }

    /// Reads the sum of latencies, and the fairness of threads: `events (avg/stddev): 86057.0000/0.00`.
    fn threads(&mut self, text: &Text, line: &str) -> Result<bool, Refusal> {
        let sum = strip_label(line, SUM).map(|sum| (sum, MILLISECONDS));
        let older = strip_label(line, "total time taken by event execution:").map(|sum| (sum, SECONDS));
        if let Some((sum, scale)) = sum.or(older) {
            let mut figure = FigureBuilder::new("sum of latencies");
            let (number, scale) = split_unit(sum, scale);
            figure.add_text_value(text, Statistic::Value, number, scale)?;
            self.threads.push(figure);
            return Ok(true);
        }
        let labels = [
            ("events (avg/stddev):", "events of a thread", COUNT),
            (LAST, "execution time of a thread", SECONDS),
        ];
        for (label, name, scale) in labels {
            let Some((mean, deviation)) = strip_label(line, label).and_then(|rest| rest.split_once('/'))
            else {
                continue;
            };
            let mut figure = FigureBuilder::new(name);
            figure.add_text_value(text, Statistic::Mean, mean, scale)?;
            figure.add_text_value(text, Statistic::StandardDeviation, deviation, scale)?;
            self.threads.push(figure);
            return Ok(true);
        }
        Ok(false)
    }

    fn part(&mut self, name: &'static str) -> &mut FigureBuilder {
        let at = self.parts.iter().position(|(part, _)| *part == name).unwrap_or_else(|| {
            self.parts.push((name, FigureBuilder::new(name)));
            self.parts.len() - 1
        });
        &mut self.parts[at].1
    }

    fn describe(&mut self, line: &str) {
        for (label, key) in PARAMETERS {
            if let Some(value) = strip_label(line, label) {
                self.set(key, value.trim_end_matches(" requests."));
            }
        }
        if line.starts_with("Prime numbers limit:") || line == "CPU speed:" || line.contains(" in CPU test:")
        {
            self.test = "cpu";
        }
        if let Some((files, _)) = line.split_once(" files, ") {
            self.set("files", files);
        }
        if let Some(total) = line.strip_suffix(" total file size") {
            self.set("total size", total);
        }
        if let Some(mode) = strip_label(line, "Doing ").and_then(|mode| mode.strip_suffix(" test")) {
            self.mode = match mode {
                "random r/w" => "rndrw".into(),
                "random read" => "rndrd".into(),
                "random write" => "rndwr".into(),
                other => fit_into_record(other),
            };
        }
    }

    fn set(&mut self, key: &'static str, value: &str) {
        self.parameters.retain(|(known, _)| *known != key);
        self.parameters.push((key, fit_into_record(value)));
    }

    fn into_figures(self) -> Vec<FigureBuilder> {
        let mode = if self.mode.is_empty() { String::new() } else { format!(" {}", self.mode) };
        let mut main = self.main.with_name(&format!("{}{mode}", self.test));
        let of = |key: &str| {
            self.parameters.iter().find(|(known, _)| *known == key).map_or("", |(_, value)| value.as_str())
        };
        // A part of a report does not say which test it was.
        if self.test == "cpu" && !of("max_prime").is_empty() {
            let parameters = [("max_prime", of("max_prime")), ("threads", of("threads"))];
            main.set_counterpart("cpu.primes", &parameters);
            for (statistic, metric) in [
                (Statistic::Rate, "rate"),
                (Statistic::Minimum, "min"),
                (Statistic::Mean, "mean"),
                (Statistic::Percentile(95.0), "p95"),
                (Statistic::Maximum, "max"),
            ] {
                main.metric_of(statistic, metric);
            }
        }
        // Its histogram has buckets, and the tool prints the lower end of one.
        main.note_percentile_below_minimum();
        let mut figures = vec![main];
        for (name, part) in self.parts {
            let mut part = part.with_name(&format!("{}{mode} {name}", self.test));
            let bs = of("block size");
            if mode.starts_with(" rnd") && of("engine").starts_with("synchronous") {
                let (files, total) = (of("files"), of("total size"));
                let threads = of("threads");
                let parameters = [
                    ("mode", mode.trim()),
                    ("bs", bs),
                    ("files", files),
                    ("total", total),
                    ("fsync_every", of("fsync each")),
                    ("threads", threads),
                ];
                part.set_counterpart("file.random", &parameters);
                // Both count over the whole run. What a mode does not have, sysbench has 0 of a second.
                if matches!(
                    (mode.trim(), name),
                    ("rndrw", _) | ("rndrd", "reads") | ("rndwr", "writes" | "fsyncs")
                ) {
                    part.metric_of(Statistic::Rate, name);
                }
                // tare's `rate` is of all requests, which are of one kind unless the mode has two.
                if matches!((mode.trim(), name), ("rndrd", "reads") | ("rndwr", "writes")) {
                    part.metric_of(Statistic::Throughput, "rate");
                }
            }
            figures.push(part);
        }
        let about = format!("{}{mode}", self.test);
        figures.extend(self.threads.into_iter().map(|figure| {
            let name = format!("{about}: {}", figure.name());
            figure.with_name(&name)
        }));
        for figure in &mut figures {
            for (key, value) in &self.parameters {
                figure.add_parameter(key, value);
            }
        }
        figures
    }
}

/// Splits a time from its unit: version 0.4 writes one, later ones have it in a heading.
fn split_unit(text: &str, unwritten: Scale) -> (&str, Scale) {
    match text.strip_suffix("ms") {
        Some(number) => (number.trim(), MILLISECONDS),
        None => text.strip_suffix('s').map_or((text, unwritten), |number| (number.trim(), SECONDS)),
    }
}
