//! Articles and a session: its own values and ratios next to theirs, and its answers to their conclusions.

use std::collections::BTreeMap;

use tare_analysis::findings::{
    ArticleBeside, Beside, Cell, CheckBeside, ClaimBeside, ClaimOutcome, Findings, OwnValue, Row, Way,
    WithoutRow,
};
use tare_analysis::published::Quantity;

use super::table::TableTexts;
use super::{Pairs, WIDEST_LABEL};
use crate::language::{Language, message, say};
use crate::number::{Figure, count_decimals, format_fixed, format_ratio, ratio_interval};
use crate::text::{clean_text, count_columns};
use crate::words;

/// Indentation of lines that belong to the line above.
const INDENT: &str = "\u{a0}\u{a0}";

/// Rows of articles' tables on a first screen.
const FIRST_ROWS: usize = 12;

/// A row of a session with an article's values for it, as texts.
pub(crate) struct BesideRow {
    /// Heading of the session's row.
    pub label: String,
    pub source: String,
    pub printed: String,
    pub ratio: String,
    /// The session's own values, and their ratio with its interval.
    pub session: String,
    /// Answer whether the interval contains the article's ratio.
    pub holds: String,
}

/// Lists the rows that an article has values for, in the order of the rows.
pub(crate) fn beside_rows(findings: &Findings, language: Language) -> Vec<BesideRow> {
    // The figures of an article that has its table here are in that.
    let in_table = |beside: &Beside| {
        let mut articles = findings.articles.iter();
        !beside.printed.is_empty() && articles.any(|of| of.source == beside.source && of.figures.is_some())
    };
    let rows = findings.rows.iter().flat_map(|row| row.published.iter().map(move |beside| (row, beside)));
    let rows = rows.filter(|(_, beside)| !in_table(beside));
    rows.map(|(row, beside)| beside_row(findings, row, beside, language)).collect()
}

fn beside_row(findings: &Findings, row: &Row, beside: &Beside, language: Language) -> BesideRow {
    let unit = beside.unit.as_deref().unwrap_or("");
    let figure = |environment: &Option<String>, printed: &[String]| {
        let environment = environment.as_deref().filter(|_| !printed.is_empty())?;
        Some(format!("{} {} {unit}", clean_text(environment), clean_text(&printed.join(", "))))
    };
    let printed =
        [figure(&beside.environment, &beside.printed), figure(&beside.reference, &beside.reference_printed)];
    let printed: Vec<String> = printed.into_iter().flatten().collect();
    let pair = [&beside.environment, &beside.reference].map(|name| name.as_deref().map(clean_text));
    let pair = match pair {
        [Some(environment), Some(reference)] => {
            say!(language, "{environment} against {reference}", environment, reference)
        }
        _ => String::new(),
    };
    BesideRow {
        label: labelled(row, language),
        source: clean_text(&beside.source),
        printed: if printed.is_empty() { pair } else { printed.join("; ") },
        ratio: beside.ratio.map_or(String::new(), format_ratio),
        session: session(findings, row, beside, language),
        holds: describe_holding(beside, language),
    }
}

/// Says whether the session's interval holds the article's ratio, or why the two are not compared.
pub(crate) fn describe_holding(beside: &Beside, language: Language) -> String {
    match (beside.contained, &beside.because) {
        (Some(true), _) => language.word("the interval holds its ratio").into(),
        (Some(false), _) => language.word("the interval does not hold its ratio").into(),
        (None, Some(because)) => {
            let because = language.translate_text(&clean_text(because));
            say!(language, "not compared: {because}", because)
        }
        (None, None) if beside.session_ratio.is_some() => {
            language.word("not compared: no interval yet").into()
        }
        (None, None) => String::new(),
    }
}

/// Labels a row, with its metric if it is not the case's first.
fn labelled(row: &Row, language: Language) -> String {
    let metric = if row.headline { String::new() } else { format!(", {}", clean_text(&row.metric.name)) };
    format!("{}{metric}", words::translate_row_title(row, language))
}

