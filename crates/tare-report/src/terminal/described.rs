//! Sentences of `tare show` that are made from parts: metrics, parameters and options of what it describes.

use tare_data::unit::{Direction, Unit};

use crate::language::{Language, message, say};

/// Describes a metric: its name, its unit and its better direction.
pub fn describe_metric(
    name: &str,
    unit: Unit,
    direction: Direction,
    is_headline: bool,
    language: Language,
) -> String {
    let unit = language.word(name_unit(unit));
    let better = match (direction, is_headline) {
        (Direction::Lower, true) => message!("lower is better, the headline"),
        (Direction::Lower, false) => message!("lower is better"),
        (Direction::Higher, true) => message!("higher is better, the headline"),
        (Direction::Higher, false) => message!("higher is better"),
    };
    say!(language, "{name} ({unit}, {better})", name, unit, better = language.word(better))
}

/// Describes a parameter of a probe with its two defaults.
pub fn describe_parameter(
    name: &str,
    about: &str,
    (short, reference): (&str, &str),
    language: Language,
) -> String {
    let about = language.describe(about);
    say!(language, "{name}: {about} (short {short}, reference {reference})", name, about, short, reference)
}

/// Tells which options a preset takes further.
pub fn describe_further_options(provider: &str, preset: &str, language: Language) -> String {
    say!(language, "those of {provider} can be added, as {preset}?key=value", provider, preset)
}

fn name_unit(unit: Unit) -> &'static str {
    match unit {
        Unit::Nanoseconds => message!("nanoseconds"),
        Unit::PerSecond => message!("per second"),
        Unit::PerMinute => message!("per minute"),
        Unit::BytesPerSecond => message!("bytes per second"),
        Unit::BitsPerSecond => message!("bits per second"),
        Unit::Bytes => message!("bytes"),
        Unit::Mwips => message!("mwips"),
        Unit::Percent => message!("percent"),
        Unit::Count => message!("count"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sentences_of_parts_are_in_the_language() {
        let metric = |language| describe_metric("time", Unit::Nanoseconds, Direction::Lower, true, language);
        assert_eq!(metric(Language::English), "time (nanoseconds, lower is better, the headline)");
        assert_eq!(metric(Language::Japanese), "time (ナノ秒、小さいほど良い、見出しの値)");
        let parameter = |language| describe_parameter("bs", "a block", ("4KiB", "1MiB"), language);
        assert_eq!(parameter(Language::English), "bs: a block (short 4KiB, reference 1MiB)");
        assert_eq!(parameter(Language::Japanese), "bs: a block (短縮 4KiB、基準 1MiB)");
    }
}
