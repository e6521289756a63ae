//! The text for a terminal: at most fourteen lines, the layers first.

use std::collections::BTreeMap;
use std::fmt::Write;
use tare_data::facts::keys::{CPUID_BRAND, CPUINFO_MODEL, KERNEL_NAME, KERNEL_RELEASE, VDSO_RELEASE};

use tare_analysis::here::costs::Cost;
use tare_analysis::here::layers::Layer;

use super::Here;
use super::command::describe_command;
use super::costs::{Form, describe_cost};
use super::first::{count_filters, describe_pair, describe_place, describe_untold, list_main_costs};
use super::words::{describe_change, describe_limits, name_product};
use crate::language::{Language, say};
use crate::text::{clean_text, wrap_paragraph};

/// Capabilities of Linux 5.9 and later.
const CAPABILITIES: usize = 41;
/// Width of the column of headings, in columns.
const HEADING: usize = 9;
/// Lines of a text that is not wide, without a command: it fits a small terminal.
const MOST_LINES: usize = 14;

/// A text below a heading, with its rank: where lines are few, those of the least ranks are shown.
struct Block {
    heading: &'static str,
    text: String,
    rank: u32,
}

/// Renders what is known; `wide` adds everything that there was no room for, the evidence of each layer and every step without an
/// answer.
pub fn render_here_terminal(here: &Here<'_>, wide: bool, width: usize, language: Language) -> String {
    let system = describe_system(here);
    let mut lines = wrap_paragraph("", &describe_place(here, &system, language), width);
    let mut blocks = Vec::new();
    let joint = language.word("; ");
    let mut add = |heading: &'static str, texts: &[String], rank: u32| {
        if !texts.is_empty() {
            blocks.push(Block { heading, text: texts.join(joint), rank });
        }
    };
    let describe =
        |cost: &Cost, form| describe_cost(cost, here.costs, &here.surroundings.facts, form, language);
    if wide {
        add(language.word("system"), &[system], 0);
        here.costs.iter().for_each(|cost| add(language.word("costs"), &[describe(cost, Form::Wide)], 0));
    } else {
        let costs = list_main_costs(here, width.saturating_sub(HEADING), language);
        costs.into_iter().for_each(|text| add(language.word("costs"), &[text], 0));
    }
    if let Some(pair) = here.pair {
        add(language.word("against"), &[describe_pair(pair, language)], 1);
        let costs = pair.costs.iter().filter(|_| wide);
        costs.for_each(|cost| add(language.word("against"), &[describe(cost, Form::Paired)], 1));
    }
    if let Some((ran, split)) = here.command {
        for text in describe_command(ran, split, language) {
            add(language.word("command"), &[text], 0);
        }
    }
    add(language.word("limits"), &list_limits(here, language), 2);
    let changes = here.changes.iter().take(if wide { usize::MAX } else { 1 });
    for change in changes {
        add(language.word("change"), &[describe_change(change, language)], 1);
    }
    if wide {
        add(language.word("filters"), &list_filters(here, language), 0);
        add(language.word("refused"), &list_refused(here, language), 0);
        let hidden = here.found.hidden.iter().map(|text| language.translate_text(text));
        add(language.word("unknown"), &hidden.collect::<Vec<_>>(), 0);
        let lost = here.surroundings.lost.iter();
        let lost =
            lost.map(|lost| format!("{} ({})", lost.step, language.translate_text(&lost.how.describe())));
        add(language.word("lost"), &lost.collect::<Vec<_>>(), 0);
    } else {
        add(language.word("not told"), &describe_untold(here, language), 3);
    }
    let most = if wide || here.command.is_some() { usize::MAX } else { MOST_LINES };
    lines.extend(lay_out(&blocks, width, most.saturating_sub(lines.len())));
    let mut text = lines.join("\n") + "\n";
    if wide {
        for layer in &here.found.layers {
            render_evidence(&mut text, layer, language);
        }
    }
    text
}

/// Lays blocks out in their order, within as many lines; those of the greatest ranks are left out.
fn lay_out(blocks: &[Block], width: usize, most: usize) -> Vec<String> {
    let wrap = |heading: &str, text: &str| {
        let pad = HEADING.saturating_sub(crate::text::count_columns(heading));
        wrap_paragraph(&format!("{heading}{}", " ".repeat(pad)), text, width)
    };
    let mut by_rank: Vec<usize> = (0..blocks.len()).collect();
    by_rank.sort_by_key(|at| blocks[*at].rank);
    let (mut kept, mut used) = (vec![false; blocks.len()], 0);
    for at in by_rank {
        let lines = wrap("", &blocks[at].text).len();
        if used + lines <= most {
            (kept[at], used) = (true, used + lines);
        }
    }
    let (mut lines, mut before) = (Vec::new(), "");
    for (block, _) in blocks.iter().zip(kept).filter(|(_, is_kept)| *is_kept) {
        let heading = if block.heading == before { "" } else { block.heading };
        lines.extend(wrap(heading, &block.text));
        before = block.heading;
    }
    lines
}

/// Describes kernel and processor: `Linux 6.11, AMD EPYC 7763`.
fn describe_system(here: &Here<'_>) -> String {
    let fact = |key: &str| here.surroundings.facts.get(key).unwrap_or_default();
    let release = if fact(VDSO_RELEASE).is_empty() { fact(KERNEL_RELEASE) } else { fact(VDSO_RELEASE) };
    let kernel = format!("{} {release}", fact(KERNEL_NAME));
    let processor = if fact(CPUID_BRAND).is_empty() { fact(CPUINFO_MODEL) } else { fact(CPUID_BRAND) };
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
    let mut all = count_filters(here, language);
    if let Some(count) = filters.instructions.filter(|_| !all.is_empty()) {
        all.push(say!(language, "about {count} instructions", count));
    }
    if let Some(answer) = filters.unknown_call.as_ref().filter(|_| !all.is_empty()) {
        all.push(say!(language, "a call that they do not know gets {answer}", answer = clean_text(answer)));
    }
    all
}

/// Lists calls that are refused, by whom and with which answer, and capabilities that are missing.
fn list_refused(here: &Here<'_>, language: Language) -> Vec<String> {
    let filters = &here.found.filters;
    let mut by_answer: BTreeMap<(bool, &str), Vec<String>> = BTreeMap::new();
    for refused in &filters.refused {
        by_answer
            .entry((!refused.is_by_filter, &refused.answer))
            .or_default()
            .push(clean_text(&refused.call));
    }
    let mut all: Vec<String> = by_answer
        .into_iter()
        .map(|((is_open, answer), calls)| {
            let by = if is_open { "" } else { language.word(", by a filter") };
            format!("{} ({}{by})", calls.join(", "), clean_text(answer))
        })
        .collect();
    if filters.missing.as_ref().is_some_and(|missing| missing.len() == CAPABILITIES) {
        all.push(language.word("without any capability").to_owned());
    } else if let Some(missing) = filters.missing.as_ref().filter(|missing| !missing.is_empty()) {
        all.push(say!(language, "without the capabilities {names}", names = missing.join(", ")));
    }
    all
}

fn render_evidence(text: &mut String, layer: &Layer, language: Language) {
    let name = name_product(layer.name, language);
    let _ = writeln!(text, "\n{name} ({})", layer.confidence.name());
    for evidence in &layer.evidence {
        let proves = language.translate_text(evidence.proves);
        let _ = writeln!(text, "  {} = {}: {proves}", evidence.fact, clean_text(&evidence.value));
    }
}