/// Formats the session's own values and their ratio, or the reason why there are none.
fn session(findings: &Findings, row: &Row, beside: &Beside, language: Language) -> String {
    let Some(target) = &beside.target else {
        return language.word("no environment stands for it").into();
    };
    let mut values = vec![own(findings, row, (target, &beside.session_value), beside, language)];
    values.extend(
        beside
            .against_target
            .as_ref()
            .map(|against| own(findings, row, (against, &beside.session_baseline_value), beside, language)),
    );
    let values = values.join("; ");
    match (beside.session_ratio, beside.session_ratio_low, beside.session_ratio_high) {
        (Some(value), Some(low), Some(high)) => {
            format!("{values}: {} {}", format_ratio(value), ratio_interval([low, high], value))
        }
        (Some(value), ..) => {
            say!(language, "{values}: {ratio}, no interval yet", values, ratio = format_ratio(value))
        }
        _ => values,
    }
}

/// Formats `wsl1-like 4.2 ms ±0.1`, or the reason for having no value.
fn own(
    findings: &Findings,
    row: &Row,
    (target, value): (&str, &Option<OwnValue>),
    beside: &Beside,
    language: Language,
) -> String {
    let reason = || {
        let at = findings.subjects.iter().position(|subject| subject == target);
        match at.and_then(|at| row.cells.get(at)) {
            Some(Cell::Missing(missing)) => format!(": {}", words::describe_missing(missing, language)),
            _ => format!(": {}", language.word("not measured")),
        }
    };
    let name = clean_text(target);
    let Some(value) = value else { return format!("{name}{}", clean_text(&reason())) };
    let OwnValue { median, low, high, rounds } = *value;
    match (beside.factor, &beside.unit) {
        (Some(factor), Some(unit)) => {
            let value = median * factor;
            format!("{name} {} {}", format_fixed(value, count_decimals(value)), clean_text(unit))
        }
        _ => format!(
            "{name} {}",
            Figure::of_rounds(median, (low, high), rounds, row.metric.unit).text_with_half()
        ),
    }
}

/// Lists the values of articles for the rows, as lines for a terminal; empty without an article.
pub(crate) fn beside_lines(findings: &Findings, width: usize, language: Language) -> Vec<String> {
    let rows = beside_rows(findings, language);
    let beyond = list_articles_beyond_rows(findings, language);
    if rows.is_empty() && beyond.is_empty() {
        return Vec::new();
    }
    let mut sources: Vec<String> = rows.iter().map(|row| row.source.clone()).collect();
    sources.extend(beyond.iter().map(|article| article.source.clone()));
    sources.sort_unstable();
    sources.dedup();
    let head = say!(
        language,
        "Published, on other machines and days, and in no interval with these: {sources}.",
        sources = language.join_with_and(&sources)
    );
    let label = rows.iter().map(|row| count_columns(&row.label)).max().unwrap_or(0).min(WIDEST_LABEL);
    let mut out = Pairs { text: String::new(), label, width };
    out.paragraph(&head);
    for row in &rows {
        let parts: Vec<&str> = [&row.printed, &row.ratio]
            .into_iter()
            .map(String::as_str)
            .filter(|part| !part.is_empty())
            .collect();
        let holds = if row.holds.is_empty() { String::new() } else { format!("; {}", row.holds) };
        out.pair(
            &row.label,
            &say!(
                language,
                "{printed}; here {own}{holds}",
                printed = parts.join(": "),
                own = row.session,
                holds
            ),
        );
    }
    for article in &beyond {
        let stated = article
            .claims
            .iter()
            .flat_map(|(_, checks)| checks)
            .map(|(states, _)| count_columns(states) + count_columns(INDENT));
        out.label = stated.max().unwrap_or(0).min(WIDEST_LABEL);
        out.blank();
        out.paragraph(&article.heading(language));
        for (claim, checks) in &article.claims {
            out.paragraph(claim);
            for (states, answer) in checks {
                out.pair(&format!("{INDENT}{states}"), answer);
            }
        }
        if !article.without_row.is_empty() {
            out.blank();
            out.paragraph(&article.without_heading(language));
        }
        out.label = WIDEST_LABEL;
        for [name, printed, reason] in &article.without_row {
            out.pair(&format!("{INDENT}{name}"), &format!("{printed}: {reason}"));
        }
    }
    out.text.lines().map(str::to_owned).collect()
}

