//! Costs: times that were measured here, each next to another of here that it should be like, or to what it takes at most on any Linux
//! that we know.

pub mod pair;

use tare_data::facts::Facts;
use tare_data::facts::keys::{
    COST_CLOCK, COST_CLOCK_CALL, COST_KNOWN_CODE, COST_NEW_CODE, COST_SYNC_WORK, COST_WRITE_WORK, CPU_STOLEN,
};

use super::Where;
use super::layers::Class;
use super::signs::View;
pub use super::times::Estimate;
use super::times::burst::{compute_slowdowns, find_throttling, is_busy};
use super::times::cycle::read_cycle_ns;
use super::times::estimate;
pub use super::times::operations::Operation;
use super::times::operations::{PRICED, Priced, Processes};
use crate::findings::{Answer, Interval, Kind, Position, Verdict};
use crate::verdicts::verdict::{Margin, decide_verdict};

/// The largest factor between two times of here that counts as the same, and the one beyond which an operation is slower than on any Linux.
const MARGIN: f64 = 1.25;
/// The longest cycle, in ns, where the processor's does not show: 1.6 GHz.
const LONGEST_CYCLE_NS: f64 = 0.62;
/// A sync that takes less than this many times its write has reached no device.
const SYNC_FACTOR: f64 = 1.5;
/// Fact of a name in the place that the working folder is compared with.
const OWN_NAME: &str = "cost.name.own";
/// Share of a call's time that a clock which needs no call takes at most.
const FAST_CLOCK: f64 = 0.67;
/// Share of the processors' time that a hypervisor may give to others while prices are measured.
pub(super) const MOST_STOLEN: f64 = 0.2;
/// Time of a processor in which its slowness is expressed, in ns.
const MILLISECOND_NS: f64 = 1_000_000.0;

/// Reasons for which a cost is not told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// Nothing that it could be compared with is here.
    NothingToCompare,
    /// The interval reaches from the same to slower.
    TooWide,
    /// Both times are above those of the slowest Linux, so that their likeness says nothing.
    BothSlow,
    /// All of the interval is within what some Linux without layers takes.
    NotSlower,
    /// A hypervisor gave the processors to others.
    Stolen,
    /// Other programs use the processors.
    Busy,
    /// Files of a command: caches have them at one time, and not at another.
    OwnFiles,
}

impl Reason {
    /// Describes the reason, in words that can follow "not told: ".
    pub fn describe(self) -> &'static str {
        match self {
            Reason::NothingToCompare => "there is nothing here to compare it with",
            Reason::TooWide => "the times vary too much",
            Reason::BothSlow => "both are slower than on any Linux without layers that we know",
            Reason::NotSlower => "no slower than the slowest known Linux without layers",
            Reason::Stolen => "the hypervisor gave the processors to others",
            Reason::Busy => "other programs use the processors",
            Reason::OwnFiles => "caches have a command's files at one time, and not at another",
        }
    }
}

/// A time of an operation, and its factor over the one that it is compared with.
#[derive(Clone, Debug, PartialEq)]
pub struct Cost {
    pub operation: Operation,
    pub ns: Estimate,
    /// The time in cycles, where a cycle shows.
    pub cycles: Option<Estimate>,
    /// Time of here that it is compared with.
    pub against: Option<Estimate>,
    /// The factor over that time, or over the slowest Linux that we know, which has no upper end then. It is that of all layers together.
    pub factor: Option<Interval>,
    pub answer: Answer,
    /// Why it is not told; none where the answer is decided.
    pub untold: Option<Reason>,
}

impl Cost {
    /// Gives the same cost without an answer.
    pub(super) fn without_answer(self, reason: Reason) -> Cost {
        let unknown = Answer::from_verdict(Verdict::Inconclusive, Interval::UNKNOWN, MARGIN);
        Cost { answer: unknown, untold: Some(reason), ..self }
    }
}

/// Contrasts of times of here: an operation, its times, and those of another that they should be like.
const CONTRASTS: [(Operation, &str, &str); 5] = [
    (Operation::Clock, COST_CLOCK, COST_CLOCK_CALL),
    (Operation::Name, "cost.name.work", OWN_NAME),
    (Operation::NewName, "cost.new_name.work", "cost.known_name.work"),
    (Operation::Sync, COST_SYNC_WORK, COST_WRITE_WORK),
    (Operation::NewCode, COST_NEW_CODE, COST_KNOWN_CODE),
];

