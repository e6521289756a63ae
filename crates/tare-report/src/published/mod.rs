//! Articles as text: the printed values, and ratios and conclusions computed from them.

mod beside;
pub mod full_size;
mod table;

use std::fmt::Write;

use serde_json::{Value, json};
use tare_analysis::published::{
    Checked, Conclusion, Environment, Figure, PairRatio, Published, Quantity, recompute_article,
};
use tare_data::unit::Direction;

use crate::language::{Language, say};
use crate::number::format_ratio;
use crate::text::{clean_text, count_columns, wrap_text};
use crate::words::machine_name;

pub(crate) use table::TableTexts;

pub(crate) use beside::{
    Beyond, article_table_lines, beside_lines, beside_rows, describe_holding, format_answer,
    list_articles_beyond_rows, why_without,
};

/// Widest column of labels; longer ones are wrapped.
const WIDEST_LABEL: usize = 26;
/// Narrowest column of texts, however narrow the line is.
const NARROWEST_TEXT: usize = 20;
/// Blank columns between a label and its text.
const GAP: usize = 2;

/// Renders an article: its tools and environments, the commands that repeat it, its values, its conclusions.
pub fn render_article(
    article: &Published,
    commands: &[(&str, String)],
    width: usize,
    language: Language,
) -> String {
    let mut out = Pairs { text: String::new(), label: 12, width };
    out.heading(article, commands, language);
    for figure in &article.figures {
        out.pair(language.describe(&figure.name), &values(article, figure));
    }
    for ratio in &article.ratios {
        let printed = format!("{} / {}: {}", ratio.environment, ratio.against, ratio.value);
        let stated = say!(language, "{printed} (stated without its values)", printed = printed);
        out.pair(language.describe(&ratio.name), &stated);
    }
    out.blank();
    for claim in &article.claims {
        out.pair(language.describe("it says"), language.describe(&claim.text));
    }
    out.text
}

/// Renders the ratios between an article's environments, computed from its own values, and checks its
/// conclusions again.
pub fn render_recomputed(article: &Published, width: usize) -> String {
    let recomputed = recompute_article(article);
    let mut out = Pairs { text: String::new(), label: 12, width };
    let commands = article.redo.as_ref().map(|_| ("here", format!("tare run --like {}", article.id)));
    out.heading(article, commands.as_slice(), Language::English);
    for (figure, pairs) in &recomputed.ratios {
        out.pair(&figure.name, &values(article, figure));
        if !pairs.is_empty() {
            out.pair("", &format!("{} ({})", ratios(pairs).join(" · "), better(figure.better)));
        }
    }
    for stated in &article.ratios {
        let pair = format!("{} / {} {}", stated.environment, stated.against, format_ratio(stated.value));
        out.pair(&stated.name, &format!("{pair} ({})", better(stated.better)));
        out.pair("", "as stated; without its values it cannot be recomputed");
    }
    out.blank();
    for (claim, checks) in &recomputed.claims {
        out.blank();
        out.paragraph(&claim.text);
        if checks.is_empty() {
            out.pair("not checked", "no printed value can check it");
        }
        for check in checks {
            out.pair(&check.check.states, &verdict(check));
        }
    }
    out.text
}

/// Renders the recomputed article as Markdown: a table of ratios and a list of conclusions.
pub fn recomputed_markdown(article: &Published) -> String {
    let recomputed = recompute_article(article);
    let mut out = format!("**{}** · {}\n\n", literal(&article.id), literal(&article.title));
    let note = article.note.as_deref().unwrap_or_default().trim().replace('\n', " ");
    let _ = writeln!(out, "Measured by {}. {}\n", literal(&article.tool), literal(&note));
    for environment in &article.environments {
        let _ = writeln!(out, "- {}", literal(&measured_in(environment)));
    }
    out.push('\n');
    if recomputed.ratios.len() + article.ratios.len() > 0 {
        out.push_str("| figure | printed | ratios |\n| --- | --- | --- |\n");
    }
    let mut row = |cells: [String; 3]| {
        let _ = writeln!(out, "| {} |", cells.map(|cell| literal(&cell)).join(" | "));
    };
    for (figure, pairs) in &recomputed.ratios {
        let ratios = match pairs.is_empty() {
            true => String::new(),
            false => format!("{} ({})", ratios(pairs).join(", "), better(figure.better)),
        };
        row([figure.name.clone(), values(article, figure), ratios]);
    }
    for stated in &article.ratios {
        let ratio = format!("{} / {} {}", stated.environment, stated.against, format_ratio(stated.value));
        row([stated.name.clone(), String::new(), format!("{ratio} ({}), as stated", better(stated.better))]);
    }
    out.push('\n');
    for (claim, checks) in &recomputed.claims {
        let _ = writeln!(out, "- {}", literal(&claim.text));
        for check in checks {
            let _ = writeln!(out, "  - {}: {}", literal(&check.check.states), literal(&verdict(check)));
        }
    }
    out
}

