//! Twelve scores and their index by UnixBench's definition, computed from a session's raw trials.
//!
//! A trial is taken as a pass. Of n passes the int(n/3) slowest are dropped, the geometric mean of the others
//! is the result, ten times result over baseline the score, and the geometric mean of twelve scores the
//! index. tare's own figures drop nothing: these are other figures of the same trials, for readers who know
//! UnixBench's.

use std::collections::BTreeSet;

use tare_data::metric::{Metric, Reading};
use tare_data::names::Case;
use tare_data::session::{PlannedCase, Session, Trial};

use crate::verdicts::doubts::comparable;
use crate::verdicts::summary::{list_counted_trials, read_series, read_values};

/// A test of the twelve: its name, the divisor of its result, and the case that corresponds to it.
#[derive(Debug)]
pub struct Test {
    /// As UnixBench's report calls it.
    pub name: &'static str,
    /// Result of the machine whose score is 10 (a SPARCstation 20-61 of 1995).
    pub baseline: f64,
    /// Unit of result and baseline, as UnixBench writes it.
    pub unit: &'static str,
    /// Passes that UnixBench makes.
    pub passes: usize,
    probe: &'static str,
    reading: Reading,
    /// Divisor of the reading: bytes are counted in KiB.
    divisor: f64,
    /// Parameters that the case must have.
    fixed: &'static [(&'static str, &'static str)],
    /// A parameter that may have several values, the one nearest to UnixBench's test first.
    preferred: Option<(&'static str, &'static [&'static str])>,
}

const fn per_second(
    name: &'static str,
    baseline: f64,
    unit: &'static str,
    passes: usize,
    probe: &'static str,
) -> Test {
    let (reading, divisor) = (Reading::OperationsPerSecond, 1.0);
    Test { name, baseline, unit, passes, probe, reading, divisor, fixed: &[], preferred: None }
}

const fn copy(name: &'static str, baseline: f64, fixed: &'static [(&'static str, &'static str)]) -> Test {
    let (reading, divisor) = (Reading::BytesPerSecond, 1024.0);
    Test {
        name,
        baseline,
        unit: "KBps",
        passes: 3,
        probe: "file.copy",
        reading,
        divisor,
        fixed,
        preferred: None,
    }
}

const fn shell(name: &'static str, baseline: f64, fixed: &'static [(&'static str, &'static str)]) -> Test {
    let (reading, divisor) = (Reading::OperationsPerMinute, 1.0);
    let preferred: Option<(_, &[_])> = Some(("variant", &["host", "carried"]));
    Test { name, baseline, unit: "lpm", passes: 3, probe: "proc.shell", reading, divisor, fixed, preferred }
}

/// The tests in the order of UnixBench's report. Names, baselines and numbers of passes are those of version 5 and 6.
pub static TESTS: [Test; 12] = [
    per_second("Dhrystone 2 using register variables", 116_700.0, "lps", 10, "cpu.dhrystone"),
    per_second("Double-Precision Whetstone", 55.0, "MWIPS", 10, "cpu.whetstone"),
    Test {
        preferred: Some(("target", &["static", "dynamic"])),
        ..per_second("Execl Throughput", 43.0, "lps", 3, "proc.exec")
    },
    copy("File Copy 1024 bufsize 2000 maxblocks", 3_960.0, &[("bs", "1KiB"), ("size", "2000KiB")]),
    copy("File Copy 256 bufsize 500 maxblocks", 1_655.0, &[("bs", "256"), ("size", "500KiB")]),
    copy("File Copy 4096 bufsize 8000 maxblocks", 5_800.0, &[("bs", "4KiB"), ("size", "8000KiB")]),
    per_second("Pipe Throughput", 12_440.0, "lps", 10, "ipc.pipe"),
    Test {
        fixed: &[("pin", "none")],
        ..per_second("Pipe-based Context Switching", 4_000.0, "lps", 10, "ipc.context")
    },
    per_second("Process Creation", 126.0, "lps", 3, "proc.spawn"),
    shell("Shell Scripts (1 concurrent)", 42.4, &[("parallel", "1")]),
    shell("Shell Scripts (8 concurrent)", 6.0, &[("parallel", "8")]),
    per_second("System Call Overhead", 15_000.0, "lps", 10, "sys.mix"),
];

impl Test {
    /// Rates a case as a measurement of the test: 0 is best, none unfit. Sizes are compared as numbers: 1K is
    /// 1024.
    fn fitness(&self, case: &Case) -> Option<usize> {
        let has = |key: &str, wanted: &str| {
            let text = case.parameters.get_text(key).is_ok_and(|text| text == wanted);
            let number = tare_data::names::parse_size(wanted);
            text || number.is_some_and(|number| case.parameters.get_integer(key) == Ok(number))
        };
        if case.probe != self.probe || !self.fixed.iter().all(|(key, wanted)| has(key, wanted)) {
            return None;
        }
        let rank = match self.preferred {
            None => 0,
            Some((key, values)) => values.iter().position(|value| has(key, value))?,
        };
        // The environment's own files before any other place's.
        let elsewhere = case.place.as_deref().is_some_and(|place| place != "own");
        Some(2 * rank + usize::from(elsewhere))
    }

    /// Finds the case of a session that corresponds to the test in every environment, and the metric that is
    /// its result. If there are several, prefers the one that can be measured in the most environments, then
    /// the one that is nearest to UnixBench's test.
    pub fn find_case<'s>(&self, session: &'s Session) -> Option<(&'s PlannedCase, &'s Metric)> {
        let fit = |planned: &'s PlannedCase| {
            let metric = planned.metrics.iter().find(|metric| metric.reading == self.reading)?;
            let fitness = self.fitness(&planned.case)?;
            Some(((targets_without(session, &planned.id), fitness), planned, metric))
        };
        let best = session.plan.cases.iter().filter_map(fit).min_by_key(|(rank, ..)| *rank);
        best.map(|(_, planned, metric)| (planned, metric))
    }
}