/// Computes the costs that were measured.
pub fn compute_costs(facts: &Facts, found: &Where) -> Vec<Cost> {
    let view = View(facts);
    let is_emulated =
        |layer: &super::layers::Layer| layer.class == Class::Translator || layer.name == "qemu-tcg";
    // The chain of an emulated processor is as slow as all else there, and would hide it.
    let cycle_ns = read_cycle_ns(view).filter(|_| !found.layers.iter().any(is_emulated));
    let mut costs = compute_prices(view, cycle_ns, is_busy(view, found.is_served()));
    costs.extend(compute_contrasts(view, cycle_ns));
    costs.sort_by_key(|cost| cost.operation);
    costs
}

/// Computes how many times as long operations take as on the slowest Linux that we know.
fn compute_prices(view: View<'_>, cycle_ns: Option<f64>, is_busy: bool) -> Vec<Cost> {
    let is_stolen = view.number(CPU_STOLEN).is_some_and(|share| share > MOST_STOLEN);
    let compute = |priced: &Priced| {
        let ns = estimate(view, priced.key)?;
        let cycles = cycle_ns.map(|cycle_ns| ns.times(1.0 / cycle_ns));
        let most_ns = priced.most_cycles * cycle_ns.unwrap_or(LONGEST_CYCLE_NS);
        // The slowest is known, and the quickest is not: there is no upper end.
        let factor = Interval::new(ns.low / most_ns, f64::INFINITY);
        let cost = Cost { cycles, ..judge(priced.operation, ns, None, Some(factor)) };
        Some(match () {
            () if is_stolen => cost.without_answer(Reason::Stolen),
            () if ns.high <= most_ns => cost.without_answer(Reason::NotSlower),
            () if cost.untold.is_some() => cost,
            () if is_busy && priced.processes != Processes::One => cost.without_answer(Reason::Busy),
            () => cost,
        })
    };
    let is_needless = |priced: &&Priced| priced.is_needless(|key| !view.text(key).is_empty());
    PRICED.iter().filter(|priced| !is_needless(priced)).filter_map(compute).collect()
}

/// Computes factors between times of here.
fn compute_contrasts(view: View<'_>, cycle_ns: Option<f64>) -> Vec<Cost> {
    let contrast = |operation, ns, against: Option<Estimate>| {
        judge(operation, ns, against, against.and_then(|against| divide(ns, against)))
    };
    let compute = |(operation, key, against): (Operation, &str, &str)| {
        let cost = contrast(operation, estimate(view, key)?, estimate(view, against));
        // A layer that makes names slow in both places makes them no more alike than they are without it.
        let is_slow_too = || against == OWN_NAME && is_name_slow(view, cycle_ns);
        let is_same = cost.answer.kind() == Kind::Same;
        Some(if is_same && is_slow_too() { cost.without_answer(Reason::BothSlow) } else { cost })
    };
    let steady = compute_slowdowns(view).map(|slowdowns| {
        let first = Estimate { low: MILLISECOND_NS, middle: MILLISECOND_NS, high: MILLISECOND_NS };
        let cost = contrast(Operation::SteadyCpu, slowdowns.times(MILLISECOND_NS), Some(first));
        // Gaps at no equal distances are those of others.
        let is_quick = matches!(cost.answer.kind(), Kind::Same | Kind::Faster);
        if is_quick || find_throttling(view).is_some() { cost } else { cost.without_answer(Reason::Busy) }
    });
    CONTRASTS.into_iter().filter_map(compute).chain(steady).collect()
}

/// Tells whether a name in the place that the working folder is compared with takes longer than on the slowest Linux.
fn is_name_slow(view: View<'_>, cycle_ns: Option<f64>) -> bool {
    // If nothing can be written, it was one that is not there.
    let name = if view.text("place.work.written") == "no" { "stat-missing" } else { "stat" };
    let bound = PRICED.iter().find(|priced| priced.operation == Operation::Priced(name));
    let most_ns = bound.map(|bound| bound.most_cycles * cycle_ns.unwrap_or(LONGEST_CYCLE_NS));
    estimate(view, OWN_NAME).zip(most_ns).is_some_and(|(own, most_ns)| own.low > most_ns)
}

/// Divides two estimates: the ends of the quotient are the farthest that both allow.
pub(super) fn divide(one: Estimate, other: Estimate) -> Option<Interval> {
    (other.low > 0.0).then(|| Interval::new(one.low / other.high, one.high / other.low))
}

