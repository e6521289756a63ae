//! The bills of a session's commands for the page's waterfall: from the baseline's time, line by line, to the time here.

use serde::Serialize;
use tare_analysis::bill::{Bill, Explained, Line, compute_bills};
use tare_analysis::findings::Findings;
use tare_data::session::Session;

use crate::language::{Language, message, say};
use crate::terminal::tables::bill::{describe_forecast, format_headline, is_broken_down};
use crate::terminal::tables::shown::Shown;
use crate::text::clean_text;
use crate::words;

/// A command in an environment.
#[derive(Debug, Serialize)]
pub struct PageBill {
    command: String,
    environment: String,
    /// Heading of the difference, as on the terminal.
    headline: String,
    forecast: String,
    baseline_ns: f64,
    /// Null if the command was not timed here; the steps then lead to the forecast.
    ns: Option<f64>,
    steps: Vec<Step>,
}

/// A step of the waterfall.
#[derive(Debug, Serialize)]
struct Step {
    name: String,
    more_ns: f64,
    /// Share of the difference, in percent, with its range over single starts if there are several.
    share: f64,
    least: Option<f64>,
    most: Option<f64>,
    /// True for the part that no line explains.
    rest: bool,
}

/// Collects the bills of commands that differ, by the session's own prices; none if it explains no command.
pub fn page_bills(session: &Session, findings: &Findings, language: Language) -> Vec<PageBill> {
    if session.plan.demands.is_empty() {
        return Vec::new();
    }
    let explained = compute_bills(session, session);
    let of_command = |command: &Explained| {
        let found = command.bills.iter().filter(|bill| is_broken_down(findings, command, bill));
        found.filter_map(|bill| page_bill(findings, command, bill, language)).collect::<Vec<_>>()
    };
    explained.iter().flat_map(of_command).collect()
}

fn page_bill(findings: &Findings, command: &Explained, bill: &Bill, language: Language) -> Option<PageBill> {
    let shown = Shown::from_bill(bill);
    let step = |name: String, more_ns: f64, range: Option<[f64; 2]>, rest: bool| {
        let percent = |ns: f64| 100.0 * shown.share_of_difference(ns);
        let mut shares = range.map(|range| range.map(percent));
        if let Some(shares) = &mut shares {
            shares.sort_unstable_by(f64::total_cmp);
        }
        let [least, most] = [0, 1].map(|at| shares.map(|shares| shares[at]));
        Step { name, more_ns, share: percent(more_ns), least, most, rest }
    };
    let of_line = |line: &&Line| {
        step(words::describe_work(line.work, language).to_owned(), line.more_ns, line.range_ns, false)
    };
    let mut steps: Vec<Step> = shown.lines.iter().map(of_line).collect();
    steps.extend(
        shown.small.map(|(count, sum)| {
            step(say!(language, "everything else, {count} kinds", count), sum, None, false)
        }),
    );
    steps.extend(shown.rest_ns.map(|rest| step(language.word("not explained").to_owned(), rest, None, true)));
    // Without a measured time the steps lead to the forecast, which is of a program and not of loops.
    let lines_ns: f64 = bill.lines.iter().map(|line| line.more_ns).sum();
    let forecast_ns = command.baseline_ns.zip(bill.forecast.ratio).map(|(ns, ratio)| ns * (ratio - 1.0));
    steps.extend(forecast_ns.filter(|_| bill.ns.is_none()).map(|more_ns| {
        step(language.word(message!("of programs, beyond loops")).to_owned(), more_ns - lines_ns, None, true)
    }));
    Some(PageBill {
        command: clean_text(&command.label),
        environment: bill.target.clone(),
        headline: format_headline(findings, command, bill, language),
        forecast: describe_forecast(bill, language),
        baseline_ns: command.baseline_ns?,
        ns: bill.ns,
        steps,
    })
}

#[cfg(test)]
mod tests {
    use tare_analysis::bill::Forecast;
    use tare_data::session::demand::{Counted, Demand, Work};

    use super::*;
    use crate::specimen;

    #[test]
    fn steps_lead_from_the_baseline_to_the_time_here() {
        let line = |work, more_ns: f64| Line {
            work,
            amount: 1000.0,
            baseline_ns: 100.0,
            here_ns: 200.0,
            more_ns,
            range_ns: Some([more_ns * 1.2, more_ns * 0.8]),
        };
        let bill = Bill {
            target: "gvisor".into(),
            ns: Some(3e6),
            rounds: 6,
            lines: vec![
                line(Work::Opens, 1.5e6),
                line(Work::Syncs, -2e5),
                line(Work::Reads, 5e2),
                line(Work::Maps, 5e2),
            ],
            unpriced: Vec::new(),
            forecast: Forecast { ratio: Some(2.3), range: None, starts: 1 },
            rest_ns: Some(6.99e5),
        };
        let command = Explained {
            case: "user.make".into(),
            label: "make".into(),
            counted: Counted::Demand(Demand::default()),
            baseline_ns: Some(1e6),
            overlap: 1.0,
            bills: Vec::new(),
        };
        let page = page_bill(&specimen::make_findings(1), &command, &bill, Language::English).unwrap();
        let sum: f64 = page.steps.iter().map(|step| step.more_ns).sum();
        assert!((page.baseline_ns + sum - 3e6).abs() < 1e-3, "{page:?}");
        let [opens, syncs, others, rest] = &page.steps[..] else { panic!("{page:?}") };
        assert_eq!((opens.name.as_str(), opens.share.round()), ("files opened and closed", 75.0));
        assert!((opens.least.unwrap() - 60.0).abs() < 1e-9 && (opens.most.unwrap() - 90.0).abs() < 1e-9);
        assert!((syncs.least.unwrap() + 12.0).abs() < 1e-9, "{syncs:?}");
        assert_eq!(others.name, "everything else, 2 kinds");
        assert!(rest.rest && !others.rest);
        let unmeasured = Bill { ns: None, rest_ns: None, ..bill };
        let page = page_bill(&specimen::make_findings(1), &command, &unmeasured, Language::English).unwrap();
        let sum: f64 = page.steps.iter().map(|step| step.more_ns).sum();
        assert!((sum - 1.3e6).abs() < 1e-3, "to the forecast: {page:?}");
        let untimed = Explained { baseline_ns: None, ..command };
        assert!(page_bill(&specimen::make_findings(1), &untimed, &unmeasured, Language::English).is_none());
    }
}
