//! The dd view: dd's three closing lines for every sequential file case.

use tare_analysis::findings::Findings;
use tare_analysis::pooled::{Runs, middle, runs};
use tare_data::batch::Phase;
use tare_data::metric::Reading;
use tare_data::names::Parameters;
use tare_data::session::{Session, Trial};

use super::view_text::{ViewText, fixed, push_own};
use crate::number::counted;
use crate::text::clean;

const DECIMAL: [&str; 6] = ["B", "kB", "MB", "GB", "TB", "PB"];
const BINARY: [&str; 6] = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];

pub fn render(session: &Session, findings: &Findings) -> String {
    let mut out = ViewText::default();
    out.prose(
        "",
        "dd view: the lines that dd closes with, measured by tare and not by dd. Each is one trial that ran, the \
         middle one by its rate; MB are powers of ten, as with dd.",
    );
    let all = runs(session, &["file.seq"]);
    if all.is_empty() {
        out.blank();
        out.prose("", "This session did not measure file.seq: tare run --only file.seq does.");
    }
    let mut last = "";
    for run in &all {
        out.blank();
        if run.case.id != last {
            head(&mut out, run);
            last = &run.case.id;
        }
        block(&mut out, session, findings, run);
    }
    out.text()
}

/// The command that the case stands for, and where it differs from it.
fn head(out: &mut ViewText, run: &Runs<'_>) {
    let case = &run.case.case;
    let place = case.place.as_deref().map_or("?", |place| place);
    out.line(&format!("{} · place {}", command(&case.parameters), clean(place)));
    let is = |key: &str, value: &str| case.parameters.text(key).is_ok_and(|text| text == value);
    if is("loop", "plain") {
        let other = if is("op", "read") { "writing to /dev/null" } else { "reading its input" };
        out.prose("    ", &format!("without dd's second call a block, {other}: loop=dd makes both"));
    }
    if is("data", "random") && is("op", "write") {
        out.prose("    ", "with data that do not compress, where /dev/zero gives zeros: data=zero");
    }
    if is("op", "read") && is("cache", "cold") {
        out.prose("    ", "after the file was dropped from the cache, and seen to be gone");
    }
}

/// `dd if=/dev/zero of=FILE bs=4K count=8192 conv=fdatasync`.
fn command(parameters: &Parameters) -> String {
    let text = |key: &str| parameters.text(key).unwrap_or("?");
    let (block, size) = (parameters.integer("bs").unwrap_or(0), parameters.integer("size").unwrap_or(0));
    let count = if block == 0 { 0 } else { size.div_ceil(block) };
    let blocks = format!("bs={} count={count}", clean(text("bs").trim_end_matches("iB")));
    if text("op") == "read" {
        let flag = if text("cache") == "direct" { " iflag=direct" } else { "" };
        return format!("dd if=FILE of=/dev/null {blocks}{flag}");
    }
    let flag = match text("sync") {
        "fdatasync" => " conv=fdatasync",
        "fsync" => " conv=fsync",
        "dsync" => " oflag=dsync",
        "direct" => " oflag=direct",
        _ => "",
    };
    format!("dd if=/dev/zero of=FILE {blocks}{flag}")
}

fn block(out: &mut ViewText, session: &Session, findings: &Findings, run: &Runs<'_>) {
    out.line(&clean(run.target));
    let rate = run.case.metrics.iter().find(|metric| metric.reading == Reading::BytesPerSecond);
    let found = rate.and_then(|rate| Some((rate, middle(&run.trials, rate)?)));
    let Some((rate, found)) = found else {
        out.prose("    ", &clean(&run.absence()));
        return;
    };
    let block = run.case.case.parameters.integer("bs").unwrap_or(0);
    closing_lines(found.trial, &rate.series, block).iter().for_each(|line| out.line(line));
    if found.trials > 1 {
        let (least, most) = (human(found.least, &DECIMAL, 1000.0), human(found.most, &DECIMAL, 1000.0));
        let trials = counted(found.trials, "trial", "trials");
        out.line(&format!("    the middle of {trials}, {least}/s to {most}/s"));
    }
    push_own(out, session, findings, (&run.case.id, &rate.name, run.target));
}

