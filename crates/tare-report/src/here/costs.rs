//! Words for costs: a time with its interval, and what it is compared with.

use tare_analysis::findings::{Interval, Kind};
use tare_analysis::here::costs::{
    Cost, Durability, Estimate, Operation, Reason, find_durability, has_fast_clock,
};
use tare_data::facts::Facts;
use tare_data::facts::keys::PLACE_OWN_TYPE;
use tare_data::unit::Unit;

use crate::language::{Language, say};
use crate::number::scale_of;
use crate::text::clean_text;
use crate::words::Said;

/// Smallest value that is written without decimals.
const WITHOUT_DECIMALS: f64 = 10.0;

/// Describes a cost, without the heading.
pub fn describe_cost(cost: &Cost, all: &[Cost], facts: &Facts, language: Language) -> String {
    let time = format_time(cost.ns);
    let other = cost.against.map(format_time).unwrap_or_default();
    let comparison = describe_comparison(cost, language);
    match cost.operation {
        Operation::SystemCall | Operation::PageFault | Operation::Priced(_) => {
            let name = name_operation(cost.operation, language);
            format!("{name} {time}: {comparison}")
        }
        Operation::SteadyCpu => {
            say!(language, "CPU used for long, against at first: {comparison}", comparison = comparison)
        }
        Operation::NewCode => say!(
            language,
            "new code {time}, again {other}: {comparison}",
            time = time,
            other = other,
            comparison = comparison
        ),
        Operation::Clock => describe_clock(&time, &other, all, language),
        Operation::Name if cost.against.is_none() => {
            say!(language, "name here {time}", time = time)
        }
        Operation::Name => {
            let place = clean_text(facts.get(PLACE_OWN_TYPE).unwrap_or("?"));
            say!(
                language,
                "name here {time}, on {place} {other}: {comparison}",
                time = time,
                place = place,
                other = other,
                comparison = comparison
            )
        }
        Operation::NewName => say!(
            language,
            "new name here {time}, again {other}: {comparison}",
            time = time,
            other = other,
            comparison = comparison
        ),
        Operation::Sync => {
            let reach = match find_durability(facts, all) {
                Some(Durability::ReachesSomething) => language.word("reaches something"),
                Some(Durability::Nothing | Durability::NoLonger) => language.word("reaches no disk"),
                None => language.word("the times vary too much"),
            };
            say!(
                language,
                "fsync here {time}, write {other}: {reach}",
                time = time,
                other = other,
                reach = reach
            )
        }
    }
}

fn describe_clock(time: &str, other: &str, all: &[Cost], language: Language) -> String {
    let answer = match has_fast_clock(all) {
        Some(true) => language.word("without a call"),
        Some(false) => language.word("no vDSO works here"),
        None => language.word("the times vary too much"),
    };
    say!(
        language,
        "the clock {time}, by a call {other}: {answer}",
        time = time,
        other = other,
        answer = answer
    )
}

/// Describes the answer, by the one table of words.
fn describe_comparison(cost: &Cost, language: Language) -> String {
    let Some(interval) = cost.factor.filter(|_| cost.untold.is_none()) else {
        let reason = cost.untold.unwrap_or(Reason::NothingToCompare);
        return say!(language, "not told, {reason}", reason = language.translate_text(reason.describe()));
    };
    let said = say_factor(cost, interval);
    let words = said.in_words(language);
    match cost.answer.kind() {
        Kind::AtLeast => {
            say!(language, "{times} what the slowest known Linux without layers takes", times = words)
        }
        Kind::Slower | Kind::Faster => format!("{words} {}", said.interval(language)),
        _ => words,
    }
}

fn say_factor(cost: &Cost, interval: Interval) -> Said {
    let ratio = cost.against.map_or(f64::NAN, |against| cost.ns.middle / against.middle);
    Said { answer: cost.answer, ratio, interval, most: None, margin: f64::NAN }
}

/// Formats the factor of a cost that is told: `94x`, `over 8x`.
pub fn format_factor(cost: &Cost, language: Language) -> String {
    say_factor(cost, cost.factor.unwrap_or(Interval::UNKNOWN)).in_words(language)
}

/// Checks if an operation compares what is new with what was there before: it is slower on any Linux, which says nothing of a layer, so that
/// the first screen has none.
pub fn is_of_new(operation: Operation) -> bool {
    matches!(operation, Operation::NewName | Operation::NewCode)
}

/// Checks if a cost has an answer to be shown: the clock and syncs have words of their own for it.
pub fn is_told(cost: &Cost, all: &[Cost], facts: &Facts) -> bool {
    match cost.operation {
        Operation::Clock => has_fast_clock(all).is_some(),
        Operation::Sync => find_durability(facts, all).is_some(),
        _ => cost.untold.is_none_or(|reason| reason == Reason::NothingToCompare),
    }
}

pub fn name_operation(operation: Operation, language: Language) -> String {
    match operation {
        Operation::SystemCall => language.word("system call").to_owned(),
        Operation::PageFault => language.word("page fault").to_owned(),
        Operation::Clock => language.word("clock").to_owned(),
        Operation::Name => language.word("name here").to_owned(),
        Operation::NewName => language.word("new name here").to_owned(),
        Operation::Sync => language.word("fsync here").to_owned(),
        Operation::SteadyCpu => language.word("CPU used for long").to_owned(),
        Operation::NewCode => language.word("new code").to_owned(),
        Operation::Priced(name) => name.to_owned(),
    }
}

/// Formats a time with its interval in one unit: `290 µs [286, 295]`.
fn format_time(time: Estimate) -> String {
    let scale = scale_of(time.middle, Unit::Nanoseconds);
    let number = |ns: f64| format_short(ns / scale.divisor);
    format!("{} {} [{}, {}]", number(time.middle), scale.unit, number(time.low), number(time.high))
}

/// Formats a number with two digits at least.
fn format_short(value: f64) -> String {
    if value < WITHOUT_DECIMALS { format!("{value:.1}") } else { format!("{value:.0}") }
}
