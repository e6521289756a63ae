//! The bill of a command: a table for each environment that says where its difference goes.

use anstyle::Style;
use tare_analysis::bill::{Bill, Charge, Charged, Explained, Line, charges};
use tare_analysis::findings::{Comparison, Findings, Verdict};
use tare_data::session::Session;
use tare_data::session::demand::{Counted, Work};
use tare_data::unit::Unit;

use super::cells::quiet;
use super::grid::{GridCell, Part, layout, least_width, natural_width, span, total};
use crate::language::Language;
use crate::number::Figure;
use crate::text::{GLUE, clean, paragraph};
use crate::{view, words};

/// What the table of prices shows.
const PRICES_LEGEND: &str = "A price is the median over rounds (the least … the most of single starts). A further folder, a \
further KiB and a pause are differences of two measured times, and are 0 where noise hides them. Computing is compared with \
the baseline's.";
/// Lines of less than this share of the difference are one.
const SMALL: f64 = 0.01;

/// The bills as text; `prices` is the session that they are made by, where that is another one.
pub fn render(
    session: &Session,
    findings: &Findings,
    explained: &[Explained],
    prices: Option<&Session>,
    (width, coloured): (usize, bool),
) -> String {
    let mut out = view::heading(session, findings, None, Language::English);
    if let Some(prices) = prices {
        out.push(String::new());
        let of = [view::measured_on(prices), clean(&prices.header.started)].join("; ");
        out.extend(paragraph("", &format!("Prices of another session, on {of}."), width));
        if view::measured_on(prices) != view::measured_on(session) {
            let text = "that was another machine or another kernel: its prices need not hold here.";
            out.extend(paragraph("! ", text, width));
        }
    }
    for command in explained {
        let label = clean(&command.label);
        let demand = match &command.counted {
            Counted::Demand(demand) => demand,
            Counted::Failed(failure) => {
                let why = format!("{label}: what it asks for could not be counted: {failure}");
                out.push(String::new());
                out.extend(paragraph("! ", &clean(&why), width));
                continue;
            }
        };
        for bill in &command.bills {
            out.push(String::new());
            out.extend(paragraph("", &headline(findings, command, bill), width));
            out.push(String::new());
            out.extend(table(findings, bill, command.baseline_ns, coloured));
            out.push(String::new());
            out.extend(paragraph("", &forecast(bill), width));
        }
        out.push(String::new());
        let counted = format!(
            "Counted once, in {}: {} system calls. The counted run took {} times as long, and is not one of those that were timed.{}",
            findings.baseline,
            whole(demand.calls),
            Figure::plain(demand.slowdown, Unit::Count).text(),
            overlap(command.overlap),
        );
        out.extend(paragraph("", &counted, width));
    }
    for warning in view::warnings(findings, Language::English) {
        out.extend(paragraph("! ", &warning, width));
    }
    out.extend(
        view::banner(findings, Language::English)
            .into_iter()
            .flat_map(|banner| paragraph("! ", &banner, width)),
    );
    out.join("\n") + "\n"
}

/// What each environment charges for a unit of each kind of work, as a table.
pub fn prices(session: &Session, findings: &Findings, (width, coloured): (usize, bool)) -> String {
    let charged = charges(session);
    let mut out = view::heading(session, findings, None, Language::English);
    out.push(String::new());
    let heads = std::iter::once("").chain(charged.iter().map(|charged| charged.target.as_str()));
    let mut lines: Vec<Vec<GridCell>> = vec![heads.map(|head| cell(&clean(head), quiet())).collect()];
    for work in Work::ALL.iter().filter(|work| charged.iter().any(|of| of.prices.contains_key(work))) {
        let price = |charged: &Charged| match charged.prices.get(work) {
            Some(charge) => vec![Part::Spans(vec![
                span(charge_text(*work, charge.typical), Style::new()),
                span(range(*work, charge), quiet()),
            ])],
            None => cell("not measured", quiet()),
        };
        let name = std::iter::once(cell(title(*work), Style::new()));
        lines.push(name.chain(charged.iter().map(price)).collect());
    }
    let widest =
        |at: usize, of: fn(&GridCell) -> usize| lines.iter().map(|line| of(&line[at])).max().unwrap_or(0);
    let mut widths: Vec<usize> = (0..=charged.len()).map(|at| widest(at, natural_width)).collect();
    if total(&widths) > width {
        // A price and its range stand below each other.
        widths = (0..=charged.len()).map(|at| widest(at, least_width)).collect();
    }
    out.extend(
        lines.iter().flat_map(|line| layout(line, &widths, coloured)).map(|l| l.trim_end().to_owned()),
    );
    out.push(String::new());
    out.extend(paragraph("", PRICES_LEGEND, width));
    for warning in view::warnings(findings, Language::English) {
        out.extend(paragraph("! ", &warning, width));
    }
    out.extend(
        view::banner(findings, Language::English)
            .into_iter()
            .flat_map(|banner| paragraph("! ", &banner, width)),
    );
    out.join("\n") + "\n"
}

