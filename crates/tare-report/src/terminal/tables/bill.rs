//! The bill of a command: a table for each environment that breaks its difference down.

use anstyle::Style;
use tare_analysis::bill::{Bill, Charge, Charged, Explained, Line, ROUNDS_OF_A_PRICE, compute_charges};
use tare_analysis::findings::{Cell, Comparison, Findings, Kind, Missing, Row, Why};
use tare_data::session::Session;
use tare_data::session::demand::{Counted, Work};
use tare_data::unit::Unit;

use super::cells::quiet_style;
use super::shown::Shown;
use crate::language::{Language, message, say};
use crate::number::{Figure, format_ratio};
use crate::terminal::grid::{GridCell, Part, least_width, make_span, natural_width, render_row, total_width};
use crate::text::{GLUE, clean_text, wrap_paragraph, wrap_text};
use crate::{view, words};

/// Legend of the table of prices.
const PRICES_LEGEND: &str = message!(
    "A price is the median over runs (the least … the most of single launches). A further folder, a further KiB and a \
     pause are differences of two measured times, and are 0 where noise hides them. Computing is compared with the \
     baseline's."
);
/// Parts of a difference that the first sentence names, and the least share of one.
const NAMED_PARTS: usize = 3;
const LEAST_NAMED: f64 = 0.05;
/// Columns with the price of a unit, which a narrow terminal leaves out.
const UNIT_COLUMNS: std::ops::Range<usize> = 1..4;

/// Renders the bills as text; `prices` is the session with the prices, if it is another one.
pub fn render_bills_terminal(
    session: &Session,
    findings: &Findings,
    explained: &[Explained],
    prices: Option<&Session>,
    (width, coloured): (usize, bool),
    language: Language,
) -> String {
    let bills = explained.iter().flat_map(|of| of.bills.iter().map(move |bill| (of, bill)));
    let sums = bills.map(|(command, bill)| sum_up_bill(findings, command, bill, language));
    let heading = view::make_heading(session, findings, language);
    let heading = heading.iter().flat_map(|line| wrap_text(line, width));
    let mut out: Vec<String> = sums.flat_map(|sum| wrap_paragraph("", &sum, width)).collect();
    out.extend(heading);
    if let Some(prices) = prices {
        out.push(String::new());
        let of = [view::measured_on(prices), clean_text(&prices.header.started)].join("; ");
        out.extend(wrap_paragraph("", &say!(language, "Prices of another session, on {of}.", of), width));
        if view::measured_on(prices) != view::measured_on(session) {
            let text = message!("that was another machine or another kernel: its prices may not hold here.");
            out.extend(wrap_paragraph("! ", language.word(text), width));
        }
    }
    for command in explained {
        out.extend(of_command(findings, command, (width, coloured), language));
    }
    out.extend(doubts(findings, width, language));
    out.join("\n") + "\n"
}

/// Renders the bills of one command.
fn of_command(
    findings: &Findings,
    command: &Explained,
    (width, coloured): (usize, bool),
    language: Language,
) -> Vec<String> {
    let mut out = vec![String::new()];
    let label = clean_text(&command.label);
    let demand = match &command.counted {
        Counted::Demand(demand) => demand,
        Counted::Failed(failure) => {
            let why = say!(
                language,
                "{label}: its requests could not be counted: {failure}",
                label,
                failure = clean_text(&failure.to_string())
            );
            out.extend(wrap_paragraph("! ", &why, width));
            return out;
        }
    };
    for bill in &command.bills {
        out.extend(wrap_paragraph("", &format_headline(findings, command, bill, language), width));
        out.push(String::new());
        if bill.rounds < ROUNDS_OF_A_PRICE {
            let few = say!(
                language,
                "No bill yet: it needs {least} runs of its prices, and has {rounds}; a longer --budget has more.",
                least = ROUNDS_OF_A_PRICE,
                rounds = bill.rounds
            );
            out.extend(wrap_paragraph("! ", &few, width));
            out.push(String::new());
        } else if is_broken_down(findings, command, bill) {
            out.extend(table(findings, bill, command.baseline_ns, (width, coloured), language));
            out.push(String::new());
        }
        // Prices of few runs may add up to less than nothing.
        if bill.forecast.ratio.is_none_or(|ratio| ratio > 0.0) {
            out.extend(wrap_paragraph("", &describe_forecast(bill, language), width));
            out.push(String::new());
        }
    }
    let counted = say!(
        language,
        "Counted once, in {baseline}: {calls} system calls. The counted run took {times} times as long, and is not \
         among the timed ones.",
        baseline = clean_text(&findings.baseline),
        calls = whole(demand.calls),
        times = Figure::without_interval(demand.slowdown, Unit::Count).to_text(),
    );
    let watched = (demand.watched_slowdown > 0.0).then(|| {
        say!(
            language,
            "Its computing between calls was measured with tracepoints, in a run that took {times} times as long.",
            times = Figure::without_interval(demand.watched_slowdown, Unit::Count).to_text(),
        )
    });
    let mut lines = command.bills.iter().flat_map(|bill| &bill.lines);
    let row = message!(
        "Calls in a row come within 2 µs of the one before; what each pays in a loop of nothing else is in the other lines."
    );
    let row = lines.any(|line| line.work == Work::CallsInARow).then(|| language.word(row).to_owned());
    let others = watched.into_iter().chain(overlap(command.overlap, language)).chain(row);
    let sentences: Vec<String> = std::iter::once(counted).chain(others).collect();
    out.extend(wrap_paragraph("", &language.join_sentences(&sentences), width));
    out
}

