//! Numbers for people: three significant digits, a suitable prefix, the unit, the half interval.

use tare_analysis::findings::Level;
use tare_data::unit::Unit;

/// Text for a number that is not finite: a hostile or damaged record can hold one.
const NO_NUMBER: &str = "?";
/// Half of an interval, as a share of its value, beyond which the bounds are shown.
const WIDEST_HALF: f64 = 0.1;
/// Fewest rounds of a median with a 95 % interval: the extremes of five contain it in 93.75 %.
const ROUNDS_OF_AN_INTERVAL: u32 = 6;
/// Text for an interval that too few rounds leave open.
pub(crate) const NO_INTERVAL: &str = "no interval";
/// Smallest value that is written with an exponent, so that no value is wider than a column.
const LONGEST_PLAIN: f64 = 1e6;
/// Smallest value without decimals, whatever the values near it have.
const LONGEST_WITH_DECIMALS: f64 = 1e3;
/// Smallest ratio that is written without an exponent: below it, fewer than three digits would be left.
const LEAST_PLAIN_RATIO: f64 = 0.001;

/// A prefix of a unit: its divisor, and the name of the quotient.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scale {
    pub divisor: f64,
    pub unit: &'static str,
}

const fn scale(divisor: f64, unit: &'static str) -> Scale {
    Scale { divisor, unit }
}

const TIMES: &[Scale] = &[scale(1.0, "ns"), scale(1e3, "µs"), scale(1e6, "ms"), scale(1e9, "s")];
const RATES: &[Scale] =
    &[scale(1.0, "ops/s"), scale(1e3, "kops/s"), scale(1e6, "Mops/s"), scale(1e9, "Gops/s")];
const MINUTES: &[Scale] = &[scale(1.0, "ops/min"), scale(1e3, "kops/min"), scale(1e6, "Mops/min")];
const BYTE_RATES: &[Scale] = &[scale(1.0, "B/s"), scale(1e3, "kB/s"), scale(1e6, "MB/s"), scale(1e9, "GB/s")];
const BIT_RATES: &[Scale] =
    &[scale(1.0, "bit/s"), scale(1e3, "kbit/s"), scale(1e6, "Mbit/s"), scale(1e9, "Gbit/s")];
const BYTES: &[Scale] = &[
    scale(1.0, "B"),
    scale(1024.0, "KiB"),
    scale(1_048_576.0, "MiB"),
    scale(1_073_741_824.0, "GiB"),
    scale(1_099_511_627_776.0, "TiB"),
];
const MWIPS: &[Scale] = &[scale(1.0, "MWIPS")];
const PERCENT: &[Scale] = &[scale(1.0, "%")];
const COUNT: &[Scale] = &[scale(1.0, "")];

/// Lists the prefixes of a unit, smallest first.
fn list_scales(unit: Unit) -> &'static [Scale] {
    match unit {
        Unit::Nanoseconds => TIMES,
        Unit::PerSecond => RATES,
        Unit::PerMinute => MINUTES,
        Unit::BytesPerSecond => BYTE_RATES,
        Unit::BitsPerSecond => BIT_RATES,
        Unit::Bytes => BYTES,
        Unit::Mwips => MWIPS,
        Unit::Percent => PERCENT,
        Unit::Count => COUNT,
    }
}

/// Finds the prefix under which a value has one to three digits before the point, or the last one.
pub(crate) fn scale_of(value: f64, unit: Unit) -> Scale {
    let all = list_scales(unit);
    let fits = |s: &&Scale| round_to_three(value.abs() / s.divisor) < step(s.unit);
    *all.iter().find(fits).unwrap_or(&all[all.len() - 1])
}

/// Returns the factor to the next prefix: 1024 for KiB and the like.
fn step(unit: &str) -> f64 {
    if unit == "B" || unit.ends_with("iB") { 1024.0 } else { 1000.0 }
}

/// Rounds to three significant digits, so that 999.7 ns is 1.00 µs and not 1000 ns.
fn round_to_three(value: f64) -> f64 {
    if value == 0.0 || !value.is_finite() || value >= 100.0 {
        return value.round();
    }
    let factor = 10f64.powi(2 - libm::log10(value).floor() as i32);
    (value * factor).round() / factor
}

