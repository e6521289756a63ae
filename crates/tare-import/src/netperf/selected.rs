//! Selected outputs: values by the names of netperf's selectors, whether they come as keys, as CSV or in a table.

use std::collections::BTreeMap;

use super::banner::Banner;
use super::names::{SELECTORS, find_known_key, key_of};
use crate::prelude::*;

/// Recognises `KEY=value` with a key of netperf's.
fn is_key(line: &str) -> bool {
    let upper = |c: char| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_';
    line.split_once('=').is_some_and(|(key, _)| !key.is_empty() && key.chars().all(upper))
}

/// Recognises `KEY=value` with a key that is understood.
pub fn is_known_key(line: &str) -> bool {
    line.split_once('=').is_some_and(|(key, _)| find_known_key(key).is_some())
}

/// Recognises the head of CSV: names with commas between them, one of which is understood.
pub fn is_head(line: &str) -> bool {
    csv_fields(line).iter().any(|field| key_of(field).is_some()) && !line.trim_end().ends_with("  ")
}

/// Recognises the first line of an output without a banner.
pub fn is_start(line: &str) -> bool {
    let key = line.split_once('=').and_then(|(key, _)| find_known_key(key));
    let telling =
        |key: &str| key.starts_with("THROUGHPUT") || key.ends_with("_LATENCY") || key.ends_with("_RATE");
    key.is_some_and(telling)
        || (line.contains(',') && csv_fields(line).iter().filter_map(|field| key_of(field)).any(telling))
}

/// Values of selectors, each a slice of the text.
pub struct Selected<'a> {
    sets: Vec<BTreeMap<&'static str, &'a str>>,
}

impl<'a> Selected<'a> {
    /// Reads the output of `-k`: a key a line.
    pub fn of_keys(text: &Text, lines: &[&'a str]) -> Result<Self, Refusal> {
        let mut set = BTreeMap::new();
        for line in lines.iter().filter(|line| is_key(line)) {
            let Some((key, value)) = line.split_once('=') else { continue };
            // A key that is cut off would pass for one that is not understood.
            text.check_line_ends(key)?;
            if let Some(key) = find_known_key(key)
                && set.insert(key, value.trim().trim_matches('"')).is_some()
            {
                return Err(text.refuse_part(line, format!("{key} stands here for the second time")));
            }
        }
        Ok(Selected { sets: vec![set] })
    }

    /// Reads the output of `-o`: a head and a line a run.
    pub fn of_csv(text: &Text, lines: &[&'a str]) -> Result<Self, Refusal> {
        let mut lines = lines.iter().copied();
        let head = csv_fields(lines.next().unwrap_or_default());
        let mut sets = Vec::new();
        // Blank lines may come before the values; one behind them ends the table.
        for line in lines.skip_while(|line| line.is_empty()).take_while(|line| !line.is_empty()) {
            let values = csv_fields(line);
            if values.len() != head.len() {
                let cause = format!("{} values under {} names", values.len(), head.len());
                return Err(text.refuse_part(line, cause));
            }
            text.check_line_ends(line)?;
            sets.push(pairs(&head, &values));
        }
        if sets.is_empty() {
            return Err(text.refuse_end("the values below the names are missing"));
        }
        Ok(Selected { sets })
    }

    /// Reads the output of `-O` and of the omni test's default: blocks of columns, a head of several lines
    /// above one line of values.
    pub fn of_table(text: &Text, lines: &[&'a str]) -> Result<Self, Refusal> {
        let mut set = BTreeMap::new();
        let mut heads: Vec<&str> = Vec::new();
        // Blank lines mean nothing: where names fill fewer lines than a head has, one precedes the values too.
        for line in lines.iter().copied().filter(|line| !line.trim().is_empty()) {
            if !is_values(line) {
                heads.push(line);
                continue;
            }
            let (values, heads) = (line, std::mem::take(&mut heads));
            if heads.is_empty() && set.is_empty() {
                return Err(text.refuse_part(values, "a line of values stands here without names above it"));
            }
            text.check_line_ends(values)?;
            let line = values;
            let values = words(line);
            if values.len() > MOST_COLUMNS {
                return Err(text.refuse_part(line, format!("a table has more than {MOST_COLUMNS} columns")));
            }
            let names = name_columns(&heads, &values);
            let pairs = names.iter().zip(&values);
            set.extend(pairs.filter_map(|(key, (_, value))| Some(((*key)?, value.trim_matches('"')))));
        }
        if set.is_empty() {
            return Err(text.refuse_end("no column of the table is understood, or its values are missing"));
        }
        Ok(Selected { sets: vec![set] })
    }

    pub fn read_figures(&self, text: &Text, banner: &Banner) -> Result<Vec<FigureBuilder>, Refusal> {
        self.sets.iter().map(|set| figure(text, banner, set)).collect()
    }
}

/// Limit on the columns of a table; all selectors at once fill four blocks of under fifty.
const MOST_COLUMNS: usize = 200;

/// Finds the selectors of the columns by the lines above them: by where the words stand, or by their order where that tells more,
/// because blanks were lost.
fn name_columns(heads: &[&str], values: &[(usize, &str)]) -> Vec<Option<&'static str>> {
    let by_place = (0..values.len()).map(|i| {
        let start = values[i].0;
        let end = values.get(i + 1).map(|(start, _)| *start);
        let cells = heads
            .iter()
            .map(|line| line.get(start..end.unwrap_or(line.len()).min(line.len())).unwrap_or("").trim());
        let head: Vec<&str> = cells.filter(|cell| !cell.is_empty()).collect();
        key_of(&head.join(" "))
    });
    let by_place: Vec<Option<&str>> = by_place.collect();
    let by_order = name_columns_in_order(heads, values.len());
    let known = |names: &[Option<&str>]| names.iter().flatten().count();
    let agrees = by_place.iter().zip(&by_order).all(|(place, order)| place.is_none() || place == order);
    if agrees && known(&by_order) > known(&by_place) { by_order } else { by_place }
}

/// Finds selectors by the order of words: each line has one for each column, or for those whose names are longest.
fn name_columns_in_order(heads: &[&str], columns: usize) -> Vec<Option<&'static str>> {
    let mut names = vec![String::new(); columns];
    let join = |name: &str, word: &str| format!("{name} {word}").trim_start().to_owned();
    for line in heads {
        let line = words(line);
        // Above the head stand sentences, which are not names.
        if line.len() > columns {
            names.iter_mut().for_each(String::clear);
            continue;
        }
        let mut from = 0;
        for (_, word) in &line {
            let is_next = |name: &String| {
                line.len() == columns || (key_of(name).is_none() && key_of(&join(name, word)).is_some())
            };
            let Some(at) = names[from..].iter().position(is_next) else { continue };
            names[from + at] = join(&names[from + at], word);
            from += at + 1;
        }
    }
    names.iter().map(|name| key_of(name)).collect()
}

/// Recognises the values of a table: no name in a head is a number.
fn is_values(line: &str) -> bool {
    words(line).iter().any(|(_, word)| word.parse::<f64>().is_ok())
}

/// Splits a line into words with their offsets: columns are set flush left, and a quoted text is one word.
fn words(line: &str) -> Vec<(usize, &str)> {
    let mut words = Vec::new();
    let (mut quoted, mut start) = (false, None);
    for (at, c) in line.char_indices() {
        quoted ^= c == '"';
        match start {
            None if !c.is_whitespace() => start = Some(at),
            Some(from) if c.is_whitespace() && !quoted => {
                words.push((from, &line[from..at]));
                start = None;
            }
            _ => {}
        }
    }
    words.extend(start.map(|from| (from, &line[from..])));
    words
}

fn pairs<'a>(names: &[&str], values: &[&'a str]) -> BTreeMap<&'static str, &'a str> {
    names.iter().zip(values).filter_map(|(name, value)| Some((key_of(name)?, *value))).collect()
}

