//! How far a forecast is off: real programs, each run in environments for which a bill forecast it.

use std::fmt::Write as _;
use std::path::Path;

use tare_analysis::bill::{Bill, Explained, bills};
use tare_analysis::statistics::signed_ranks::{median, sorted};
use tare_data::session::Session;
use tare_data::session::demand::Counted;

/// Programs of the kinds that the rules of the bill were written for. All others were not looked at meanwhile.
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

const HEAD: &str = "# The forecast beside the truth
Written by `./bench/forecast`, which runs nineteen programs in several environments and forecasts each from its demand and the
environment's prices alone ([where the time goes](../guide/where-the-time-goes.md)). One session measures everything in random order.

*forecast* and *measured* are how many times as long as in native; *range* is the least and the most that the prices of single starts
give; *error* is forecast over measured; *rest* is the share of the difference that no line of the bill explains. The rules were
written while looking at programs like those of the first table. Those of the second were not looked at: what is claimed of the
forecast, is claimed of them.
";

/// A program in an environment.
struct Forecast<'a> {
    program: &'a str,
    environment: &'a str,
    forecast: f64,
    range: Option<[f64; 2]>,
    measured: f64,
    rest: f64,
}

impl Forecast<'_> {
    fn error(&self) -> f64 {
        (self.forecast / self.measured - 1.0).abs()
    }

    fn holds(&self) -> bool {
        self.range.is_some_and(|[least, most]| (least..=most).contains(&self.measured))
    }

    fn is_known(&self) -> bool {
        KNOWN.contains(&self.program)
    }
}

/// The page for a record of the programs, as Markdown.
pub fn page(record: &Path) -> Result<String, String> {
    let session = tare_record::read(record).map_err(|e| format!("{}: {e}", record.display()))?.session;
    let explained = bills(&session, &session);
    let name = |command: &'_ Explained| command.case.clone();
    let names: Vec<String> = explained.iter().map(name).collect();
    let all: Vec<Forecast<'_>> = explained
        .iter()
        .zip(&names)
        .flat_map(|(command, name)| {
            command.bills.iter().filter_map(|bill| forecast(program(name), command, bill))
        })
        .collect();
    let mut out = format!("{HEAD}\nMachine: {}\n", machine(&session));
    let (known, unseen): (Vec<_>, Vec<_>) = all.into_iter().partition(Forecast::is_known);
    for (title, part) in [("Programs of known kinds", &known), ("Programs that were not looked at", &unseen)]
    {
        let _ = write!(out, "\n## {title}\n{}\n{}", summary(part), table(part));
    }
    let absent: Vec<String> = explained.iter().filter_map(not_counted).collect();
    if !absent.is_empty() {
        let _ = write!(out, "\n## Not counted\n{}\n", absent.join("\n"));
    }
    Ok(out)
}

/// The program's name in a case such as `user.git-status?...`.
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

fn forecast<'a>(program: &'a str, command: &Explained, bill: &'a Bill) -> Option<Forecast<'a>> {
    let (before, now) = command.baseline_ns.zip(bill.ns)?;
    Some(Forecast {
        program,
        environment: &bill.target,
        forecast: bill.forecast.ratio?,
        range: bill.forecast.range,
        measured: now / before,
        rest: bill.rest_ns? / (now - before),
    })
}

/// A line an environment: how far off its forecasts are.
fn summary(all: &[Forecast<'_>]) -> String {
    let mut out = String::from(
        "| environment | programs | median error | within 40 % | range holds the measured | median rest |\n|---|---:|---:|---:|---:|---:|\n",
    );
    let mut environments: Vec<&str> = all.iter().map(|forecast| forecast.environment).collect();
    environments.sort_unstable();
    environments.dedup();
    for environment in environments {
        let of: Vec<&Forecast<'_>> = all.iter().filter(|f| f.environment == environment).collect();
        let middle = |value: fn(&Forecast<'_>) -> f64| {
            median(&sorted(&of.iter().map(|forecast| value(forecast)).collect::<Vec<_>>()))
        };
        let count = |is: fn(&Forecast<'_>) -> bool| of.iter().filter(|forecast| is(forecast)).count();
        let _ = writeln!(
            out,
            "| {environment} | {} | {:.0} % | {} | {} | {:.0} % |",
            of.len(),
            100.0 * middle(|forecast| forecast.error()),
            count(|forecast| forecast.error() <= 0.4),
            count(|forecast| forecast.holds()),
            100.0 * middle(|forecast| forecast.rest.abs()),
        );
    }
    out
}

fn table(all: &[Forecast<'_>]) -> String {
    let mut out = String::from(
        "| program | environment | forecast | range | measured | error | rest |\n|---|---|---:|---:|---:|---:|---:|\n",
    );
    for forecast in all {
        let range = match forecast.range {
            Some([least, most]) => format!("{} … {}", ratio(least), ratio(most)),
            None => "-".into(),
        };
        let _ = writeln!(
            out,
            "| `{}` | {} | {} | {range} | {} | {:+.0} % | {:.0} % |",
            forecast.program,
            forecast.environment,
            ratio(forecast.forecast),
            ratio(forecast.measured),
            100.0 * (forecast.forecast / forecast.measured - 1.0),
            100.0 * forecast.rest,
        );
    }
    out
}

fn ratio(value: f64) -> String {
    format!("{value:.2}x")
}

/// What the session ran on, and how long.
fn machine(session: &Session) -> String {
    let rounds = session.trials.iter().map(|trial| trial.round).max().map_or(0, |last| last + 1);
    let fact = |key: &str| session.header.host.get(key).unwrap_or("unknown");
    format!("{}, Linux {}; {rounds} rounds", fact("cpu.model"), fact("kernel.release"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn made(program: &'static str, forecast: f64, measured: f64, range: [f64; 2]) -> Forecast<'static> {
        Forecast { program, environment: "gvisor", forecast, range: Some(range), measured, rest: 0.1 }
    }

    #[test]
    fn errors_are_counted_by_environment() {
        let all = [
            made("du", 2.0, 2.0, [1.5, 2.5]),
            made("xz", 3.0, 2.0, [2.5, 3.5]),
            made("awk", 1.1, 1.0, [1.0, 1.2]),
        ];
        let line = summary(&all).lines().last().unwrap_or_default().to_owned();
        assert_eq!(line, "| gvisor | 3 | 10 % | 2 | 2 | 10 % |");
        assert!(table(&all).contains("| `xz` | gvisor | 3.00x | 2.50x … 3.50x | 2.00x | +50 % | 10 % |"));
    }

    #[test]
    fn programs_are_known_by_the_name_of_their_case() {
        assert_eq!(program("user.git-status?command=x"), "git-status");
        assert!(
            made("make", 1.0, 1.0, [1.0, 1.0]).is_known() && !made("du", 1.0, 1.0, [1.0, 1.0]).is_known()
        );
    }
}