/// Lists an article's table with both sides' figures, or where there is none the tables that its tools print.
pub(crate) fn article_tables(article: &ArticleBeside, language: Language) -> Vec<TableTexts> {
    match &article.figures {
        Some(table) => vec![TableTexts::of_figures(&article.source, table, language)],
        None => article.tables.iter().map(|table| TableTexts::of_table(table, language)).collect(),
    }
}

/// Lists the tables of articles, each with an empty line before it: as many rows as a first screen has lines for, and the others,
/// which go below.
pub(crate) fn article_table_lines(
    findings: &Findings,
    width: usize,
    lines: usize,
    language: Language,
) -> [Vec<String>; 2] {
    let mut room = [lines, FIRST_ROWS];
    let tables = findings.articles.iter().flat_map(|article| article_tables(article, language));
    let parts: Vec<[Vec<String>; 2]> = tables.map(|table| table.split_rows(width, &mut room)).collect();
    [0, 1].map(|at| parts.iter().flat_map(|parts| parts[at].iter().cloned()).collect())
}

/// Sums up the conclusions of an article: how many point the same way in this session; none without conclusions.
pub(crate) fn sum_up_conclusions(article: &ArticleBeside, language: Language) -> Option<String> {
    let count = |way: Way| article.claims.iter().filter(|claim| claim.way() == way).count();
    let open = article.claims.iter().filter(|claim| claim.way() == Way::Unknown);
    let mut reasons: Vec<(String, usize)> = Vec::new();
    for reason in open.map(|claim| explain_open(claim, language)) {
        match reasons.iter_mut().find(|(known, _)| *known == reason) {
            Some((_, times)) => *times += 1,
            None => reasons.push((reason, 1)),
        }
    }
    reasons.sort_by_key(|(_, times)| std::cmp::Reverse(*times));
    let reasons = match reasons.as_slice() {
        [(reason, _)] => reason.clone(),
        several => {
            let texts = several.iter().map(|(reason, times)| format!("{times}: {reason}"));
            texts.collect::<Vec<_>>().join("; ")
        }
    };
    let open = match count(Way::Unknown) {
        0 => String::new(),
        count => say!(language, ", {count} can't be told ({reasons})", count, reasons),
    };
    (!article.claims.is_empty()).then(|| {
        say!(
            language,
            "{article}: {same} of {all} conclusions point the same way here, {other} the other way{open}.",
            article = clean_text(&article.source),
            same = count(Way::Same),
            all = article.claims.len(),
            other = count(Way::Other),
            open
        )
    })
}

/// Explains in a few words why a session does not tell of a conclusion.
fn explain_open(claim: &ClaimBeside, language: Language) -> String {
    let checks = &claim.checks;
    let because = checks.iter().find(|check| check.answer == ClaimOutcome::NotJudged);
    match because.and_then(|check| check.because.as_ref()) {
        Some(because) => return language.translate_text(&clean_text(because)),
        None if !claim.unmeasured.is_empty() => {
            let names: Vec<String> = claim.unmeasured.iter().map(|name| clean_text(name)).collect();
            return say!(language, "{names} not measured", names = language.join_with_and(&names));
        }
        None => {}
    }
    let all_are = |answer: ClaimOutcome| checks.iter().all(|check| check.answer == answer);
    language
        .word(match () {
            () if checks.is_empty() && claim.needs.is_some() => message!("a session alone does not show it"),
            () if checks.is_empty() => message!("no row of this session shows it"),
            () if all_are(ClaimOutcome::NotJudged) => message!("about the author's own machine"),
            () if checks.iter().all(|check| check.value.is_none()) => message!("not measured"),
            () if checks.iter().any(|check| check.answer == ClaimOutcome::Opposite) => {
                message!("one part each way")
            }
            () => message!("not decided yet"),
        })
        .to_owned()
}

