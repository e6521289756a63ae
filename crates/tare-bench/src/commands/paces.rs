//! Typical paces of cases and environments, from records: the table by which a session is estimated that has measured nothing.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use tare_analysis::statistics::signed_ranks::{compute_median, sort_values};
use tare_data::batch::{Batch, Phase, Sample};
use tare_data::names::Case;
use tare_data::request::Amount;
use tare_data::session::specification::NATIVE;
use tare_data::session::{PlannedCase, Session, Side, Trial};

/// Probe whose trials are starts, and its figure that ends with the first word of the agent.
const START: &str = "env.start";
const HELLO: &str = "hello";
/// Fact of an environment, and the beginning of its value where trials take turns.
const TURNS: (&str, &str) = ("session.turns", "on ");

/// Times of a case in an environment: one value for each trial.
#[derive(Clone, Debug, Default)]
struct Times {
    each_ns: Vec<f64>,
    /// Process, preparation and frames.
    overhead_ns: Vec<f64>,
    /// True where an operation is a pass over a fixed amount of work.
    is_pass: bool,
}

/// Times of everything in some records, by case and provider.
#[derive(Debug, Default)]
struct Measured {
    machine: String,
    cases: BTreeMap<String, BTreeMap<String, Times>>,
    starts_s: BTreeMap<String, Vec<f64>>,
    takes_turns: BTreeMap<String, bool>,
}

/// Renders the table of the sessions in these records, as TOML.
pub fn render_paces(records: &[PathBuf]) -> Result<String, String> {
    let mut measured = Measured::default();
    for record in records {
        measured.add_session(&read_session(record)?);
    }
    measured.render_table()
}

fn read_session(record: &Path) -> Result<Session, String> {
    let read = tare_record::read_session(record).map_err(|e| format!("{}: {e}", record.display()))?;
    Ok(read.session)
}

impl Measured {
    fn add_session(&mut self, session: &Session) {
        let fact = |key: &str| session.header.host.get(key).unwrap_or("unknown");
        self.machine = format!(
            "{} processors of {}, {} {}",
            fact("cpu.count"),
            fact("cpu.model"),
            fact("kernel.name"),
            fact("kernel.release").split('-').next().unwrap_or_default()
        );
        let plain = |target: &&Side| target.specification.options.is_empty();
        let providers: BTreeMap<&str, &str> = session
            .plan
            .targets
            .iter()
            .filter(plain)
            .map(|target| (target.name.as_str(), target.provider()))
            .collect();
        for facts in &session.facts {
            let turns = facts.outside.get(TURNS.0).map(|how| how.starts_with(TURNS.1));
            if let (Some(provider), Some(turns)) = (providers.get(facts.target.as_str()), turns) {
                self.takes_turns.insert((*provider).to_owned(), turns);
            }
        }
        let steps: Vec<&[Trial]> = session.trials.chunk_by(is_partner).collect();
        let mut starts = BTreeMap::new();
        for (at, step) in steps.iter().enumerate() {
            starts.extend(step.iter().map(|trial| (&trial.target, trial.start)));
            let ends_ns = step.iter().map(|trial| trial.started_ns + trial.host_elapsed_ns).max();
            // If nothing is entered before the next step, the time until it belongs to this one as well.
            let is_same = |trial: &Trial| starts.get(&trial.target) == Some(&trial.start);
            let next = steps.get(at + 1).filter(|next| next.iter().all(is_same));
            let until_ns = next.map(|next| next[0].started_ns).or(ends_ns).unwrap_or_default();
            let step_ns = until_ns.saturating_sub(step[0].started_ns);
            let planned = session.plan.cases.iter().find(|planned| planned.id == step[0].case);
            if let Some(planned) = planned.filter(|_| step.iter().all(|trial| trial.failure.is_none())) {
                self.add_step(planned, &providers, step, step_ns as f64);
            }
        }
    }