/// Selectors that are figures: their subject, unit, and metric of net.rr.
const FIGURES: &[(&str, Statistic, Scale, Option<&str>)] = &[
    ("RT_LATENCY", Statistic::TimePerOperation, MICROSECONDS, Some("time")),
    ("MIN_LATENCY", Statistic::Minimum, MICROSECONDS, Some("min")),
    ("MEAN_LATENCY", Statistic::Mean, MICROSECONDS, Some("mean")),
    ("P50_LATENCY", Statistic::Percentile(50.0), MICROSECONDS, Some("p50")),
    ("P90_LATENCY", Statistic::Percentile(90.0), MICROSECONDS, Some("p90")),
    ("P99_LATENCY", Statistic::Percentile(99.0), MICROSECONDS, Some("p99")),
    ("MAX_LATENCY", Statistic::Maximum, MICROSECONDS, Some("max")),
    ("STDDEV_LATENCY", Statistic::StandardDeviation, MICROSECONDS, Some("sd")),
    ("TRANSACTION_RATE", Statistic::Rate, PER_SECOND, Some("rate")),
    ("ELAPSED_TIME", Statistic::Elapsed, SECONDS, None),
    ("LOCAL_CPU_UTIL", Statistic::Value, PERCENT, None),
    ("REMOTE_CPU_UTIL", Statistic::Value, PERCENT, None),
];

