//! Overhead: the cost of measuring, compared with fio's null engine and sysbench's cheapest event; kept in docs/method/overhead.md.

use std::collections::BTreeMap;
use std::process::Command;
use std::time::Instant;

use tare_analysis::order::Orders;
use tare_analysis::statistics::signed_ranks::{compute_median, sort_values};
use tare_data::names::Case;
use tare_data::request::Amount;

use crate::agent::{Agent, Workspace, make_case};
use crate::commands::agreement::format_number;
use crate::document::{self, Document, Lines, format_table_line};
use crate::interrupt;
use crate::machine;
use crate::ratio::Ratio;
use crate::setting::Setting;
use crate::tool;

const HEAD: &str = "\
# What measuring costs
Written by `./bench/overhead`. Everything runs in turn on one machine, in random order within each round, and each
figure is the median over rounds with their range; where a tool does something of the kind, the ratio tare/tool has an
interval over rounds as in [agreement.md](agreement.md).

Nothing of this is subtracted from any figure. A clock read stands twice in every operation that is timed one by one,
and once for all of them in a throughput trial; the empty loop is what a throughput trial adds to each operation. What a
trial, a frame and a start cost is paid outside the timed stretch: it decides how many rounds fit a budget, not what
they say. fio's null engine completes requests without doing them; sysbench's cheapest event tests a single number for
being prime.
";

const COLUMNS: &str = "\
| cost | figure | range over rounds | beside it | tare / tool | day |
|---|---:|---|---|---|---|";

/// Batches of the trial whose frames are counted; the host takes twice as many at once.
const FRAMES: u32 = 2000;

/// Costs that both sides have: number of tare's measurement and of the tool's.
const RIVALS: [(usize, usize); 3] = [(2, 7), (2, 8), (6, 9)];

/// Measurements, in the order of [`Bench::measure`].
const MEASURED: [&str; 10] = [
    "one clock read",
    "an empty turn of a throughput loop",
    "an operation timed by itself, next to nothing in it",
    "an empty trial, from its first frame to its last, by the agent's clock",
    "an empty trial, from request to last frame, its process included",
    "a batch more, with its frame",
    "agent start to the first sample",
    "fio, null engine, a request",
    "sysbench cpu, an event that tests one number",
    "sysbench start to end with a single event",
];

/// Resources of the measurements.
struct Bench<'a> {
    agent: &'a mut Agent,
    setting: &'a Setting,
    read: (Case, Amount),
    null: (Case, Amount),
    event: (Case, Amount),
}

impl Bench<'_> {
    /// Takes one measurement, in nanoseconds.
    fn measure(&mut self, which: usize) -> Result<f64, String> {
        let empty = Amount::Operations { batch: 1, batches: 1 };
        match which {
            0 => self.agent.run_trial(&self.read.0, self.read.1)?.metric_value("time"),
            1 => self.agent.run_trial(&self.null.0, self.null.1)?.metric_value("time"),
            2 => Ok(1e9 / self.agent.run_trial(&self.event.0, self.event.1)?.metric_value("rate")?),
            3 => self.inside(empty),
            4 => Ok(self.agent.run_trial(&self.null.0, empty)?.whole_ns as f64),
            5 => {
                let many = Amount::Operations { batch: 1, batches: FRAMES };
                Ok((self.inside(many)? - self.inside(empty)?) / f64::from(FRAMES - 1))
            }
            6 => {
                let start_ns = self.agent.restart()? as f64;
                Ok(start_ns + self.agent.run_trial(&self.null.0, empty)?.first_ns as f64)
            }
            7 => self.fio(),
            8 => self.sysbench_event(),
            _ => self.sysbench_start(),
        }
    }

    /// Measures a trial of the empty probe by the agent's clock: the host's cannot distinguish frames that
    /// arrive together.
    fn inside(&mut self, amount: Amount) -> Result<f64, String> {
        let elapsed_ns = self.agent.run_trial(&self.null.0, amount)?.trial.agent_elapsed_ns;
        elapsed_ns.map(|ns| ns as f64).ok_or_else(|| "a trial without a last frame".into())
    }

    fn fio(&self) -> Result<f64, String> {
        let mut command = Command::new(tool::find_program("fio")?);
        command.args(["--name=null", "--ioengine=null", "--rw=read", "--bs=4k", "--size=1t", "--time_based"]);
        command.args(["--output-format=json"]).arg(format!("--runtime={}", self.setting.seconds()));
        let ended = tool::run_program(&mut command, self.setting.patience())?;
        let document = tool::parse_json("fio", &ended.output)?;
        let rate = document["jobs"][0]["read"]["iops"].as_f64().filter(|iops| *iops > 0.0);
        Ok(1e9 / rate.ok_or("fio gave no requests a second")?)
    }

    fn sysbench(&self, limit: &str) -> Result<String, String> {
        let mut command = Command::new(tool::find_program("sysbench")?);
        command.args(["cpu", "--cpu-max-prime=4", "--threads=1", limit, "run"]);
        Ok(tool::run_program(&mut command, self.setting.patience())?.output)
    }

    fn sysbench_event(&self) -> Result<f64, String> {
        let output = self.sysbench(&format!("--time={}", self.setting.seconds()))?;
        Ok(1e9 / tool::number_after(&output, "events per second:")?)
    }

    fn sysbench_start(&self) -> Result<f64, String> {
        let began = Instant::now();
        self.sysbench("--events=1")?;
        Ok(began.elapsed().as_nanos() as f64)
    }
}