    /// Adds a trial, or both of a pair.
    fn add_step(
        &mut self,
        planned: &PlannedCase,
        providers: &BTreeMap<&str, &str>,
        step: &[Trial],
        step_ns: f64,
    ) {
        let of_pair = |trial: &Trial| planned.pairs.get(&trial.target).copied();
        let amount = if step.len() == 1 { Some(planned.amount) } else { step.iter().find_map(of_pair) };
        let works_ns: Vec<f64> = step.iter().filter_map(longest_series_ns).collect();
        for trial in step {
            let Some(provider) = providers.get(trial.target.as_str()) else { continue };
            if planned.case.probe == START {
                let hello_s = trial.batches.iter().filter_map(|batch| read_hello_s(&batch));
                self.starts_s.entry((*provider).to_owned()).or_default().extend(hello_s);
                continue;
            }
            let Some(Amount::Operations { batch, batches }) = amount else { continue };
            let Some(work_ns) = longest_series_ns(trial) else { continue };
            let by_provider = self.cases.entry(name_case(&planned.case)).or_default();
            let times = by_provider.entry((*provider).to_owned()).or_default();
            times.is_pass = planned.amount == Amount::Operations { batch: 1, batches: 1 };
            times.each_ns.push(work_ns / (batch as f64 * f64::from(batches)));
            let rest_ns = step_ns - works_ns.iter().sum::<f64>();
            times.overhead_ns.push(rest_ns.max(0.0) / step.len() as f64);
        }
    }

    fn render_table(&self) -> Result<String, String> {
        if !self.cases.values().any(|by_provider| by_provider.contains_key(NATIVE)) {
            return Err("these records have no trial of native".into());
        }
        let mut out = format!(
            "# Typical paces of cases in native, and of environments relative to it. Written by ./bench/paces.\nmachine = \"{}\"\n\n[cases]\n",
            self.machine
        );
        for (name, by_provider) in &self.cases {
            let Some(native) = by_provider.get(NATIVE) else { continue };
            let (each_ns, overhead_ns) = native.typical();
            let unit = if native.is_pass { "pass_us" } else { "operation_us" };
            let (each, overhead) =
                (round_to_two_digits(each_ns / 1e3), round_to_two_digits(overhead_ns / 1e6));
            let _ = writeln!(out, "\"{name}\" = {{ {unit} = {each}, overhead_ms = {overhead} }}");
        }
        out.push_str("\n[environments]\n");
        for (provider, starts_s) in &self.starts_s {
            let start_s = round_to_two_digits(middle(starts_s));
            let Some([operation, overhead]) = self.compute_factors(provider) else { continue };
            let turns = self.takes_turns.get(provider).copied().unwrap_or(false);
            let _ = writeln!(
                out,
                "{provider} = {{ operation = {operation}, overhead = {overhead}, start_s = {start_s}, takes_turns = {turns} }}"
            );
        }
        Ok(out)
    }

    /// Computes how many times as long operations and the rest of a trial take in an environment.
    fn compute_factors(&self, provider: &str) -> Option<[f64; 2]> {
        let both = self
            .cases
            .values()
            .filter_map(|by| Some((by.get(NATIVE)?.typical(), by.get(provider)?.typical())));
        let (native, other): (Vec<_>, Vec<_>) = both.unzip();
        if native.is_empty() {
            return None;
        }
        let each: Vec<f64> = native.iter().zip(&other).map(|(native, other)| other.0 / native.0).collect();
        let sum = |times: &[(f64, f64)]| times.iter().map(|(_, overhead_ns)| overhead_ns).sum::<f64>();
        Some([middle(&each), sum(&other) / sum(&native)].map(round_to_two_digits))
    }
}

impl Times {
    /// Returns the median time of an operation and of the rest of a trial.
    fn typical(&self) -> (f64, f64) {
        (middle(&self.each_ns), middle(&self.overhead_ns))
    }
}

/// Formats the name of a case without its place and its peer, which paces do not tell apart.
fn name_case(case: &Case) -> String {
    Case { place: None, peer: None, ..case.clone() }.to_string()
}

/// Tells whether another trial took turns with this one.
fn is_partner(trial: &Trial, other: &Trial) -> bool {
    let turn = |trial: &Trial| (trial.round, trial.attempt);
    turn(other) == turn(trial)
        && other.case == trial.case
        && other.partner.as_ref() == Some(&trial.target)
        && trial.partner.as_ref() == Some(&other.target)
}

/// Adds up each of a trial's series, and returns the longest sum: a series may be a part of another.
fn longest_series_ns(trial: &Trial) -> Option<f64> {
    let mut sums: BTreeMap<String, u64> = BTreeMap::new();
    for batch in trial.batches.iter().filter(|batch| batch.phase == Phase::Warm) {
        let ns: u64 = batch.sample.iter_timed().map(|timed| timed.elapsed_ns).sum();
        *sums.entry(batch.series.clone()).or_default() += ns;
    }
    sums.into_values().max().filter(|ns| *ns > 0).map(|ns| ns as f64)
}

/// Reads the seconds of a start until the agent's first word.
fn read_hello_s(batch: &Batch) -> Option<f64> {
    match batch.sample {
        Sample::Gauge { value } if batch.series == HELLO => Some(value / 1e9),
        _ => None,
    }
}

