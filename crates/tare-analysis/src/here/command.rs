//! A command's time, split by what it asked for and the times of here.

use tare_data::session::demand::{CountedRun, RanTwice, Work};

use super::costs::{Cost, Estimate, Operation};

/// Both runs did the same work where their times, without the tracer's, are within this factor of each other.
const ALIKE: f64 = 3.0;
/// Calls with names take the tracer up to this many times as long as those of the known program.
const TRACING_VARIES: f64 = 2.0;
/// Processor time over elapsed time from which a command used several processors, so that its parts do not add up.
const PARALLEL: f64 = 1.1;

/// A part of a command's time.
#[derive(Clone, Debug, PartialEq)]
pub struct Part {
    pub kind: PartKind,
    pub count: f64,
    /// Its time in ns; for names the saving elsewhere, if all of them are in the working folder.
    pub ns: Estimate,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PartKind {
    /// Lookups of names that are slower in the working folder than elsewhere.
    Names,
    Syncs,
    /// System calls, as far as entering and leaving the kernel goes.
    Calls,
}

impl PartKind {
    /// Returns its name in documents for programs.
    pub fn name(self) -> &'static str {
        match self {
            PartKind::Names => "names",
            PartKind::Syncs => "syncs",
            PartKind::Calls => "calls",
        }
    }
}

/// Reason for which a command's time is not split.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unsplit {
    NotCounted(String),
    /// The exit codes differ.
    OtherCode,
    /// The second run did more or less than the first.
    OtherWork,
    Parallel,
}

/// A command's counts, and its time as far as it can be split.
#[derive(Clone, Debug, PartialEq)]
pub struct Split {
    /// Counts of names, syncs and calls; empty where nothing was counted.
    pub counts: Vec<(PartKind, f64)>,
    pub parts: Result<Vec<Part>, Unsplit>,
    /// Range of the time that no part explains, in ns.
    pub rest_ns: [f64; 2],
}

/// Splits a command's time.
pub fn split_time(ran: &RanTwice, costs: &[Cost]) -> Split {
    let total = ran.elapsed_ns as f64;
    let run = match &ran.counted {
        Ok(run) => run,
        Err(reason) => {
            let parts = Err(Unsplit::NotCounted(reason.clone()));
            return Split { counts: Vec::new(), parts, rest_ns: [0.0, total] };
        }
    };
    let counts = count_kinds(run);
    if let Some(reason) = find_difference(ran, run) {
        return Split { counts, parts: Err(reason), rest_ns: [0.0, total] };
    }
    let parts: Vec<Part> = counts
        .iter()
        .filter_map(|(kind, count)| {
            let price = find_price(*kind, costs)?;
            let scale = |ns: f64| ns * count;
            let ns = Estimate { low: scale(price.low), middle: scale(price.middle), high: scale(price.high) };
            (*count > 0.0).then_some(Part { kind: *kind, count: *count, ns })
        })
        .collect();
    // Look-ups of names may happen elsewhere, where they do not take longer.
    let least: f64 = parts.iter().filter(|part| part.kind != PartKind::Names).map(|part| part.ns.low).sum();
    let most: f64 = parts.iter().map(|part| part.ns.high).sum();
    Split { counts, parts: Ok(parts), rest_ns: [(total - most).max(0.0), (total - least).max(0.0)] }
}

fn count_kinds(run: &CountedRun) -> Vec<(PartKind, f64)> {
    let sum = |works: &[Work]| works.iter().map(|work| run.demand.amount(*work)).sum();
    vec![
        (PartKind::Names, sum(&[Work::Lookups, Work::Missing, Work::Opens])),
        (PartKind::Syncs, sum(&[Work::Syncs])),
        (PartKind::Calls, run.demand.calls),
    ]
}

