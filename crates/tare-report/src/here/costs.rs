//! Words for costs: a time with its interval, and what it is compared with.

use tare_analysis::findings::{Interval, Kind};
use tare_analysis::here::costs::{
    Cost, Durability, Estimate, Operation, Reason, find_durability, has_fast_clock,
};
use tare_data::facts::Facts;
use tare_data::facts::keys::PLACE_OWN_TYPE;
use tare_data::unit::Unit;

use crate::language::{Language, message, say};
use crate::number::{Figure, scale_of};
use crate::text::clean_text;
use crate::words::Said;

/// Smallest value that is written without decimals.
const WITHOUT_DECIMALS: f64 = 10.0;

/// Form of a time and its comparison.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// Times without intervals.
    Short,
    Wide,
    /// Wide, and over another place.
    Paired,
}

/// Describes a cost, without the heading.
pub fn describe_cost(cost: &Cost, all: &[Cost], facts: &Facts, form: Form, language: Language) -> String {
    let format = if form == Form::Short { format_middle } else { format_time };
    let (name, time) = (name_operation(cost.operation, language), format(cost.ns));
    let comparison = match (form, cost.operation) {
        (Form::Short | Form::Wide, Operation::Clock) => language.word(match has_fast_clock(all) {
            Some(true) => message!("without a call"),
            Some(false) => message!("no vDSO works here"),
            None => message!("the times vary too much"),
        }),
        (Form::Short | Form::Wide, Operation::Sync) => language.word(match find_durability(facts, all) {
            Some(Durability::ReachesSomething) => message!("reaches something"),
            Some(Durability::Nothing | Durability::NoLonger) => message!("reaches no disk"),
            None => message!("the times vary too much"),
        }),
        (Form::Short, _) if cost.untold.is_none() => &format_factor(cost, language),
        _ => &describe_comparison(cost, language),
    };
    let Some(other) = cost.against.map(format) else { return format!("{name} {time}: {comparison}") };
    let place = clean_text(facts.get(PLACE_OWN_TYPE).unwrap_or("?"));
    let than = match cost.operation {
        _ if form == Form::Paired => language.word("there").to_owned(),
        Operation::Clock => language.word("by a call").to_owned(),
        Operation::Name => say!(language, "on {place}", place),
        Operation::Sync => language.word("a write").to_owned(),
        Operation::SteadyCpu => language.word("at first").to_owned(),
        _ => language.word("again").to_owned(),
    };
    let joint = language.word(", ");
    format!("{name} {time}{joint}{than} {other}: {comparison}")
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

/// Formats a time without its interval.
pub fn format_middle(time: Estimate) -> String {
    Figure::without_interval(time.middle, Unit::Nanoseconds).to_text()
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
