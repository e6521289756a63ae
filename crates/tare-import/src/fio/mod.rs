//! fio: its text for people, and the JSON of `--output-format=json`. A figure for each job and direction: rates, and the
//! two latencies.

mod groups;
mod text;
mod units;

use crate::prelude::*;

pub static IMPORTER: Importer = Importer {
    name: "fio",
    about: "its text, and JSON (`--output-format=json`)",
    // People quote as much of the text as they need.
    end_mark: None,
    begins: |line, _| text::begins_report(line),
    read: text::read_fio_text,
    json: Some(Json { words: &["\"fio version\"", "\"jobs\""], read: read_json }),
};

#[derive(Deserialize)]
struct Document {
    #[serde(rename = "fio version")]
    version: String,
    #[serde(rename = "global options", default)]
    global: Object<String>,
    jobs: List<FioJob>,
    /// Unix time in seconds at which the document was written.
    timestamp: Option<f64>,
    timestamp_ms: Option<f64>,
}

#[derive(Deserialize)]
struct FioJob {
    jobname: String,
    error: Option<i64>,
    #[serde(rename = "job options", default)]
    options: Object<String>,
    read: Option<Direction>,
    write: Option<Direction>,
    trim: Option<Direction>,
    sync: Option<Sync>,
}

#[derive(Deserialize)]
struct Direction {
    /// In KiB, in every version.
    bw: f64,
    /// Since version 3.2.
    bw_bytes: Option<f64>,
    iops: f64,
    /// Milliseconds.
    runtime: Option<f64>,
    total_ios: f64,
    io_bytes: Option<f64>,
    clat_ns: Option<Latency>,
    lat_ns: Option<Latency>,
    /// In microseconds, before version 3.
    clat: Option<Latency>,
    lat: Option<Latency>,
}

#[derive(Deserialize)]
struct Sync {
    total_ios: f64,
    lat_ns: Option<Latency>,
}

#[derive(Deserialize)]
struct Latency {
    min: Option<f64>,
    max: Option<f64>,
    mean: Option<f64>,
    stddev: Option<f64>,
    #[serde(rename = "N")]
    count: Option<f64>,
    #[serde(default)]
    percentile: Object<f64>,
}

fn read_json(text: &Text) -> Result<ToolOutput, Refusal> {
    let document: Document = json::parse_json(text)?;
    let mut reading = ToolOutput::new("fio");
    reading.version =
        Some(fit_into_record(document.version.strip_prefix("fio-").unwrap_or(&document.version)));
    for (key, value) in &document.global.0 {
        reading.add_parameter(key, value);
    }
    reading.period = find_period(&document);
    for job in &document.jobs.0 {
        if let Some(error) = job.error.filter(|error| *error != 0) {
            let job = fit_into_record(&job.jobname);
            return Err(
                text.refuse_end(format!("fio reports that the job '{job}' failed with error {error}"))
            );
        }
        let options = Options { global: &document.global.0, job: &job.options.0 };
        for (name, direction) in [("read", &job.read), ("write", &job.write), ("trim", &job.trim)] {
            if let Some(direction) = direction.as_ref().filter(|direction| direction.total_ios > 0.0) {
                figures(text, &mut reading, (job, name), direction, &options)?;
            }
        }
        if let Some(Sync { total_ios, lat_ns: Some(latency) }) = &job.sync
            && *total_ios > 0.0
        {
            let mut figure = FigureBuilder::new(&format!("{}: sync, latency", job.jobname));
            state_latency(&mut figure, latency, NANOSECONDS, &[]);
            reading.push(text, figure)?;
        }
    }
    Ok(reading)
}

/// Finds when the run began and when the document was written: with `--status-interval` there are several of a run.
fn find_period(document: &Document) -> Option<(f64, f64)> {
    let written = document.timestamp_ms.or(document.timestamp.map(|seconds| seconds * 1000.0))?;
    let directions = document.jobs.0.iter().flat_map(|job| [&job.read, &job.write, &job.trim]);
    let runtimes = directions.flatten().filter_map(|direction| direction.runtime);
    Some((written - runtimes.fold(0.0, f64::max), written))
}

/// Options of a job: its own, else the global ones.
struct Options<'a> {
    global: &'a [(String, String)],
    job: &'a [(String, String)],
}

impl Options<'_> {
    fn get(&self, key: &str) -> Option<&str> {
        let all = self.job.iter().chain(self.global);
        all.filter(|(name, _)| name == key).map(|(_, value)| value.as_str()).next()
    }
}

