//! Articles as text: what they printed, what follows from it, and what they say of a session's rows.

use std::fmt::Write;

use serde_json::{Value, json};
use tare_analysis::findings::{Findings, Row};
use tare_analysis::published::{
    Beside, Checked, Conclusion, Figure, PairRatio, Published, Quantity, recompute,
};
use tare_data::unit::Direction;

use crate::number::{ratio, ratio_interval};
use crate::text::{clean, columns, listed, wrap};
use crate::words::machine_name;

/// A label is broken into lines before it takes more than this.
const WIDEST_LABEL: usize = 26;
/// Texts keep this much of a line, however narrow it is.
const NARROWEST_TEXT: usize = 20;
/// Blank columns between a label and what it is the label of.
const GAP: usize = 2;

/// An article as it stands: what it measured with and in, what it printed, what it concludes.
pub fn article(article: &Published, width: usize) -> String {
    let mut out = Pairs { text: String::new(), label: 12, width };
    out.heading(article);
    for figure in &article.figures {
        out.pair(&figure.name, &values(article, figure));
    }
    for ratio in &article.ratios {
        let printed = format!("{} / {}: {}", ratio.environment, ratio.against, ratio.value);
        out.pair(&ratio.name, &format!("{printed} (no figures behind it are given)"));
    }
    out.blank();
    for claim in &article.claims {
        out.pair("it says", &claim.text);
    }
    out.text
}

/// What follows from an article's own figures: ratios between what it measured in, and its conclusions again.
pub fn recomputed(article: &Published, width: usize) -> String {
    let recomputed = recompute(article);
    let mut out = Pairs { text: String::new(), label: 12, width };
    out.heading(article);
    for (figure, pairs) in &recomputed.ratios {
        out.pair(&figure.name, &values(article, figure));
        if !pairs.is_empty() {
            out.pair("", &format!("{} ({})", ratios(pairs).join(" · "), better(figure.better)));
        }
    }
    for stated in &article.ratios {
        let pair = format!("{} / {} {}", stated.environment, stated.against, ratio(stated.value));
        out.pair(&stated.name, &format!("{pair} ({})", better(stated.better)));
        out.pair("", "stated so; without its figures it cannot be computed again");
    }
    out.blank();
    for (claim, checks) in &recomputed.claims {
        out.blank();
        out.paragraph(&claim.text);
        if checks.is_empty() {
            out.pair("not checked", "no figure that it printed would tell");
        }
        for check in checks {
            out.pair(&check.check.states, &verdict(check));
        }
    }
    out.text
}

/// The same as Markdown: a table of ratios and a list of conclusions.
pub fn recomputed_markdown(article: &Published) -> String {
    let recomputed = recompute(article);
    let mut out = format!("**{}** · {}\n\n", literal(&article.id), literal(&article.title));
    let note = article.note.as_deref().unwrap_or_default().trim().replace('\n', " ");
    let _ = writeln!(out, "Measured by {}. {}\n", literal(&article.tool), literal(&note));
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
        let ratio = format!("{} / {} {}", stated.environment, stated.against, ratio(stated.value));
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

/// The same as one JSON document.
pub fn recomputed_json(article: &Published) -> String {
    let recomputed = recompute(article);
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
    let document = json!({ "id": article.id, "title": article.title, "kind": article.kind.name(),
        "url": article.url, "tool": article.tool, "note": article.note, "figures": ratios,
        "stated_ratios": stated.collect::<Vec<Value>>(), "claims": claims });
    format!("{document:#}\n")
}

/// Which way a ratio of values is to be read.
fn better(direction: Direction) -> String {
    format!("{} is better", machine_name(&direction))
}

/// `wsl2 / linux 1.08x`, one for each pair.
fn ratios(pairs: &[PairRatio]) -> Vec<String> {
    let pair =
        |p: &PairRatio| format!("{} / {} {}", p.environment, p.against, p.ratio.map_or("-".into(), ratio));
    pairs.iter().map(pair).collect()
}

/// `wsl2 1257.37, 1268.7 · linux 1347.26, 1347.01 /s`, in the order of the article's environments.
fn values(article: &Published, figure: &Figure) -> String {
    let environments = article.environments.iter().filter_map(|environment| {
        let values = figure.values.get(&environment.id)?;
        let values: Vec<String> = values.iter().map(f64::to_string).collect();
        Some(format!("{} {}", environment.id, values.join(", ")))
    });
    let runs = figure.runs.map_or(String::new(), |runs| format!(" (of {runs} runs)"));
    format!("{} {}{runs}", environments.collect::<Vec<_>>().join(" · "), figure.unit.name())
}

/// Whether a stated figure follows, with the figure that does.
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
        Conclusion::FollowsFromRun(run) => format!(
            "does not follow from the means, which give {computed}{runs}; it is what run {run} of each gives"
        ),
        Conclusion::WithinRuns => {
            format!("does not follow from the means, which give {computed}; single runs reach it{runs}")
        }
        Conclusion::DoesNotFollow => format!("does not follow: its figures give {computed}{runs}"),
    }
}

