//! The budget of a session, as plans, notes and reports name it.

use std::time::Duration;

/// Time of a budget that is kept for leaving the environments and reading the record, at most...
const RESERVE: Duration = Duration::from_secs(4);
/// ...at least...
const LEAST_RESERVE: Duration = Duration::from_millis(500);
/// ...and in between this part of it: a short session has a short record.
const RESERVED_PARTS: u32 = 20;

/// Computes the time that a session of this length keeps for its end.
pub fn reserve(whole: Duration) -> Duration {
    (whole / RESERVED_PARTS).clamp(LEAST_RESERVE, RESERVE)
}

/// Computes the length of the session that measures for this many seconds, in seconds.
pub fn whole_s(measured_s: f64) -> f64 {
    let parts = f64::from(RESERVED_PARTS);
    let part_s = measured_s / (parts - 1.0);
    measured_s + part_s.clamp(LEAST_RESERVE.as_secs_f64(), RESERVE.as_secs_f64())
}

/// Formats the option with a budget that has room for a session that enters and measures for this many seconds: rounded up, for nobody
/// knows them as well.
pub fn name_budget(seconds: f64) -> String {
    let s = whole_s(seconds).ceil() as u64;
    match s {
        0..=60 => format!("--budget {}s", s.div_ceil(5) * 5),
        61..=600 => format!("--budget {}m", s.div_ceil(60)),
        601..=7_200 => format!("--budget {}m", s.div_ceil(300) * 5),
        _ => format!("--budget {}h", s.div_ceil(3_600)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_budget_is_rounded_up_and_has_its_reserve() {
        let named = [7.0, 57.0, 200.0, 3_000.0, 9_000.0].map(name_budget);
        assert_eq!(
            named,
            ["--budget 10s", "--budget 60s", "--budget 4m", "--budget 55m", "--budget 3h"].map(str::to_owned)
        );
    }
}