/// Renders a table of each environment's price for a unit of each kind of work.
pub fn render_prices_terminal(
    session: &Session,
    findings: &Findings,
    (width, coloured): (usize, bool),
    language: Language,
) -> String {
    let charged = compute_charges(session);
    let heading = view::make_heading(session, findings, language);
    let mut out: Vec<String> = heading.iter().flat_map(|line| wrap_text(line, width)).collect();
    out.push(String::new());
    let heads = std::iter::once("").chain(charged.iter().map(|charged| charged.target.as_str()));
    let mut lines: Vec<Vec<GridCell>> =
        vec![heads.map(|head| cell(&clean_text(head), quiet_style())).collect()];
    for work in Work::ALL.iter().filter(|work| charged.iter().any(|of| of.prices.contains_key(work))) {
        let price = |charged: &Charged| match charged.prices.get(work) {
            Some(charge) => vec![Part::Spans(vec![
                make_span(charge_text(*work, charge.typical), Style::new()),
                make_span(range(*work, charge), quiet_style()),
            ])],
            None => cell(language.word("not measured"), quiet_style()),
        };
        let name = std::iter::once(cell(words::describe_work(*work, language), Style::new()));
        lines.push(name.chain(charged.iter().map(price)).collect());
    }
    let mut widths: Vec<usize> = (0..=charged.len()).map(|at| widest(&lines, at, natural_width)).collect();
    if total_width(&widths) > width {
        // A price and its range go on two lines.
        widths = (0..=charged.len()).map(|at| widest(&lines, at, least_width)).collect();
    }
    out.extend(laid_out(&lines, &widths, coloured));
    out.push(String::new());
    out.extend(wrap_paragraph("", language.word(PRICES_LEGEND), width));
    out.extend(doubts(findings, width, language));
    out.join("\n") + "\n"
}

/// Lists the warnings of the session, after the banner of a session whose control is off.
fn doubts(findings: &Findings, width: usize, language: Language) -> Vec<String> {
    let all = view::list_warnings(findings, true, language)
        .into_iter()
        .chain(view::make_baseline_banner(findings, language));
    all.flat_map(|doubt| wrap_paragraph("! ", &doubt, width)).collect()
}

fn widest(lines: &[Vec<GridCell>], at: usize, of: fn(&GridCell) -> usize) -> usize {
    lines.iter().filter_map(|line| line.get(at)).map(of).max().unwrap_or(0)
}

fn laid_out(lines: &[Vec<GridCell>], widths: &[usize], coloured: bool) -> Vec<String> {
    let text = lines.iter().flat_map(|line| render_row(line, widths, coloured));
    text.map(|line| line.trim_end().to_owned()).collect()
}

/// Formats the price of a unit of work, or the slowdown of computing.
fn charge_text(work: Work, value: f64) -> String {
    match work {
        Work::Computing => format_ratio(value),
        _ => amount_of(value),
    }
}

/// Formats the range over single starts; empty if both ends print alike.
fn range(work: Work, charge: &Charge) -> String {
    let [least, most] = [charge.least, charge.most].map(|value| charge_text(work, value));
    if least == most { String::new() } else { format!("({least} … {most})") }
}

