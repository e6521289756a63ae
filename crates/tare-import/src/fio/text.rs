//! fio's text for people, of versions 1 to 3: for each job and direction a line of rates, lines of latencies, and
//! percentiles. People quote as much of it as they need.

use std::collections::HashMap;

use super::groups::{find_group, read_group_sum};
use super::units::{find_bytes, split_suffix};
use crate::prelude::*;

/// Recognises a line that fio alone writes: of a job, of its setting, of rates, or the version.
pub fn begins_report(line: &str) -> bool {
    let is_of_job = find_job(line).is_some() || find_setting(line).is_some() || find_rates(line).is_some();
    is_of_job || find_group(line).is_some() || is_version(line)
}

fn is_version(line: &str) -> bool {
    line.strip_prefix("fio-")
        .is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()) && !rest.contains(' '))
}

/// Finds the name in `seqread: (groupid=0, jobs=1): err= 0: pid=1358233: Sat Apr  6 09:15:42 2024`.
fn find_job(line: &str) -> Option<(&str, &str)> {
    line.split_once(": (groupid=")
}

/// Finds the name and the setting in `seqread: (g=0): rw=read, bs=(R) 1024KiB-1024KiB, ..., iodepth=8`.
fn find_setting(line: &str) -> Option<(&str, &str)> {
    let (name, rest) = line.split_once(": (g=")?;
    Some((name, rest.split_once("): ")?.1))
}

/// Finds the direction and the rates in `read: IOPS=517, BW=518MiB/s (543MB/s)(30.3GiB/60015msec)`, and of version 2
/// in `read : io=1000.0MB, bw=5586.7MB/s, iops=5586, runt=   179msec`.
fn find_rates(line: &str) -> Option<(&'static str, &str)> {
    let (direction, rest) = line.split_once(':')?;
    let direction = ["read", "write", "trim"].into_iter().find(|known| *known == direction.trim_end())?;
    let rest = rest.trim_start();
    let is_new = rest.starts_with("IOPS=") && rest.contains(", BW=");
    let is_old = rest.starts_with("io=") && rest.contains(", bw=");
    (is_new || is_old).then_some((direction, rest))
}

/// The kinds of latency that are kept, by their label; submission is a part of both.
const LATENCIES: &[(&str, &str)] = &[("clat", "completion latency"), ("lat", "latency"), ("sync", "latency")];

/// Limit on the jobs among which an earlier state is searched.
const MOST_PROCESSES: usize = 64;

/// Limit on the directions of a job: three, and syncs.
const MOST_DIRECTIONS: usize = 4;

/// A job and a direction while they are read.
struct Direction<'a> {
    job: &'a str,
    name: &'static str,
    rates: FigureBuilder,
    latencies: Vec<(&'static str, FigureBuilder)>,
    /// Kind and unit of the percentiles that follow.
    percentiles: Option<(&'static str, Scale)>,
}

pub fn read_fio_text(text: &Text) -> Result<ToolOutput, Refusal> {
    let mut report = Report {
        reading: ToolOutput::new("fio"),
        settings: HashMap::new(),
        job: "a job",
        process: "",
        jobs: Vec::new(),
        open: Vec::new(),
        group: None,
        sums: Vec::new(),
    };
    for line in text.lines() {
        report.read_line(text, line)?;
    }
    report.finish_job();
    let mut figures: Vec<FigureBuilder> = report.jobs.into_iter().flat_map(|(.., figures)| figures).collect();
    if figures.is_empty() {
        figures = report.sums;
    }
    for figure in figures {
        report.reading.push(text, figure)?;
    }
    Ok(report.reading)
}

struct Report<'a> {
    reading: ToolOutput,
    /// Jobs by name, each with the setting that is written before it runs.
    settings: HashMap<&'a str, &'a str>,
    job: &'a str,
    /// Process of the job, as its first line has it.
    process: &'a str,
    /// Directions of the job; the last one is being read.
    open: Vec<Direction<'a>>,
    /// Figures of the jobs above, each with its name and process: a state that was written in between is replaced.
    jobs: Vec<(&'a str, &'a str, Vec<FigureBuilder>)>,
    /// Number of the group whose sums follow; None below a job, whose figures are more exact.
    group: Option<&'a str>,
    sums: Vec<FigureBuilder>,
}