/// What a unit of work costs, or how many times as long computing takes.
fn charge_text(work: Work, value: f64) -> String {
    match work {
        Work::Computing => format!("{value:.2}x"),
        _ => Figure::plain(value, Unit::Nanoseconds).text(),
    }
}

/// The least and the most of single starts; nothing where they print alike.
fn range(work: Work, charge: &Charge) -> String {
    let [least, most] = [charge.least, charge.most].map(|value| charge_text(work, value));
    if least == most { String::new() } else { format!("({least} … {most})") }
}

/// What is to be explained, as the verdict has it.
fn headline(findings: &Findings, command: &Explained, bill: &Bill) -> String {
    let (label, target) = (clean(&command.label), clean(&bill.target));
    let time = |ns: f64| Figure::plain(ns, Unit::Nanoseconds).text();
    let (Some(before), Some(now)) = (command.baseline_ns, bill.ns) else {
        return format!("{label} was not timed in {target}: the prices alone say this.");
    };
    let compared = comparison(findings, &command.case, &bill.target);
    let undecided = compared.is_some_and(|comparison| comparison.verdict == Verdict::Inconclusive);
    let verdict = compared
        .map(|comparison| {
            format!(
                ": {} {}",
                words::verdict(comparison, Language::English),
                words::interval(comparison, Language::English)
            )
        })
        .unwrap_or_default();
    let doubt =
        if undecided { ". Whether it differs at all is not decided, and so is what follows" } else { "" };
    format!("{label}: {} in {}, {} in {target}{verdict}{doubt}", time(before), findings.baseline, time(now))
}

fn comparison<'a>(findings: &'a Findings, case: &str, target: &str) -> Option<&'a Comparison> {
    let row = findings.rows.iter().find(|row| row.case == case && row.metric.name == "time")?;
    let at = findings.subjects.iter().position(|subject| subject == target)?;
    row.cells.get(at)?.compared()
}