/// Judges a time by its factor.
pub(super) fn judge(
    operation: Operation,
    ns: Estimate,
    against: Option<Estimate>,
    factor: Option<Interval>,
) -> Cost {
    let interval = factor.unwrap_or(Interval::UNKNOWN);
    let verdict = decide_verdict(interval.logarithms(), Margin::from_planned(libm::log(MARGIN)));
    let answer = Answer::from_verdict(verdict, interval, MARGIN);
    let why = if factor.is_none() { Reason::NothingToCompare } else { Reason::TooWide };
    let untold = (!answer.is_decided()).then_some(why);
    Cost { operation, ns, cycles: None, against, factor, answer, untold }
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
    match factor.against(SYNC_FACTOR) {
        Position::Beyond => Some(Durability::ReachesSomething),
        Position::Within => Some(Durability::NoLonger),
        Position::Open => None,
    }
}

/// Tells whether the clock is read by the vDSO; None where the times do not say.
pub fn has_fast_clock(costs: &[Cost]) -> Option<bool> {
    let clock = costs.iter().find(|cost| cost.operation == Operation::Clock)?.factor?;
    match clock.against(FAST_CLOCK) {
        Position::Within => Some(true),
        Position::Beyond => Some(false),
        Position::Open => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::here::recognise_layers;

    fn facts(pairs: &[(&str, &str)]) -> Facts {
        let mut facts = Facts::default();
        pairs.iter().for_each(|(key, value)| facts.add_fact(*key, *value));
        facts
    }

    fn compute(facts: &Facts) -> Vec<Cost> {
        compute_costs(facts, &recognise_layers(facts))
    }

    const TWELVE: &str = "100 101 102 103 104 105 106 107 108 109 110 500";

    #[test]
    fn an_interval_is_that_of_the_median_by_ranks() {
        let costs = compute(&facts(&[("cost.name.work", TWELVE)]));
        assert_eq!(costs[0].ns, Estimate { low: 102.0, middle: 105.5, high: 109.0 });
        assert_eq!(costs[0].untold, Some(Reason::NothingToCompare));
        // Five blocks allow no interval of 95 %.
        assert_eq!(compute(&facts(&[("cost.name.work", "1 2 3 4 5")])), []);
        assert_eq!(compute(&facts(&[("cost.name.work", "lies NaN inf")])), []);
    }

    #[test]
    fn a_share_is_slower_than_memory() {
        let slow = "90000 91000 92000 93000 94000 95000 96000 97000 98000 99000 99500 99900";
        let costs = compute(&facts(&[("cost.name.work", slow), ("cost.name.own", TWELVE)]));
        assert_eq!(costs[0].answer.kind(), Kind::Slower);
        let same = compute(&facts(&[("cost.name.work", TWELVE), ("cost.name.own", TWELVE)]));
        assert_eq!(same[0].answer.kind(), Kind::Same);
    }

    #[test]
    fn names_that_are_slow_in_both_places_are_not_the_same() {
        let slow = "60000 60100 60200 60300 60400 60500 60600 60700";
        let costs = compute(&facts(&[("cost.name.work", slow), ("cost.name.own", slow)]));
        assert_eq!(costs[0].untold, Some(Reason::BothSlow), "a supervisor answers both");
    }

    #[test]
    fn a_factor_that_could_be_anything_is_not_told() {
        let wild = "1 1 1 1 1 50 60 900 900 900 900 900";
        let costs = compute(&facts(&[("cost.name.work", wild), ("cost.name.own", TWELVE)]));
        assert_eq!((costs[0].answer.kind(), costs[0].untold), (Kind::NotSure, Some(Reason::TooWide)));
    }

    #[test]
    fn a_sync_that_takes_no_longer_than_a_write_reaches_nothing() {
        let found = |pairs: &[(&str, &str)]| {
            let facts = facts(pairs);
            find_durability(&facts, &compute(&facts))
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
            has_fast_clock(&compute(&facts(&[("cost.clock", fast), ("cost.clock_call", TWELVE)])))
        };
        assert_eq!(clock("20 20 20 20 20 20 21 22"), Some(true));
        assert_eq!(clock(TWELVE), Some(false));
    }

    /// Facts of a processor whose cycle is half a ns, with calls of `call_ns`.
    fn priced(call_ns: &str, more: &[(&str, &str)]) -> Facts {
        let usual = [
            ("cycle.addition", "0.5 0.5 0.5 0.5 0.5 0.5"),
            ("cycle.multiplication", "1.5 1.5 1.5 1.5 1.5 1.5"),
            ("price.getppid", call_ns),
        ];
        facts(&[&usual[..], more].concat())
    }

    #[test]
    fn a_call_is_told_where_it_is_slower_than_on_the_slowest_linux() {
        let call = |ns: &str| compute(&priced(&[ns; 8].join(" "), &[])).swap_remove(0);
        // 20,000 cycles, as in gVisor, against 2,088.
        let slow = call("10000");
        assert_eq!(slow.operation, Operation::SystemCall);
        assert_eq!(slow.cycles, Some(Estimate { low: 20_000.0, middle: 20_000.0, high: 20_000.0 }));
        assert_eq!((slow.answer.kind(), slow.untold), (Kind::AtLeast, None));
        assert_eq!(slow.factor.unwrap().against(9.5), Position::Beyond);
        let wild = compute(&priced("900 900 900 900 50000 50000 50000 50000", &[])).swap_remove(0);
        assert_eq!(wild.untold, Some(Reason::TooWide), "it may be slower than any");
        // Never "as on Linux": this machine may be four times as quick without its layers.
        let usual = call("112");
        assert_eq!((usual.answer.kind(), usual.untold), (Kind::NotSure, Some(Reason::NotSlower)));
    }

    #[test]
    fn an_open_is_told_without_a_folder_in_memory() {
        let slow = ["60000"; 8].join(" ");
        let told = |more: &[(&str, &str)]| {
            let costs = compute(&priced("112", more));
            costs.iter().map(|cost| (cost.operation.name(), cost.answer.kind())).collect::<Vec<_>>()
        };
        assert_eq!(told(&[("price.open-root", &slow)]), [("open-root", Kind::AtLeast)]);
        assert_eq!(told(&[("price.open-root", &slow), ("price.open", &slow)]), [("open", Kind::AtLeast)]);
    }

    #[test]
    fn other_programs_make_no_call_slower() {
        // A tracer waits for a processor in most blocks.
        let blocks = format!("7000 {}", ["90000"; 11].join(" "));
        let low = |others: &str| {
            let costs = compute(&priced(&blocks, &[("cpu.others", others)]));
            costs[0].factor.unwrap().ends(f64::from)[0]
        };
        assert!(low("0.1") > 20.0 && (6.0..7.0).contains(&low("0.9")), "{} {}", low("0.1"), low("0.9"));
    }

    #[test]
    fn without_a_cycle_the_slowest_processor_is_assumed() {
        let call = |ns: &str| {
            let facts = priced(&[ns; 8].join(" "), &[("cycle.multiplication", "0.6 0.6 0.6 0.6 0.6 0.6")]);
            compute(&facts).swap_remove(0).answer.kind()
        };
        assert_eq!([call("1500"), call("17000")], [Kind::NotSure, Kind::AtLeast]);
    }

    #[test]
    fn a_price_that_cannot_be_told_has_a_reason() {
        let slow = ["1000000"; 8].join(" ");
        let why = |more: &[(&str, &str)]| compute(&priced(&slow, more)).swap_remove(0).untold;
        assert_eq!(why(&[]), None);
        assert_eq!(why(&[("cpu.stolen", "0.4")]), Some(Reason::Stolen));
        let fork = ("price.fork", "9e9 9e9 9e9 9e9 9e9 9e9 9e9 9e9");
        let fork_alone = |more: (&str, &str)| {
            let costs = compute(&facts(&[fork, more]));
            costs[0].untold
        };
        assert_eq!(fork_alone(("cpu.allowed", "1")), None, "it takes no longer on one processor");
        assert_eq!(
            fork_alone(("cpu.others", "0.9")),
            Some(Reason::Busy),
            "another process waits for a processor"
        );
        assert_eq!(fork_alone(("cpu.others", "0.05")), None);
    }

    #[test]
    fn a_quota_makes_steady_work_slower_than_a_burst() {
        let gaps = "25000-100000 125000-200000 225000-300000";
        let ran = ("burst.ran", "50000 50000 50000");
        let costs = compute(&facts(&[("burst.gaps", gaps), ran, ("burst.threads", "2")]));
        let [cost] = costs.as_slice() else { panic!("{costs:?}") };
        assert_eq!((cost.operation, cost.answer.kind()), (Operation::SteadyCpu, Kind::Slower));
        assert!(cost.factor.unwrap().contains(4.0));
        let others = [["0.5"; 10], ["0.4"; 10]].concat().join(" ");
        let costs =
            compute(&facts(&[("burst.gaps", "none"), ("burst.threads", "2"), ("burst.used", &others)]));
        assert_eq!(costs[0].untold, Some(Reason::Busy));
    }
}