/// Counts the decimals that leave three significant digits.
pub(crate) fn count_decimals(value: f64) -> usize {
    match round_to_three(value.abs()) {
        v if v >= 100.0 || v == 0.0 || !v.is_finite() => 0,
        v if v >= 10.0 => 1,
        v if v >= 1.0 => 2,
        _ => 3,
    }
}

/// Formats a number with this many decimals; with an exponent if that would be too wide.
pub(crate) fn format_fixed(value: f64, decimals: usize) -> String {
    if !value.is_finite() {
        return NO_NUMBER.into();
    }
    if value.abs() >= LONGEST_PLAIN {
        return format!("{value:.1e}");
    }
    let text = format!("{value:.*}", if value.abs() >= LONGEST_WITH_DECIMALS { 0 } else { decimals });
    // A negative number that rounds to nothing is nothing: "-0.00" reads as a mistake.
    match text.strip_prefix('-') {
        Some(rest) if rest.chars().all(|c| matches!(c, '0' | '.')) => rest.to_owned(),
        _ => text,
    }
}

/// A value in its unit, split so that a table can align it.
#[derive(Clone, Debug, PartialEq)]
pub struct Figure {
    /// `20.6`
    pub number: String,
    /// `µs`; empty for a count.
    pub unit: &'static str,
    /// Half the interval as `±0.4`, or a wide one as `(12.0–191)`, in the same prefix; `None` without an interval.
    pub half: Option<String>,
}

impl Figure {
    /// Formats a value with half the width of its interval.
    pub(crate) fn with_interval(value: f64, low: f64, high: f64, unit: Unit) -> Figure {
        let mut figure = Figure::without_interval(value, unit);
        let scale = scale_of(value, unit);
        figure.half = Some(format_spread(value / scale.divisor, low / scale.divisor, high / scale.divisor));
        figure
    }

    /// Formats a median over rounds, with half the width of its interval if there are enough rounds for one.
    pub(crate) fn of_rounds(median: f64, (low, high): (f64, f64), rounds: u32, unit: Unit) -> Figure {
        match rounds {
            ROUNDS_OF_AN_INTERVAL.. => Figure::with_interval(median, low, high, unit),
            _ => Figure::without_interval(median, unit),
        }
    }

    /// Formats a level with half the width of its interval.
    pub(crate) fn of_level(level: &Level, unit: Unit) -> Figure {
        Figure::of_rounds(level.median, (level.low, level.high), level.rounds, unit)
    }

    pub fn without_interval(value: f64, unit: Unit) -> Figure {
        let scale = scale_of(value, unit);
        let number = value / scale.divisor;
        let unit = if value.is_finite() { scale.unit } else { "" };
        Figure { number: format_fixed(number, count_decimals(number)), unit, half: None }
    }

    /// Formats `20.6 µs`, `4.2 %`, `17`.
    pub fn to_text(&self) -> String {
        if self.unit.is_empty() { self.number.clone() } else { format!("{} {}", self.number, self.unit) }
    }

    /// Formats `20.6 µs ±0.4`.
    pub(crate) fn text_with_half(&self) -> String {
        match &self.half {
            Some(half) => format!("{} {half}", self.to_text()),
            None => self.to_text(),
        }
    }
}

/// Formats an interval behind its value: half of it, or its bounds where half of it is more than a tenth of the value, since
/// such an interval is seldom even and may be wider than the value.
fn format_spread(value: f64, low: f64, high: f64) -> String {
    let half = (high - low).abs() / 2.0;
    if half <= WIDEST_HALF * value.abs() {
        return half_width(half, value);
    }
    let bound = |value: f64| format_fixed(value, count_decimals(value));
    format!("({}–{})", bound(low), bound(high))
}

/// Formats `±0.4` with the decimals of its value: more if that would round to zero, fewer if three digits are
/// enough (`8.79 µs ±958`).
fn half_width(half: f64, value: f64) -> String {
    let own = count_decimals(value);
    let is_nothing = |places: usize| half < 0.5 * 10f64.powi(-(places as i32));
    let places = (own..own + 3).find(|p| !is_nothing(*p)).unwrap_or(own);
    let places = if half >= 1.0 { places.min(count_decimals(half)) } else { places };
    let shown = if is_nothing(places) { 0.0 } else { half };
    format!("±{}", format_fixed(shown, if shown == 0.0 { 0 } else { places }))
}

