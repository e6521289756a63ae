//! Durations as a person writes them: `90`, `90s`, `8m`, `1h`, `250us`.

use std::time::Duration;

use crate::error::{ErrorKind, LabError};

/// Units with their length in seconds. One that ends like another stands before it.
const UNITS: [(&str, f64); 6] =
    [("ns", 1e-9), ("us", 1e-6), ("ms", 1e-3), ("s", 1.0), ("m", 60.0), ("h", 3600.0)];

/// Reads a duration that is longer than nothing; seconds where it has no unit.
pub(crate) fn parse(text: &str) -> Option<Duration> {
    let with_unit = UNITS.iter().find_map(|(unit, s)| Some((text.strip_suffix(unit)?, *s)));
    let (number, unit_s) = with_unit.unwrap_or((text, 1.0));
    let seconds = number.parse::<f64>().ok()? * unit_s;
    Duration::try_from_secs_f64(seconds).ok().filter(|duration| !duration.is_zero())
}

/// Reads a duration from the command line.
pub fn parse_duration(text: &str) -> Result<Duration, LabError> {
    parse(text).ok_or_else(|| {
        LabError::new(ErrorKind::Usage, format!("'{text}' is not a time")).hint("write 90s, 8m or 1h")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_duration_is_a_number_and_a_unit() {
        let all = [("8m", 480.0), ("150s", 150.0), ("90", 90.0), ("1h", 3600.0), ("1.5m", 90.0)];
        for (text, seconds) in all {
            assert_eq!(parse(text).map(|duration| duration.as_secs_f64()), Some(seconds), "{text}");
        }
        let nanoseconds = [("1ms", 1_000_000), ("0.25ms", 250_000), ("250us", 250_000), ("1000ns", 1_000)];
        for (text, ns) in nanoseconds {
            assert_eq!(parse(text).map(|duration| duration.as_nanos()), Some(ns), "{text}");
        }
        for text in ["0", "0.1ns", "soon", "", "-1s", "NaNs", "infs", "1e300h", "s", "5 parsecs"] {
            assert_eq!(parse(text), None, "{text}");
        }
        assert!(parse_duration("soon").unwrap_err().to_string().contains("'soon' is not a time"));
    }
}
