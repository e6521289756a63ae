//! Prices: the cost of a unit of each kind of work in an environment, read from the cases of a session.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use tare_data::batch::Batch;
use tare_data::session::demand::{Demand, Work};
use tare_data::session::{PlannedCase, Session, Trial};

use crate::statistics::signed_ranks::{compute_median, sort_values};
use crate::verdicts::summary::{list_counted_trials, read_series};

/// A part of a price: a share of a metric of a case.
struct Term {
    probe: &'static str,
    /// Parameters that the case must have.
    parameters: [Option<(&'static str, &'static str)>; 2],
    metric: &'static str,
    share: f64,
}

const fn term(probe: &'static str, metric: &'static str, share: f64) -> Term {
    Term { probe, parameters: [None; 2], metric, share }
}

const fn single(operation: &'static str, share: f64) -> Term {
    Term { parameters: [Some(("operation", operation)), None], ..term("sys.operation", "time", share) }
}

/// Describes a program's first calls after some computing, of which the probe makes five hundred.
const fn early(gap_us: &'static str) -> Term {
    Term {
        parameters: [Some(("what", "call")), Some(("gap_us", gap_us))],
        ..term("sys.early", "time", 1.0 / 500.0)
    }
}

/// Price of one of a program's first touches of new memory.
const EARLY_PAGE: Term =
    Term { parameters: [Some(("what", "page")), None], ..term("sys.early", "time", 1.0 / 500.0) };

/// Defines the price of a unit of work, as a sum of terms.
fn terms(work: Work) -> Vec<Term> {
    match work {
        // A nanosecond of computing costs as much longer as the same computing takes; see `Prices::of`.
        Work::Computing => vec![term("cpu.primes", "time", 1.0)],
        Work::OtherCalls => vec![single("fstat", 1.0)],
        // The extra cost of a call to a program that has just been started, compared with a loop.
        Work::CallsInARow => vec![early("1"), single("fstat", -1.0)],
        Work::ShortPauses => vec![early("3"), single("fstat", -1.0)],
        Work::Pauses => vec![early("30"), single("fstat", -1.0)],
        Work::LongPauses => vec![early("200"), single("fstat", -1.0)],
        Work::Lookups => vec![single("stat", 1.0)],
        Work::FurtherFolders => vec![single("stat-8", 1.0 / 7.0), single("stat", -1.0 / 7.0)],
        Work::Missing => vec![single("stat-missing", 1.0)],
        // More files than caches hold, in turn: the extra cost of meeting one again, for its path and for
        // reading it.
        Work::DistinctPaths => vec![single("stat-new", 1.0), single("stat", -1.0)],
        Work::NewFiles => {
            let met = [single("read-new", 1.0), single("open", -1.0), single("read-1k", -1.0)];
            met.into_iter().chain([single("stat-new", -1.0), single("stat", 1.0)]).collect()
        }
        Work::Opens => vec![single("open", 1.0)],
        // A folder of a hundred entries, without the opening and closing, which is counted by itself.
        Work::Entries => vec![single("list", 0.01), single("open", -0.01)],
        Work::Reads => vec![single("read-1k", 1.0)],
        Work::ReadKib => vec![single("read-64k", 1.0 / 63.0), single("read-1k", -1.0 / 63.0)],
        Work::Writes => vec![single("write-1k", 1.0)],
        Work::WrittenKib => vec![single("write-64k", 1.0 / 63.0), single("write-1k", -1.0 / 63.0)],
        // The case writes 1 KiB into each file, which is counted by itself.
        Work::Creates => vec![term("file.meta", "create", 1.0), single("write-1k", -1.0)],
        Work::Renames => vec![term("file.meta", "rename", 1.0)],
        Work::Removes => vec![term("file.meta", "unlink", 1.0)],
        // Without the write before it.
        Work::Syncs => vec![term("file.sync", "sync", 1.0)],
        Work::Maps => vec![single("map", 1.0)],
        Work::FileMaps => vec![single("map-file", 1.0)],
        Work::Protects => vec![single("protect", 1.0)],
        Work::Breaks => vec![single("break", 1.0)],
        // The extra cost of a page to a program, compared with a loop, is that of new memory for all kinds.
        Work::Faults => vec![EARLY_PAGE],
        Work::FilePages => vec![single("file-page", 1.0), EARLY_PAGE, single("new-page", -1.0)],
        Work::CopiedPages => vec![single("copied-page", 1.0), EARLY_PAGE, single("new-page", -1.0)],
        Work::Forks => vec![term("proc.spawn", "time", 1.0)],
        Work::Spawns => vec![single("spawn", 1.0)],
        Work::Threads => vec![single("thread", 1.0)],
        // The process that it is done in, and the 16 calls that each of its two files makes, are counted by themselves.
        Work::Execs => vec![single("exec", 1.0), single("spawn", -1.0), single("fstat", -32.0)],
        // A pair is a write and a read.
        Work::Messages => vec![term("ipc.pipe", "time", 0.5)],
        // A round is a message and a wait each way.
        Work::Waits => vec![term("ipc.context", "time", 0.5), term("ipc.pipe", "time", -1.0)],
        Work::Futexes => vec![single("futex", 1.0)],
        Work::Signals => vec![single("signal", 1.0)],
    }
}

