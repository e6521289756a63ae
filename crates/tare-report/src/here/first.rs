//! The first screen: where, what it costs in at most three lines, one thing to change, and what was not told.

use tare_analysis::findings::Kind;
use tare_analysis::here::costs::pair::Pair;
use tare_analysis::here::costs::{Cost, Durability, Operation, Reason, find_durability, has_fast_clock};
use tare_analysis::here::layers::{Class, Confidence, Layer};
use tare_analysis::here::limits::{is_stolen, is_throttled};

use super::Here;
use super::costs::{Form, describe_cost, format_factor, format_middle, is_of_new, is_told, name_operation};
use super::words::{join_layers, name_layer, number};
use crate::language::{Language, say};
use crate::text::count_columns;

/// Lines of costs.
const MOST_LINES: usize = 3;
/// Operations that are named next to the first one of a line.
const MOST_NAMED: usize = 3;
/// Time of a sync, in ns, that is felt.
const LONG_SYNC_NS: f64 = 1_000_000.0;

/// Writes the sentence that names the layers, the innermost first, the user and the filters.
pub fn describe_place(here: &Here<'_>, system: &str, language: Language) -> String {
    // A layer that only may be there is in the evidence.
    let is_told = |class: Class, confidence| class != Class::Filter && confidence > Confidence::Possible;
    let around = here.found.layers.iter().filter(|layer| is_told(layer.class, layer.confidence));
    let inside = join_layers(around.map(|layer| name_layer(layer, language)), language);
    let job = here.found.job.map(|job| language.translate_text(job));
    let user = std::iter::once(describe_user(here, language));
    let more: Vec<String> = job.into_iter().chain(user).chain(count_filters(here, language)).collect();
    let more = more.join(language.word(", "));
    match inside {
        Some(layers) => say!(language, "You are in {layers}; {more}.", layers, more),
        None => say!(language, "No layer was seen between you and {system}; {more}.", system, more),
    }
}

fn describe_user(here: &Here<'_>, language: Language) -> String {
    let Some(user) = here.found.user else { return language.word("an unknown user").to_owned() };
    let name = match user.number {
        0 => language.word("root").to_owned(),
        number => say!(language, "user {number}", number),
    };
    match user.outside {
        Some(outside) => say!(language, "{name} (user {outside} outside)", name, outside),
        None => name,
    }
}

/// Counts filters of system calls and of files, one text each.
pub fn count_filters(here: &Here<'_>, language: Language) -> Vec<String> {
    let filters = &here.found.filters;
    let calls = filters.mode.filter(|mode| [1, 2].contains(mode)).map(|_| match filters.count {
        Some(count) => language.counted(count as usize, "filter of system calls", "filters of system calls"),
        None => language.word("a filter of system calls").to_owned(),
    });
    let supervisor = filters.is_supervised.then(|| language.word("a program that answers calls").to_owned());
    let rulesets = filters.rulesets.filter(|count| *count > 0);
    let rulesets =
        rulesets.map(|count| language.counted(count as usize, "ruleset of Landlock", "rulesets of Landlock"));
    // A plain user lacks capabilities anywhere: only below a filter it is news.
    // The kernel may do without some calls.
    let count = filters.refused.iter().filter(|refused| refused.answer != "ENOSYS").count();
    let refused = filters.tried.filter(|_| filters.mode == Some(2) && count > 0);
    let refused = refused.map(|tried| say!(language, "{count} of {tried} calls refused", count, tried));
    [calls, supervisor, refused, rulesets].into_iter().flatten().collect()
}

/// Lists the costs that are decided, the most telling first, in as many lines as are shown.
pub fn list_main_costs(here: &Here<'_>, width: usize, language: Language) -> Vec<String> {
    let mut all = list_standstills(here, language);
    match here.pair {
        Some(pair) => {
            all.extend(describe_slower(&pair.costs, true, language));
            all.extend(list_alike(pair, language));
        }
        None => {
            all.extend(describe_slower(here.costs, false, language));
            let telling = here.costs.iter().filter(|cost| is_telling(cost, here));
            let facts = &here.surroundings.facts;
            all.extend(telling.map(|cost| describe_cost(cost, here.costs, facts, Form::Short, language)));
            all.extend(describe_usual(here.costs, language));
        }
    }
    let mut left = MOST_LINES;
    let mut is_first = true;
    all.retain(|text| {
        let lines = count_columns(text).div_ceil(width.max(1));
        let is_kept = lines <= left || is_first;
        is_first = false;
        left = if is_kept { left.saturating_sub(lines) } else { left };
        is_kept
    });
    all
}