/// Writes the recomputed article as one JSON document.
pub fn recomputed_json(article: &Published) -> String {
    let recomputed = recompute_article(article);
    let ratios: Vec<Value> = recomputed
        .ratios
        .iter()
        .map(|(figure, pairs)| {
            let pair = |p: &PairRatio| {
                json!({ "environment": p.environment, "against": p.against, "ratio": p.ratio })
            };
            let pairs: Vec<Value> = pairs.iter().map(pair).collect();
            json!({ "figure": figure.name, "probe": figure.probe, "unit": figure.unit.name(),
                "better": figure.better, "values": figure.values, "ratios": pairs })
        })
        .collect();
    let claims: Vec<Value> = recomputed
        .claims
        .iter()
        .map(|(claim, checks)| {
            let check = |c: &Checked| {
                json!({ "figure": c.check.figure, "states": c.check.states, "computed": c.computed,
                    "low": c.low, "high": c.high, "follows": matches!(c.conclusion, Conclusion::Follows | Conclusion::CutOff),
                    "words": verdict(c) })
            };
            json!({ "text": claim.text, "checks": checks.iter().map(check).collect::<Vec<_>>() })
        })
        .collect();
    let stated = article.ratios.iter().map(|stated| {
        json!({ "name": stated.name, "probe": stated.probe, "better": stated.better,
            "environment": stated.environment, "against": stated.against, "ratio": stated.value })
    });
    let environments = article.environments.iter().map(|environment| {
        json!({ "id": environment.id, "kind": environment.kind.name(), "machine": environment.machine,
            "system": environment.system, "filesystem": environment.filesystem,
            "network": environment.network, "note": environment.note })
    });
    let document = json!({ "environments": environments.collect::<Vec<Value>>(), "id": article.id, "title": article.title, "kind": article.kind.name(),
        "url": article.url, "tool": article.tool, "note": article.note, "figures": ratios,
        "stated_ratios": stated.collect::<Vec<Value>>(), "claims": claims });
    format!("{document:#}\n")
}

/// Describes an environment as `wsl: WSL1 (notebook; Windows 10)`.
fn measured_in(environment: &Environment) -> String {
    let Environment { id, kind, machine, system, filesystem, network, note } = environment;
    let more = [machine, system, filesystem, network, note];
    let more: Vec<&str> = more.into_iter().flatten().map(String::as_str).collect();
    let more = if more.is_empty() { String::new() } else { format!(" ({})", more.join("; ")) };
    format!("{id}: {}{more}", kind.name())
}

fn better(direction: Direction) -> String {
    format!("{} is better", machine_name(&direction))
}

/// Formats a ratio per pair, such as `wsl2 / linux 1.08x`.
fn ratios(pairs: &[PairRatio]) -> Vec<String> {
    let pair = |p: &PairRatio| {
        format!("{} / {} {}", p.environment, p.against, p.ratio.map_or("-".into(), format_ratio))
    };
    pairs.iter().map(pair).collect()
}

/// Formats `wsl2 1257.37, 1268.70 · linux 1347.26, 1347.01 /s`, in the order of the article's environments.
fn values(article: &Published, figure: &Figure) -> String {
    let environments = article.environments.iter().filter_map(|environment| {
        let printed = figure.format_printed(&environment.id);
        (!printed.is_empty()).then(|| format!("{} {}", environment.id, printed.join(", ")))
    });
    let runs = figure.runs.map_or(String::new(), |runs| format!(" (of {runs} runs)"));
    format!("{} {}{runs}", environments.collect::<Vec<_>>().join(" · "), figure.unit.name())
}

/// Tells whether a stated value follows from the article's own, and which value does.
fn verdict(checked: &Checked) -> String {
    let number = |value: f64| {
        // Enough to see which way it was rounded.
        let decimals = (checked.decimals + 1).max(3 - checked.decimals.min(3));
        format!("{value:.decimals$} {}", checked.unit).trim_end().to_owned()
    };
    let computed = number(checked.computed);
    let runs = match checked.low == checked.high {
        true => String::new(),
        false => format!(" ({} to {} over single runs)", number(checked.low), number(checked.high)),
    };
    match checked.conclusion {
        Conclusion::Follows if checked.check.of == Quantity::Range => {
            format!("agrees: {} lies in it ({computed})", checked.check.environment)
        }
        Conclusion::Follows => format!("follows: its figures give {computed}{runs}"),
        Conclusion::CutOff => format!("follows, cut off and not rounded: its figures give {computed}{runs}"),
        Conclusion::FollowsFromRun(run) => {
            format!("does not follow from the means, which give {computed}{runs}; run {run} of each gives it")
        }
        Conclusion::WithinRuns => {
            format!("does not follow from the means, which give {computed}; single runs reach it{runs}")
        }
        Conclusion::DoesNotFollow => format!("does not follow: its figures give {computed}{runs}"),
    }
}