/// Counts the decimals of a ratio: three significant digits from 1 on, never finer than a hundredth near 1.
pub(crate) fn ratio_decimals(ratio: f64) -> usize {
    match round_to_three(ratio.abs()) {
        v if v >= 100.0 || !v.is_finite() => 0,
        v if v >= 10.0 => 1,
        v if v >= 0.1 => 2,
        _ => 3,
    }
}

/// Formats a ratio as `24.1x`, `1.02x`, `0.98x` or `156x`.
pub(crate) fn format_ratio(value: f64) -> String {
    format!("{}x", ratio_with(value, ratio_decimals(value)))
}

fn ratio_with(value: f64, decimals: usize) -> String {
    if value != 0.0 && value.abs() < LEAST_PLAIN_RATIO && value.is_finite() {
        return format!("{value:.0e}");
    }
    format_fixed(value, decimals)
}

/// Formats an interval as `[23.8, 24.5]`, with the decimals of its ratio.
pub(crate) fn ratio_interval([low, high]: [f64; 2], ratio: f64) -> String {
    if !(low.is_finite() && high.is_finite()) || (low <= 0.0 && ratio > 0.0) {
        return NO_INTERVAL.into();
    }
    let places = ratio_decimals(ratio);
    // A bound much smaller than its ratio would lose its digits, 12.3 in [0.40, 31.0]; a much greater one has three.
    let bound =
        |v: f64| ratio_with(v, if v.abs() < 1.0 { places.max(2) } else { places.min(ratio_decimals(v)) });
    format!("[{}, {}]", bound(low), bound(high))
}

/// Formats how many times as long something takes, `10x`, `6.3x`, `1.14x`: two significant digits, three from 1 to 2.
///
/// A digit more is printed where rounding would move it to the margin, or to 1.
pub(crate) fn format_times(ratio: f64, margin: f64) -> String {
    format!("{}x", times_with(ratio, times_decimals(ratio, margin)))
}

/// Formats such a ratio rounded down, so that it stays a bound from below: `41x`, `1.2x`.
pub(crate) fn format_times_below(ratio: f64) -> String {
    let decimals = times_decimals(ratio, f64::NAN);
    let scale = 10f64.powi(decimals as i32);
    format!("{}x", times_with((ratio * scale).floor() / scale, decimals))
}

/// Formats the ends of an interval of such ratios, `6.1` and `21x`; none while there is no interval.
pub(crate) fn times_range(low: f64, high: f64, margin: f64) -> Option<(String, String)> {
    if !(low > 0.0 && high.is_finite()) {
        return None;
    }
    let ends = |more| {
        let end = |value| times_with(value, times_decimals(value, margin) + more);
        (end(low), end(high))
    };
    let (first, last) = match ends(0) {
        (first, last) if first == last && low < high => ends(1),
        distinct => distinct,
    };
    Some((first, format!("{last}x")))
}

/// Digits at most that rounding to a margin adds.
const MOST_FURTHER_DIGITS: usize = 2;

fn times_decimals(ratio: f64, margin: f64) -> usize {
    let own = match ratio.abs() {
        v if v >= 9.95 || !v.is_finite() => 0,
        v if v >= 1.995 => 1,
        v if v >= 0.0995 => 2,
        _ => 3,
    };
    // A ratio stays on its side of each border when it is read.
    let keeps_sides = |places: usize| {
        let read = times_with(ratio, places).parse::<f64>().unwrap_or(ratio);
        let border = |border: f64| {
            !border.is_finite() || (ratio < border) == (read < border) && (ratio > border) == (read > border)
        };
        border(margin) && border(1.0 / margin)
    };
    (own..=own + MOST_FURTHER_DIGITS).find(|places| keeps_sides(*places)).unwrap_or(own)
}

fn times_with(value: f64, decimals: usize) -> String {
    let text = ratio_with(value, decimals);
    match text.contains('.') && !text.contains('e') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text,
    }
}