/// Finds the reason for which the counts do not belong to the time.
fn find_difference(ran: &RanTwice, run: &CountedRun) -> Option<Unsplit> {
    let total = ran.elapsed_ns.max(1) as f64;
    let without_tracer = run.elapsed_ns as f64 - TRACING_VARIES * run.tracing_ns;
    let used = (ran.user_ns + ran.system_ns) as f64;
    match () {
        () if run.code != ran.code => Some(Unsplit::OtherCode),
        () if without_tracer > ALIKE * total => Some(Unsplit::OtherWork),
        // The tracer's own time varies, so the rest may not be negative: the counted run is at least as long as the other.
        () if (run.elapsed_ns as f64) < total / ALIKE => Some(Unsplit::OtherWork),
        () if used > PARALLEL * total => Some(Unsplit::Parallel),
        () => None,
    }
}

fn find_price(kind: PartKind, costs: &[Cost]) -> Option<Estimate> {
    let find = |operation| costs.iter().find(|cost| cost.operation == operation);
    match kind {
        PartKind::Names => {
            let cost = find(Operation::Name).filter(|cost| cost.answer.kind().is_slower())?;
            let (here, other) = (cost.ns, cost.against?);
            Some(Estimate {
                low: here.low - other.high,
                middle: here.middle - other.middle,
                high: here.high - other.low,
            })
        }
        PartKind::Syncs => find(Operation::Sync).map(|cost| cost.ns),
        PartKind::Calls => find(Operation::SystemCall).map(|cost| cost.ns),
    }
}

#[cfg(test)]
mod tests {
    use tare_data::session::demand::Demand;

    use super::*;
    use crate::findings::{Answer, Interval, Verdict};

    fn ran(elapsed_ns: u64, counted_ns: u64) -> RanTwice {
        let mut demand = Demand { calls: 1_000.0, ..Demand::default() };
        demand.add(Work::Lookups, 100.0);
        demand.add(Work::Missing, 20.0);
        let counted = Ok(CountedRun { demand, elapsed_ns: counted_ns, code: 0, tracing_ns: 10_000_000.0 });
        RanTwice { elapsed_ns, user_ns: 0, system_ns: 0, code: 0, counted }
    }

    fn estimate(middle: f64) -> Estimate {
        Estimate { low: 0.9 * middle, middle, high: 1.1 * middle }
    }

    fn costs() -> Vec<Cost> {
        let cost = |operation, ns, against, verdict| Cost {
            operation,
            ns: estimate(ns),
            cycles: None,
            against,
            factor: None,
            answer: Answer::from_verdict(verdict, Interval::UNKNOWN, 1.25),
            untold: None,
        };
        vec![
            cost(Operation::SystemCall, 100.0, None, Verdict::Same),
            cost(Operation::Name, 100_000.0, Some(estimate(1_000.0)), Verdict::Slower),
        ]
    }

    #[test]
    fn slow_names_explain_as_much_as_they_could_take() {
        let split = split_time(&ran(20_000_000, 30_000_000), &costs());
        let parts = split.parts.unwrap();
        assert_eq!(
            parts.iter().map(|part| part.kind).collect::<Vec<_>>(),
            [PartKind::Names, PartKind::Calls]
        );
        assert_eq!((parts[0].count, parts[0].ns.middle), (120.0, 120.0 * 99_000.0));
        assert!(split.rest_ns[0] < 8_000_000.0 && split.rest_ns[1] > 19_800_000.0, "{:?}", split.rest_ns);
    }

    #[test]
    fn a_second_run_that_did_other_work_explains_nothing() {
        let of = |ran: &RanTwice| split_time(ran, &costs()).parts.unwrap_err();
        // make builds first, and does nothing then.
        assert_eq!(of(&ran(4_000_000_000, 30_000_000)), Unsplit::OtherWork);
        assert_eq!(of(&ran(5_000_000, 100_000_000)), Unsplit::OtherWork);
        assert_eq!(of(&RanTwice { code: 1, ..ran(20_000_000, 30_000_000) }), Unsplit::OtherCode);
        assert_eq!(of(&RanTwice { user_ns: 40_000_000, ..ran(20_000_000, 30_000_000) }), Unsplit::Parallel);
        let refused = RanTwice { counted: Err("refused".into()), ..ran(1, 1) };
        assert_eq!(of(&refused), Unsplit::NotCounted("refused".into()));
    }
}