fn figures(
    text: &Text,
    reading: &mut ToolOutput,
    (job, name): (&FioJob, &str),
    direction: &Direction,
    options: &Options<'_>,
) -> Result<(), Refusal> {
    let named = |what: &str| {
        let mut figure = FigureBuilder::new(&format!("{}: {name}{what}", job.jobname));
        for (key, value) in &job.options.0 {
            if key != "name" {
                figure.add_parameter(key, value);
            }
        }
        counterpart(&mut figure, name, options);
        figure
    };
    let mut rates = named("");
    match direction.bw_bytes {
        Some(bytes) => rates.add_json_value(Statistic::Throughput, Some(bytes), BYTES_PER_SECOND),
        None => rates.add_json_value(Statistic::Throughput, Some(direction.bw), KIBIBYTES_PER_SECOND),
    }
    check_rates(text, direction, options)?;
    rates.set_metric("rate");
    rates.add_json_value(Statistic::Rate, Some(direction.iops), PER_SECOND);
    rates.set_metric("iops");
    rates.add_json_value(Statistic::Count, Some(direction.total_ios), COUNT);
    rates.add_json_value(Statistic::Elapsed, direction.runtime, MILLISECONDS);
    reading.push(text, rates)?;
    // From submission to completion, as tare times a request; completion latency begins later.
    let metrics = &["mean", "p50", "p99", "max"][..];
    let latencies = [
        (", latency", &direction.lat_ns, NANOSECONDS, metrics),
        (", latency", &direction.lat, MICROSECONDS, metrics),
        (", completion latency", &direction.clat_ns, NANOSECONDS, &[][..]),
        (", completion latency", &direction.clat, MICROSECONDS, &[][..]),
    ];
    for (what, latency, scale, metrics) in latencies {
        if let Some(latency) = latency.as_ref().filter(|latency| latency.count != Some(0.0)) {
            let mut figure = named(what);
            if metrics.is_empty() {
                figure.no_counterpart();
            }
            state_latency(&mut figure, latency, scale, metrics);
            reading.push(text, figure)?;
        }
    }
    Ok(())
}

/// Refuses a rate that is not that of the bytes and the runtime.
fn check_rates(text: &Text, direction: &Direction, options: &Options<'_>) -> Result<(), Refusal> {
    // A ramp counts in one and not in the other.
    let is_plain = options.get("ramp_time").is_none();
    let (Some(bytes), Some(runtime)) = (direction.io_bytes, direction.runtime.filter(|time| *time > 0.0))
    else {
        return Ok(());
    };
    let stated = direction.bw_bytes.unwrap_or(direction.bw * 1024.0);
    // The runtime is in whole milliseconds, and the rate of several jobs is a sum.
    let computed =
        Span::exact(bytes).over(Span::exact(runtime / 1000.0).widened(1.0 / runtime)).widened(0.05);
    if is_plain
        && options.get("numjobs").is_none_or(|jobs| jobs == "1")
        && !Span::exact(stated).meets(computed)
    {
        let number = direction.bw_bytes.unwrap_or(direction.bw);
        return Err(text.refuse_number(number, "io_bytes, runtime and bandwidth do not agree"));
    }
    Ok(())
}

/// States a latency; statistics that are named in `metrics` are metrics of the counterpart.
fn state_latency(figure: &mut FigureBuilder, latency: &Latency, scale: Scale, metrics: &[&str]) {
    let mut hold = |statistic: Statistic, value: Option<f64>| {
        if value.is_none() {
            return;
        }
        figure.add_json_value(statistic, value, scale);
        let name = statistic.to_string();
        if metrics.contains(&name.as_str()) {
            figure.set_metric(&name);
        }
    };
    hold(Statistic::Minimum, latency.min);
    hold(Statistic::Mean, latency.mean);
    for (percent, value) in &latency.percentile.0 {
        if let Some(percent) = percent.parse().ok().filter(|percent| (0.0..=100.0).contains(percent)) {
            hold(Statistic::Percentile(percent), Some(*value));
        }
    }
    hold(Statistic::Maximum, latency.max);
    hold(Statistic::StandardDeviation, latency.stddev);
}

/// Matches file.queue where the job does the same work: past the cache, one direction, all jobs in one
/// report.
fn counterpart(figure: &mut FigureBuilder, name: &str, options: &Options<'_>) {
    let get = |long: &str, short: &str| options.get(long).or_else(|| options.get(short));
    let pattern = match get("rw", "readwrite") {
        Some("read" | "write") => "sequential",
        Some("randread" | "randwrite") => "random",
        _ => return,
    };
    let threads = options.get("numjobs").unwrap_or("1");
    let queued = matches!(options.get("ioengine"), Some("io_uring" | "libaio"));
    let reported = threads == "1" || options.get("group_reporting").is_some();
    if options.get("direct") != Some("1") || !queued || !reported {
        return;
    }
    let size = |text: &str| {
        let text = text.to_ascii_lowercase();
        let (digits, suffix) = text.split_at(text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len()));
        let suffix = match suffix {
            "" | "b" => "",
            "k" | "kb" | "kib" => "KiB",
            "m" | "mb" | "mib" => "MiB",
            _ => return None,
        };
        Some(format!("{digits}{suffix}"))
    };
    let Some(bs) = size(get("bs", "blocksize").unwrap_or("4k")) else { return };
    let depth = options.get("iodepth").unwrap_or("1");
    let parameters =
        [("bs", bs.as_str()), ("op", name), ("pattern", pattern), ("depth", depth), ("threads", threads)];
    figure.set_counterpart("file.queue", &parameters);
}
