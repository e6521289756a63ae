//! The sums of fio's groups, below all jobs: their bandwidth, bytes and time. They are figures where nothing but them was
//! quoted.

use super::units::find_bytes;
use crate::prelude::*;

/// Finds the number in `Run status group 0 (all jobs):`.
pub fn find_group(line: &str) -> Option<&str> {
    line.strip_prefix("Run status group ")?.strip_suffix(" (all jobs):")
}

/// Reads `READ: bw=54.5MiB/s (57.1MB/s), ..., io=6537MiB (6854MB), run=120002-120002msec`, and of version 2
/// `READ: io=3200.0MB, aggrb=28992KB/s, ..., mint=112623msec, maxt=113021msec`; None for any other line.
pub fn read_group_sum(text: &Text, group: &str, line: &str) -> Result<Option<FigureBuilder>, Refusal> {
    let Some((direction, rest)) = line.split_once(": ").filter(|(direction, _)| is_direction(direction))
    else {
        return Ok(None);
    };
    text.check_line_ends(line)?;
    let refuse = || text.refuse_part(rest, "this is not a group's sum: bandwidth, bytes and time");
    let is_binary = rest.contains("aggrb=");
    let field = |label| find_text_after(rest, label).map(|rest| cut_before(rest, &[',', ' ']));
    let bandwidth = field(if is_binary { "aggrb=" } else { "bw=" }).and_then(|rate| rate.strip_suffix("/s"));
    let (digits, scale) = bandwidth.and_then(|bytes| find_bytes(bytes, is_binary)).ok_or_else(refuse)?;
    // The longest of its jobs is that of the group.
    let runtime = match field("run=") {
        Some(range) => range.split_once('-').map(|(_, most)| most),
        None => field("maxt="),
    };
    let runtime = runtime.and_then(|time| time.strip_suffix("msec")).ok_or_else(refuse)?;
    let amount = field("io=").ok_or_else(refuse)?;
    let (bytes, bytes_scale) = find_bytes(amount, is_binary).ok_or_else(refuse)?;
    let mut figure = FigureBuilder::new(&format!("group {group}: {}", direction.to_ascii_lowercase()));
    figure.add_text_value(text, Statistic::Throughput, digits, scale)?;
    figure.add_text_value(text, Statistic::Elapsed, runtime, MILLISECONDS)?;
    figure.add_parameter("transferred", amount);
    if let (Some(stated), Some(bytes), Some(time)) =
        (Span::written(digits), Span::written(bytes), Span::written(runtime))
    {
        let computed = bytes.scaled(bytes_scale.factor).over(time.scaled(1e-3)).widened(0.05);
        check_agreement(text, digits, stated.scaled(scale.factor), computed, "bandwidth, bytes and time")?;
    }
    Ok(Some(figure))
}

fn is_direction(word: &str) -> bool {
    matches!(word, "READ" | "WRITE" | "TRIM")
}
