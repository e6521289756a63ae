//! A command's time, split by what it asked for and the times of here, and its difference to another place.

use std::collections::BTreeMap;

use tare_data::session::demand::{CountedRun, RanTwice, Work};

use super::costs::pair::Pair;
use super::costs::{Cost, Estimate, Operation};

/// Both runs did the same work where their times, without the tracer's, are within this factor of each other.
const ALIKE: f64 = 3.0;
/// Calls with names take the tracer up to this many times as long as those of the known program.
const TRACING_VARIES: f64 = 2.0;
/// Processor time over elapsed time from which a command used several processors, so that its parts do not add up.
const PARALLEL: f64 = 1.1;

/// Operations, the kinds of work that they are, and how many of it one does: a name with eight folders, and a list of a hundred files.
const WORK: [(Operation, f64, &[Work]); 19] = [
    (
        Operation::SystemCall,
        1.0,
        &[Work::OtherCalls, Work::Maps, Work::Protects, Work::Breaks, Work::Messages],
    ),
    (Operation::PageFault, 1.0, &[Work::Faults, Work::CopiedPages]),
    (Operation::Sync, 1.0, &[Work::Syncs]),
    (Operation::Priced("file-page"), 1.0, &[Work::FilePages]),
    (Operation::Priced("map-file"), 1.0, &[Work::FileMaps]),
    (Operation::Priced("stat"), 1.0, &[Work::Lookups]),
    (Operation::Priced("stat-8"), 8.0, &[Work::FurtherFolders]),
    (Operation::Priced("stat-missing"), 1.0, &[Work::Missing]),
    (Operation::Priced("open"), 1.0, &[Work::Opens]),
    (Operation::Priced("open-new"), 1.0, &[Work::NewFiles]),
    (Operation::Priced("list"), 100.0, &[Work::Entries]),
    (Operation::Priced("create"), 1.0, &[Work::Creates, Work::Renames, Work::Removes]),
    (Operation::Priced("read-1k"), 1.0, &[Work::Reads]),
    (Operation::Priced("write-1k"), 1.0, &[Work::Writes]),
    (Operation::Priced("fork"), 1.0, &[Work::Forks, Work::Spawns]),
    (Operation::Priced("exec"), 1.0, &[Work::Execs]),
    (Operation::Priced("thread"), 1.0, &[Work::Threads]),
    (Operation::Priced("futex"), 1.0, &[Work::Futexes]),
    (Operation::Priced("signal"), 1.0, &[Work::Signals]),
];

/// Prices of the command's own files, which count for more than those of files in memory, the first that is known.
const OWN: [(&str, &[&str]); 3] =
    [("open", &["open-own"]), ("map-file", &["map-own"]), ("open-new", &["open-new", "open-own", "open"])];
/// Kinds that the kernel counts, which some kernels do not.
const OF_KERNEL: [Work; 3] = [Work::Faults, Work::FilePages, Work::CopiedPages];

/// A command that ran in another place, as a document of it has it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RanThere {
    pub elapsed_ns: f64,
    pub code: i32,
    /// Amounts of work, by the names of their kinds.
    pub work: BTreeMap<String, f64>,
}

/// A part of a command's time: an operation, as often as the command asked for it.
#[derive(Clone, Debug, PartialEq)]
pub struct Part {
    pub operation: Operation,
    pub count: f64,
    /// Its time in ns.
    pub ns: Estimate,
    /// Time that it takes longer than in the other place.
    pub more_ns: Option<Estimate>,
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
    /// System calls; none where nothing was counted.
    pub calls: Option<f64>,
    /// The work was counted in the other place.
    pub is_counted_there: bool,
    /// Parts, those that take longest first.
    pub parts: Result<Vec<Part>, Unsplit>,
    /// Range of the time that no part explains, in ns.
    pub rest_ns: [f64; 2],
    /// Time that the command took longer than in the other place, and the range of it that the parts explain, in ns.
    pub more_ns: Option<(f64, [f64; 2])>,
}