/// Share of a demand, by usual prices, whose kinds are priced where there is no time for all.
const MATTERING: f64 = 0.9;

/// Estimates the price of a unit of work in nanoseconds, natively on a processor of 2020 to 2025: its order of magnitude, by which kinds
/// are chosen and nothing is charged.
const fn estimate_ns(work: Work) -> f64 {
    match work {
        // It is always priced: a nanosecond of it says nothing of what an environment adds.
        Work::Computing => 0.0,
        Work::FurtherFolders | Work::Entries | Work::ReadKib | Work::WrittenKib => 60.0,
        Work::OtherCalls | Work::CallsInARow | Work::ShortPauses | Work::Futexes => 200.0,
        Work::Pauses | Work::LongPauses | Work::Reads | Work::Writes | Work::Messages => 400.0,
        Work::Lookups | Work::Missing | Work::DistinctPaths => 600.0,
        Work::Protects | Work::Breaks | Work::Faults | Work::FilePages | Work::CopiedPages => 700.0,
        Work::NewFiles | Work::Opens | Work::Maps | Work::FileMaps | Work::Signals => 1_500.0,
        Work::Waits => 4_000.0,
        Work::Creates | Work::Renames | Work::Removes => 10_000.0,
        Work::Threads | Work::Forks | Work::Spawns | Work::Syncs => 60_000.0,
        Work::Execs => 300_000.0,
    }
}

/// Lists, as patterns, the cases with the prices of those kinds of work that make up most of some demands: computing, and of the
/// others the largest.
pub fn list_needed_cases<'a>(demands: impl IntoIterator<Item = &'a Demand>) -> Vec<String> {
    let mut works = BTreeSet::from([Work::Computing]);
    for demand in demands {
        let cost = |(work, amount): (&Work, &f64)| (*work, amount * estimate_ns(*work));
        let mut costs: Vec<(Work, f64)> = demand.amounts.iter().map(cost).collect();
        costs.sort_by(|a, b| b.1.total_cmp(&a.1));
        let mut left = MATTERING * costs.iter().map(|(_, cost)| cost).sum::<f64>();
        for (work, cost) in costs.into_iter().filter(|(_, cost)| *cost > 0.0) {
            if left > 0.0 {
                works.insert(work);
            }
            left -= cost;
        }
    }
    let is_faulting = works.iter().any(|work| matches!(work, Work::Execs | Work::Forks));
    let of_works = works.iter().flat_map(|work| terms(*work)).chain(is_faulting.then_some(FAULT));
    of_works.map(|term| term.write_pattern()).collect::<BTreeSet<_>>().into_iter().collect()
}

impl Term {
    /// Writes the pattern of the case that it is read from.
    fn write_pattern(&self) -> String {
        let probe = self.probe;
        match self.parameters {
            [Some(("operation", operation)), _] => format!("{probe}?operation={operation}@*"),
            [Some((_, what)), Some((key, value))] => format!("{probe}?{key}={value}&what={what}*"),
            [Some((key, value)), None] => format!("{probe}?*{key}={value}*"),
            [None, _] => format!("{probe}*"),
        }
    }
}

/// The values of a term in an environment, by its starts.
type ByStart = BTreeMap<u32, f64>;

/// Value of a term over all rounds, in each start, and the rounds behind it.
type Found = (f64, ByStart, usize);

/// A unit's price in an environment, in nanoseconds.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Price {
    /// Over all rounds.
    pub typical: f64,
    /// In each start that measured all of its terms.
    pub by_start: ByStart,
    /// Rounds of the term that has the fewest.
    pub rounds: usize,
}

/// The prices of an environment.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Prices(pub BTreeMap<Work, Price>);

