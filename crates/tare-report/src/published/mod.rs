//! Articles as text: the printed values and conclusions, alone and next to a session.

mod beside;
pub mod foreseen;
pub mod full_size;
mod table;

use std::fmt::Write;

use tare_analysis::published::{Environment, Figure, Published};

use crate::language::{Language, say};
use crate::text::{clean_text, count_columns, wrap_text};

pub(crate) use table::TableTexts;

pub(crate) use beside::{
    Beyond, article_table_lines, article_tables, beside_lines, beside_rows, describe_holding, format_answer,
    list_articles_beyond_rows, sum_up_conclusions, why_without,
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
        let stated = say!(language, "{printed} (stated without its values)", printed);
        out.pair(language.describe(&ratio.name), &stated);
    }
    out.blank();
    for claim in &article.claims {
        out.pair(language.describe("it says"), language.describe(&claim.text));
    }
    out.text
}

/// Describes an environment as `wsl: WSL1 (notebook; Windows 10)`.
fn measured_in(environment: &Environment) -> String {
    let Environment { id, kind, machine, system, filesystem, network, note } = environment;
    let more = [machine, system, filesystem, network, note];
    let more: Vec<&str> = more.into_iter().flatten().map(String::as_str).collect();
    let more = if more.is_empty() { String::new() } else { format!(" ({})", more.join("; ")) };
    format!("{id}: {}{more}", kind.name())
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

    #[test]
    fn an_article_can_be_read() {
        let article = include_str!("../../../../published/qiita-wsl-guest-native.toml");
        let article: Published = toml::from_str(article).unwrap();
        let commands = [("here", "tare run --like qiita-wsl-guest-native".to_owned())];
        insta::assert_snapshot!(render_article(&article, &commands, 80, Language::English));
    }

    #[test]
    fn ratios_that_an_article_states_are_shown_as_such() {
        let article = include_str!("../../../../published/ascii-wsl2-unixbench.toml");
        let article: Published = toml::from_str(article).unwrap();
        let shown = render_article(&article, &[], 200, Language::English);
        assert_eq!(shown.matches("stated without its values").count(), article.ratios.len(), "{shown}");
    }
}