impl<'a> Report<'a> {
    fn read_line(&mut self, text: &Text, line: &'a str) -> Result<(), Refusal> {
        if is_version(line) {
            self.reading.version = line.strip_prefix("fio-").map(fit_into_record);
        } else if let Some(setting) = find_setting(line) {
            self.settings.insert(setting.0, setting.1);
        } else if let Some((job, rest)) = find_job(line) {
            self.finish_job();
            self.job = job;
            self.process = find_text_after(rest, "pid=").map_or("", |rest| cut_before(rest, &[':']));
            let error = find_text_after(rest, "err=").map_or("0", |rest| cut_before(rest, &[':', ' ', '(']));
            if error != "0" {
                let job = fit_into_record(job);
                let cause =
                    format!("fio reports that the job '{job}' failed with error {}", shorten_text(error));
                return Err(text.refuse_part(line, cause));
            }
        } else if let Some((name, rates)) = find_rates(line) {
            let direction = self.read_rates(text, name, rates)?;
            self.open.push(direction);
        } else if let Some(group) = find_group(line) {
            self.group = (self.jobs.is_empty() && self.open.is_empty()).then_some(group);
        } else if line.starts_with("fsync/fdatasync") {
            self.begin_sync();
        } else if let Some(issued) = line.strip_prefix("issued") {
            self.read_counts(text, issued)?;
        } else if let Some(sum) =
            self.group.map(|group| read_group_sum(text, group, line)).transpose()?.flatten()
        {
            self.sums.push(sum);
        } else if let Some(open) = self.open.last_mut() {
            open.read_line(text, line)?;
        }
        Ok(())
    }

    fn read_rates(&self, text: &Text, name: &'static str, rates: &'a str) -> Result<Direction<'a>, Refusal> {
        text.check_line_ends(rates)?;
        let mut figure = FigureBuilder::new(&format!("{}: {name}", self.job));
        let setting = self.settings.get(self.job).copied().unwrap_or_default();
        for (key, value) in setting.split(", ").filter_map(|part| part.split_once('=')) {
            figure.add_parameter(key, value);
        }
        let found = Rates::parse(text, rates)?;
        found.check_agreement(text)?;
        let (digits, scale) = found.bandwidth;
        figure.add_text_value(text, Statistic::Throughput, digits, scale)?;
        let (digits, scale) = found.iops;
        figure.add_text_value(text, Statistic::Rate, digits, scale)?;
        figure.add_text_value(text, Statistic::Elapsed, found.runtime, MILLISECONDS)?;
        figure.add_parameter("transferred", found.amount_written);
        Ok(Direction { job: self.job, name, rates: figure, latencies: Vec::new(), percentiles: None })
    }

    /// Begins the latencies of syncs, and ends those of the direction above.
    fn begin_sync(&mut self) {
        let rates = FigureBuilder::new("");
        let (latencies, percentiles) = (Vec::new(), None);
        self.open.push(Direction { job: self.job, name: "sync", rates, latencies, percentiles });
    }

    /// Reads how many requests there were: ` rwts: total=3501338,0,0,0 short=...`, in version 2
    /// `    : total=r=1000/w=0/d=0, short=...`.
    fn read_counts(&mut self, text: &Text, issued: &'a str) -> Result<(), Refusal> {
        let Some((_, totals)) = issued.split_once("total=") else { return Ok(()) };
        let totals = cut_before(totals, &[' ']).trim_end_matches(',');
        let counts: Vec<&str> =
            totals.split([',', '/']).map(|count| count.trim_start_matches(char::is_alphabetic)).collect();
        for (name, count) in ["read", "write", "trim"].into_iter().zip(counts) {
            let count = count.trim_start_matches('=');
            if let Some(open) =
                self.open.iter_mut().rev().take(MOST_DIRECTIONS).find(|open| open.name == name)
            {
                open.rates.add_text_value(text, Statistic::Count, count, COUNT)?;
            }
        }
        Ok(())
    }

    fn finish_job(&mut self) {
        let mut figures = Vec::new();
        for direction in std::mem::take(&mut self.open) {
            figures.extend(Some(direction.rates).filter(|rates| !rates.is_empty()));
            figures.extend(direction.latencies.into_iter().map(|(_, figure)| figure));
        }
        if figures.is_empty() {
            return;
        }
        // With `--status-interval` the same process is written several times.
        let last = self.jobs.iter_mut().rev().take(MOST_PROCESSES);
        let mut same = last.filter(|(job, process, _)| {
            (*job, *process) == (self.job, self.process) && !self.process.is_empty()
        });
        match same.next() {
            Some((.., earlier)) => *earlier = figures,
            None => self.jobs.push((self.job, self.process, figures)),
        }
    }
}

impl<'a> Direction<'a> {
    fn read_line(&mut self, text: &Text, line: &'a str) -> Result<(), Refusal> {
        // `|  1.00th=[   14],  5.00th=[   14], 10.00th=[   16], 20.00th=[   16],`
        if line.contains("th=[") {
            let Some((kind, scale)) = self.percentiles else { return Ok(()) };
            text.check_line_ends(line)?;
            let Some((_, figure)) = self.latencies.iter_mut().find(|(known, _)| *known == kind) else {
                return Ok(());
            };
            for percentile in line.trim_start_matches('|').split("],") {
                let Some((percent, value)) = percentile.split_once("th=[") else { continue };
                let statistic = text.parse_percentile(percent.trim())?;
                let (digits, scale) = split_suffix(value.trim_end_matches(']').trim(), scale);
                figure.add_text_value(text, statistic, digits, scale)?;
            }
            return Ok(());
        }
        // `clat (usec): min=1, max=621, avg=60.01, stdev=28.85`, `clat percentiles (msec):`
        let Some((label, rest)) = line.split_once("):") else { return Ok(()) };
        let Some((label, unit)) = label.split_once('(') else { return Ok(()) };
        let scale = match unit.trim() {
            "nsec" => NANOSECONDS,
            "usec" => MICROSECONDS,
            "msec" => MILLISECONDS,
            "sec" => SECONDS,
            _ => return Ok(()),
        };
        if let Some(kind) = label.trim().strip_suffix("percentiles").map(str::trim) {
            self.percentiles =
                LATENCIES.iter().find(|(label, _)| *label == kind).map(|(label, _)| (*label, scale));
            return Ok(());
        }
        let Some((kind, name)) = LATENCIES.iter().find(|(kind, _)| *kind == label.trim()) else {
            return Ok(());
        };
        if rest.contains("min=") {
            let figure = self.read_latency(text, name, rest, scale)?;
            self.latencies.push((kind, figure));
        }
        Ok(())
    }

