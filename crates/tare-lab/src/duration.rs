//! Durations as a person writes them: `90`, `90s`, `8m`, `1h30m`, `2 min`, `250us`.

use std::time::Duration;

use jiff::fmt::friendly::SpanParser;

use crate::error::LabError;

/// Reads a duration that is longer than nothing; seconds where it has no unit.
pub(crate) fn parse_positive_duration(text: &str) -> Option<Duration> {
    let seconds = text.parse::<f64>().ok().and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    let duration = seconds.or_else(|| SpanParser::new().parse_unsigned_duration(text).ok())?;
    (!duration.is_zero()).then_some(duration)
}

pub fn parse_duration(text: &str) -> Result<Duration, LabError> {
    parse_positive_duration(text).ok_or_else(|| {
        LabError::usage_error(format!("'{text}' is not a time")).with_hint("write 90s, 8m or 1h30m")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_duration_is_a_number_and_a_unit() {
        let all =
            [("8m", 480.0), ("150s", 150.0), ("90", 90.0), ("1h", 3600.0), ("1.5m", 90.0), ("1h30m", 5400.0)];
        for (text, seconds) in all {
            assert_eq!(
                parse_positive_duration(text).map(|duration| duration.as_secs_f64()),
                Some(seconds),
                "{text}"
            );
        }
        let other =
            [("2min", 120.0), ("90sec", 90.0), ("1 hour, 5 minutes", 3900.0), ("0.5", 0.5), ("100ms", 0.1)];
        for (text, seconds) in other {
            assert_eq!(
                parse_positive_duration(text).map(|duration| duration.as_secs_f64()),
                Some(seconds),
                "{text}"
            );
        }
        let nanoseconds = [("1ms", 1_000_000), ("0.25ms", 250_000), ("250us", 250_000), ("1000ns", 1_000)];
        for (text, ns) in nanoseconds {
            assert_eq!(parse_positive_duration(text).map(|duration| duration.as_nanos()), Some(ns), "{text}");
        }
        for text in [
            "0",
            "0.1ns",
            "soon",
            "",
            "-1s",
            "NaNs",
            "infs",
            "1e300h",
            "s",
            "5 parsecs",
            "1 month",
            "2h ago",
            "0s",
        ] {
            assert_eq!(parse_positive_duration(text), None, "{text}");
        }
        assert!(parse_duration("soon").unwrap_err().to_string().contains("'soon' is not a time"));
    }
}
