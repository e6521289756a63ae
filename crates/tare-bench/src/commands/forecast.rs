//! Errors of forecasts: real programs, each run in environments for which a bill forecast it.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

use tare_analysis::bill::{Bill, Explained, compute_bills};
use tare_analysis::statistics::signed_ranks::{
    Null, compute_hodges_lehmann_interval, compute_median, sort_values,
};
use tare_analysis::verdicts::summary::{list_counted_trials, read_values};
use tare_data::session::demand::Counted;
use tare_data::session::{PINNED, Session};

/// Programs of the kinds that the rules of the bill were written for. All others were chosen afterwards.
const KNOWN: [&str; 10] = [
    "git-status",
    "git-log",
    "git-grep",
    "make",
    "sqlite-commits",
    "sh-loop",
    "find",
    "grep-r",
    "tar-gzip",
    "python-import",
];

/// The beginning of the page of a session that could use every processor, and of one that could not.
const TITLE: &str = "# The forecast beside the truth
Written by `./bench/forecast`";
const PINNED_TITLE: &str = "# The forecast beside the truth, on one processor
Written by `./bench/forecast --pin`";

const HEAD: &str = ", which runs nineteen programs in several environments and forecasts each from its demand and the
environment's prices alone ([where the time goes](../guide/where-the-time-goes.md)). One session measures everything in random order.

*forecast* and *measured* are how many times as long as in native, with the 95 % interval of the measured over its rounds; *range* is
what the forecast is printed with; *error* is forecast over measured; *rest* is the share of the difference that no line of the bill
explains. A range *holds* what was measured, or *may hold* it where it has values of that interval. *Difference* is the measured
difference over that of the lines, least to most but for one in twenty at each end. Rules and constants were made while looking at
programs like those of the first table. Those of the second were chosen when both had been settled, and had run on the
machine itself alone: what is claimed of the forecast, is claimed of them.
";

/// A program in an environment.
struct Forecast<'a> {
    program: &'a str,
    environment: &'a str,
    forecast: f64,
    range: Option<[f64; 2]>,
    measured: f64,
    /// Its 95 % interval over the rounds.
    interval: [f64; 2],
    rest: f64,
    /// The measured difference over that of the lines.
    times: f64,
}

impl Forecast<'_> {
    fn error(&self) -> f64 {
        (self.forecast / self.measured - 1.0).abs()
    }

    fn holds(&self) -> bool {
        self.range.is_some_and(|[least, most]| (least..=most).contains(&self.measured))
    }

    /// Tells whether the range has a value that the measurement does not exclude.
    fn may_hold(&self) -> bool {
        self.range.is_some_and(|[least, most]| self.interval[0] <= most && least <= self.interval[1])
    }

    fn is_known(&self) -> bool {
        KNOWN.contains(&self.program)
    }
}

/// Writes the page for a record of the programs, as Markdown.
pub fn render_forecast_page(record: &Path) -> Result<String, String> {
    let session =
        tare_record::read_session(record).map_err(|e| format!("{}: {e}", record.display()))?.session;
    let explained = compute_bills(&session, &session);
    let name = |command: &'_ Explained| command.case.clone();
    let names: Vec<String> = explained.iter().map(name).collect();
    let all: Vec<Forecast<'_>> = explained
        .iter()
        .zip(&names)
        .flat_map(|(command, name)| {
            command.bills.iter().filter_map(|bill| forecast(&session, program(name), command, bill))
        })
        .collect();
    let title = if session.header.host.get(PINNED).is_some() { PINNED_TITLE } else { TITLE };
    let mut out = format!("{title}{HEAD}\nMachine: {}\n", machine(&session));
    let (known, unseen): (Vec<_>, Vec<_>) = all.into_iter().partition(Forecast::is_known);
    for (title, part) in
        [("Programs of known kinds", &known), ("Programs that were chosen afterwards", &unseen)]
    {
        let _ = write!(out, "\n## {title}\n{}\n{}", summary(part), table(part));
    }
    let absent: Vec<String> = explained.iter().filter_map(not_counted).collect();
    if !absent.is_empty() {
        let _ = write!(out, "\n## Not counted\n{}\n", absent.join("\n"));
    }
    Ok(out)
}

/// Extracts the program's name from a case such as `user.git-status?...`.
fn program(case: &str) -> &str {
    let case = case.split('?').next().unwrap_or(case);
    case.strip_prefix(tare_data::names::USER).unwrap_or(case)
}

fn not_counted(command: &Explained) -> Option<String> {
    match &command.counted {
        Counted::Failed(failure) => Some(format!("- `{}`: {failure}", program(&command.case))),
        Counted::Demand(_) => None,
    }
}

fn forecast<'a>(
    session: &Session,
    program: &'a str,
    command: &Explained,
    bill: &'a Bill,
) -> Option<Forecast<'a>> {
    let (before, now) = command.baseline_ns.zip(bill.ns)?;
    let lines: f64 = bill.lines.iter().map(|line| line.more_ns).sum();
    Some(Forecast {
        program,
        environment: &bill.target,
        forecast: bill.forecast.ratio?,
        range: bill.forecast.range,
        measured: now / before,
        interval: measured_interval(session, &command.case, &bill.target)?,
        rest: bill.rest_ns? / (now - before),
        times: (now - before) / lines,
    })
}