/// Answers in a sentence why a command takes longer: the difference, and its largest parts by their shares. Where there is none to
/// break down, that is the answer.
fn sum_up_bill(findings: &Findings, command: &Explained, bill: &Bill, language: Language) -> String {
    let shown = Shown::from_bill(bill);
    let is_cost = is_broken_down(findings, command, bill) && shown.difference_ns > 0.0;
    let now = bill.ns.filter(|_| is_cost);
    let (Some(before), Some(now)) = (command.baseline_ns, now) else {
        return format_headline(findings, command, bill, language);
    };
    let share_of = |line: &&Line| shown.share_of_difference(line.more_ns);
    let named = shown.lines.iter().filter(|line| share_of(line) >= LEAST_NAMED).take(NAMED_PARTS);
    let part =
        |line: &&Line| format!("{} {}", words::describe_work(line.work, language), share(share_of(line)));
    let parts: Vec<String> = named.map(part).collect();
    let rest = shown.rest_ns.map(|rest_ns| share(shown.share_of_difference(rest_ns)));
    let parts = match (parts.is_empty(), rest) {
        (true, _) => language.word("no part of it is explained").to_owned(),
        (false, Some(rest)) if !rest.starts_with('-') && rest != "0 %" => {
            let parts = language.join_with_commas(&parts);
            say!(language, "{parts}; not explained {rest}", parts, rest)
        }
        (false, _) => language.join_with_commas(&parts),
    };
    say!(
        language,
        "{target} adds {more} to {label} ({before} to {now}): {parts}.",
        target = clean_text(&bill.target),
        more = amount_of(shown.difference_ns),
        label = clean_text(&command.label),
        before = amount_of(before),
        now = amount_of(now),
        parts
    )
}

/// Answers how long commands take in each environment before anything is priced; what is not decided by then is so far.
pub fn describe_times(findings: &Findings, language: Language) -> Vec<String> {
    let rows = findings.rows.iter().filter(|row| row.headline);
    let pairs = rows.flat_map(|row| row.cells.iter().zip(&findings.subjects).map(move |of| (row, of)));
    let sentence = |(row, (cell, target)): (&Row, (&Cell, &String))| {
        let (label, target) = (words::translate_row_title(row, language), clean_text(target));
        let found = match cell {
            Cell::Missing(Missing::Failed(failure)) => {
                let reason = language.translate_text(&clean_text(&failure.reason));
                return Some(format!("{label}, {target}: {reason}"));
            }
            cell => cell.comparison()?,
        };
        let interval = words::format_interval(found, language);
        let answer = match (found.answer().is_decided(), has_interval(found)) {
            (true, _) => {
                format!("{} {interval}", words::format_answer(found, language)).trim_end().to_owned()
            }
            (false, true) => {
                say!(language, "so far {interval} as long", interval = interval.trim_matches(['(', ')']))
            }
            (false, false) => {
                let ratio = words::format_factor(found, language);
                say!(language, "so far about {ratio} as long, too few runs for a range", ratio)
            }
        };
        Some(say!(
            language,
            "{label} in {target}: {answer}, by {runs}. The bill follows.",
            label,
            target,
            answer,
            runs = language.counted(found.rounds as usize, "run", "runs")
        ))
    };
    pairs.filter_map(sentence).collect()
}

/// Formats the difference to be explained, with its verdict.
pub(crate) fn format_headline(
    findings: &Findings,
    command: &Explained,
    bill: &Bill,
    language: Language,
) -> String {
    let (label, target) = (clean_text(&command.label), clean_text(&bill.target));
    let (Some(before), Some(now)) = (command.baseline_ns, bill.ns) else {
        return say!(
            language,
            "{label} was not timed in {target}: this comes from the prices alone.",
            label,
            target
        );
    };
    let times = say!(
        language,
        "{label}: {before} in {baseline}, {now} in {target}",
        label,
        before = amount_of(before),
        baseline = clean_text(&findings.baseline),
        now = amount_of(now),
        target,
    );
    let Some(comparison) = comparison(findings, &command.case, &bill.target) else { return times };
    let verdict = say!(
        language,
        "{times}: {verdict} {interval}",
        times,
        verdict = words::format_answer(comparison, language),
        interval = words::format_interval(comparison, language),
    );
    let verdict = verdict.trim_end().to_owned();
    if is_same(comparison) {
        return say!(language, "{verdict}. Nothing is left to explain.", verdict);
    }
    if comparison.answer().why() != Some(Why::Rounds) {
        return verdict;
    }
    match has_interval(comparison) {
        false => say!(
            language,
            "{verdict}. Whether it differs at all is undecided, and so is the breakdown below",
            verdict
        ),
        true => {
            say!(language, "{verdict}. Whether there is a difference to explain is not decided.", verdict)
        }
    }
}

