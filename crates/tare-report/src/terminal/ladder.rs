//! A ladder: for each probe a table in which every line adds a mechanism, judged against the line before.

use anstyle::Style;
use tare_analysis::findings::{Cell, Comparison, Findings, Kind, Row, Why};
use tare_analysis::orders::OrderEffect;
use tare_data::session::Session;
use tare_data::unit::Unit;

use super::grid::{GridCell, Part, least_width, make_span, natural_width, render_row, total_width};
use super::tables::cells::{CellMaker, quiet_style};
use crate::language::{Language, message, say};
use crate::notes::{CellWarnings, Notes};
use crate::number::Figure;
use crate::text::{GLUE, clean_text, wrap_paragraph, wrap_text};
use crate::{view, words};

/// Legend of the columns.
const LEGEND: &str = message!(
    "Each line adds one mechanism to the line before, and is compared with that line. adds = the cost of the mechanism \
     per operation; ( ) = 95 % interval. Answers are corrected for all lines together"
);

/// Renders the tables as text. `findings` compare each environment with the one before it, `steps`
/// describe what each adds, and `orders` what each adds otherwise in the reverse order.
pub fn render_ladder(
    session: &Session,
    findings: &Findings,
    (steps, orders): (&[String], &[OrderEffect]),
    (width, coloured): (usize, bool),
    language: Language,
) -> String {
    let findings = &name_by_steps(findings, steps, language);
    let mut notes = Notes::default();
    let rows = view::select_rows(findings, false);
    let warnings = CellWarnings::of_rows(&rows, false, language);
    let mut maker = CellMaker { findings, notes: &mut notes, warnings: &warnings, wide: false, language };
    let tables: Vec<(String, Vec<Vec<GridCell>>)> = rows
        .iter()
        .map(|row| (words::translate_row_title(row, language), lines(findings, row, steps, &mut maker)))
        .collect();
    let widest = |at: usize, of: fn(&GridCell) -> usize| {
        let cells = tables.iter().flat_map(|(_, lines)| lines).filter_map(|line| line.get(at));
        cells.map(of).max().unwrap_or(0)
    };
    let mut widths: Vec<usize> = (0..4).map(|at| widest(at, natural_width)).collect();
    // If a line has no room for both, intervals go below their values; then steps fold.
    for at in [3, 2, 0] {
        let over = total_width(&widths).saturating_sub(width);
        widths[at] = widths[at].saturating_sub(over).max(widest(at, least_width));
    }
    let mut out = wrap_paragraph("", &sum_up(&rows, steps, language), width);
    let heading = view::make_heading(session, findings, language);
    out.extend(heading.iter().flat_map(|line| wrap_text(line, width)));
    for (row, (label, lines)) in rows.iter().zip(&tables) {
        out.extend([String::new(), label.clone()]);
        out.extend(
            lines
                .iter()
                .flat_map(|line| render_row(line, &widths, coloured))
                .map(|l| l.trim_end().to_owned()),
        );
        let of_row =
            orders.iter().filter(|effect| effect.case == row.case && effect.metric == row.metric.name);
        out.extend(
            of_row
                .filter(|effect| effect.differs)
                .flat_map(|effect| wrap_paragraph("  ", &describe_order(effect, steps, language), width)),
        );
    }
    out.push(String::new());
    let of_orders = summarize_orders(orders, language).into_iter();
    out.extend(of_orders.flat_map(|text| wrap_paragraph("", &text, width)));
    // The last part of a table's legend is about columns that are not here.
    let mut meanings = view::explain_table_signs(session, &rows, language);
    meanings.pop();
    meanings.insert(0, language.word(LEGEND).to_owned());
    out.extend(wrap_paragraph(
        "",
        &say!(language, "{legend}.", legend = meanings.join(language.word("; "))),
        width,
    ));
    for (mark, note) in notes.list_notes().0 {
        out.extend(wrap_paragraph(&format!("{mark} "), note, width));
    }
    for warning in view::list_warnings(findings, false, language) {
        out.extend(wrap_paragraph("! ", &warning, width));
    }
    out.extend(
        view::make_baseline_banner(findings, language)
            .into_iter()
            .flat_map(|banner| wrap_paragraph("! ", &banner, width)),
    );
    out.join("\n") + "\n"
}