/// Parts of an article that belong to no row, as texts.
pub(crate) struct Beyond {
    pub source: String,
    /// Conclusions, each with its statements and the session's answers.
    pub claims: Vec<(String, Vec<(String, String)>)>,
    /// Name, printed values, and the reason for having no row.
    pub without_row: Vec<[String; 3]>,
}

impl Beyond {
    pub(crate) fn heading(&self, language: Language) -> String {
        say!(language, "Conclusions of {article}, with the answers of this session:", article = self.source)
    }

    pub(crate) fn without_heading(&self, language: Language) -> String {
        say!(language, "Printed by {article}, and not measured here:", article = self.source)
    }
}

/// Collects the articles with conclusions, or with values that belong to no row.
pub(crate) fn list_articles_beyond_rows(findings: &Findings, language: Language) -> Vec<Beyond> {
    let articles = findings.articles.iter().filter(|a| !a.claims.is_empty() || !a.without_row.is_empty());
    articles.map(|article| texts(article, language)).collect()
}

fn texts(article: &ArticleBeside, language: Language) -> Beyond {
    let in_table = |name: &str| {
        let mut lines = article.figures.iter().flat_map(|table| &table.lines);
        lines.any(|line| line.name == name && line.here.iter().any(|cell| cell.value.is_some()))
    };
    let without = article.without_row.iter().filter(|of| !in_table(&of.name));
    Beyond {
        source: clean_text(&article.source),
        claims: article.claims.iter().map(|of| claim(of, language)).collect(),
        without_row: without.map(|of| without_row(of, language)).collect(),
    }
}

fn claim(claim: &ClaimBeside, language: Language) -> (String, Vec<(String, String)>) {
    let text = clean_text(language.describe(&claim.text));
    let text = if claim.recommends { say!(language, "It recommends: {text}", text) } else { text };
    let mut checks: Vec<(String, String)> = claim
        .checks
        .iter()
        .map(|check| (clean_text(&check.states), format_answer(check, language)))
        .collect();
    if checks.is_empty() {
        checks.push((
            language.word("not judged").into(),
            match &claim.needs {
                Some(needs) => {
                    say!(language, "it would need {needs}", needs = clean_text(language.describe(needs)))
                }
                None => language.word("no row of this session shows it").into(),
            },
        ));
    }
    (text, checks)
}

/// Formats `holds here: 0.48x [0.44, 0.52] (wsl1-like over wsl2-like; round trip TCP, min)`.
pub(crate) fn format_answer(check: &CheckBeside, language: Language) -> String {
    let because = check.because.as_ref().map(|because| language.translate_text(&clean_text(because)));
    let word = language.word(match check.answer {
        ClaimOutcome::NotJudged if because.is_some() => message!("not judged; here"),
        ClaimOutcome::Holds => message!("holds here"),
        ClaimOutcome::SameDirection if because.is_some() => message!("same direction here"),
        ClaimOutcome::SameDirection => message!("the same direction here, by another amount"),
        ClaimOutcome::Opposite => message!("the other way round here"),
        ClaimOutcome::Undecided if check.value.is_none() => message!("not compared here"),
        ClaimOutcome::Undecided => message!("not decided here"),
        ClaimOutcome::NotJudged => message!("not judged, since the machine is another; here"),
    });
    let is_judged = check.answer != ClaimOutcome::NotJudged;
    let word = match because.as_ref().filter(|_| is_judged) {
        Some(sizes) => say!(language, "{answer}, with {sizes}", answer = word, sizes),
        None => word.to_owned(),
    };
    let value =
        check.value.map_or(String::new(), |value| format!(" {}", checked_value(check, value, language)));
    let value = if is_judged { value.replacen(' ', ": ", 1) } else { value };
    let against = check.against_target.as_ref().map_or(String::new(), |name| {
        language.word(" ").to_owned() + &say!(language, "over {other}", other = clean_text(name))
    });
    let against = if check.over.is_some() { String::new() } else { against };
    let over = check.over.as_ref().map_or(String::new(), |label| {
        language.word(" ").to_owned()
            + &say!(language, "over {other}", other = language.translate_title(&clean_text(label)))
    });
    let row =
        format!("{}, {}", language.translate_title(&clean_text(&check.label)), clean_text(&check.metric));
    let sizes: String = check
        .sizes
        .iter()
        .map(|(name, size)| format!("; {} {}", clean_text(name), clean_text(size)))
        .collect();
    let because = because.filter(|_| !is_judged).map_or(String::new(), |because| format!(": {because}"));
    format!("{word}{value} ({}{against}; {row}{over}{sizes}){because}", clean_text(&check.target))
}