/// Tells whether there is a difference to explain: the command was not timed on both sides, or it differs.
/// With too few rounds for an interval nobody knows, and the headline says so.
fn difference_is_found(findings: &Findings, command: &Explained, bill: &Bill) -> bool {
    let compared = comparison(findings, &command.case, &bill.target);
    compared.is_none_or(|comparison| match comparison.answer().why() == Some(Why::Rounds) {
        true => !has_interval(comparison),
        false => !is_same(comparison),
    })
}

/// Tells whether there is a difference to explain, and prices of enough rounds to do it.
pub(crate) fn is_broken_down(findings: &Findings, command: &Explained, bill: &Bill) -> bool {
    bill.rounds >= ROUNDS_OF_A_PRICE && difference_is_found(findings, command, bill)
}

/// Checks if typical and mean costs are known to be the same.
fn is_same(comparison: &Comparison) -> bool {
    let answer = comparison.answer();
    answer.kind() == Kind::Same && answer.why().is_none() && !answer.is_overturned()
}

fn has_interval(comparison: &Comparison) -> bool {
    comparison.interval.is_bounded()
}

fn comparison<'a>(findings: &'a Findings, case: &str, target: &str) -> Option<&'a Comparison> {
    let row = findings.rows.iter().find(|row| row.case == case && row.metric.name == "time")?;
    let at = findings.subjects.iter().position(|subject| subject == target)?;
    row.cells.get(at)?.comparison()
}

fn table(
    findings: &Findings,
    bill: &Bill,
    baseline_ns: Option<f64>,
    (width, coloured): (usize, bool),
    language: Language,
) -> Vec<String> {
    let shown = Shown::from_bill(bill);
    let more = match shown.difference_ns < 0.0 {
        true => language.word("less"),
        false => language.word("more"),
    };
    let of_all = amount_of(shown.difference_ns.abs());
    let what = match (bill.rest_ns.and(baseline_ns), shown.difference_ns < 0.0) {
        (Some(_), false) => say!(language, "where the extra {amount} go", amount = of_all),
        (Some(_), true) => say!(language, "where the {amount} are saved", amount = of_all),
        (None, _) => language.word("by the prices alone").to_owned(),
    };
    let heads = [
        what,
        language.word("times").to_owned(),
        clean_text(&findings.baseline),
        clean_text(&bill.target),
        more.to_owned(),
        language.word("share").to_owned(),
    ];
    let mut lines = vec![heads.map(|head| vec![Part::Words(make_span(head, quiet_style()))]).to_vec()];
    lines.extend(shown.lines.iter().map(|line| of_line(&shown, line, language)));
    let mut sums = Vec::new();
    if let Some((count, sum)) = shown.small {
        sums.push((say!(language, "everything else, {count} kinds", count), sum));
    }
    if let Some(rest) = shown.rest_ns {
        sums.push((language.word("not explained").to_owned(), rest));
    }
    for (what, ns) in sums {
        let bold = |text: &str| cell(text, Style::new().bold());
        let name = vec![Part::Words(make_span(what, Style::new().bold()))];
        let figures = [
            String::new(),
            String::new(),
            String::new(),
            amount_of(shown.flip_if_saving(ns)),
            share(shown.share_of_difference(ns)),
        ];
        lines.push(std::iter::once(name).chain(figures.iter().map(|text| bold(text))).collect());
    }
    fitted(lines, width, coloured)
}