fn middle(values: &[f64]) -> f64 {
    compute_median(&sort_values(values))
}

/// Rounds to two significant digits: paces differ by more from one moment to the next.
fn round_to_two_digits(value: f64) -> f64 {
    format!("{value:.1e}").parse().unwrap_or(value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use tare_data::batch::Batches;
    use tare_data::session::Interference;
    use tare_data::session::declared::Declared;

    const BATCH: Amount = Amount::Operations { batch: 10, batches: 5 };
    const PASS: Amount = Amount::Operations { batch: 1, batches: 1 };

    fn planned(probe: &str, amount: Amount, pairs: &[(&str, Amount)]) -> PlannedCase {
        let case = Case {
            probe: probe.into(),
            parameters: Default::default(),
            place: Some("own".into()),
            peer: None,
        };
        PlannedCase {
            id: case.to_string(),
            case,
            label: String::new(),
            metrics: Vec::new(),
            decide: Vec::new(),
            definition: String::new(),
            declared: Declared::default(),
            amount,
            pairs: pairs.iter().map(|(name, amount)| ((*name).to_owned(), *amount)).collect(),
            margin: 0.02,
            missing: BTreeMap::new(),
        }
    }

    fn trial(target: &str, partner: Option<&str>, series: &str, sample: Sample) -> Trial {
        let batch = Batch { series: series.into(), phase: Phase::Warm, started_ns: 0, sample };
        Trial {
            number: 0,
            case: String::new(),
            target: target.into(),
            round: 0,
            attempt: 0,
            position: 0,
            start: 0,
            partner: partner.map(str::to_owned),
            started_ns: 0,
            host_elapsed_ns: 0,
            agent_elapsed_ns: None,
            batches: Batches::from(vec![batch]),
            inside: Interference::default(),
            outside: Interference::default(),
            failure: None,
            notes: Vec::new(),
        }
    }

    fn timed(target: &str, partner: Option<&str>, elapsed_ns: u64) -> Trial {
        trial(target, partner, "step", Sample::Throughput { operations: 50, bytes: 0, elapsed_ns })
    }

    fn add(measured: &mut Measured, planned: &PlannedCase, step: &[Trial], step_ns: f64) {
        let providers = BTreeMap::from([("native", "native"), ("gvisor", "gvisor"), ("box", "container")]);
        measured.add_step(planned, &providers, step, step_ns);
    }

    #[test]
    fn a_table_has_times_in_native_and_factors_of_the_others() {
        let mut measured = Measured { machine: "m".into(), ..Measured::default() };
        let spawn = planned("proc.spawn", BATCH, &[("box", PASS)]);
        add(&mut measured, &spawn, &[timed("native", None, 500_000)], 3e6);
        add(&mut measured, &spawn, &[timed("gvisor", None, 2_000_000)], 12e6);
        // A pair has an amount of its own, and both sides share what is not work.
        let pair = [timed("native", Some("box"), 10_000), timed("box", Some("native"), 10_000)];
        assert!(is_partner(&pair[0], &pair[1]) && !is_partner(&pair[0], &pair[0]));
        add(&mut measured, &spawn, &pair, 5.02e6);
        add(&mut measured, &planned("file.seq", PASS, &[]), &[timed("native", None, 2_000_000)], 5e6);
        for (provider, s) in [("native", 0.0021), ("gvisor", 0.104), ("box", 0.005)] {
            let hello = trial(provider, None, HELLO, Sample::Gauge { value: s * 1e9 });
            add(&mut measured, &planned(START, PASS, &[]), &[hello], 0.0);
        }
        measured.takes_turns = BTreeMap::from([("native".into(), true), ("container".into(), true)]);
        let table = measured.render_table().unwrap();
        let lines: Vec<&str> = table.lines().skip(1).collect();
        assert_eq!(
            lines,
            [
                "machine = \"m\"",
                "",
                "[cases]",
                "\"file.seq\" = { pass_us = 2000, overhead_ms = 3 }",
                "\"proc.spawn\" = { operation_us = 10, overhead_ms = 2.5 }",
                "",
                "[environments]",
                "container = { operation = 1, overhead = 1, start_s = 0.005, takes_turns = true }",
                "gvisor = { operation = 4, overhead = 4, start_s = 0.1, takes_turns = false }",
                "native = { operation = 1, overhead = 1, start_s = 0.0021, takes_turns = true }",
            ]
        );
    }

    #[test]
    fn records_without_native_make_no_table() {
        assert!(Measured::default().render_table().is_err());
    }
}
