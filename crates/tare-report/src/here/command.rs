//! Words for a command that ran twice: its time, and how it is split.

use tare_analysis::here::command::{Part, PartKind, Split, Unsplit};
use tare_data::session::demand::RanTwice;
use tare_data::unit::Unit;

use super::words::number;
use crate::language::{Language, say};
use crate::number::{Figure, scale_of};
use crate::text::clean_text;

/// Describes a command's time and its parts, one text each.
pub fn describe_command(ran: &RanTwice, split: &Split, language: Language) -> Vec<String> {
    let [elapsed, user, system] = [ran.elapsed_ns, ran.user_ns, ran.system_ns].map(|ns| format_ns(ns as f64));
    let mut all = vec![say!(
        language,
        "it took {elapsed}, user {user}, system {system}",
        elapsed = elapsed,
        user = user,
        system = system
    )];
    match &split.parts {
        Ok(parts) => {
            all.extend(parts.iter().map(|part| describe_part(part, language)));
            all.push(match split.rest_ns.map(format_ns) {
                [low, high] if low == high => say!(language, "itself or unexplained: {time}", time = low),
                [low, high] => {
                    say!(language, "itself or unexplained: {low} to {high}", low = low, high = high)
                }
            });
        }
        Err(reason) => {
            let counts = split.counts.iter().map(|(kind, count)| count_kind(*kind, *count, language));
            all.extend(counts);
            all.push(describe_reason(reason, language));
        }
    }
    all
}

fn describe_part(part: &Part, language: Language) -> String {
    let count = count_kind(part.kind, part.count, language);
    match part.kind {
        PartKind::Names => {
            let most = format_ns(part.ns.high);
            say!(language, "{count}: at most {most} more than elsewhere", count = count, most = most)
        }
        PartKind::Syncs => {
            say!(language, "{count}: {time}", count = count, time = format_interval(part))
        }
        PartKind::Calls => {
            say!(language, "{count}: at least {time}", count = count, time = format_interval(part))
        }
    }
}

fn count_kind(kind: PartKind, count: f64, language: Language) -> String {
    let count = number(count);
    match kind {
        PartKind::Names => say!(language, "{count} names", count = count),
        PartKind::Syncs => say!(language, "{count} syncs", count = count),
        PartKind::Calls => say!(language, "{count} system calls", count = count),
    }
}

fn describe_reason(reason: &Unsplit, language: Language) -> String {
    match reason {
        Unsplit::NotCounted(why) => {
            let why = clean_text(&language.translate_text(why));
            say!(language, "not counted: {why}", why = why)
        }
        Unsplit::OtherCode => {
            language.word("not split: the counted run ended with another exit code").to_owned()
        }
        Unsplit::OtherWork => language.word("not split: the counted run did other work").to_owned(),
        Unsplit::Parallel => language.word("not split: it used several CPUs at a time").to_owned(),
    }
}

fn format_ns(ns: f64) -> String {
    Figure::without_interval(ns, Unit::Nanoseconds).to_text()
}

/// Formats a part's time with its interval in one unit.
fn format_interval(part: &Part) -> String {
    let scale = scale_of(part.ns.middle, Unit::Nanoseconds);
    let [low, middle, high] =
        [part.ns.low, part.ns.middle, part.ns.high].map(|ns| number(ns / scale.divisor));
    format!("{middle} {} [{low}, {high}]", scale.unit)
}