/// Describes times in which this process does not run: a quota's and those of others.
fn list_standstills(here: &Here<'_>, language: Language) -> Vec<String> {
    let limits = here.limits;
    let quota = limits.standing.zip(limits.allowed.or(limits.online)).map(|(found, cpus)| {
        say!(
            language,
            "work on {cpus} CPUs stands still for {pause} of every {period} ms",
            cpus,
            pause = number(found.pause_ms.round()),
            period = number(found.period_ms.round())
        )
    });
    let throttled = limits.throttled.filter(|_| quota.is_none() && is_throttled(limits));
    let throttled = throttled.map(|share| {
        say!(language, "the quota stopped this group in {percent} % of periods", percent = percent(share))
    });
    let stolen = limits.stolen.filter(|_| is_stolen(limits)).map(|share| {
        say!(language, "others took {percent} % of the processors' time (steal)", percent = percent(share))
    });
    [quota, throttled, stolen].into_iter().flatten().collect()
}

fn percent(share: f64) -> String {
    number((share * 100.0).round())
}

/// Lists operations that are slower than on the slowest Linux that we know, the first with its time; None where none is.
fn describe_slower(costs: &[Cost], is_pair: bool, language: Language) -> Option<String> {
    // A contrast has its own words, unless it is one with another place.
    let is_slower = |cost: &&Cost| match cost.answer.kind() {
        Kind::AtLeast => cost.against.is_none(),
        Kind::Slower => cost.against.is_some() && is_pair,
        _ => false,
    };
    let mut slower: Vec<&Cost> = costs.iter().filter(is_slower).collect();
    let low = |cost: &Cost| cost.factor.map_or(0.0, |factor| factor.ends(f64::from)[0]);
    slower.sort_by(|one, other| {
        let is_call = |cost: &Cost| cost.operation != Operation::SystemCall;
        is_call(one).cmp(&is_call(other)).then(low(other).total_cmp(&low(one)))
    });
    let first = slower.first()?;
    let name = name_operation(first.operation, language);
    let time = format_middle(first.ns);
    let factor = format_factor(first, language);
    let mut text = match first.against.map(format_middle) {
        Some(other) => {
            format!("{name} {time}{}{} {other}: {factor}", language.word(", "), language.word("there"))
        }
        None => {
            let times = say!(language, "{times} what the slowest known Linux takes", times = factor);
            format!("{name} {time}: {times}")
        }
    };
    let named = slower.iter().skip(1).take(MOST_NAMED);
    for cost in named {
        let name = name_operation(cost.operation, language);
        text += &format!("{}{name} {}", language.word("; "), format_factor(cost, language));
    }
    if let Some(more) = slower.len().checked_sub(1 + MOST_NAMED).filter(|more| *more > 0) {
        text += &say!(language, " and {count} more", count = more);
    }
    Some(text)
}

/// Tells whether a contrast tells of a layer.
fn is_telling(cost: &Cost, here: &Here<'_>) -> bool {
    let is_emulated = |layer: &Layer| layer.class == Class::Translator || layer.name == "qemu-tcg";
    match cost.operation {
        Operation::Name => cost.answer.kind().is_slower(),
        Operation::Clock => has_fast_clock(here.costs) == Some(false),
        Operation::NewCode => cost.answer.kind().is_slower() && here.found.layers.iter().any(is_emulated),
        Operation::Sync => match find_durability(&here.surroundings.facts, here.costs) {
            Some(Durability::Nothing | Durability::NoLonger) => true,
            Some(Durability::ReachesSomething) => cost.ns.low > LONG_SYNC_NS,
            None => false,
        },
        _ => false,
    }
}