fn table(findings: &Findings, bill: &Bill, baseline_ns: Option<f64>, coloured: bool) -> Vec<String> {
    let explained: f64 = bill.lines.iter().map(|line| line.more_ns).sum();
    let difference = explained + bill.rest_ns.unwrap_or(0.0);
    // Shares are of the whole, and where savings and costs cancel each other, of the larger side.
    let whole = difference.abs().max(bill.lines.iter().map(|line| line.more_ns.max(0.0)).sum::<f64>() * 0.5);
    let share = |ns: f64| format!("{:.0} %", 100.0 * ns / whole);
    let what = match bill.rest_ns.and(baseline_ns) {
        Some(_) => format!("where the {} {} go", amount_of(difference.abs()), side(difference)),
        None => "what the prices say".to_owned(),
    };
    let heads =
        [what.as_str(), "times", findings.baseline.as_str(), bill.target.as_str(), side(difference), "share"];
    let mut lines = vec![heads.map(|head| cell(&clean(head), quiet())).to_vec()];
    let is_small = |line: &&Line| line.more_ns.abs() < SMALL * whole;
    for line in bill.lines.iter().filter(|line| !is_small(line)) {
        let [times, before, here] = figures(line);
        let more = signed(line.more_ns, difference);
        let texts = [
            title(line.work).to_owned(),
            times,
            before,
            here,
            more,
            share(side_of(line.more_ns, difference)),
        ];
        lines.push(texts.map(|text| cell(&text, Style::new())).to_vec());
    }
    let small: Vec<&Line> = bill.lines.iter().filter(is_small).collect();
    let mut sums = Vec::new();
    if !small.is_empty() {
        let sum = small.iter().map(|line| line.more_ns).sum();
        sums.push((format!("everything else, {} kinds", small.len()), sum));
    }
    if let Some(rest) = bill.rest_ns {
        sums.push(("not explained".to_owned(), rest));
    }
    for (what, ns) in sums {
        let none = String::new;
        let texts = [what, none(), none(), none(), signed(ns, difference), share(side_of(ns, difference))];
        lines.push(texts.map(|text| cell(&text, Style::new().bold())).to_vec());
    }
    let widths: Vec<usize> =
        (0..6).map(|at| lines.iter().map(|line| natural_width(&line[at])).max().unwrap_or(0)).collect();
    lines.iter().flat_map(|line| layout(line, &widths, coloured)).map(|l| l.trim_end().to_owned()).collect()
}

fn cell(text: &str, style: Style) -> GridCell {
    vec![Part::Words(span(text.replace(' ', &GLUE.to_string()), style))]
}

/// How often, and what a unit costs on both sides.
fn figures(line: &Line) -> [String; 3] {
    let time = |ns: f64| Figure::plain(ns, Unit::Nanoseconds).text();
    match line.work {
        Work::Computing => [time(line.amount), "1x".to_owned(), format!("{:.2}x", line.here_ns)],
        _ => [whole(line.amount), time(line.baseline_ns), time(line.here_ns)],
    }
}

fn side(difference: f64) -> &'static str {
    if difference < 0.0 { "less" } else { "more" }
}

/// As seen from the difference: where an environment is quicker, savings are what is shown.
fn side_of(ns: f64, difference: f64) -> f64 {
    if difference < 0.0 { -ns } else { ns }
}

fn signed(ns: f64, difference: f64) -> String {
    let ns = side_of(ns, difference);
    let sign = if ns < 0.0 { "-" } else { "" };
    format!("{sign}{}", amount_of(ns.abs()))
}

fn amount_of(ns: f64) -> String {
    Figure::plain(ns, Unit::Nanoseconds).text()
}

/// A number with commas between thousands.
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

fn forecast(bill: &Bill) -> String {
    let ratio = |ratio: f64| Figure::plain(ratio, Unit::Count).text();
    let mut text = match (bill.forecast.ratio, bill.forecast.range) {
        (Some(typical), Some([least, most])) => format!(
            "Forecast by these prices, without running it there: {}x as long ({} … {} by the prices of each of {} starts).",
            ratio(typical),
            ratio(least),
            ratio(most),
            bill.forecast.starts
        ),
        (Some(typical), None) => {
            format!(
                "Forecast by these prices, without running it there: {}x as long, of a single start.",
                ratio(typical)
            )
        }
        _ => String::new(),
    };
    if !bill.unpriced.is_empty() {
        let kinds: Vec<&str> = bill.unpriced.iter().map(|work| title(*work)).collect();
        text.push_str(&format!(
            " Without a price in both environments, and so not explained: {}.",
            kinds.join(", ")
        ));
    }
    text
}

fn overlap(overlap: f64) -> String {
    match overlap {
        whole if whole > 0.95 => String::new(),
        share => format!(
            " In an ordinary run the command keeps {:.1} processors busy, so that each line counts {:.0} %.",
            1.0 / share,
            100.0 * share
        ),
    }
}

