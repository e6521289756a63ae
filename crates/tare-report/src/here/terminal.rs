//! The text for a terminal: at most fourteen lines, the layers first.

use std::fmt::Write;

use tare_analysis::here::layers::{Class, Confidence, Layer};

use super::Here;
use super::command::describe_command;
use super::costs::describe_costs;
use super::words::{describe_change, describe_limits, join_layers, name_layer};
use crate::language::{Language, say};
use crate::text::{clean_text, wrap_paragraph};

/// Width of the column of headings, in columns.
const HEADING: usize = 9;

/// Renders what is known; `wide` adds the evidence of each layer and every step without an answer.
pub fn render_here_terminal(here: &Here<'_>, wide: bool, width: usize, language: Language) -> String {
    let mut lines = wrap_paragraph("", &first_line(here, language), width);
    let mut add = |heading: &str, texts: &[String], joint: &str| {
        if !texts.is_empty() {
            let pad = HEADING.saturating_sub(crate::text::count_columns(heading));
            let first = format!("{heading}{}", " ".repeat(pad));
            lines.extend(wrap_paragraph(&first, &texts.join(joint), width));
        }
    };
    let joint = language.word("; ");
    let mut heading = language.word("costs");
    for cost in describe_costs(here.costs, &here.surroundings.facts, language) {
        add(std::mem::take(&mut heading), &[cost], "");
    }
    if let Some((ran, split)) = here.command {
        let mut heading = language.word("command");
        for text in describe_command(ran, split, language) {
            add(std::mem::take(&mut heading), &[text], "");
        }
    }
    add(language.word("limits"), &list_limits(here, language), joint);
    add(language.word("filters"), &list_filters(here, language), joint);
    for change in here.changes {
        add(language.word("change"), &[describe_change(change, language)], "");
    }
    let mut hidden: Vec<String> =
        here.found.hidden.iter().map(|text| language.translate_text(text)).collect();
    if !here.costs.is_empty() {
        hidden.push(language.word("calls and page faults have nothing here to be compared with").to_owned());
    }
    add(language.word("unknown"), &hidden, joint);
    let lost: Vec<String> = here
        .surroundings
        .lost
        .iter()
        .map(|lost| format!("{} ({})", lost.step, language.translate_text(&lost.how.describe())))
        .collect();
    add(language.word("lost"), &lost, joint);
    let mut text = lines.join("\n") + "\n";
    if wide {
        for layer in &here.found.layers {
            render_evidence(&mut text, layer, language);
        }
    }
    text
}

/// Writes the sentence that names the layers, the innermost first, and the system.
fn first_line(here: &Here<'_>, language: Language) -> String {
    // A layer that only may be there is in the evidence.
    let is_told = |layer: &&Layer| layer.class != Class::Filter && layer.confidence > Confidence::Possible;
    let around = here.found.layers.iter().filter(is_told);
    let inside = join_layers(around.map(|layer| name_layer(layer, language)), language);
    let system = describe_system(here);
    match inside {
        Some(inside) => say!(language, "You are in {layers}; {system}.", layers = inside, system = system),
        None => say!(language, "No layer was seen between you and {system}.", system = system),
    }
}

/// Describes kernel and processor: `Linux 6.11, AMD EPYC 7763`.
fn describe_system(here: &Here<'_>) -> String {
    let fact = |key: &str| here.surroundings.facts.get(key).unwrap_or_default();
    let release = if fact("vdso.release").is_empty() { fact("kernel.release") } else { fact("vdso.release") };
    let kernel = format!("{} {release}", fact("kernel.name"));
    let processor = if fact("cpuid.brand").is_empty() { fact("cpuinfo.model") } else { fact("cpuid.brand") };
    let parts = [kernel.trim(), processor.trim()].into_iter().filter(|part| !part.is_empty());
    parts.map(clean_text).collect::<Vec<_>>().join(", ")
}

fn list_limits(here: &Here<'_>, language: Language) -> Vec<String> {
    let limits = describe_limits(here.limits, language);
    if !limits.is_empty() {
        return limits;
    }
    vec![language.word("none seen").to_owned()]
}

fn list_filters(here: &Here<'_>, language: Language) -> Vec<String> {
    let filters = &here.found.filters;
    let mut all = Vec::new();
    match (filters.mode, filters.count) {
        (Some(1 | 2), Some(count)) => {
            all.push(language.counted(count as usize, "filter of system calls", "filters of system calls"));
        }
        (Some(1 | 2), None) => all.push(language.word("a filter of system calls").to_owned()),
        _ => {}
    }
    if let Some(count) = filters.instructions.filter(|_| !all.is_empty()) {
        all.push(say!(language, "about {count} instructions", count = count));
    }
    if let Some(answer) = filters.unknown_call.as_ref().filter(|_| !all.is_empty()) {
        all.push(say!(language, "a call that they do not know gets {answer}", answer = clean_text(answer)));
    }
    if let Some(count) = filters.rulesets.filter(|count| *count > 0) {
        all.push(language.counted(count as usize, "ruleset of Landlock", "rulesets of Landlock"));
    }
    all
}

fn render_evidence(text: &mut String, layer: &Layer, language: Language) {
    let _ = writeln!(text, "\n{} ({})", name_layer(layer, language), layer.confidence.name());
    for evidence in &layer.evidence {
        let proves = language.translate_text(evidence.proves);
        let _ = writeln!(text, "  {} = {}: {proves}", evidence.fact, clean_text(&evidence.value));
    }
}
