//! fio: the JSON of `--output-format=json`. A figure for each job and direction: rates, and the two latencies.

use super::prelude::*;

pub static IMPORTER: Importer = Importer {
    name: "fio",
    about: "JSON (`--output-format=json`)",
    end_mark: Some("the closing brace"),
    recognises: |text| json::speaks_of(text, &["\"fio version\"", "\"jobs\""]),
    read: read_output,
};

#[derive(Deserialize)]
struct Document {
    #[serde(rename = "fio version")]
    version: String,
    #[serde(rename = "global options", default)]
    global: Object<String>,
    jobs: List<FioJob>,
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
    bw_bytes: f64,
    iops: f64,
    /// Milliseconds.
    runtime: Option<f64>,
    total_ios: f64,
    clat_ns: Option<Latency>,
    lat_ns: Option<Latency>,
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

fn read_output(text: &Text) -> Result<ToolOutput, Refusal> {
    let document: Document = json::parse_json(text)?;
    let mut reading = ToolOutput::new("fio");
    reading.version =
        Some(fit_into_record(document.version.strip_prefix("fio-").unwrap_or(&document.version)));
    for (key, value) in &document.global.0 {
        reading.add_parameter(key, value);
    }
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
            state_latency(&mut figure, latency, &[]);
            reading.push(text, figure)?;
        }
    }
    Ok(reading)
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
    rates.add_json_value(Statistic::Throughput, Some(direction.bw_bytes), BYTES_PER_SECOND);
    rates.set_metric("rate");
    rates.add_json_value(Statistic::Rate, Some(direction.iops), PER_SECOND);
    rates.set_metric("iops");
    rates.add_json_value(Statistic::Count, Some(direction.total_ios), COUNT);
    rates.add_json_value(Statistic::Elapsed, direction.runtime, MILLISECONDS);
    reading.push(text, rates)?;
    // From submission to completion, as tare times a request; completion latency begins later.
    let latencies = [
        (", latency", &direction.lat_ns, &["mean", "p50", "p99", "max"][..]),
        (", completion latency", &direction.clat_ns, &[][..]),
    ];
    for (what, latency, metrics) in latencies {
        if let Some(latency) = latency.as_ref().filter(|latency| latency.count != Some(0.0)) {
            let mut figure = named(what);
            if metrics.is_empty() {
                figure.no_counterpart();
            }
            state_latency(&mut figure, latency, metrics);
            reading.push(text, figure)?;
        }
    }
    Ok(())
}

/// States a latency; statistics that are named in `metrics` are metrics of the counterpart.
fn state_latency(figure: &mut FigureBuilder, latency: &Latency, metrics: &[&str]) {
    let mut hold = |statistic: Statistic, value: Option<f64>| {
        if value.is_none() {
            return;
        }
        figure.add_json_value(statistic, value, NANOSECONDS);
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