/// A row of a session beside what an article says of it, as texts.
pub(crate) struct BesideRow {
    /// What the session's row is headed with.
    pub label: String,
    pub source: String,
    pub printed: String,
    pub ratio: String,
    /// The session's ratio with its interval.
    pub session: String,
    /// Whether the interval holds the article's ratio.
    pub holds: String,
}

/// Every row that an article speaks of, in the order of the rows.
pub(crate) fn beside_rows(findings: &Findings) -> Vec<BesideRow> {
    let rows = findings.rows.iter();
    rows.flat_map(|row| row.published.iter().map(|beside| beside_row(row, beside))).collect()
}

fn beside_row(row: &Row, beside: &Beside) -> BesideRow {
    let metric = if row.headline { String::new() } else { format!(", {}", clean(&row.metric.name)) };
    let unit = beside.unit.as_deref().unwrap_or("");
    let figure = |environment: &Option<String>, value: Option<f64>| {
        Some(format!("{} {} {unit}", clean(environment.as_deref()?), shortest(value?)))
    };
    let printed =
        [figure(&beside.environment, beside.value), figure(&beside.reference, beside.reference_value)];
    let printed: Vec<String> = printed.into_iter().flatten().collect();
    let pair = [&beside.environment, &beside.reference].map(|name| name.as_deref().map(clean));
    let pair = match pair {
        [Some(environment), Some(reference)] => format!("{environment} against {reference}"),
        _ => String::new(),
    };
    let session = match (beside.session_ratio, beside.session_ratio_low, beside.session_ratio_high) {
        (Some(value), Some(low), Some(high)) => {
            format!("{} {}", ratio(value), ratio_interval(low, high, value))
        }
        (Some(value), ..) => format!("{}, no interval yet", ratio(value)),
        _ => String::new(),
    };
    let targets = [&beside.target, &beside.against_target].map(|target| target.as_deref().map(clean));
    let target = match targets {
        [Some(target), Some(against)] => format!("{target} over {against} "),
        _ => String::new(),
    };
    BesideRow {
        label: format!("{}{metric}", clean(&row.label)),
        source: clean(&beside.source),
        printed: if printed.is_empty() { pair } else { printed.join(", ") },
        ratio: beside.ratio.map_or("-".into(), ratio),
        session: match &beside.target {
            _ if !session.is_empty() => format!("{target}{session}"),
            Some(target) => format!("{} is not compared", clean(target)),
            None => "no such pair".into(),
        },
        holds: match beside.contained {
            Some(true) => "the interval holds its ratio".into(),
            Some(false) => "the interval does not hold its ratio".into(),
            None => String::new(),
        },
    }
}

/// A figure of an article without digits that it did not print: means of runs have at most six.
fn shortest(value: f64) -> String {
    let rounded: f64 = format!("{value:.5e}").parse().unwrap_or(value);
    rounded.to_string()
}

/// What articles say of the rows, as lines for a terminal; none where no article is beside the session.
pub(crate) fn beside_lines(findings: &Findings, width: usize) -> Vec<String> {
    let rows = beside_rows(findings);
    if rows.is_empty() {
        return Vec::new();
    }
    let mut sources: Vec<String> = rows.iter().map(|row| row.source.clone()).collect();
    sources.dedup();
    sources.sort();
    sources.dedup();
    let head = format!(
        "Published, on other machines and days, and in no interval with these: {}.",
        listed(&sources)
    );
    let label = rows.iter().map(|row| columns(&row.label)).max().unwrap_or(0).min(WIDEST_LABEL);
    let mut out = Pairs { text: String::new(), label, width };
    out.paragraph(&head);
    for row in &rows {
        let parts = [&row.printed, &row.ratio].map(String::as_str).join(": ");
        let holds = if row.holds.is_empty() { String::new() } else { format!("; {}", row.holds) };
        out.pair(&row.label, &format!("{parts}; here {}{holds}", row.session));
    }
    out.text.lines().map(str::to_owned).collect()
}