/// Computes the 95 % interval of a command's slowdown, over the rounds of the session.
fn measured_interval(session: &Session, case: &str, target: &str) -> Option<[f64; 2]> {
    let planned = session.plan.cases.iter().find(|planned| planned.id == case)?;
    let time = planned.metrics.iter().position(|metric| metric.name == "time")?;
    let logs = |target: &str| -> BTreeMap<u32, f64> {
        let trials =
            list_counted_trials(&session.trials, &session.repeated, |t| t.case == case && t.target == target);
        let log = |value: f64| libm::log(value);
        trials
            .iter()
            .filter_map(|t| Some((t.round, log(read_values(t, &planned.metrics).swap_remove(time)?.value))))
            .collect()
    };
    let (before, now) = (logs(&session.baseline()?.name), logs(target));
    let apart: Vec<f64> = now.iter().filter_map(|(round, log)| Some(log - before.get(round)?)).collect();
    let found = compute_hodges_lehmann_interval(&sort_values(&apart), &Null::new(apart.len()), 0.05);
    Some([found.low, found.high].map(libm::exp))
}

/// Writes the errors of forecasts, a line per environment.
fn summary(all: &[Forecast<'_>]) -> String {
    let mut out = String::from(
        "| environment | programs | median error | within 40 % | range holds the measured | may hold | median rest | difference |\n\
         |---|---:|---:|---:|---:|---:|---:|---:|\n",
    );
    let mut environments: Vec<&str> = all.iter().map(|forecast| forecast.environment).collect();
    environments.sort_unstable();
    environments.dedup();
    for environment in environments {
        let of: Vec<&Forecast<'_>> = all.iter().filter(|f| f.environment == environment).collect();
        let middle = |value: fn(&Forecast<'_>) -> f64| {
            compute_median(&sort_values(&of.iter().map(|forecast| value(forecast)).collect::<Vec<_>>()))
        };
        let count = |is: fn(&Forecast<'_>) -> bool| of.iter().filter(|forecast| is(forecast)).count();
        let _ = writeln!(
            out,
            "| {environment} | {} | {:.0} % | {} | {} | {} | {:.0} % | {} |",
            of.len(),
            100.0 * middle(|forecast| forecast.error()),
            count(|forecast| forecast.error() <= 0.4),
            count(|forecast| forecast.holds()),
            count(|forecast| forecast.may_hold()),
            100.0 * middle(|forecast| forecast.rest.abs()),
            times(&of),
        );
    }
    out
}

/// Formats the least, the middle and the greatest ratio of the measured difference to that of the lines,
/// without one in twenty at each end.
fn times(of: &[&Forecast<'_>]) -> String {
    let all = sort_values(&of.iter().map(|forecast| forecast.times).collect::<Vec<_>>());
    let out = all.len() / 20;
    match &all[out..all.len() - out] {
        [least, .., most] => {
            format!("{} … {} … {}", ratio(*least), ratio(compute_median(&all)), ratio(*most))
        }
        _ => "-".into(),
    }
}

fn table(all: &[Forecast<'_>]) -> String {
    let mut out = String::from(
        "| program | environment | forecast | range | measured | | error | rest |\n|---|---|---:|---:|---:|---:|---:|---:|\n",
    );
    for forecast in all {
        let range = match forecast.range {
            Some([least, most]) => format!("{} … {}", ratio(least), ratio(most)),
            None => "-".into(),
        };
        let _ = writeln!(
            out,
            "| `{}` | {} | {} | {range} | {} | [{}, {}] | {:+.0} % | {:.0} % |",
            forecast.program,
            forecast.environment,
            ratio(forecast.forecast),
            ratio(forecast.measured),
            ratio(forecast.interval[0]),
            ratio(forecast.interval[1]),
            100.0 * (forecast.forecast / forecast.measured - 1.0),
            100.0 * forecast.rest,
        );
    }
    out
}

fn ratio(value: f64) -> String {
    format!("{value:.2}x")
}

/// Describes the machine of the session, and its rounds.
fn machine(session: &Session) -> String {
    let rounds = session.trials.iter().map(|trial| trial.round).max().map_or(0, |last| last + 1);
    let fact = |key: &str| session.header.host.get(key).unwrap_or("unknown");
    let pinned = session.header.host.get(PINNED).map(|cpu| format!(", all on CPU {cpu}")).unwrap_or_default();
    format!("{}, Linux {}; {rounds} rounds{pinned}", fact("cpu.model"), fact("kernel.release"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn made(program: &'static str, forecast: f64, measured: f64, range: [f64; 2]) -> Forecast<'static> {
        let interval = [measured * 0.9, measured * 1.1];
        Forecast {
            program,
            environment: "gvisor",
            forecast,
            range: Some(range),
            measured,
            interval,
            rest: 0.1,
            times: 1.0,
        }
    }

    #[test]
    fn errors_are_counted_by_environment() {
        let all = [
            made("du", 2.0, 2.0, [1.5, 2.5]),
            made("xz", 3.0, 2.0, [2.1, 3.5]),
            made("awk", 1.1, 1.0, [1.0, 1.2]),
        ];
        let line = summary(&all).lines().last().unwrap_or_default().to_owned();
        assert_eq!(line, "| gvisor | 3 | 10 % | 2 | 2 | 3 | 10 % | 1.00x … 1.00x … 1.00x |");
        assert!(
            table(&all).contains(
                "| `xz` | gvisor | 3.00x | 2.10x … 3.50x | 2.00x | [1.80x, 2.20x] | +50 % | 10 % |"
            )
        );
    }

    #[test]
    fn programs_are_known_by_the_name_of_their_case() {
        assert_eq!(program("user.git-status?command=x"), "git-status");
        assert!(
            made("make", 1.0, 1.0, [1.0, 1.0]).is_known() && !made("sort", 1.0, 1.0, [1.0, 1.0]).is_known()
        );
    }
}
