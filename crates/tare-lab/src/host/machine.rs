//! The machine that measures: how quiet it is now, in figures that can be acted on.

use tare_data::facts::Facts;
use tare_probes::harness::interference::measure_canary;

/// Canaries of a look at the machine: some 50 ms.
const CANARIES: usize = 200;
/// A processor that is left alone repeats a canary within this share, from the 10th to the 90th percentile.
const QUIET_SPREAD: f64 = 0.02;
/// Tasks that wait for a processor, on average over a minute, above which somebody else is at work.
const QUIET_LOAD: f64 = 0.5;

/// Measures the noise of this machine at this moment, with `noise.verdict` in words.
pub fn measure_noise() -> Facts {
    let mut facts = Facts::default();
    let mut times: Vec<u64> = (0..CANARIES).map(|_| measure_canary()).collect();
    times.sort_unstable();
    let at = |share: usize| times[CANARIES * share / 100] as f64;
    let spread = at(90) / at(10).max(1.0) - 1.0;
    facts.add_fact("noise.canary_spread", format!("{:.1} %", spread * 100.0));
    let load = std::fs::read_to_string("/proc/loadavg").ok();
    let load = load.as_deref().and_then(|text| text.split(' ').next()?.parse::<f64>().ok());
    if let Some(load) = load {
        facts.add_fact("noise.load", format!("{load:.2}"));
    }
    let busy = load.is_some_and(|load| load > QUIET_LOAD);
    facts.add_fact(
        "noise.verdict",
        match (busy, spread > QUIET_SPREAD) {
            (true, _) => "busy: stop other work on this machine, or expect wide intervals",
            (false, true) => "uneven: neighbours or frequency changes; expect wider intervals",
            (false, false) => "quiet",
        },
    );
    facts
}