/// What dd would have said of a trial.
fn closing_lines(trial: &Trial, series: &str, block: u64) -> Vec<String> {
    let (mut calls, mut bytes, mut elapsed_ns) = (0u64, 0u64, 0u64);
    for batch in trial.batches.of(series).filter(|batch| batch.phase == Phase::Warm) {
        for timed in batch.sample.timed() {
            calls = calls.saturating_add(timed.operations);
            bytes = bytes.saturating_add(timed.bytes);
            elapsed_ns = elapsed_ns.saturating_add(timed.elapsed_ns);
        }
    }
    let whole = bytes.checked_div(block).unwrap_or(0).min(calls);
    let records = format!("{whole}+{} records", calls - whole);
    let seconds = elapsed_ns as f64 / 1e9;
    let rate = human(bytes as f64 / seconds, &DECIMAL, 1000.0);
    let copied = match bytes {
        0..1000 => format!("{bytes} bytes"),
        1000..1024 => format!("{bytes} bytes ({})", human(bytes as f64, &DECIMAL, 1000.0)),
        _ => {
            let (decimal, binary) =
                (human(bytes as f64, &DECIMAL, 1000.0), human(bytes as f64, &BINARY, 1024.0));
            format!("{bytes} bytes ({decimal}, {binary})")
        }
    };
    vec![
        format!("{records} in"),
        format!("{records} out"),
        format!("{copied} copied, {} s, {rate}/s", significant(seconds)),
    ]
}

/// `285 MB`, `1.1 GB`: one decimal below ten, none above.
fn human(value: f64, units: &[&str], step: f64) -> String {
    if !value.is_finite() || value < 0.0 {
        return "?".into();
    }
    let mut value = value;
    let mut unit = 0;
    while unit + 1 < units.len() && value.round() >= step {
        value /= step;
        unit += 1;
    }
    // Below ten after rounding to one decimal, above bytes.
    let decimals = usize::from(unit > 0 && (value * 10.0).round() < 100.0);
    format!("{} {}", fixed(value, decimals), units[unit])
}

/// Six significant digits without trailing zeros, as C's `%g` writes them.
fn significant(value: f64) -> String {
    if value == 0.0 || !value.is_finite() {
        return fixed(value, 0);
    }
    let exponent = libm::log10(value.abs()).floor() as i32;
    if !(-4..6).contains(&exponent) {
        let mantissa = trimmed(&fixed(value / 10f64.powi(exponent), 5)).to_owned();
        let sign = if exponent < 0 { '-' } else { '+' };
        return format!("{mantissa}e{sign}{:02}", exponent.abs());
    }
    trimmed(&fixed(value, (5 - exponent).max(0) as usize)).to_owned()
}

/// Without the zeros that say nothing.
fn trimmed(number: &str) -> &str {
    if number.contains('.') { number.trim_end_matches('0').trim_end_matches('.') } else { number }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_read_as_dd_writes_them() {
        let decimal = |value: f64| human(value, &DECIMAL, 1000.0);
        assert_eq!(decimal(12_288_000.0), "12 MB");
        assert_eq!(decimal(1_073_741_824.0), "1.1 GB");
        assert_eq!(decimal(999_600_000.0), "1.0 GB");
        assert_eq!(decimal(9_960_000.0), "10 MB");
        assert_eq!(decimal(158_000.0), "158 kB");
        assert_eq!(decimal(f64::INFINITY), "?");
        assert_eq!(human(1_073_741_824.0, &BINARY, 1024.0), "1.0 GiB");
        assert_eq!(human(12_288_000.0, &BINARY, 1024.0), "12 MiB");
    }

    #[test]
    fn seconds_have_six_digits() {
        assert_eq!(significant(0.0431625), "0.0431625");
        assert_eq!(significant(0.000_632_296), "0.000632296");
        assert_eq!(significant(12.5), "12.5");
        assert_eq!(significant(1_234_567.0), "1.23457e+06");
        assert_eq!(significant(0.000_012), "1.2e-05");
        assert_eq!(significant(0.0), "0");
    }
}