impl Prices {
    /// Reads all prices that the session measured in an environment.
    pub fn from_session(session: &Session, target: &str) -> Prices {
        let mut read: BTreeMap<(&str, &str), Found> = BTreeMap::new();
        let of_target =
            list_counted_trials(&session.trials, &session.repeated, |trial| trial.target == target);
        for case in &session.plan.cases {
            let trials: Vec<_> = of_target.iter().copied().filter(|trial| trial.case == case.id).collect();
            for (metric, series) in case.metrics.iter().zip(read_series(&trials, &case.metrics)) {
                let all = series.plain_values();
                let mut starts: BTreeMap<u32, Vec<f64>> = BTreeMap::new();
                for value in &series.values {
                    starts.entry(value.start).or_default().push(value.value);
                }
                let by_start = starts
                    .into_iter()
                    .map(|(start, values)| (start, compute_median(&sort_values(&values))))
                    .collect();
                if !all.is_empty() {
                    read.insert(
                        (&case.id, &metric.name),
                        (compute_median(&sort_values(&all)), by_start, all.len()),
                    );
                }
            }
        }
        let value = |term: &Term| {
            let case = session.plan.cases.iter().find(|case| is_of(case, term))?;
            Some((case, read.get(&(case.id.as_str(), term.metric))?))
        };
        let fault = value(&FAULT).map(|(_, value)| value);
        let price = |work: &Work| {
            let (mut parts, mut faults) = (Vec::new(), 0.0);
            for term in terms(*work) {
                let (case, value) = value(&term)?;
                parts.push((term.share, value));
                faults += term.share * faults_of(session, &case.id, target);
            }
            // Faults have a separate line: a program is not charged for those of the processes that are
            // timed. Elsewhere most faults of a trial are of work that is not timed.
            if let (Work::Execs | Work::Forks, Some(fault)) = (work, fault) {
                parts.push((-faults, fault));
            }
            Some((*work, sum(&parts)))
        };
        Prices(Work::ALL.iter().filter_map(price).collect())
    }
}

/// Price of a page of new memory in a process that does nothing else, as the timed ones.
const FAULT: Term = single("new-page", 1.0);

/// Computes the page faults of one operation of a case: the median over trials there, or in the baseline
/// where the kernel there reports none.
///
/// User-mode Linux maps each page of a file separately, and has three faults an exec where the kernel below
/// it has one.
fn faults_of(session: &Session, case: &str, target: &str) -> f64 {
    let of = |target: &str| {
        let trials =
            list_counted_trials(&session.trials, &session.repeated, |t| t.case == case && t.target == target);
        let each: Vec<f64> = trials.iter().filter_map(|trial| faults_of_operation(trial)).collect();
        (!each.is_empty()).then(|| compute_median(&sort_values(&each)))
    };
    let here = of(target).filter(|faults| *faults > 0.0);
    here.or_else(|| of(&session.baseline()?.name)).unwrap_or(0.0)
}

fn faults_of_operation(trial: &Trial) -> Option<f64> {
    let of_batch =
        |batch: Cow<'_, Batch>| batch.sample.iter_timed().map(|timed| timed.operations).sum::<u64>();
    let operations: u64 = trial.batches.iter().map(of_batch).sum();
    let faults = trial.inside.faults_minor?;
    (operations > 0).then(|| faults as f64 / operations as f64)
}

fn is_of(case: &PlannedCase, term: &Term) -> bool {
    case.case.probe == term.probe
        && term
            .parameters
            .iter()
            .flatten()
            .all(|(key, value)| case.case.parameters.0.get(*key).is_some_and(|given| given == value))
}

/// Sums shares, typically and in each start that has them all.
fn sum(terms: &[(f64, &Found)]) -> Price {
    let typical = terms.iter().map(|(share, (typical, ..))| share * typical).sum();
    let starts: BTreeSet<u32> =
        terms.iter().flat_map(|(_, (_, by_start, _))| by_start.keys().copied()).collect();
    let of_start = |start: u32| {
        let parts = terms.iter().map(|(share, (_, by_start, _))| Some(share * by_start.get(&start)?));
        Some((start, parts.sum::<Option<f64>>()?))
    };
    let rounds = terms.iter().map(|(_, (.., rounds))| *rounds).min().unwrap_or(0);
    Price { typical, by_start: starts.into_iter().filter_map(of_start).collect(), rounds }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kinds_that_make_up_most_of_a_demand_are_priced_with_what_their_prices_rest_on() {
        let mut demand = Demand::default();
        demand.add(Work::Computing, 1e9);
        demand.add(Work::Opens, 1_000.0);
        demand.add(Work::Reads, 5.0);
        assert_eq!(list_needed_cases([&demand]), ["cpu.primes*", "sys.operation?operation=open@*"]);
        demand.add(Work::Execs, 100.0);
        let needed = list_needed_cases([&demand]);
        let of = |operation: &str| format!("sys.operation?operation={operation}@*");
        let operations = ["exec", "fstat", "new-page", "spawn"].map(of);
        assert_eq!(
            needed,
            [&["cpu.primes*".to_owned()][..], &operations].concat(),
            "opens are a small part now"
        );
        let mut calls = Demand::default();
        calls.add(Work::CallsInARow, 1.0);
        assert!(list_needed_cases([&demand, &calls]).contains(&"sys.early?gap_us=1&what=call*".to_owned()));
    }
}