/// Escapes a text for a table of Markdown. Anybody may have written an article's file.
fn literal(text: &str) -> String {
    let mut out = String::new();
    for c in clean_text(text).chars() {
        match c {
            '<' => out.push_str("&lt;"),
            '&' => out.push_str("&amp;"),
            c if "\\`*_[]|#@!".contains(c) => {
                out.push('\\');
                out.push(c);
            }
            c => out.push(c),
        }
    }
    out
}

/// Labels with their texts, in two columns.
struct Pairs {
    text: String,
    label: usize,
    width: usize,
}

impl Pairs {
    fn heading(&mut self, article: &Published, commands: &[(&str, String)], language: Language) {
        let names = article.figures.iter().map(|f| &f.name).chain(article.ratios.iter().map(|r| &r.name));
        let names = names.map(|name| count_columns(language.describe(name)));
        self.label = names.max().unwrap_or(0).clamp(12, WIDEST_LABEL);
        self.paragraph(&format!("{}: {}", article.id, language.describe(&article.title)));
        self.blank();
        self.pair(language.describe("measured by"), &article.tool);
        if let Some(note) = &article.note {
            self.pair("", note.trim());
        }
        if let Some(url) = &article.url {
            self.pair(language.describe("source"), url);
        }
        for (label, command) in commands {
            self.command(language.describe(label), command);
        }
        for (at, environment) in article.environments.iter().enumerate() {
            self.pair(if at == 0 { language.describe("in") } else { "" }, &measured_in(environment));
        }
        self.blank();
    }

    fn blank(&mut self) {
        if !self.text.is_empty() && !self.text.ends_with("\n\n") {
            self.text.push('\n');
        }
    }

    fn paragraph(&mut self, text: &str) {
        for line in lines(text, self.width) {
            let _ = writeln!(self.text, "{line}");
        }
    }

    /// Adds a command on one line, however long: a broken one cannot be copied.
    fn command(&mut self, label: &str, command: &str) {
        let pad = " ".repeat((self.label + GAP).saturating_sub(count_columns(label)));
        let _ = writeln!(self.text, "{label}{pad}{}", clean_text(command));
    }

    fn pair(&mut self, label: &str, text: &str) {
        let labels = lines(label, self.label);
        let texts = lines(text, self.width.saturating_sub(self.label + GAP).max(NARROWEST_TEXT));
        for at in 0..labels.len().max(texts.len()) {
            let (label, text) = (labels.get(at).map_or("", String::as_str), texts.get(at));
            let pad = " ".repeat((self.label + GAP).saturating_sub(count_columns(label)));
            let line = format!("{label}{pad}{}", text.map_or("", String::as_str));
            let _ = writeln!(self.text, "{}", line.trim_end());
        }
    }
}

/// Wraps prose, whose own line breaks mean nothing, and cleans it: anybody may have written an article's
/// file.
fn lines(text: &str, width: usize) -> Vec<String> {
    wrap_text(&text.replace('\n', " "), width).iter().map(|line| clean_text(line)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const ARTICLE: &str = include_str!("../../../../published/qiita-wsl-guest-native.toml");

    #[test]
    fn an_article_can_be_read_and_computed_again() {
        let article: Published = toml::from_str(ARTICLE).unwrap();
        insta::assert_snapshot!(render_recomputed(&article, 80));
        assert!(
            recomputed_markdown(&article).lines().filter(|l| l.starts_with('|')).all(|l| l.ends_with('|'))
        );
        let read: Value = serde_json::from_str(&recomputed_json(&article)).unwrap();
        assert_eq!(
            read["figures"].as_array().unwrap().len(),
            article.figures.len(),
            "those of one environment too"
        );
        assert_eq!(read["figures"][0]["ratios"][0]["against"], "guest");
        assert!((read["figures"][0]["ratios"][1]["ratio"].as_f64().unwrap() - 101.116).abs() < 0.001);
    }

    #[test]
    fn ratios_that_an_article_states_are_in_every_form() {
        let text = include_str!("../../../../published/ascii-wsl2-unixbench.toml");
        let article: Published = toml::from_str(text).unwrap();
        let read: Value = serde_json::from_str(&recomputed_json(&article)).unwrap();
        assert_eq!(read["stated_ratios"].as_array().unwrap().len(), article.ratios.len());
        let markdown = recomputed_markdown(&article);
        for ratio in &article.ratios {
            assert!(markdown.contains(&literal(&ratio.name)), "{markdown}");
        }
        assert!(markdown.contains("The tables are pictures"), "{markdown}");
    }
}