/// Splits a command's time by the times of here, and what it took longer than in another place by those of both.
pub fn split_time(ran: &RanTwice, costs: &[Cost], pair: Option<(&Pair, &RanThere)>) -> Split {
    let total = ran.elapsed_ns as f64;
    let there = pair.map(|(_, there)| there).filter(|there| !there.work.is_empty());
    let (mut work, calls, reason) = match (&ran.counted, there) {
        (Ok(run), _) => {
            let amounts = run.demand.amounts.iter();
            let work = amounts.map(|(work, amount)| (work.name().to_owned(), *amount)).collect();
            (work, Some(run.demand.calls), find_difference(ran, run))
        }
        (Err(_), Some(there)) => (there.work.clone(), None, None),
        (Err(reason), None) => (BTreeMap::new(), None, Some(Unsplit::NotCounted(reason.clone()))),
    };
    let is_counted_there = ran.counted.is_err() && there.is_some();
    if let Some(reason) = reason {
        return Split { calls, is_counted_there, parts: Err(reason), rest_ns: [0.0, total], more_ns: None };
    }
    if OF_KERNEL.iter().all(|kind| work.get(kind.name()).is_none_or(|amount| *amount == 0.0)) {
        let counted = there.iter().flat_map(|there| &there.work);
        let of_kernel = counted.filter(|(name, _)| OF_KERNEL.iter().any(|kind| kind.name() == **name));
        work.extend(of_kernel.map(|(name, amount)| (name.clone(), *amount)));
    }
    let mut parts: Vec<Part> = WORK
        .iter()
        .filter_map(|(operation, each, kinds)| {
            let amounts = kinds.iter().filter_map(|kind| work.get(kind.name()));
            let count = amounts.sum::<f64>() / each;
            let paired = pair.and_then(|(pair, _)| find_price(&pair.costs, *operation));
            let &Cost { operation, ns, .. } = paired.or_else(|| find_price(costs, *operation))?;
            let more = paired.and_then(|cost| Some(subtract(ns, cost.against?)));
            let more_ns = more.map(|more| more.times(count));
            (count > 0.0).then(|| Part { operation, count, ns: ns.times(count), more_ns })
        })
        .collect();
    parts.sort_by(|one, other| other.ns.middle.total_cmp(&one.ns.middle));
    let sum = |end: fn(&Estimate) -> f64| parts.iter().map(|part| end(&part.ns)).sum::<f64>();
    let rest_ns = [(total - sum(|ns| ns.high)).max(0.0), (total - sum(|ns| ns.low)).max(0.0)];
    let more = parts.iter().filter_map(|part| part.more_ns);
    let explained = more.fold([0.0, 0.0], |[low, high], more| [low + more.low, high + more.high]);
    let more_ns = pair.map(|(_, there)| (total - there.elapsed_ns, explained));
    Split { calls, is_counted_there, parts: Ok(parts), rest_ns, more_ns }
}

/// Finds the cost of an operation, on the command's own files where that is known.
fn find_price(costs: &[Cost], usual: Operation) -> Option<&Cost> {
    let find = |operation| costs.iter().find(|cost| cost.operation == operation);
    let own = OWN.iter().find(|(name, _)| usual == Operation::Priced(name));
    let own = own.into_iter().flat_map(|(_, names)| names.iter());
    own.copied().find_map(|name| find(Operation::Priced(name))).or_else(|| find(usual))
}

