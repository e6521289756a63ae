//! Costs: times that were measured here, each next to another one of here that it should be like.
//!
//! Without a machine that is known to have no layers, a time by itself says nothing about them. A contrast does: the same operation on
//! another file system, by another way, or again.

use tare_data::facts::Facts;

use super::limits::{Change, MOST_CHANGES};
use super::signs::View;
use crate::statistics::sign_test::compute_median_interval;
use crate::statistics::signed_ranks::{compute_median, sort_values};

/// Chance with which an interval misses the median.
const LEVEL: f64 = 0.05;
/// A factor whose whole interval is above this is slower, and within these the same.
const SLOWER: f64 = 1.25;
const SAME: [f64; 2] = [0.67, 1.5];
/// An interval of a factor with ends so far apart tells nothing.
const WIDEST: f64 = 4.0;
/// A sync that takes less than this many times its write has reached no device.
const SYNC_FACTOR: f64 = 1.5;
/// Least saving of a name, in ns, for which moving files is worth a word.
const WORTH_MOVING_NS: f64 = 1_000.0;

/// Median and the ends of its 95 % interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    pub low: f64,
    pub middle: f64,
    pub high: f64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Operation {
    SystemCall,
    PageFault,
    Clock,
    /// A name that was looked up just before.
    Name,
    /// A name that nobody looked up, against the same name again.
    NewName,
    Sync,
}

impl Operation {
    /// Returns its name in documents for programs.
    pub fn name(self) -> &'static str {
        match self {
            Operation::SystemCall => "system_call",
            Operation::PageFault => "page_fault",
            Operation::Clock => "clock",
            Operation::Name => "name",
            Operation::NewName => "new_name",
            Operation::Sync => "sync",
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Contrast {
    Slower,
    Same,
    Faster,
    Untold(Reason),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// Nothing that it could be compared with is here.
    NothingToCompare,
    /// The interval reaches from the same to slower.
    TooWide,
}

impl Reason {
    /// Describes it, in words that can follow "cannot be told from inside: ".
    pub fn describe(self) -> &'static str {
        match self {
            Reason::NothingToCompare => "there is nothing here to compare it with",
            Reason::TooWide => "the times vary too much",
        }
    }
}

/// A time of an operation, and its factor over the one that it is compared with.
#[derive(Clone, Debug, PartialEq)]
pub struct Cost {
    pub operation: Operation,
    pub ns: Estimate,
    /// Time of what it is compared with.
    pub against: Option<Estimate>,
    pub factor: Option<Estimate>,
    pub contrast: Contrast,
}

/// Computes the costs that were measured.
pub fn compute_costs(facts: &Facts) -> Vec<Cost> {
    let view = View(facts);
    let contrasts = [
        (Operation::SystemCall, "cost.call", ""),
        (Operation::PageFault, "cost.fault", ""),
        (Operation::Clock, "cost.clock", "cost.clock_call"),
        (Operation::Name, "cost.name.work", "cost.name.own"),
        (Operation::NewName, "cost.new_name.work", "cost.known_name.work"),
        (Operation::Sync, "cost.sync.work", "cost.write.work"),
    ];
    let compute = |(operation, key, against): (Operation, &str, &str)| {
        let (ns, against) = (estimate(view, key)?, estimate(view, against));
        let factor = against.and_then(|against| divide(ns, against));
        Some(Cost { operation, ns, against, factor, contrast: judge(factor) })
    };
    contrasts.into_iter().filter_map(compute).collect()
}

/// Estimates the median of a time's blocks; None where they are too few for an interval.
fn estimate(view: View<'_>, key: &str) -> Option<Estimate> {
    let blocks: Vec<f64> = view.text(key).split(' ').filter_map(|block| block.parse().ok()).collect();
    let sorted = sort_values(&blocks.into_iter().filter(|ns: &f64| ns.is_finite()).collect::<Vec<_>>());
    if sorted.is_empty() {
        return None;
    }
    let interval = compute_median_interval(&sorted, LEVEL);
    let is_bounded = interval.low.is_finite() && interval.high.is_finite();
    is_bounded.then(|| Estimate { low: interval.low, middle: compute_median(&sorted), high: interval.high })
}

/// Divides two estimates: the ends of the quotient are the farthest that both allow.
fn divide(one: Estimate, other: Estimate) -> Option<Estimate> {
    (other.low > 0.0).then(|| Estimate {
        low: one.low / other.high,
        middle: one.middle / other.middle,
        high: one.high / other.low,
    })
}

fn judge(factor: Option<Estimate>) -> Contrast {
    match factor {
        None => Contrast::Untold(Reason::NothingToCompare),
        Some(factor) if factor.high > WIDEST * factor.low => Contrast::Untold(Reason::TooWide),
        Some(factor) if factor.low > SLOWER => Contrast::Slower,
        Some(factor) if factor.high < SAME[0] => Contrast::Faster,
        Some(factor) if factor.low >= SAME[0] && factor.high <= SAME[1] => Contrast::Same,
        Some(_) => Contrast::Untold(Reason::TooWide),
    }
}

/// Destination of data that a sync is asked to make durable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Durability {
    /// It takes far longer than a write: something is waited for.
    ReachesSomething,
    /// The file system is in memory, or told to ignore syncs.
    Nothing,
    /// It takes no longer than a write.
    NoLonger,
}