/// Counts the environments in which no trial of a case went well.
fn targets_without(session: &Session, case: &str) -> usize {
    let well = |trial: &&Trial| trial.case == case && trial.failure.is_none();
    let targets: BTreeSet<&str> =
        session.trials.iter().filter(well).map(|trial| trial.target.as_str()).collect();
    session.plan.targets.iter().filter(|target| !targets.contains(target.name.as_str())).count()
}

/// A test's result in an environment.
#[derive(Clone, Debug, PartialEq)]
pub struct Score {
    /// Trials that were taken as passes, at most [`Test::passes`], and how many of them were kept.
    pub passes: usize,
    pub kept: usize,
    /// Geometric mean of the kept passes, in the test's unit.
    pub result: f64,
    pub score: f64,
    /// Why the figure should not be compared with another environment's.
    pub objection: Option<String>,
}

/// An environment's result in a test.
#[derive(Clone, Debug, PartialEq)]
pub enum Entry {
    Scored(Score),
    /// No figure, because of this.
    Missing(String),
}

/// An environment's scores, in the order of [`TESTS`].
#[derive(Clone, Debug, PartialEq)]
pub struct TargetScores {
    pub target: String,
    pub entries: Vec<Entry>,
    /// Only where all twelve tests have a score.
    pub index: Option<f64>,
}

/// Computes the scores of every environment of a session.
pub fn compute_scores(session: &Session) -> Vec<TargetScores> {
    let target = |name: &String| {
        let entries: Vec<Entry> = TESTS.iter().map(|test| entry(session, test, name)).collect();
        let scored: Vec<f64> = entries
            .iter()
            .filter_map(|entry| match entry {
                Entry::Scored(score) => Some(score.score),
                Entry::Missing(_) => None,
            })
            .collect();
        let index = (scored.len() == TESTS.len()).then(|| geometric_mean(&scored));
        TargetScores { target: name.clone(), entries, index }
    };
    session.plan.targets.iter().map(|of| target(&of.name)).collect()
}

fn entry(session: &Session, test: &Test, target: &str) -> Entry {
    let Some((planned, metric)) = test.find_case(session) else {
        return Entry::Missing("not in this session".into());
    };
    let ours = |trial: &Trial| trial.case == planned.id && trial.target == target;
    let trials = list_counted_trials(&session.trials, &session.repeated, ours);
    let value = |trial: &&Trial| read_values(trial, std::slice::from_ref(metric)).pop().flatten();
    let passes: Vec<f64> = trials
        .iter()
        .filter(|trial| trial.failure.is_none())
        .filter_map(value)
        .map(|value| value.value / test.divisor)
        .filter(|value| *value > 0.0)
        .take(test.passes)
        .collect();
    if passes.is_empty() {
        let planned_missing = planned.missing.get(target).cloned();
        let failure =
            planned_missing.or_else(|| read_series(&trials, std::slice::from_ref(metric)).pop()?.failure);
        return Entry::Missing(failure.map_or("no trial was run".into(), |failure| failure.to_string()));
    }
    let (result, kept) = result(&passes);
    let facts = session.facts.iter().find(|facts| facts.target == target);
    Entry::Scored(Score {
        passes: passes.len(),
        kept,
        result,
        score: 10.0 * result / test.baseline,
        objection: comparable::find_comparison_objection(planned, metric, facts, None),
    })
}

/// Computes the geometric mean of the passes without the int(n/3) lowest, and how many it is of. There is at
/// least one pass.
fn result(passes: &[f64]) -> (f64, usize) {
    let mut sorted = passes.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let kept = &sorted[passes.len() / 3..];
    (geometric_mean(kept), kept.len())
}

fn geometric_mean(values: &[f64]) -> f64 {
    libm::exp(values.iter().map(|value| libm::log(*value)).sum::<f64>() / values.len() as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_third_of_the_passes_is_dropped_from_below() {
        let ten: Vec<f64> = (1..=10).map(f64::from).collect();
        let (value, kept) = result(&ten);
        // (4 * 5 * ... * 10)^(1/7)
        assert_eq!(kept, 7);
        assert!((value - libm::pow(604_800.0, 1.0 / 7.0)).abs() < 1e-12);
        for (passes, value, kept) in [(&[8.0, 1.0, 2.0][..], 4.0, 2), (&[8.0, 2.0], 4.0, 2), (&[8.0], 8.0, 1)]
        {
            let found = result(passes);
            assert!((found.0 - value).abs() < 1e-12 && found.1 == kept, "{passes:?}: {found:?}");
        }
    }

    #[test]
    fn twelve_results_ten_times_their_baselines_have_the_index_100() {
        let scores: Vec<f64> =
            TESTS.iter().map(|test| 10.0 * (10.0 * test.baseline) / test.baseline).collect();
        assert!((geometric_mean(&scores) - 100.0).abs() < 1e-9);
    }

    #[test]
    fn long_tests_have_ten_passes_and_short_ones_three() {
        let long = TESTS.iter().filter(|test| test.passes == 10).map(|test| test.probe);
        let expected = ["cpu.dhrystone", "cpu.whetstone", "ipc.pipe", "ipc.context", "sys.mix"];
        assert!(long.eq(expected));
        assert!(TESTS.iter().all(|test| matches!(test.passes, 3 | 10)));
    }
}