fn figure(
    text: &Text,
    banner: &Banner,
    set: &BTreeMap<&'static str, &str>,
) -> Result<FigureBuilder, Refusal> {
    let mut figure = FigureBuilder::new(if banner.test.is_empty() { "netperf" } else { &banner.test });
    let get = |key: &str| set.get(key).copied();
    for (key, _) in SELECTORS {
        let is_figure = FIGURES.iter().any(|(figure, ..)| figure == key) || key.starts_with("THROUGHPUT");
        if !is_figure {
            figure.add_parameter(&key.to_ascii_lowercase(), get(key).unwrap_or_default());
        }
    }
    banner.describe_figure(&mut figure);
    let is_rr = get("DIRECTION") == Some("Send|Recv") || banner.test.ends_with("REQUEST/RESPONSE");
    let burst = get("BURST_SIZE").or(banner.burst.as_deref()).unwrap_or("0");
    let protocol = get("PROTOCOL").or(banner.test.split(' ').next()).unwrap_or_default().to_ascii_lowercase();
    if is_rr && burst == "0" && matches!(protocol.as_str(), "tcp" | "udp") && !banner.test.contains("Connect")
    {
        let nodelay = get("LOCAL_NODELAY").map(|value| if value == "1" { "yes" } else { "no" });
        let fixed = [
            ("protocol", Some(protocol.as_str())),
            ("burst", Some("1")),
            ("rate", Some("0")),
            ("request", get("REQUEST_SIZE")),
            ("response", get("RESPONSE_SIZE")),
            ("nodelay", nodelay),
        ];
        let fixed: Vec<_> = fixed.into_iter().filter_map(|(key, value)| Some((key, value?))).collect();
        figure.set_counterpart("net.rr", &fixed);
        figure.set_peer(get("DEST_ADDR").or(banner.peer.as_deref()));
    }
    for (key, statistic, scale, metric) in FIGURES {
        let Some(value) = get(key).filter(|value| is_stated(value)) else { continue };
        figure.add_text_value(text, *statistic, value, *scale)?;
        if let Some(metric) = metric {
            figure.set_metric(metric);
        }
    }
    if let Some(value) = get("THROUGHPUT").filter(|value| is_stated(value)) {
        let units = get("THROUGHPUT_UNITS").ok_or_else(|| {
            text.refuse_part(value, "THROUGHPUT without its THROUGHPUT_UNITS could be anything; select both")
        })?;
        let (statistic, scale) = read_throughput(text, units)?;
        figure.add_text_value(text, statistic, value, scale)?;
        // The throughput of round trips is the transaction rate, with fewer digits.
        if statistic == Statistic::Rate && get("TRANSACTION_RATE").is_none() {
            figure.set_metric("rate");
        }
    }
    if figure.is_empty() {
        return Err(text.refuse_end("no selector that is a figure stands here"));
    }
    check_statements(text, set, burst)?;
    Ok(figure)
}

/// Refuses selectors that contradict each other: latencies out of order, a rate and its round trip.
fn check_statements(text: &Text, set: &BTreeMap<&'static str, &str>, burst: &str) -> Result<(), Refusal> {
    let part = |key: &str| set.get(key).copied().filter(|value| is_stated(value));
    let span = |key: &str| part(key).and_then(Span::written);
    for order in [
        ["MIN_LATENCY", "MEAN_LATENCY", "MAX_LATENCY"],
        ["MIN_LATENCY", "P50_LATENCY", "MAX_LATENCY"],
        ["P50_LATENCY", "P90_LATENCY", "P99_LATENCY"],
    ] {
        if let Some(middle) = part(order[1]) {
            check_order(text, middle, &order.map(span))?;
        }
    }
    let outstanding = burst.parse::<f64>().ok().map(|burst| burst + 1.0);
    if let (Some(middle), Some(trip), Some(rate), Some(outstanding)) =
        (part("RT_LATENCY"), span("RT_LATENCY"), span("TRANSACTION_RATE"), outstanding)
    {
        let computed = Span::exact(outstanding * 1e6).over(rate).widened(0.02);
        check_agreement(text, middle, trip, computed, "the round trip and the rate of transactions")?;
    }
    Ok(())
}

/// Recognises a stated value: netperf writes -1 and not-a-number for everything that it did not measure.
fn is_stated(value: &str) -> bool {
    !value.starts_with('-') && !value.contains("nan") && !value.is_empty()
}

/// Reads a throughput by its unit.
pub fn read_throughput(text: &Text, units: &str) -> Result<(Statistic, Scale), Refusal> {
    let bits = |written, factor| (Statistic::Throughput, Scale { written, factor, ..BITS_PER_SECOND });
    let bytes = |written, factor| (Statistic::Throughput, Scale { written, factor, ..BYTES_PER_SECOND });
    Ok(match units {
        "Trans/s" | "sec" => (Statistic::Rate, Scale { written: "Trans/s", ..PER_SECOND }),
        "10^3bits/s" | "10^3bits/sec" => bits("10^3bits/s", 1e3),
        "10^6bits/s" | "10^6bits/sec" => bits("10^6bits/s", 1e6),
        "10^9bits/s" | "10^9bits/sec" => bits("10^9bits/s", 1e9),
        "KBytes/s" | "KBytes/sec" => bytes("KBytes/s", 1024.0),
        "MBytes/s" | "MBytes/sec" => bytes("MBytes/s", 1_048_576.0),
        "GBytes/s" | "GBytes/sec" => bytes("GBytes/s", 1_073_741_824.0),
        other => {
            return Err(
                text.refuse_part(other, format!("'{}' is not a unit of throughput", shorten_text(other)))
            );
        }
    })
}