/// What a kind of work is called.
fn title(work: Work) -> &'static str {
    match work {
        Work::Computing => "computing",
        Work::OtherCalls => "other system calls",
        Work::Pauses => "calls after 15 µs of computing",
        Work::Lookups => "paths looked up",
        Work::FurtherFolders => "further folders in paths",
        Work::Missing => "paths that do not exist",
        Work::DistinctPaths => "different paths, first use",
        Work::Opens => "files opened and closed",
        Work::Entries => "folder entries listed",
        Work::Reads => "reads of files",
        Work::ReadKib => "further KiB read",
        Work::Writes => "writes to files",
        Work::WrittenKib => "further KiB written",
        Work::Creates => "files and folders made",
        Work::Renames => "files renamed",
        Work::Removes => "files and folders removed",
        Work::Syncs => "writes made durable",
        Work::Maps => "memory mapped and unmapped",
        Work::FileMaps => "files mapped, first page",
        Work::Protects => "mappings protected",
        Work::Breaks => "heap up and down",
        Work::Faults => "pages touched first",
        Work::Forks => "processes forked",
        Work::Spawns => "processes by vfork",
        Work::Threads => "threads",
        Work::Execs => "programs started (exec)",
        Work::Messages => "messages on pipes, sockets",
        Work::Waits => "waits for another process",
        Work::Futexes => "futex calls",
        Work::Signals => "signals",
    }
}

#[cfg(test)]
mod tests {
    use tare_analysis::bill::bills;
    use tare_data::failure::{Failure, FailureKind};
    use tare_data::session::demand::Demand;

    use super::*;
    use crate::specimen;

    #[test]
    fn a_command_that_could_not_be_counted_says_why() {
        let (mut session, findings) = (specimen::session(3), specimen::findings(3));
        let case = &mut session.plan.cases[0];
        (case.case.probe, case.label) = ("user.make".into(), "make".into());
        let failure = Failure::new(FailureKind::NotPermitted, "ptrace: EPERM");
        session.plan.demands.insert(case.id.clone(), Counted::Failed(failure));
        let text = render(&session, &findings, &bills(&session, &session), None, (80, false));
        assert!(
            text.contains("make: what it asks for could not be counted: ") && text.contains("EPERM"),
            "{text}"
        );
    }

    #[test]
    fn lines_below_a_share_are_one_and_a_saving_has_its_minus() {
        let line = |work, more_ns| Line { work, amount: 1000.0, baseline_ns: 100.0, here_ns: 200.0, more_ns };
        let bill = Bill {
            target: "gvisor".into(),
            ns: Some(3e6),
            lines: vec![
                line(Work::Opens, 1.5e6),
                line(Work::Syncs, -2e5),
                line(Work::Reads, 1e3),
                line(Work::Maps, 2e3),
            ],
            unpriced: vec![Work::Execs],
            forecast: tare_analysis::bill::Forecast { ratio: Some(2.3), range: Some([1.9, 2.9]), starts: 8 },
            rest_ns: Some(6.97e5),
        };
        let findings = specimen::findings(1);
        let text = table(&findings, &bill, Some(1e6), false).join("\n");
        let has = |parts: &[&str]| text.lines().any(|line| parts.iter().all(|part| line.contains(part)));
        assert!(has(&["where the 2.00 ms more go", "gvisor", "share"]), "{text}");
        assert!(has(&["files opened and closed", "1,000", "1.50 ms", "75 %"]), "{text}");
        assert!(has(&["writes made durable", "-200 µs", "-10 %"]), "{text}");
        assert!(has(&["everything else, 2 kinds", "3.00 µs"]) && !text.contains("reads of files"), "{text}");
        assert!(has(&["not explained", "697 µs", "35 %"]), "{text}");
        let said = forecast(&bill);
        assert!(
            said.contains("2.30x as long (1.90 … 2.90 by the prices of each of 8 starts)")
                && said.contains("programs started"),
            "{said}"
        );
    }

    #[test]
    fn no_line_of_prices_is_wider_than_asked_where_ranges_can_stand_below() {
        let demand = Demand::default();
        assert_eq!(demand.amount(Work::Opens), 0.0);
        let (session, findings) = (specimen::session(3), specimen::findings(3));
        let text = prices(&session, &findings, (80, false));
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    }
}
