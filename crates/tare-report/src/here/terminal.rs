//! The text for a terminal: at most fourteen lines, the layers first.

use std::fmt::Write;
use tare_data::facts::keys::{CPUID_BRAND, CPUINFO_MODEL, KERNEL_NAME, KERNEL_RELEASE, VDSO_RELEASE};

use tare_analysis::here::costs::{Cost, Operation};
use tare_analysis::here::layers::{Class, Confidence, Layer};

use super::Here;
use super::command::describe_command;
use super::costs::{describe_cost, describe_slower, describe_usual, is_of_new, is_told, list_untold};
use super::words::{describe_change, describe_limits, join_layers, name_layer};
use crate::language::{Language, say};
use crate::text::{clean_text, wrap_paragraph};

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
    let mut lines = wrap_paragraph("", &first_line(here, language), width);
    let mut blocks = list_costs(here, wide, language);
    let joint = language.word("; ");
    let mut add = |heading: &'static str, texts: &[String], rank: u32| {
        if !texts.is_empty() {
            blocks.push(Block { heading, text: texts.join(joint), rank });
        }
    };
    if let Some((ran, split)) = here.command {
        for text in describe_command(ran, split, language) {
            add(language.word("command"), &[text], 0);
        }
    }
    add(language.word("limits"), &list_limits(here, language), 1);
    add(language.word("filters"), &list_filters(here, language), 8);
    for change in here.changes {
        add(language.word("change"), &[describe_change(change, language)], 2);
    }
    if !wide {
        add(language.word("not told"), &list_untold(here.costs, &here.surroundings.facts, language), 6);
    }
    let hidden: Vec<String> = here.found.hidden.iter().map(|text| language.translate_text(text)).collect();
    add(language.word("unknown"), &hidden, 7);
    let lost: Vec<String> = here
        .surroundings
        .lost
        .iter()
        .map(|lost| format!("{} ({})", lost.step, language.translate_text(&lost.how.describe())))
        .collect();
    add(language.word("lost"), &lost, 6);
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

/// Lists costs: those with a comparison of their own first, and the rest as far as there is room.
fn list_costs(here: &Here<'_>, wide: bool, language: Language) -> Vec<Block> {
    let heading = language.word("costs");
    // On the first screen, what is not told has no numbers.
    let facts = &here.surroundings.facts;
    let is_shown = |cost: &&Cost| {
        let is_extra = matches!(cost.operation, Operation::Priced(_)) || is_of_new(cost.operation);
        wide || !is_extra && is_told(cost, here.costs, facts)
    };
    let mut blocks: Vec<Block> = here
        .costs
        .iter()
        .filter(is_shown)
        .map(|cost| Block {
            heading,
            text: describe_cost(cost, here.costs, facts, language),
            rank: match (cost.operation, cost.answer.kind().is_slower()) {
                (Operation::SteadyCpu, true) | (Operation::SystemCall, _) => 3,
                (Operation::Name | Operation::Sync, _) => 4,
                (Operation::PageFault, _) => 5,
                (Operation::Clock | Operation::SteadyCpu, _) => 9,
                (Operation::NewName | Operation::NewCode | Operation::Priced(_), _) => 11,
            },
        })
        .collect();
    if !wide && let Some(text) = describe_usual(here.costs, language) {
        let slower = blocks.iter().take_while(|block| block.rank == 3).count();
        blocks.insert(slower, Block { heading, text, rank: 3 });
    }
    let slower = describe_slower(here.costs, language).filter(|_| !wide);
    blocks.extend(slower.map(|text| Block { heading, text, rank: 4 }));
    blocks
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