/// Lists what takes as long as in the other place, or less.
fn list_alike(pair: &Pair, language: Language) -> Vec<String> {
    let list = |kind: Kind| -> Vec<String> {
        let alike = pair.costs.iter().filter(|cost| cost.untold.is_none() && cost.answer.kind() == kind);
        alike.map(|cost| name_operation(cost.operation, language)).collect()
    };
    let (same, faster) = (list(Kind::Same), list(Kind::Faster));
    let joint = language.word(", ");
    let same = (!same.is_empty()).then(|| say!(language, "same as there: {names}", names = same.join(joint)));
    let faster = (!faster.is_empty())
        .then(|| say!(language, "faster than there: {names}", names = faster.join(joint)));
    [same, faster].into_iter().flatten().collect()
}

/// Describes the other place by what its numbers say.
pub fn describe_pair(pair: &Pair, language: Language) -> String {
    let apart = match pair.apart_s {
        Some(seconds) => say!(language, "{count} min before", count = seconds.div_ceil(60)),
        None => language.word("at an unknown time").to_owned(),
    };
    let processor = match pair.is_same_processor {
        true => language.word("on such a processor"),
        false => language.word("on another processor, whose share in the factors is unknown"),
    };
    say!(language, "another tare here, {apart}, {processor}", apart, processor)
}

/// Lists the kinds of operations of which none is slower than it may be without any layer; None where some are.
fn describe_usual(costs: &[Cost], language: Language) -> Option<String> {
    let is_fault = |operation| matches!(operation, Operation::PageFault | Operation::Priced("file-page"));
    let is_start = |operation| matches!(operation, Operation::Priced("fork" | "exec" | "thread"));
    let is_usual = |belongs: &dyn Fn(Operation) -> bool| {
        let mut of_kind = costs.iter().filter(|cost| belongs(cost.operation)).peekable();
        of_kind.peek().is_some() && of_kind.all(|cost| cost.untold == Some(Reason::NotSlower))
    };
    let kinds = [
        (is_usual(&Operation::is_call), language.word("calls")),
        (is_usual(&is_fault), language.word("page faults")),
        (is_usual(&is_start), language.word("starts")),
    ];
    let usual = kinds.into_iter().filter(|(is_so, _)| *is_so);
    let usual: Vec<String> = usual.map(|(_, name)| name.to_owned()).collect();
    let kinds = language.join_with_and(&usual);
    let times = costs.iter().filter(|cost| {
        matches!(cost.operation, Operation::SystemCall | Operation::PageFault)
            && cost.untold == Some(Reason::NotSlower)
    });
    let times: Vec<String> = times
        .map(|cost| format!("{} {}", name_operation(cost.operation, language), format_middle(cost.ns)))
        .collect();
    let times = times.join(language.word(", "));
    (!usual.is_empty()).then(|| {
        say!(language, "{kinds}: none slower than on any Linux that we know ({times})", kinds, times)
    })
}

/// Describes what was not told, with the leading reason: costs, steps without an answer, and things that cannot be seen.
pub fn describe_untold(here: &Here<'_>, language: Language) -> Vec<String> {
    let reasons = [Reason::Stolen, Reason::Busy, Reason::BothSlow, Reason::TooWide];
    let facts = &here.surroundings.facts;
    let is_untold = |cost: &&Cost| {
        !is_of_new(cost.operation) && !is_told(cost, here.costs, facts) && cost.untold.is_some()
    };
    let costs = here.pair.map_or(here.costs, |pair| &pair.costs);
    let untold: Vec<&Cost> =
        costs.iter().filter(is_untold).filter(|cost| cost.untold != Some(Reason::NotSlower)).collect();
    let leading = reasons.into_iter().find(|reason| untold.iter().any(|cost| cost.untold == Some(*reason)));
    let costs = leading.map(|reason| {
        let of_it = untold.iter().filter(|cost| cost.untold == Some(reason)).take(MOST_NAMED);
        let mut names: Vec<String> = of_it.map(|cost| name_operation(cost.operation, language)).collect();
        let more = untold.len() - names.len();
        names.extend((more > 0).then(|| say!(language, "{count} more", count = more)));
        format!("{} ({})", names.join(language.word(", ")), language.translate_text(reason.describe()))
    });
    let lost: Vec<&str> = here.surroundings.lost.iter().map(|lost| lost.step).collect();
    let lost = (!lost.is_empty()).then(|| say!(language, "no answer: {steps}", steps = lost.join(", ")));
    let hidden = here.found.hidden.first().map(|text| language.translate_text(text));
    [costs, lost, hidden].into_iter().flatten().collect()
}
