//! Time of the findings of a large session, and their memory besides the session itself.

mod large;

use std::fs;
use std::time::Instant;

use tare_analysis::{Options, compute_findings};

/// Limit on computing the findings of a large session, in seconds.
const MOST_S: f64 = 2.0;
const MOST_MB: f64 = 256.0;

/// Computes the findings of a session of 100 cases, 6 environments and 2,000 rounds; false when it takes too much.
pub fn measure_findings() -> Result<bool, String> {
    let session = large::make_large_session();
    let before = memory_mb("VmRSS")?;
    let started = Instant::now();
    let found = compute_findings(&session, &Options::default());
    let took_s = started.elapsed().as_secs_f64();
    let more_mb = (memory_mb("VmHWM")? - before).max(0.0);
    println!(
        "{} trials in {before:.0} MB; findings of {} cells: {took_s:.2} s, {more_mb:.0} MB more",
        session.trials.len(),
        found.certificate.compared,
    );
    Ok(took_s <= MOST_S && more_mb <= MOST_MB)
}

/// Reads a line of proc_pid_status(5), in megabytes.
fn memory_mb(name: &str) -> Result<f64, String> {
    let status = fs::read_to_string("/proc/self/status").map_err(|e| format!("/proc/self/status: {e}"))?;
    let line = status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
    let kilobytes = line.and_then(|line| line.split_whitespace().next()?.parse::<f64>().ok());
    kilobytes.map(|kilobytes| kilobytes / 1e3).ok_or_else(|| format!("/proc/self/status has no {name}"))
}