/// Text in which no character means anything in a table of Markdown. An article's file may be anybody's.
fn literal(text: &str) -> String {
    let mut out = String::new();
    for c in clean(text).chars() {
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
    fn heading(&mut self, article: &Published) {
        let names = article.figures.iter().map(|f| &f.name).chain(article.ratios.iter().map(|r| &r.name));
        self.label = names.map(|name| columns(name)).max().unwrap_or(0).clamp(12, WIDEST_LABEL);
        self.paragraph(&format!("{}: {}", article.id, article.title));
        self.blank();
        self.pair("measured by", &article.tool);
        if let Some(note) = &article.note {
            self.pair("", note.trim());
        }
        if let Some(url) = &article.url {
            self.pair("source", url);
        }
        if article.redo.is_some() {
            self.pair("here", &format!("tare run --like {}", article.id));
        }
        for (at, environment) in article.environments.iter().enumerate() {
            let more = [&environment.filesystem, &environment.network, &environment.note];
            let more: Vec<String> = more.into_iter().flatten().cloned().collect();
            let more = if more.is_empty() { String::new() } else { format!(" ({})", more.join("; ")) };
            let text = format!("{}: {}{more}", environment.id, environment.kind.name());
            self.pair(if at == 0 { "in" } else { "" }, &text);
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

    fn pair(&mut self, label: &str, text: &str) {
        let labels = lines(label, self.label);
        let texts = lines(text, self.width.saturating_sub(self.label + GAP).max(NARROWEST_TEXT));
        for at in 0..labels.len().max(texts.len()) {
            let (label, text) = (labels.get(at).map_or("", String::as_str), texts.get(at));
            let pad = " ".repeat((self.label + GAP).saturating_sub(columns(label)));
            let line = format!("{label}{pad}{}", text.map_or("", String::as_str));
            let _ = writeln!(self.text, "{}", line.trim_end());
        }
    }
}

/// Lines of prose, whose own line breaks mean nothing. Each is cleaned: an article's file may be anybody's.
fn lines(text: &str, width: usize) -> Vec<String> {
    wrap(&text.replace('\n', " "), width).iter().map(|line| clean(line)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::specimen;
    use tare_data::session::Role;

    const ARTICLE: &str = include_str!("../../../published/qiita-wsl-guest-native.toml");

    fn beside_article() -> Findings {
        let mut session = specimen::session(3);
        let mut findings = specimen::findings(3);
        // The third environment goes by a preset's name, and the article's figure for processes is put beside fork + wait.
        let subject =
            session.plan.targets.iter_mut().filter(|target| target.role == Role::Subject).nth(1).unwrap();
        subject.name = "wsl1-like".into();
        findings.subjects[1] = subject.name.clone();
        let text = ARTICLE.replace("proc.fork_hold", "proc.spawn").replace("{ ballast = \"none\" }", "{}");
        let article: Published = toml::from_str(&text).unwrap();
        tare_analysis::published::place_beside(&mut findings, &session, &[article]);
        findings
    }

    #[test]
    fn an_article_stands_beside_its_row_and_says_whether_the_interval_holds_it() {
        let findings = beside_article();
        insta::assert_snapshot!(beside_lines(&findings, 90).join("\n"));
        let spawn = findings.rows.iter().find(|row| row.probe == "proc.spawn").unwrap();
        let wsl = spawn.published.iter().find(|b| b.environment.as_deref() == Some("wsl")).unwrap();
        assert_eq!(wsl.contained, Some(false));
        assert_eq!(wsl.ratio.map(f64::round), Some(101.0));
        let guest = spawn.published.iter().find(|b| b.environment.as_deref() == Some("guest")).unwrap();
        assert_eq!(
            (guest.target.as_deref(), guest.contained),
            (None, None),
            "no environment stands for a guest"
        );
    }

    #[test]
    fn an_article_can_be_read_and_computed_again() {
        let article: Published = toml::from_str(ARTICLE).unwrap();
        insta::assert_snapshot!(recomputed(&article, 80));
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
        let text = include_str!("../../../published/ascii-wsl2-unixbench.toml");
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
