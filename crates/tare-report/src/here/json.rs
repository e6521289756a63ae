//! The document for programs; `docs/reference/here.schema.json` describes it.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::{Value, json};
use tare_data::facts::Facts;
use tare_data::facts::keys::LIMIT_FILES;

use tare_analysis::here::changes::Change;
use tare_analysis::here::command::{RanThere, Split, Unsplit};
use tare_analysis::here::costs::{Cost, Durability, Estimate, Reason, find_durability};
use tare_analysis::here::layers::Layer;
use tare_analysis::here::limits::Limit;
use tare_analysis::here::namespaces::Namespace;

use tare_data::session::demand::RanTwice;

use super::Here;
use super::words::describe_change;
use crate::language::Language;
use crate::text::json::render_pretty_json;

/// Name of the format, in every document.
pub const SCHEMA: &str = "tare-here";
/// Version of the format. Fields may be added under the same version.
pub const VERSION: u32 = 2;

/// Amount of a kind of work beyond which nobody counted it.
const MOST_WORK: f64 = 1e15;

/// Document of another place, as far as it is compared.
#[derive(Deserialize)]
pub struct Earlier {
    schema: String,
    version: u32,
    pub facts: Facts,
    command: Option<EarlierCommand>,
}

#[derive(Deserialize)]
struct EarlierCommand {
    elapsed_ns: u64,
    exit_code: i32,
    work: Option<BTreeMap<String, f64>>,
}

impl Earlier {
    /// Gives its command's time, exit code and work, of which only amounts are kept that can be.
    pub fn ran(&self) -> Option<RanThere> {
        let command = self.command.as_ref()?;
        let is_amount = |amount: &f64| (0.0..MOST_WORK).contains(amount);
        let work = command.work.iter().flatten().filter(|(_, amount)| is_amount(amount));
        let work = work.map(|(name, amount)| (name.clone(), *amount)).collect();
        Some(RanThere { elapsed_ns: command.elapsed_ns as f64, code: command.exit_code, work })
    }
}

/// Parses a document of another place. It may have been written by anybody: nothing of it but numbers is shown.
pub fn parse_here_json(text: &[u8]) -> Result<Earlier, String> {
    let earlier: Earlier =
        serde_json::from_slice(text).map_err(|_| "tare here wrote no such document".to_owned())?;
    match () {
        () if earlier.schema != SCHEMA => Err("tare here wrote no such document".to_owned()),
        () if earlier.version != VERSION => {
            Err(format!("it has version {} of its format, and this program reads {VERSION}", earlier.version))
        }
        () if !earlier.facts.0.keys().any(|key| key.starts_with("price.")) => {
            Err("it has no times".to_owned())
        }
        () => Ok(earlier),
    }
}

/// Renders everything that is known as one document.
pub fn render_here_json(here: &Here<'_>) -> String {
    let found = here.found;
    let namespaces: serde_json::Map<String, Value> = found
        .namespaces
        .iter()
        .map(|(kind, namespace): (_, &Namespace)| ((*kind).to_owned(), json!(namespace.name())))
        .collect();
    let lost: Vec<Value> = here
        .surroundings
        .lost
        .iter()
        .map(|lost| json!({ "step": lost.step, "how": lost.how.describe() }))
        .collect();
    render_pretty_json(&json!({
        "schema": SCHEMA,
        "version": VERSION,
        "where": found.layers.iter().map(layer).collect::<Vec<_>>(),
        "hidden": found.hidden,
        "namespaces": namespaces,
        "job": found.job,
        "user": found.user.map(|user| json!({ "number": user.number, "outside": user.outside })),
        "filters": {
            "seccomp": {
                "mode": found.filters.mode,
                "filters": found.filters.count,
                "instructions": found.filters.instructions,
                "unknown_call": found.filters.unknown_call,
                "supervised": found.filters.is_supervised,
            },
            "landlock": found.filters.rulesets,
        },
        "refused": {
            "tried": found.filters.tried,
            "calls": found.filters.refused.iter().map(|refused| json!({
                "call": refused.call,
                "answer": refused.answer,
                "by": refused.is_by_filter.then_some("filter"),
            })).collect::<Vec<_>>(),
            "capabilities": found.filters.missing,
        },
        "limits": limits(here),
        "places": places(here),
        "costs": here.costs.iter().map(cost).collect::<Vec<_>>(),
        "against": here.pair.map(|pair| json!({
            "apart_s": pair.apart_s,
            "same_processor": pair.is_same_processor,
            "costs": pair.costs.iter().map(cost).collect::<Vec<_>>(),
        })),
        "change": here.changes.iter().map(change).collect::<Vec<_>>(),
        "command": here.command.map(|(ran, split)| command(ran, split)),
        "facts": here.surroundings.facts,
        "lost": lost,
        "took_ms": here.surroundings.took_ms,
    }))
}

fn layer(layer: &Layer) -> Value {
    let evidence: Vec<Value> = layer
        .evidence
        .iter()
        .map(|evidence| json!({ "fact": evidence.fact, "value": evidence.value, "proves": evidence.proves }))
        .collect();
    json!({
        "class": layer.class.name(),
        "name": layer.name,
        "variant": layer.variant,
        "confidence": layer.confidence.name(),
        "evidence": evidence,
    })
}