fn checked_value(check: &CheckBeside, value: f64, language: Language) -> String {
    let interval = check.low.zip(check.high);
    match check.of {
        Quantity::Value | Quantity::Range => match interval {
            Some((low, high)) => Figure::with_interval(value, low, high, check.unit).text_with_half(),
            None => Figure::without_interval(value, check.unit).to_text(),
        },
        Quantity::Difference => Figure::without_interval(value, check.unit).to_text(),
        Quantity::BetweenRuns => {
            say!(language, "a round differs from the one before by {share} %", share = three(value))
        }
        Quantity::More | Quantity::Less => match interval {
            Some((low, high)) => format!("{} % [{}, {}]", three(value), three(low), three(high)),
            None => format!("{} %", three(value)),
        },
        Quantity::Ratio => match interval {
            Some((low, high)) => format!("{} {}", format_ratio(value), ratio_interval([low, high], value)),
            None => say!(language, "{ratio}, no interval yet", ratio = format_ratio(value)),
        },
    }
}

/// Formats a number with three significant digits.
fn three(value: f64) -> String {
    format_fixed(value, count_decimals(value))
}

fn without_row(figure: &WithoutRow, language: Language) -> [String; 3] {
    let unit = figure.unit.as_deref().unwrap_or("");
    let printed = match figure.ratio {
        Some(stated) => format_ratio(stated),
        None => format!("{} {unit}", printed(&figure.printed)),
    };
    [clean_text(language.describe(&figure.name)), clean_text(&printed), why_without(figure, language)]
}

/// Explains why no row of the session corresponds to a value.
pub(crate) fn why_without(figure: &WithoutRow, language: Language) -> String {
    match (&figure.because, &figure.probe) {
        (Some(because), _) => clean_text(language.describe(because)),
        (None, Some(probe)) => {
            say!(language, "no row of this session; {probe} measures it", probe = clean_text(probe))
        }
        (None, None) => language.word("tare has no such metric").into(),
    }
}

/// Formats `linux 1347.26, 1347.01; wsl2 1257.37, 1268.70`.
fn printed(values: &BTreeMap<String, Vec<String>>) -> String {
    let of = |(environment, values): (&String, &Vec<String>)| format!("{environment} {}", values.join(", "));
    values.iter().map(of).collect::<Vec<_>>().join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::specimen;
    use tare_analysis::published::Published;
    use tare_specimen::change_sides;

    const ARTICLE: &str = include_str!("../../../../published/qiita-wsl-guest-native.toml");

    fn beside_article() -> Findings {
        let mut session = specimen::make_session(3);
        let mut findings = specimen::make_findings(3);
        // The third environment has a preset's name, and the article's value for processes is compared with fork + wait.
        findings.subjects[1] = "wsl1-like".into();
        change_sides(&mut session.plan.targets, |at, side| {
            if at == 3 {
                side.name.clone_from(&findings.subjects[1]);
            }
        });
        let text = ARTICLE.replace("proc.fork_hold", "proc.spawn").replace("{ ballast = \"none\" }", "{}");
        let text = text.replace("sizes = { n = \"1000\" }", "sizes = {}");
        let article: Published = toml::from_str(&text).unwrap();
        tare_analysis::published::place_beside(&mut findings, &session, &[article]);
        findings
    }

    #[test]
    fn an_article_stands_beside_its_row_and_says_whether_the_interval_holds_it() {
        let findings = beside_article();
        insta::assert_snapshot!(beside_lines(&findings, 90, Language::English).join("\n"));
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
}
