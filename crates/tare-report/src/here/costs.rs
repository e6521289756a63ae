//! Words for costs: a time with its interval, and what it is compared with.

use tare_analysis::here::book::{Found, METAL};
use tare_analysis::here::costs::{
    Contrast, Cost, Durability, Estimate, Operation, Reason, find_durability, has_fast_clock,
};
use tare_data::facts::Facts;
use tare_data::unit::Unit;

use super::words::name_product;
use crate::language::{Language, say};
use crate::number::scale_of;
use crate::text::clean_text;

/// Smallest value that is written without decimals.
const WITHOUT_DECIMALS: f64 = 10.0;

/// Describes a cost, without the heading.
pub fn describe_cost(cost: &Cost, all: &[Cost], facts: &Facts, language: Language) -> String {
    let time = format_time(cost.ns);
    let other = cost.against.map(format_time).unwrap_or_default();
    let comparison = describe_comparison(cost, language);
    match cost.operation {
        Operation::SystemCall => {
            say!(language, "system call {time}: {comparison}", time = time, comparison = comparison)
        }
        Operation::PageFault => {
            say!(language, "page fault {time}: {comparison}", time = time, comparison = comparison)
        }
        Operation::Priced(name) => format!("{name} {time}: {comparison}"),
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

fn describe_comparison(cost: &Cost, language: Language) -> String {
    if let (Some(price), Some(factor)) = (&cost.price, cost.factor) {
        return describe_price(price, factor, cost.contrast, language);
    }
    match (cost.contrast, cost.factor) {
        (Contrast::Slower | Contrast::Faster, Some(factor)) => format_factor(factor),
        (Contrast::Same, _) => language.word("the same").to_owned(),
        (Contrast::Untold(reason), _) => describe_reason(reason, language),
        (Contrast::Slower | Contrast::Faster, None) => String::new(),
    }
}

fn describe_reason(reason: Reason, language: Language) -> String {
    say!(language, "untold, {reason}", reason = language.translate_text(reason.describe()))
}

/// Describes a factor over the price of a book: always that of all layers together.
fn describe_price(price: &Found, factor: Estimate, contrast: Contrast, language: Language) -> String {
    let factor = format_factor(factor);
    let factor = match price.under.as_str() {
        _ if price.is_own => {
            say!(language, "{factor} of this machine without layers", factor = factor)
        }
        METAL => say!(language, "{factor} of Linux on this processor", factor = factor),
        under => {
            let machine = name_product(under, language);
            say!(language, "{factor} of Linux in {machine}", factor = factor, machine = machine)
        }
    };
    let verdict = match contrast {
        Contrast::Slower => language.word("all layers together").to_owned(),
        Contrast::Same => language.word("the same").to_owned(),
        Contrast::Faster => language.word("faster").to_owned(),
        Contrast::Untold(reason) => describe_reason(reason, language),
    };
    format!("{factor}{}{verdict}", language.word(", "))
}

/// Describes other operations that are slower than the book has them; None where none is.
pub fn describe_slower(costs: &[Cost], language: Language) -> Option<String> {
    let slower = costs.iter().filter_map(|cost| match (cost.operation, cost.contrast, cost.factor) {
        (Operation::Priced(name), Contrast::Slower, Some(factor)) => {
            Some(format!("{name} {}", format_factor(factor)))
        }
        _ => None,
    });
    let all: Vec<String> = slower.collect();
    let others = all.join(language.word(", "));
    (!all.is_empty()).then(|| say!(language, "slower too: {others}", others = others))
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