/// Calls each environment by what it adds, as the lines do: their own names list the options of all steps. Those of the
/// reverse order have no line.
fn name_by_steps(findings: &Findings, steps: &[String], language: Language) -> Findings {
    let mut named = findings.clone();
    for (name, step) in named.subjects.iter_mut().zip(steps) {
        let by_step = format!("+ {}", language.translate_title(&clean_text(step)));
        for (target, _) in named.warnings.iter_mut().filter(|(target, _)| target.as_ref() == Some(name)) {
            *target = Some(by_step.clone());
        }
        *name = by_step;
    }
    named.subjects.truncate(steps.len());
    named.rows.iter_mut().for_each(|row| row.cells.truncate(steps.len()));
    named
}

/// Describes by how much a mechanism adds more, or less, in the order of the steps.
fn describe_order(effect: &OrderEffect, steps: &[String], language: Language) -> String {
    let step = steps.get(effect.step).map(|step| language.translate_title(&clean_text(step)));
    let OrderEffect { ratio, interval, .. } = effect;
    let [low, high] = interval.ends(|end| format!("{end:.2}"));
    say!(
        language,
        "The order matters: {step} adds {ratio}x ({low} to {high}) of what it adds in reverse order.",
        step = step.unwrap_or_default(),
        ratio = format!("{ratio:.2}"),
        low,
        high,
    )
}

/// Sums up the effects of the order that are not shown one by one; none where no mechanism was added in two orders.
fn summarize_orders(orders: &[OrderEffect], language: Language) -> Option<String> {
    let others = || orders.iter().filter(|effect| !effect.differs);
    if others().any(|effect| !effect.interval.is_bounded()) {
        return Some(say!(
            language,
            "Some mechanisms have too few runs to say if they add the same in reverse order."
        ));
    }
    let widest =
        others().flat_map(|effect| effect.interval.ends(|end| end.max(1.0 / end))).reduce(f64::max)?;
    Some(say!(
        language,
        "Added in reverse order, the other mechanisms show no difference; one of up to {share} % may be there.",
        share = format!("{:.1}", (widest - 1.0) * 100.0),
    ))
}

fn lines(findings: &Findings, row: &Row, steps: &[String], maker: &mut CellMaker) -> Vec<Vec<GridCell>> {
    let unit = row.metric.unit;
    let words_of = |text: &str, style| vec![Part::Words(make_span(text, style))];
    let language = maker.language;
    let head = ["", language.word("time"), language.word("against the line before"), language.word("adds")];
    let mut lines = vec![head.iter().map(|text| words_of(text, quiet_style())).collect::<Vec<_>>()];
    let value = |value: Option<f64>| value.map(|value| Figure::without_interval(value, unit).to_text());
    let cell =
        |text: Option<String>| vec![Part::Spans(vec![make_span(text.unwrap_or_default(), Style::new())])];
    lines.push(vec![
        words_of(&format!("{GLUE}{GLUE}{}", clean_text(&findings.baseline)), Style::new()),
        cell(value(row.baseline.as_ref().map(|level| level.median))),
    ]);
    for (at, ((step, judged), [below, own])) in steps.iter().zip(&row.cells).zip(list_values(row)).enumerate()
    {
        let mut line = vec![
            words_of(&format!("+{GLUE}{}", language.translate_title(&clean_text(step))), Style::new()),
            cell(value(own)),
        ];
        match judged.comparison() {
            Some(comparison) => {
                line.push(vec![maker.make_answer(at, comparison)]);
                let adds =
                    below.and_then(|below| adds(below, comparison, unit, language)).unwrap_or_default();
                line.push(vec![Part::Spans(adds.map(|part| make_span(part, Style::new())).to_vec())]);
            }
            None => line.push(maker.make_cell(row, at).into_iter().take(1).collect()),
        }
        lines.push(line);
    }
    lines
}

/// Lists the value below each step, and its own: that of the step before times its factor, as what it adds is.
fn list_values(row: &Row) -> Vec<[Option<f64>; 2]> {
    let mut below = row.baseline.as_ref().map(|level| level.median);
    let of_step = |judged: &Cell| {
        let own = match (judged.comparison(), below) {
            (Some(comparison), Some(below)) => Some(row.metric.direction.scale(below, comparison.ratio)),
            _ => judged.level().map(|level| level.median),
        };
        let before = below;
        below = own.or(below);
        [before, own]
    };
    row.cells.iter().map(of_step).collect()
}