/// Measures every cost, round by round.
pub fn run_overhead(setting: &Setting) -> Result<(), String> {
    let workspace = Workspace::from_setting(setting)?;
    let mut agent = workspace.start_agent(setting.seed)?;
    let machine = machine::describe_machine(&agent);
    let mut of = |probe: &str, parameters: &[(&str, &str)]| -> Result<(Case, Amount), String> {
        let case = make_case(probe, parameters)?;
        let amount = agent.for_seconds(&case, setting.seconds().into())?;
        Ok((case, amount))
    };
    let (read, null) = (of("time.read", &[])?, of("null", &[])?);
    let event = of("cpu.primes", &[("max_prime", "4"), ("threads", "1")])?;
    let mut bench = Bench { agent: &mut agent, setting, read, null, event };
    let mut values: Vec<Result<Vec<f64>, String>> = vec![Ok(Vec::new()); MEASURED.len()];
    let mut orders = Orders::new(setting.seed, "overhead");
    let all: Vec<usize> = (0..MEASURED.len()).collect();
    for _ in 0..setting.rounds() {
        interrupt::check_interrupted()?;
        for which in orders.draw_next(&all) {
            let Ok(known) = &mut values[which] else { continue };
            match bench.measure(which) {
                Ok(value) => known.push(value),
                Err(reason) => values[which] = Err(reason),
            }
        }
    }
    let rows = rows(&values);
    for line in rows.values().flat_map(text) {
        println!("{line}");
    }
    if setting.quick {
        println!("\n--quick: nothing is kept");
        return Ok(());
    }
    let document = Document {
        path: document::document_path(&setting.docs, "overhead.md"),
        head: HEAD.into(),
        machine,
        tools: machine::list_tool_versions(),
        columns: COLUMNS.into(),
        order: MEASURED.map(str::to_owned).into(),
    };
    document.write_rows(&rows)?;
    println!("\nkept in {}", document.path.display());
    Ok(())
}

fn text(lines: &Lines) -> Vec<String> {
    match lines {
        Lines::Measured(lines) => lines.clone(),
        Lines::Absent(reason) => vec![format!("not measured: {reason}")],
    }
}

/// Builds a row per measurement; tare's own have a line for each tool that does something of the kind.
fn rows(values: &[Result<Vec<f64>, String>]) -> BTreeMap<String, Lines> {
    let row = |(at, of): (usize, &Result<Vec<f64>, String>)| {
        let lines = match of {
            Err(reason) => Lines::Absent(reason.clone()),
            Ok(own) => Lines::Measured(measured(at, own, values)),
        };
        (MEASURED[at].to_owned(), lines)
    };
    values.iter().enumerate().map(row).collect()
}

fn measured(at: usize, own: &[f64], values: &[Result<Vec<f64>, String>]) -> Vec<String> {
    let sorted = sort_values(own);
    let range = match sorted.as_slice() {
        [least, .., most] => format!("{} to {}", time(*least), time(*most)),
        _ => "-".into(),
    };
    let middle = if sorted.is_empty() { "-".into() } else { time(compute_median(&sorted)) };
    let rivals = RIVALS.iter().filter(|(tare, _)| *tare == at).filter_map(|(_, rival)| {
        let pairs: Vec<(f64, f64)> =
            own.iter().copied().zip(values[*rival].as_ref().ok()?.iter().copied()).collect();
        Some((MEASURED[*rival], Ratio::from_rounds(&pairs)?.to_text()))
    });
    let mut beside: Vec<(&str, String)> = rivals.collect();
    if beside.is_empty() {
        beside.push(("-", "-".into()));
    }
    let name = format!("`{}`", MEASURED[at]);
    let line = |(rival, ratio): &(&str, String)| {
        format_table_line([name.as_str(), &middle, &range, rival, ratio, &machine::format_today()])
    };
    beside.iter().map(line).collect()
}

/// Formats a time as `17.32 ns`, `1.204 ms`.
fn time(ns: f64) -> String {
    match ns.abs() {
        v if v < 1e3 => format!("{} ns", format_number(ns)),
        v if v < 1e6 => format!("{} µs", format_number(ns / 1e3)),
        v if v < 1e9 => format!("{} ms", format_number(ns / 1e6)),
        _ => format!("{} s", format_number(ns / 1e9)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn costs_stand_beside_their_rivals() {
        let mut values: Vec<Result<Vec<f64>, String>> = vec![Ok(vec![100.0; 12]); MEASURED.len()];
        values[8] = Ok(vec![50.0; 12]);
        values[9] = Err("sysbench is not installed".into());
        let rows = rows(&values);
        let Lines::Measured(event) = &rows[MEASURED[2]] else { panic!("{rows:?}") };
        assert_eq!(event.len(), 2);
        assert!(
            event[0].contains("fio, null engine") && event[0].contains("1.000 [1.000, 1.000]"),
            "{event:?}"
        );
        assert!(event[1].contains("sysbench cpu") && event[1].contains("2.000 [2.000, 2.000]"), "{event:?}");
        assert_eq!(rows[MEASURED[9]], Lines::Absent("sysbench is not installed".into()));
        let Lines::Measured(start) = &rows[MEASURED[6]] else { panic!("{rows:?}") };
        assert_eq!(start.len(), 1);
    }

    #[test]
    fn times_have_a_unit_that_suits() {
        assert_eq!(
            [17.3, 1_204.0, 2_500_000.0, 3e9].map(time),
            ["17.30 ns", "1.204 µs", "2.500 ms", "3.000 s"]
        );
    }
}