/// Determines what syncs of the working folder reach; None where nothing could be written.
pub fn find_durability(facts: &Facts, costs: &[Cost]) -> Option<Durability> {
    let view = View(facts);
    let options = view.text("place.work.options");
    let is_volatile = options.split(',').any(|option| option.ends_with("volatile"));
    if is_volatile || ["tmpfs", "ramfs"].contains(&view.text("place.work.type")) {
        return Some(Durability::Nothing);
    }
    let sync = costs.iter().find(|cost| cost.operation == Operation::Sync)?;
    let factor = sync.factor?;
    match () {
        () if factor.low > SYNC_FACTOR => Some(Durability::ReachesSomething),
        () if factor.high < SYNC_FACTOR => Some(Durability::NoLonger),
        () => None,
    }
}

/// Tells whether the clock is read by the vDSO; None where the times do not say.
pub fn has_fast_clock(costs: &[Cost]) -> Option<bool> {
    let clock = costs.iter().find(|cost| cost.operation == Operation::Clock)?.factor?;
    match () {
        () if clock.high < SAME[0] => Some(true),
        () if clock.low >= SAME[0] => Some(false),
        () => None,
    }
}

/// Adds changes that the costs suggest, up to as many as are named.
pub fn add_changes(costs: &[Cost], changes: &mut Vec<Change>) {
    let slower =
        costs.iter().find(|cost| cost.operation == Operation::Name && cost.contrast == Contrast::Slower);
    let saved = slower.and_then(|cost| {
        let against = cost.against?;
        let [low, high] = [cost.ns.low - against.high, cost.ns.high - against.low];
        (low >= WORTH_MOVING_NS).then_some([low, high])
    });
    if let Some(saved_ns) = saved
        && changes.len() < MOST_CHANGES
    {
        changes.push(Change::MoveWork { saved_ns });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn facts(pairs: &[(&str, &str)]) -> Facts {
        let mut facts = Facts::default();
        pairs.iter().for_each(|(key, value)| facts.add_fact(*key, *value));
        facts
    }

    const TWELVE: &str = "100 101 102 103 104 105 106 107 108 109 110 500";

    #[test]
    fn an_interval_is_that_of_the_median_by_ranks() {
        let costs = compute_costs(&facts(&[("cost.call", TWELVE)]));
        assert_eq!(costs[0].ns, Estimate { low: 102.0, middle: 105.5, high: 109.0 });
        assert_eq!(costs[0].contrast, Contrast::Untold(Reason::NothingToCompare));
        // Five blocks allow no interval of 95 %.
        assert_eq!(compute_costs(&facts(&[("cost.call", "1 2 3 4 5")])), []);
        assert_eq!(compute_costs(&facts(&[("cost.call", "lies NaN inf")])), []);
    }

    #[test]
    fn a_share_is_slower_than_memory_and_moving_saves_the_difference() {
        let slow = "90000 91000 92000 93000 94000 95000 96000 97000 98000 99000 99500 99900";
        let costs = compute_costs(&facts(&[("cost.name.work", slow), ("cost.name.own", TWELVE)]));
        assert_eq!(costs[0].contrast, Contrast::Slower);
        let mut changes = Vec::new();
        add_changes(&costs, &mut changes);
        assert_eq!(changes, [Change::MoveWork { saved_ns: [92_000.0 - 109.0, 99_000.0 - 102.0] }]);
        let same = compute_costs(&facts(&[("cost.name.work", TWELVE), ("cost.name.own", TWELVE)]));
        assert_eq!(same[0].contrast, Contrast::Same);
        add_changes(&same, &mut changes);
        assert_eq!(changes.len(), 1);
    }

    #[test]
    fn a_factor_that_could_be_anything_is_not_told() {
        let wild = "1 1 1 1 1 50 60 900 900 900 900 900";
        let costs = compute_costs(&facts(&[("cost.name.work", wild), ("cost.name.own", TWELVE)]));
        assert_eq!(costs[0].contrast, Contrast::Untold(Reason::TooWide));
    }

    #[test]
    fn a_sync_that_takes_no_longer_than_a_write_reaches_nothing() {
        let found = |pairs: &[(&str, &str)]| {
            let facts = facts(pairs);
            find_durability(&facts, &compute_costs(&facts))
        };
        let long = "9000 9000 9000 9000 9000 9000 9000 9000";
        assert_eq!(
            found(&[("cost.sync.work", long), ("cost.write.work", TWELVE)]),
            Some(Durability::ReachesSomething)
        );
        assert_eq!(
            found(&[("cost.sync.work", TWELVE), ("cost.write.work", TWELVE)]),
            Some(Durability::NoLonger)
        );
        assert_eq!(found(&[("place.work.type", "tmpfs")]), Some(Durability::Nothing));
        assert_eq!(found(&[("place.work.options", "ro,volatile")]), Some(Durability::Nothing));
        assert_eq!(found(&[]), None);
    }

    #[test]
    fn a_clock_that_takes_as_long_as_a_call_is_one() {
        let clock = |fast: &str| {
            has_fast_clock(&compute_costs(&facts(&[("cost.clock", fast), ("cost.clock_call", TWELVE)])))
        };
        assert_eq!(clock("20 20 20 20 20 20 21 22"), Some(true));
        assert_eq!(clock(TWELVE), Some(false));
    }
}