/// Answers which mechanism costs: those that are slower than the line before, each by its largest cost, and then the others.
fn sum_up(rows: &[&Row], steps: &[String], language: Language) -> String {
    let judged: Vec<&Row> = rows.iter().copied().filter(|row| Row::is_judged(&row.probe)).collect();
    let mut sentences = Vec::new();
    let mut others: Vec<&Comparison> = Vec::new();
    for (at, step) in steps.iter().enumerate() {
        let cells = judged.iter().filter_map(|row| Some((*row, row.cells.get(at)?.comparison()?)));
        let (slower, rest): (Vec<_>, Vec<_>) =
            cells.partition(|(_, found)| found.answer().kind().is_slower());
        others.extend(rest.iter().map(|(_, found)| *found));
        let all = slower.len() + rest.len();
        let Some((row, found)) = slower.iter().max_by(|a, b| a.1.ratio.total_cmp(&b.1.ratio)) else {
            continue;
        };
        let amount = list_values(row)[at][0].and_then(|below| adds(below, found, row.metric.unit, language));
        let amount =
            amount.map_or_else(String::new, |[amount, _]| format!("{amount}{}", language.word(", ")));
        let cost = format!("{amount}{}", words::format_answer(found, language));
        let (step, label) =
            (language.translate_title(&clean_text(step)), words::translate_row_title(row, language));
        sentences.push(match slower.len() {
            1 => say!(language, "{step} costs in {label}: {cost}.", step, label, cost),
            count => say!(
                language,
                "{step} costs in {count} of {all}, most in {label}: {cost}.",
                step,
                count,
                all,
                label,
                cost
            ),
        });
    }
    let all = judged.len() * steps.len();
    // With both orders, the rungs of the reverse one come after these.
    let cells = judged.iter().flat_map(|row| row.cells.iter().take(steps.len()));
    let missing = cells.filter(|cell| cell.comparison().is_none()).count();
    sentences.extend(sum_up_others(&others, others.len() + missing == all, language));
    sentences.extend(
        (missing > 0).then(|| say!(language, "Not compared: {count} of {all}.", count = missing, all)),
    );
    language.join_sentences(&sentences)
}

/// Sums up the cells that are not slower: those that nothing is sure of, and a bound for all others.
fn sum_up_others(others: &[&Comparison], are_all: bool, language: Language) -> Vec<String> {
    let (open, known): (Vec<&Comparison>, Vec<&Comparison>) =
        others.iter().partition(|found| found.answer().kind() == Kind::NotSure);
    let of_open = (!open.is_empty()).then(|| match are_all {
        true => say!(language, "Not sure in {count} of {all}.", count = open.len(), all = others.len()),
        false => {
            say!(language, "Not sure in {count} of {all} others.", count = open.len(), all = others.len())
        }
    });
    let of_known = words::find_loosest(known.iter().copied()).map(|loosest| {
        let share = loosest.share_above();
        let is_of_short = known.iter().any(|found| found.answer().is_of_short());
        let is_typical =
            known.iter().any(|found| matches!(found.answer().why(), Some(Why::Mean | Why::Typical)));
        let bound = match (is_of_short, is_typical) {
            (true, _) => say!(language, "typically at most {share}, short operations", share),
            (false, true) => say!(language, "typically at most {share}", share),
            (false, false) => say!(language, "at most {share}", share),
        };
        match are_all {
            true => say!(language, "Nothing adds anything that was seen ({bound}).", bound),
            false => say!(language, "Nothing else adds anything that was seen ({bound}).", bound),
        }
    });
    of_open.into_iter().chain(of_known).collect()
}

/// Computes the cost of a step per operation, from the value of the line before and the slowdown with its
/// interval.
fn adds(below: f64, comparison: &Comparison, unit: Unit, language: Language) -> Option<[String; 2]> {
    let text = |ratio: f64| {
        let more = below * (ratio - 1.0);
        let sign = if more < 0.0 { "-" } else { "+" };
        format!("{sign}{}", Figure::without_interval(more.abs(), unit).to_text())
    };
    let is_known = unit == Unit::Nanoseconds && comparison.interval.is_bounded();
    is_known.then(|| {
        let [low, high] = comparison.interval.ends(text);
        [text(comparison.ratio), say!(language, "({low} to {high})", low, high)]
    })
}

#[cfg(test)]
mod tests {
    use tare_analysis::findings::Missing;

    use super::*;
    use crate::specimen;

    #[test]
    fn rungs_of_the_reverse_order_are_not_counted() {
        let mut findings = specimen::make_findings(2);
        for row in &mut findings.rows {
            row.cells.iter_mut().for_each(|cell| *cell = Cell::Missing(Missing::NotReached));
        }
        let rows: Vec<&Row> = findings.rows.iter().filter(|row| row.headline).collect();
        assert_eq!(sum_up(&rows, &["seccomp".to_owned()], Language::English), "Not compared: 7 of 7.");
    }
}