    fn read_latency(
        &self,
        text: &Text,
        name: &str,
        rest: &str,
        scale: Scale,
    ) -> Result<FigureBuilder, Refusal> {
        text.check_line_ends(rest)?;
        let mut figure = FigureBuilder::new(&format!("{}: {}, {name}", self.job, self.name));
        const STATISTICS: &[(&str, Statistic)] = &[
            ("min=", Statistic::Minimum),
            ("avg=", Statistic::Mean),
            ("max=", Statistic::Maximum),
            ("stdev=", Statistic::StandardDeviation),
        ];
        let mut order = Vec::new();
        for (label, statistic) in STATISTICS {
            let Some(value) = find_text_after(rest, label).map(|value| cut_before(value, &[','])) else {
                continue;
            };
            let (digits, scale) = split_suffix(value, scale);
            figure.add_text_value(text, *statistic, digits, scale)?;
            if *statistic != Statistic::StandardDeviation {
                order.push(Span::written(digits).map(|span| span.scaled(scale.factor)));
            }
        }
        // Greatest and least are shortened to five digits.
        check_order(text, rest, &order)?;
        Ok(figure)
    }
}

/// The numbers of a line of rates, with their units.
struct Rates<'a> {
    bandwidth: (&'a str, Scale),
    /// Bandwidth with a unit of the other base, since version 3.
    restated: Option<(&'a str, Scale)>,
    iops: (&'a str, Scale),
    amount: (&'a str, Scale),
    amount_written: &'a str,
    /// In milliseconds.
    runtime: &'a str,
}

impl<'a> Rates<'a> {
    fn parse(text: &Text, line: &'a str) -> Result<Rates<'a>, Refusal> {
        let refuse =
            || text.refuse_part(line, "this is not a line of fio's rates: IOPS, bandwidth, bytes and time");
        let is_binary = !line.starts_with("IOPS=");
        let bytes = |written: &'a str| find_bytes(written, is_binary).ok_or_else(refuse);
        let rate = |written: &'a str| bytes(written.strip_suffix("/s").ok_or_else(refuse)?);
        if let Some(rest) = line.strip_prefix("IOPS=") {
            let (iops, rest) = rest.split_once(", BW=").ok_or_else(refuse)?;
            let (bandwidth, rest) = rest.split_once('(').ok_or_else(refuse)?;
            let (restated, rest) = rest.split_once(")(").ok_or_else(refuse)?;
            let (amount, rest) = rest.split_once('/').ok_or_else(refuse)?;
            let (runtime, _) = rest.split_once("msec").ok_or_else(refuse)?;
            return Ok(Rates {
                bandwidth: rate(bandwidth.trim())?,
                restated: Some(rate(restated.trim())?),
                iops: split_suffix(iops.trim(), PER_SECOND),
                amount: bytes(amount.trim())?,
                amount_written: amount.trim(),
                runtime: runtime.trim(),
            });
        }
        let field =
            |label| find_text_after(line, label).map(|rest| cut_before(rest, &[','])).ok_or_else(refuse);
        Ok(Rates {
            bandwidth: rate(field(" bw=")?)?,
            restated: None,
            iops: split_suffix(field(" iops=")?, PER_SECOND),
            amount: bytes(field("io=")?)?,
            amount_written: field("io=")?,
            runtime: field(" runt=")?.strip_suffix("msec").ok_or_else(refuse)?.trim(),
        })
    }

    /// Refuses rates that contradict each other.
    fn check_agreement(&self, text: &Text) -> Result<(), Refusal> {
        let span =
            |(digits, scale): (&str, Scale)| Span::written(digits).map(|span| span.scaled(scale.factor));
        let Some(bandwidth) = span(self.bandwidth) else { return Ok(()) };
        let part = self.bandwidth.0;
        if let Some(restated) = self.restated.and_then(span) {
            check_agreement(text, part, bandwidth, restated, "the bandwidth in both units")?;
        }
        if let (Some(amount), Some(runtime)) = (span(self.amount), Span::written(self.runtime)) {
            // The time of a job with a ramp, or the longest of several, is not that of the bytes alone.
            let computed = amount.over(runtime.scaled(1e-3)).widened(0.05);
            check_agreement(text, part, bandwidth, computed, "bandwidth, bytes and time")?;
        }
        Ok(())
    }
}
