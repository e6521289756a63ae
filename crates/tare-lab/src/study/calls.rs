//! `env.call`: a command in an environment as its caller has it: enter, run the command, leave. Measured by the host, not by
//! an agent inside.
//!
//! As a shell's `time ENTER -- COMMAND` does. Each call is a new start of the environment, from the start of its first process until
//! that has ended and the command's end was heard. A trial has one call that is its first, and then warm ones. Inside, the tiny program
//! starts the command, and writes a line before and after it. Without both there was no call; the time in the second divides the call
//! into entering, the command, and leaving.

use std::ops::RangeInclusive;
use std::time::Duration;

use tare_data::batch::{Batch, Phase, Sample};
use tare_data::names::{BadParameter, Case};
use tare_data::unit::Unit;
use tare_probes::Probe;
use tare_probes::probe::{Alternates, Family, Parameter, first_call_metric, gauge_metric, time_metric};
use tare_probes::tiny::TINY;

use crate::study::startup::AT_ONCE;

/// Parameter with the words of the command, as JSON.
pub const COMMAND: &str = "command";
const AT_ONCE_BOUNDS: RangeInclusive<u64> = 1..=200;
/// First calls before which nothing is decided: each trial has one.
pub const LEAST_FIRST_CALLS: u32 = 12;
/// Warm calls of a trial: enough that one that a hiccup meets is not all that it has.
pub const WARM_CALLS: usize = 3;

pub static PROBE: Probe = Probe {
    name: "env.call",
    title: "call of a command",
    summary: "A command in an environment as its caller has it: enter, run the command, leave.",
    timed: "by the host's clock, from the start of the first process that enters until it has ended and the command has said that it ended; of several at once, until the last has",
    not_timed: "making folders and settings beforehand, removing them afterwards",
    distorted_by: "page cache of programs and images, which is warm after the first call; the tiny program, which starts the command in each environment alike: some 0.3 ms",
    parameters: &[
        Parameter::from_one_value(
            COMMAND,
            "[\"@tiny\"]",
            "its words; @tiny as the first word is a program of a few pages, which does nothing",
        ),
        Parameter::from_one_value(
            AT_ONCE,
            "1",
            "calls at once, started one after the other without waiting (1 to 200)",
        ),
    ],
    metrics: &[
        time_metric("call", "call"),
        gauge_metric("enter", "enter", Unit::Nanoseconds),
        gauge_metric("command", "command", Unit::Nanoseconds),
        gauge_metric("leave", "leave", Unit::Nanoseconds),
        first_call_metric("call"),
    ],
    family: Family::Kernel,
    alternates: |_| Alternates::Alone("each call starts an environment"),
    revision: 2,
    label: |parameters| {
        let words: Vec<String> = parameters
            .get_text(COMMAND)
            .ok()
            .and_then(|words| serde_json::from_str(words).ok())
            .unwrap_or_default();
        let mut label = match words.first().map(String::as_str) {
            None | Some(TINY) => "call".to_owned(),
            Some(first) => {
                let name = first.rsplit('/').next().unwrap_or(first);
                format!("call {}", name.chars().take(16).collect::<String>())
            }
        };
        if let Some(count) = parameters.get_text(AT_ONCE).ok().filter(|count| *count != "1") {
            label = format!("{count} calls at once");
        }
        label
    },
};

pub fn is_call(case: &Case) -> bool {
    case.probe == PROBE.name
}

/// Parses the number of calls at once.
pub fn at_once(case: &Case) -> Result<usize, BadParameter> {
    case.parameters.get_integer_within(AT_ONCE, AT_ONCE_BOUNDS).map(|count| count as usize)
}

/// Parses the words of the command; None where they are not words.
pub fn parse_command(case: &Case) -> Option<Vec<String>> {
    let words: Vec<String> = serde_json::from_str(case.parameters.get_text(COMMAND).ok()?).ok()?;
    words.first().is_some_and(|first| !first.is_empty()).then_some(words)
}

/// The parts of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parts {
    pub enter: Duration,
    pub command: Duration,
    pub leave: Duration,
}

/// Converts the calls of a trial to batches: the first, if there is one, the warm ones, and their parts.
pub fn make_batches(first: Option<Duration>, warm: &[Duration], parts: &[Parts]) -> Vec<Batch> {
    let timed = |phase, elapsed: &Duration| {
        let sample = Sample::Throughput { operations: 1, bytes: 0, elapsed_ns: nanoseconds(*elapsed) };
        batch("call", phase, sample)
    };
    let gauge = |series: &str, value: Duration| {
        batch(series, Phase::Warm, Sample::Gauge { value: nanoseconds(value) as f64 })
    };
    let mut all: Vec<Batch> = first.iter().map(|elapsed| timed(Phase::Cold, elapsed)).collect();
    all.extend(warm.iter().map(|elapsed| timed(Phase::Warm, elapsed)));
    for part in parts {
        all.push(gauge("enter", part.enter));
        all.push(gauge("command", part.command));
        all.push(gauge("leave", part.leave));
    }
    all
}

fn nanoseconds(elapsed: Duration) -> u64 {
    u64::try_from(elapsed.as_nanos()).unwrap_or(u64::MAX)
}

fn batch(series: &str, phase: Phase, sample: Sample) -> Batch {
    Batch { series: series.into(), phase, started_ns: 0, sample }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trial_has_one_first_call_and_the_parts_of_the_others() {
        let ms = Duration::from_millis;
        let parts = Parts { enter: ms(5), command: ms(1), leave: ms(2) };
        let all = make_batches(Some(ms(20)), &[ms(8), ms(9)], &[parts]);
        let phases: Vec<(&str, Phase)> =
            all.iter().map(|batch| (batch.series.as_str(), batch.phase)).collect();
        assert_eq!(phases[..3], [("call", Phase::Cold), ("call", Phase::Warm), ("call", Phase::Warm)]);
        assert_eq!(all[3].sample, Sample::Gauge { value: 5e6 });
        assert_eq!(all.len(), 6);
    }

    #[test]
    fn a_row_is_headed_by_the_command() {
        let label = |words: &str, count: &str| {
            let mut parameters = PROBE.default_parameters(tare_probes::probe::Size::Short);
            parameters.0.insert(COMMAND.into(), words.into());
            parameters.0.insert(AT_ONCE.into(), count.into());
            (PROBE.label)(&parameters)
        };
        assert_eq!(label("[\"@tiny\"]", "1"), "call");
        assert_eq!(label("[\"/usr/bin/true\"]", "1"), "call true");
        assert_eq!(label("[\"true\"]", "100"), "100 calls at once");
    }
}