fn limits(here: &Here<'_>) -> Value {
    let limits = here.limits;
    let limit = |limit: Option<Limit>| {
        limit.map(|limit| {
            let from = if limit.from_parent { "parent control group" } else { "control group" };
            json!({ "value": limit.value, "from": from })
        })
    };
    json!({
        "cpu": limit(limits.cpu),
        "throttled": limits.throttled,
        "stolen": limits.stolen,
        "cpu_hidden": limits.hidden_cpu.map(|found| {
            let Estimate { low, middle, high } = found.cpus;
            json!({ "value": [low, middle, high], "period_ms": found.period_ms })
        }),
        "cpus_allowed": limits.allowed,
        "cpus_online": limits.online,
        "memory": limit(limits.memory),
        "memory_total": limits.memory_total,
        "processes": limit(limits.processes),
        "open_files": here.surroundings.facts.get_integer(LIMIT_FILES),
        "loopback_only": limits.loopback_only,
        "control_groups": limits.control_groups,
    })
}

/// Lists the roles of folders, each with its file system.
fn places(here: &Here<'_>) -> Vec<Value> {
    let facts = &here.surroundings.facts;
    let durability = find_durability(facts, here.costs).map(|found| match found {
        Durability::ReachesSomething => "something",
        Durability::Nothing => "nothing",
        Durability::NoLonger => "no longer than a write",
    });
    let known = ["work", "tmp", "home", "own"].into_iter().filter_map(|role| {
        let kind = facts.get(&format!("place.{role}.type"))?;
        let mount = facts.get(&format!("place.{role}.mount"));
        let sync = if role == "work" { durability } else { None };
        Some(json!({ "role": role, "type": kind, "mount": mount, "sync": sync }))
    });
    known.collect()
}

fn cost(cost: &Cost) -> Value {
    let ends = |estimate: Estimate| json!([estimate.low, estimate.middle, estimate.high]);
    json!({
        "operation": cost.operation.name(),
        "ns": ends(cost.ns),
        "cycles": cost.cycles.map(ends),
        "against_ns": cost.against.map(ends),
        // The factor over the slowest Linux has no upper end.
        "factor": cost.factor.map(|factor| factor.ends(|end| end.is_finite().then_some(end))),
        "answer": cost.answer,
        "why": cost.untold.map(Reason::describe),
    })
}

fn command(ran: &RanTwice, split: &Split) -> Value {
    let ends = |ns: Estimate| json!([ns.low, ns.middle, ns.high]);
    let parts = split.parts.iter().flatten().map(|part| {
        let more_ns = part.more_ns.map(ends);
        json!({ "part": part.operation.name(), "count": part.count, "ns": ends(part.ns), "more_ns": more_ns })
    });
    let why = split.parts.as_ref().err().map(|reason| match reason {
        Unsplit::NotCounted(why) => why.as_str(),
        Unsplit::OtherCode => "another exit code",
        Unsplit::OtherWork => "other work",
        Unsplit::Parallel => "several processors",
    });
    json!({
        "elapsed_ns": ran.elapsed_ns,
        "user_ns": ran.user_ns,
        "system_ns": ran.system_ns,
        "exit_code": ran.code,
        "calls": split.calls,
        "work": ran.counted.as_ref().ok().map(|run| &run.demand.amounts),
        "counted_there": split.is_counted_there,
        "parts": parts.collect::<Vec<_>>(),
        "rest_ns": split.rest_ns,
        "more_ns": split.more_ns.map(|(more_ns, _)| more_ns),
        "explained_ns": split.more_ns.map(|(_, explained_ns)| explained_ns),
        "why_not_split": why,
    })
}

fn change(change: &Change) -> Value {
    json!({ "what": describe_change(change, Language::English) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn documents_of_others_are_read_or_refused_in_words() {
        let document = |schema: &str, version: u32, facts: &str| {
            format!(r#"{{"schema":"{schema}","version":{version},"facts":{facts},"more":[1]}}"#)
        };
        let times = r#"{"price.getppid":"1 2 3"}"#;
        assert!(parse_here_json(document(SCHEMA, VERSION, times).as_bytes()).is_ok());
        let refused = |text: &str| parse_here_json(text.as_bytes()).err().unwrap();
        for lies in
            ["", "{}", "[1]", "null", "\u{0}", &"[".repeat(100_000), &document(SCHEMA, VERSION, "[1]")]
        {
            assert_eq!(refused(lies), "tare here wrote no such document");
        }
        assert_eq!(refused(&document("other", VERSION, times)), "tare here wrote no such document");
        assert!(refused(&document(SCHEMA, VERSION + 1, times)).contains("version 3"));
        assert_eq!(refused(&document(SCHEMA, VERSION, "{}")), "it has no times");
        let command =
            r#""command":{"elapsed_ns":5,"exit_code":3,"work":{"opens":7,"lookups":-1,"creates":1e300}}"#;
        let text = document(SCHEMA, VERSION, times).replace(r#""more":[1]"#, command);
        let ran = parse_here_json(text.as_bytes()).unwrap().ran().unwrap();
        assert_eq!(
            (ran.elapsed_ns, ran.code, ran.work),
            (5.0, 3, BTreeMap::from([("opens".to_owned(), 7.0)]))
        );
    }
}