/// Fits the lines of a bill to the terminal: names fold, then shares lose their range, then units their
/// prices.
fn fitted(mut lines: Vec<Vec<GridCell>>, width: usize, coloured: bool) -> Vec<String> {
    let natural = |lines: &[Vec<GridCell>]| -> Vec<usize> {
        (0..lines[0].len()).map(|at| widest(lines, at, natural_width)).collect()
    };
    let folded = |lines: &[Vec<GridCell>]| -> Vec<usize> {
        (0..lines[0].len()).map(|at| widest(lines, at, least_width)).collect()
    };
    let mut widths = natural(&lines);
    if total_width(&folded(&lines)) > width {
        lines.iter_mut().for_each(|line| drop(line.drain(UNIT_COLUMNS)));
        widths = natural(&lines);
    }
    let least = folded(&lines);
    // The names fold first, then the range after a share.
    for at in [0, lines[0].len() - 1] {
        let over = total_width(&widths).saturating_sub(width);
        widths[at] = widths[at].saturating_sub(over).max(least[at]);
    }
    if total_width(&widths) > width {
        widths = least;
    }
    laid_out(&lines, &widths, coloured)
}

fn of_line(shown: &Shown, line: &Line, language: Language) -> Vec<GridCell> {
    let [times, before, here] = figures(line);
    let name = vec![Part::Words(make_span(words::describe_work(line.work, language), Style::new()))];
    let figures = [times, before, here, amount_of(shown.flip_if_saving(line.more_ns))];
    let mut of_all = vec![make_span(share(shown.share_of_difference(line.more_ns)), Style::new())];
    if let Some(range) = line.range_ns {
        let mut shares = range.map(|ns| shown.share_of_difference(ns));
        shares.sort_unstable_by(f64::total_cmp);
        let [least, most] = shares.map(whole_percent);
        if least != most {
            of_all.push(make_span(format!("({least} … {most})"), quiet_style()));
        }
    }
    let figures = figures.iter().map(|text| cell(text, Style::new()));
    std::iter::once(name).chain(figures).chain([vec![Part::Spans(of_all)]]).collect()
}

fn cell(text: &str, style: Style) -> GridCell {
    vec![Part::Words(make_span(text.replace(' ', &GLUE.to_string()), style))]
}

/// Formats the number of requests, and the price of one on both sides.
fn figures(line: &Line) -> [String; 3] {
    match line.work {
        Work::Computing => [amount_of(line.amount), format_ratio(1.0), format_ratio(line.here_ns)],
        _ => [whole(line.amount), amount_of(line.baseline_ns), amount_of(line.here_ns)],
    }
}

fn share(share: f64) -> String {
    format!("{} %", whole_percent(share))
}

/// Formats a share in whole percent. A little less than nothing is nothing, without a sign.
fn whole_percent(share: f64) -> String {
    format!("{:.0}", (100.0 * share).round() + 0.0)
}

fn amount_of(ns: f64) -> String {
    let sign = if ns < 0.0 { "-" } else { "" };
    format!("{sign}{}", Figure::without_interval(ns.abs(), Unit::Nanoseconds).to_text())
}

/// Formats a number with commas between thousands.
fn whole(number: f64) -> String {
    let digits = format!("{number:.0}");
    let mut text = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Describes the forecast from the prices alone, and the work without a price.
pub(crate) fn describe_forecast(bill: &Bill, language: Language) -> String {
    let number = |ratio: f64| Figure::without_interval(ratio, Unit::Count).to_text();
    let mut sentences = Vec::new();
    if let (Some(typical), Some([least, most])) = (bill.forecast.ratio, bill.forecast.range) {
        sentences.push(say!(
            language,
            "Forecast by these prices, without running it there: {typical}x as long, most likely {least} to {most}x.",
            typical = number(typical),
            least = number(least),
            most = number(most),
        ));
        if bill.forecast.starts == 1 {
            sentences.push(say!(language, "The prices are of a single launch."));
        }
    }
    if !bill.unpriced.is_empty() {
        let kinds: Vec<String> =
            bill.unpriced.iter().map(|work| words::describe_work(*work, language).to_owned()).collect();
        sentences.push(say!(
            language,
            "Without a price of {least} runs in both environments, and so not explained: {kinds}.",
            least = ROUNDS_OF_A_PRICE,
            kinds = language.join_with_commas(&kinds),
        ));
    }
    language.join_sentences(&sentences)
}

fn overlap(overlap: f64, language: Language) -> Option<String> {
    (overlap <= 0.95).then(|| {
        say!(
            language,
            "In an ordinary run the command keeps {processors} processors busy, so each line counts {share} %, \
             or in full where one process serves all calls (proot, traced, uml).",
            processors = format!("{:.1}", 1.0 / overlap),
            share = format!("{:.0}", 100.0 * overlap),
        )
    })
}

#[cfg(test)]
mod tests;
