//! Words for costs: a time with its interval, and what it is compared with.

use tare_analysis::here::costs::{
    Contrast, Cost, Durability, Estimate, Operation, find_durability, has_fast_clock,
};
use tare_data::facts::Facts;
use tare_data::unit::Unit;

use crate::language::{Language, say};
use crate::number::scale_of;
use crate::text::clean_text;

/// Smallest value that is written without decimals.
const WITHOUT_DECIMALS: f64 = 10.0;

/// Describes every cost, one text each, without the heading.
pub fn describe_costs(costs: &[Cost], facts: &Facts, language: Language) -> Vec<String> {
    costs.iter().map(|cost| describe_cost(cost, costs, facts, language)).collect()
}

fn describe_cost(cost: &Cost, all: &[Cost], facts: &Facts, language: Language) -> String {
    let time = format_time(cost.ns);
    let other = cost.against.map(format_time).unwrap_or_default();
    let comparison = describe_comparison(cost, language);
    match cost.operation {
        Operation::SystemCall => say!(language, "system call {time}", time = time),
        Operation::PageFault => say!(language, "page fault {time}", time = time),
        Operation::Clock => {
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
        Operation::Name if cost.against.is_none() => {
            say!(language, "name here {time}", time = time)
        }
        Operation::Name => {
            let place = clean_text(facts.get("place.own.type").unwrap_or("?"));
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
                Some(Durability::Nothing) => language.word("reaches no disk"),
                Some(Durability::NoLonger) => language.word("reaches no disk"),
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

fn describe_comparison(cost: &Cost, language: Language) -> String {
    match (cost.contrast, cost.factor) {
        (Contrast::Slower | Contrast::Faster, Some(factor)) => format_factor(factor),
        (Contrast::Same, _) => language.word("the same").to_owned(),
        (Contrast::Untold(reason), _) => language.translate_text(reason.describe()),
        (Contrast::Slower | Contrast::Faster, None) => String::new(),
    }
}

/// Formats a time with its interval in one unit: `290 µs [286, 295]`.
fn format_time(time: Estimate) -> String {
    let scale = scale_of(time.middle, Unit::Nanoseconds);
    let number = |ns: f64| format_short(ns / scale.divisor);
    format!("{} {} [{}, {}]", number(time.middle), scale.unit, number(time.low), number(time.high))
}

fn format_factor(factor: Estimate) -> String {
    let [middle, low, high] = [factor.middle, factor.low, factor.high].map(format_short);
    format!("{middle}x [{low}, {high}]")
}

/// Formats a number with two digits at least.
fn format_short(value: f64) -> String {
    if value < WITHOUT_DECIMALS { format!("{value:.1}") } else { format!("{value:.0}") }
}
