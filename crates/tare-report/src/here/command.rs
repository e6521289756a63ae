//! Words for a command that ran twice: its time, and how it is split.

use tare_analysis::here::command::{Part, Split, Unsplit};
use tare_data::session::demand::RanTwice;
use tare_data::unit::Unit;

use super::costs::name_operation;
use super::words::number;
use crate::language::{Language, say};
use crate::number::Figure;
use crate::text::clean_text;

/// Parts that are named.
const MOST_PARTS: usize = 4;

/// Describes a command's time and its parts, one text each.
pub fn describe_command(ran: &RanTwice, split: &Split, language: Language) -> Vec<String> {
    let [elapsed, user, system] = [ran.elapsed_ns, ran.user_ns, ran.system_ns].map(|ns| format_ns(ns as f64));
    let mut all =
        vec![say!(language, "it took {elapsed}, user {user}, system {system}", elapsed, user, system)];
    if let Some(calls) = split.calls {
        all.push(say!(language, "{count} system calls", count = number(calls)));
    }
    if split.is_counted_there {
        all.push(language.word("nothing can be counted here: its work is as counted there").to_owned());
    }
    let joint = language.word("; ");
    let list = |time: &dyn Fn(&Part) -> Option<f64>, parts: &[Part]| {
        let mut timed: Vec<(f64, &Part)> =
            parts.iter().filter_map(|part| Some((time(part)?, part))).collect();
        timed.sort_by(|one, other| other.0.total_cmp(&one.0));
        let named = timed.iter().take(MOST_PARTS).map(|(ns, part)| {
            format!(
                "{} × {} {}",
                number(part.count),
                name_operation(part.operation, language),
                format_ns(*ns)
            )
        });
        named.collect::<Vec<_>>().join(joint)
    };
    match &split.parts {
        Ok(parts) => {
            let own = list(&|part| Some(part.ns.middle), parts);
            let [low, high] = split.rest_ns.map(format_ns);
            all.push(own);
            all.push(say!(language, "itself or unexplained: {low} to {high}", low, high));
            if let Some((more_ns, explained_ns)) = split.more_ns {
                let [low, high] = explained_ns.map(format_ns);
                all.push(say!(
                    language,
                    "{more} longer than there; {low} to {high} explained: {parts}",
                    more = format_ns(more_ns),
                    low,
                    high,
                    parts = list(&|part| part.more_ns.map(|ns| ns.middle), parts)
                ));
            }
        }
        Err(reason) => all.push(describe_reason(reason, language)),
    }
    all
}

fn describe_reason(reason: &Unsplit, language: Language) -> String {
    match reason {
        Unsplit::NotCounted(why) => {
            let why = clean_text(&language.translate_text(why));
            say!(language, "not counted: {why}", why)
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