/// Formats a share rounded up, so that it stays a bound: `3 %`, below one percent `0.4 %`.
pub(crate) fn format_share_above(share: f64) -> String {
    let percent = share.max(0.0) * 100.0;
    // An error of rounding in the percentage itself does not reach the next step.
    let up = |scale: f64| (percent * scale - 1e-9).ceil().max(1.0) / scale;
    match percent < 1.0 {
        true => format!("{} %", format_fixed(up(10.0), if up(10.0) < 1.0 { 1 } else { 0 })),
        false => format!("{} %", format_fixed(up(1.0), 0)),
    }
}

/// Takes the unit off a figure before another in the same unit.
pub(crate) fn strip_shared_unit<'a>(first: &'a str, second: &str) -> &'a str {
    match (first.split_once(' '), second.split_once(' ')) {
        (Some((number, unit)), Some((_, other))) if unit == other => number,
        _ => first,
    }
}

/// Formats a share as a percentage with two significant digits: `2.6 %`, `12 %`.
pub(crate) fn format_percent(share: f64) -> String {
    let value = share * 100.0;
    let places = if value.abs() < 9.95 && (value - value.round()).abs() > 0.05 { 1 } else { 0 };
    format!("{} %", format_fixed(value, places))
}

/// Formats a time as `38 s`, `2 min 38 s` or `3 h 2 min`; one that is not finite is unknown.
pub fn format_duration(seconds: f64) -> String {
    if !seconds.is_finite() || seconds < 0.0 {
        return "unknown time".into();
    }
    // A session of years is not one; the bound keeps the figure narrow.
    let whole = seconds.round().min(3.6e8) as u64;
    match whole {
        0..60 => format!("{whole} s"),
        60..3600 if whole.is_multiple_of(60) => format!("{} min", whole / 60),
        60..3600 => format!("{} min {} s", whole / 60, whole % 60),
        _ => format!("{} h {} min", whole / 3600, whole % 3600 / 60),
    }
}

/// Formats bytes as whole GiB, at least one.
pub fn format_gibibytes(bytes: u64) -> String {
    format!("{} GiB", bytes.div_ceil(1 << 30).max(1))
}