fn subtract(one: Estimate, other: Estimate) -> Estimate {
    Estimate { low: one.low - other.high, middle: one.middle - other.middle, high: one.high - other.low }
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

#[cfg(test)]
mod tests {
    use tare_data::session::demand::Demand;

    use super::*;
    use crate::findings::{Answer, Interval, Verdict};

    fn ran(elapsed_ns: u64, counted_ns: u64) -> RanTwice {
        let mut demand = Demand { calls: 1_120.0, ..Demand::default() };
        demand.add(Work::Opens, 100.0);
        demand.add(Work::Missing, 20.0);
        demand.add(Work::OtherCalls, 1_000.0);
        let counted = Ok(CountedRun { demand, elapsed_ns: counted_ns, code: 0, tracing_ns: 10_000_000.0 });
        RanTwice { elapsed_ns, user_ns: 0, system_ns: 0, code: 0, counted }
    }

    fn estimate(middle: f64) -> Estimate {
        Estimate { low: 0.9 * middle, middle, high: 1.1 * middle }
    }

    fn costs(there: Option<f64>) -> Vec<Cost> {
        let cost = |operation, ns| Cost {
            operation,
            ns: estimate(ns),
            cycles: None,
            against: there.map(|times| estimate(ns / times)),
            factor: None,
            answer: Answer::from_verdict(Verdict::Same, Interval::UNKNOWN, 1.25),
            untold: None,
        };
        vec![cost(Operation::SystemCall, 1_000.0), cost(Operation::Priced("open"), 50_000.0)]
    }

    #[test]
    fn a_command_is_split_by_the_work_that_it_asked_for() {
        let split = split_time(&ran(20_000_000, 30_000_000), &costs(None), None);
        let parts = split.parts.unwrap();
        let list: Vec<_> = parts.iter().map(|part| (part.operation, part.count, part.ns.middle)).collect();
        let opens = (Operation::Priced("open"), 100.0, 5_000_000.0);
        assert_eq!(list, [opens, (Operation::SystemCall, 1_000.0, 1_000_000.0)]);
        assert_eq!((split.calls, split.more_ns), (Some(1_120.0), None));
        assert_eq!(split.rest_ns, [20_000_000.0 - 6_600_000.0, 20_000_000.0 - 5_400_000.0]);
    }

    #[test]
    fn a_difference_to_another_place_is_explained_by_the_prices_of_both() {
        let pair = Pair { costs: costs(Some(10.0)), apart_s: None, is_same_processor: true };
        let there = RanThere { elapsed_ns: 14_000_000.0, ..RanThere::default() };
        let split = split_time(&ran(20_000_000, 30_000_000), &costs(None), Some((&pair, &there)));
        let (more, [low, high]) = split.more_ns.unwrap();
        assert!(more == 6_000_000.0 && low < 5_400_000.0 && high > 5_400_000.0, "{low} to {high}");
    }

    #[test]
    fn the_commands_own_files_have_their_own_prices() {
        let all = |times: f64| {
            let own = |cost: &Cost| Cost {
                operation: Operation::Priced("open-own"),
                ns: cost.ns.times(6.0),
                ..cost.clone()
            };
            let mut costs = costs(Some(times));
            costs.extend(costs.iter().map(own).take(1).collect::<Vec<_>>());
            costs
        };
        let pair = Pair { costs: all(10.0), apart_s: None, is_same_processor: true };
        let there = RanThere { elapsed_ns: 14_000_000.0, ..RanThere::default() };
        let split = split_time(&ran(20_000_000, 30_000_000), &costs(None), Some((&pair, &there)));
        let part = &split.parts.unwrap()[1];
        assert_eq!(
            (part.operation, part.count, part.ns.middle),
            (Operation::Priced("open-own"), 100.0, 600_000.0)
        );
    }

    #[test]
    fn a_kernel_that_counts_no_page_faults_takes_those_of_the_other_place() {
        let mut costs = costs(Some(10.0));
        costs[0].operation = Operation::PageFault;
        let pair = Pair { costs, apart_s: None, is_same_processor: true };
        let work = BTreeMap::from([("faults".to_owned(), 700.0), ("opens".to_owned(), 7e9)]);
        let there = RanThere { elapsed_ns: 14_000_000.0, work, ..RanThere::default() };
        let parts = |ran: &RanTwice| split_time(ran, &[], Some((&pair, &there))).parts.unwrap();
        let mut ran = ran(20_000_000, 30_000_000);
        let count =
            |parts: &[Part]| parts.iter().map(|part| (part.operation, part.count)).collect::<Vec<_>>();
        assert_eq!(count(&parts(&ran)), [(Operation::Priced("open"), 100.0), (Operation::PageFault, 700.0)]);
        ran.counted.as_mut().unwrap().demand.add(Work::CopiedPages, 3.0);
        assert_eq!(count(&parts(&ran))[1], (Operation::PageFault, 3.0));
    }

    #[test]
    fn a_place_that_lets_nothing_be_counted_takes_the_counts_of_the_other() {
        let pair = Pair { costs: costs(Some(10.0)), apart_s: None, is_same_processor: true };
        let work = BTreeMap::from([("opens".to_owned(), 100.0), ("lies".to_owned(), 1e300)]);
        let there = RanThere { elapsed_ns: 14_000_000.0, work, ..RanThere::default() };
        let refused = RanTwice { counted: Err("refused".into()), ..ran(20_000_000, 1) };
        let split = split_time(&refused, &costs(None), Some((&pair, &there)));
        assert!(split.is_counted_there && split.calls.is_none());
        assert_eq!(split.parts.unwrap()[0].count, 100.0);
    }

    #[test]
    fn a_second_run_that_did_other_work_explains_nothing() {
        let of = |ran: &RanTwice| split_time(ran, &costs(None), None).parts.unwrap_err();
        // make builds first, and does nothing then.
        assert_eq!(of(&ran(4_000_000_000, 30_000_000)), Unsplit::OtherWork);
        assert_eq!(of(&ran(5_000_000, 100_000_000)), Unsplit::OtherWork);
        assert_eq!(of(&RanTwice { code: 1, ..ran(20_000_000, 30_000_000) }), Unsplit::OtherCode);
        assert_eq!(of(&RanTwice { user_ns: 40_000_000, ..ran(20_000_000, 30_000_000) }), Unsplit::Parallel);
        let refused = RanTwice { counted: Err("refused".into()), ..ran(1, 1) };
        assert_eq!(of(&refused), Unsplit::NotCounted("refused".into()));
    }
}