/// Formats a count with its noun: `1 round`, `2 rounds`.
pub fn format_count(count: usize, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Reads a list that also tests the page's own implementation.
    fn fixture(list: &str) -> Vec<serde_json::Value> {
        let text = include_str!("../../../fixtures/figures.json");
        let mut all: serde_json::Value = serde_json::from_str(text).expect("the fixture is JSON");
        serde_json::from_value(all[list].take()).expect("the fixture has the list")
    }

    fn number(item: &serde_json::Value, key: &str) -> f64 {
        item[key].as_f64().expect("the fixture has the number")
    }

    #[test]
    fn figures_read_as_the_shared_list_says() {
        for item in fixture("figures") {
            let unit: Unit = serde_json::from_value(item["unit"].clone()).expect("a unit");
            let (value, low, high) = (number(&item, "value"), number(&item, "low"), number(&item, "high"));
            let figure = Figure::with_interval(value, low, high, unit);
            assert_eq!(figure.to_text(), item["text"].as_str().unwrap());
            assert_eq!(figure.half.as_deref(), item["half"].as_str(), "{}", figure.to_text());
        }
    }

    #[test]
    fn ratios_and_durations_read_as_the_shared_list_says() {
        for item in fixture("ratios") {
            let (estimate, low, high) =
                (number(&item, "estimate"), number(&item, "low"), number(&item, "high"));
            assert_eq!(format_ratio(estimate), item["text"].as_str().unwrap());
            assert_eq!(ratio_interval([low, high], estimate), item["interval"].as_str().unwrap());
        }
        for item in fixture("durations") {
            assert_eq!(format_duration(number(&item, "seconds")), item["text"].as_str().unwrap());
        }
        assert_eq!(ratio_interval([1.0, f64::INFINITY], 12.3), "no interval");
    }

    #[test]
    fn factors_have_two_digits_and_more_where_rounding_reaches_the_margin() {
        let times = |ratio| format_times(ratio, 1.02);
        assert_eq!([times(10.4), times(6.31), times(1.9), times(156.4)], ["10x", "6.3x", "1.9x", "156x"]);
        assert_eq!([times(1.14), times(0.43), times(0.0342), times(1.0)], ["1.14x", "0.43x", "0.034x", "1x"]);
        assert_eq!([times(1.0213), times(1.0199), times(0.9799)], ["1.021x", "1.0199x", "0.98x"]);
        assert_eq!([times(0.9803), times(0.9805)], ["0.98x", "0.981x"], "either side of 1/1.02");
        assert_eq!(times(4.2e9), "4.2e9x");
        assert_eq!(times(f64::NAN), "?x");
    }

    #[test]
    fn intervals_keep_the_digits_that_tell_their_bounds_apart() {
        let range = |low, high| times_range(low, high, 1.02).map(|(low, high)| format!("{low} to {high}"));
        assert_eq!(range(6.1, 20.9).as_deref(), Some("6.1 to 21x"));
        assert_eq!(range(23.9, 24.4).as_deref(), Some("23.9 to 24.4x"));
        // Both are beyond their border of the margin, and read so.
        assert_eq!(range(0.981, 1.0249).as_deref(), Some("0.981 to 1.025x"));
        assert_eq!(range(1.0, 1.0).as_deref(), Some("1 to 1x"));
        assert_eq!(range(0.0, f64::INFINITY), None);
        assert_eq!(range(0.0, 3.0), None);
    }

    #[test]
    fn bounds_are_rounded_up() {
        assert_eq!(format_share_above(0.0251), "3 %");
        assert_eq!(format_share_above(0.03), "3 %");
        assert_eq!(format_share_above(0.0031), "0.4 %");
        assert_eq!(format_share_above(0.00999), "1 %");
        assert_eq!(format_share_above(-0.1), "0.1 %");
    }

    #[test]
    fn few_rounds_have_no_interval() {
        let text =
            |rounds| Figure::of_rounds(380e6, (370e6, 390e6), rounds, Unit::BytesPerSecond).text_with_half();
        assert_eq!(text(1), "380 MB/s");
        assert_eq!(text(5), "380 MB/s");
        assert_eq!(text(6), "380 MB/s ±10");
    }

    #[test]
    fn shares_and_durations_are_short() {
        assert_eq!(format_percent(0.026), "2.6 %");
        assert_eq!(format_percent(0.02), "2 %");
        assert_eq!(format_percent(0.124), "12 %");
        assert_eq!(format_duration(f64::NAN), "unknown time");
        assert_eq!(format_duration(-1.0), "unknown time");
    }

    proptest! {
        #[test]
        fn no_figure_is_wider_than_a_column(value in any::<f64>(), low in any::<f64>(), high in any::<f64>()) {
            for unit in [Unit::Nanoseconds, Unit::Bytes, Unit::BitsPerSecond, Unit::Count] {
                let figure = Figure::with_interval(value, low, high, unit);
                prop_assert!(figure.to_text().chars().count() <= 17, "{}", figure.to_text());
                prop_assert!(figure.half.unwrap().chars().count() <= 20);
            }
            prop_assert!(format_ratio(value).chars().count() <= 9, "{}", format_ratio(value));
            prop_assert!(ratio_interval([low, high], value).chars().count() <= 20);
            prop_assert!(format_times(value, 1.02).chars().count() <= 9, "{}", format_times(value, 1.02));
            prop_assert!(format_share_above(value).chars().count() <= 12);
            prop_assert!(format_duration(value).chars().count() <= 16);
            prop_assert!(format_percent(value).chars().count() <= 12);
        }

        #[test]
        fn a_figure_says_its_value_to_a_part_in_a_hundred(exponent in -0.9f64..12.0) {
            let value = libm::pow(10.0, exponent);
            let figure = Figure::without_interval(value, Unit::Nanoseconds);
            let scale = list_scales(Unit::Nanoseconds).iter().find(|s| s.unit == figure.unit).unwrap();
            let read: f64 = figure.number.parse().unwrap();
            prop_assert!((read * scale.divisor / value - 1.0).abs() < 0.01);
        }
    }
}
