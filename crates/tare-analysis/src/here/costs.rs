//! Costs: times that were measured here, each next to one that it should be like: another of here, or that of a machine without
//! layers, from a book of prices.

use tare_data::facts::Facts;

use super::Where;
use super::book::{Asked, Book, Entry, Found, Missing, Month, Range, find_price};
use super::layers::Class;
use super::limits::{Change, MOST_CHANGES};
use super::signs::View;
pub use super::times::Estimate;
use super::times::burst::{compute_slowdowns, find_throttling};
use super::times::cycle::read_cycle_ns;
use super::times::estimate;
pub use super::times::operations::Operation;
use super::times::operations::{PRICED, Priced, Processes, Scale};
use super::times::processor::Processor;

/// A factor whose whole interval is above this is slower, and within these the same.
const SLOWER: f64 = 1.25;
const SAME: [f64; 2] = [0.67, 1.5];
/// An interval of a factor with ends so far apart tells nothing.
const WIDEST: f64 = 4.0;
/// A sync that takes less than this many times its write has reached no device.
const SYNC_FACTOR: f64 = 1.5;
/// Least saving of a name, in ns, for which moving files is worth a word.
const WORTH_MOVING_NS: f64 = 1_000.0;
/// Share of the processors' time that a hypervisor may give to others while prices are measured.
const MOST_STOLEN: f64 = 0.2;
/// Share of it that other programs may use: a process that another one wakes waits for a processor where they use more.
const MOST_OF_OTHERS: f64 = 0.2;
/// Time of a processor in which its slowness is expressed, in ns.
const MILLISECOND_NS: f64 = 1_000_000.0;

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
    /// The interval would be narrow enough, but for the price's own.
    WidePrice,
    /// Chains of operations do not show a cycle.
    NoCycle,
    /// The processor is a program.
    Emulated,
    /// No book has this processor.
    NoEntry,
    /// Every entry of it is too old.
    OldEntry,
    /// A hypervisor gave the processors to others.
    Stolen,
    /// Books are made where several processors are.
    OneProcessor,
    /// Other programs use the processors.
    Busy,
}

impl Reason {
    /// Describes the reason, in words that can follow "cannot be told from inside: ".
    pub fn describe(self) -> &'static str {
        match self {
            Reason::NothingToCompare => "there is nothing here to compare it with",
            Reason::TooWide => "the times vary too much",
            Reason::WidePrice => "the book's prices are too uncertain",
            Reason::NoCycle => "the processor's cycle does not show",
            Reason::Emulated => "the processor is emulated",
            Reason::NoEntry => "the book has no such processor",
            Reason::OldEntry => "the book's prices are too old",
            Reason::Stolen => "the hypervisor gave the processors to others",
            Reason::OneProcessor => "the book's prices are for several processors",
            Reason::Busy => "other programs use the processors",
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
    /// Price in a book that it is compared with. The factor is that of all layers together.
    pub price: Option<Found>,
    pub factor: Option<Estimate>,
    pub contrast: Contrast,
}

/// A book of prices, and what has to be known for its use.
pub struct Pricing<'a> {
    pub book: &'a Book,
    pub now: Month,
    pub found: &'a Where,
    /// Hashes of this machine, as entries of the book have them.
    pub hashes: &'a [String],
}

/// Computes the costs that were measured: those with a price first, then contrasts.
pub fn compute_costs(facts: &Facts, pricing: &Pricing<'_>) -> Vec<Cost> {
    let view = View(facts);
    let mut costs = compute_prices(view, pricing);
    costs.extend(compute_contrasts(view));
    costs.sort_by_key(|cost| cost.operation);
    costs
}

/// Computes factors over the prices of a book.
fn compute_prices(view: View<'_>, pricing: &Pricing<'_>) -> Vec<Cost> {
    let is_emulated =
        |layer: &super::layers::Layer| layer.class == Class::Translator || layer.name == "qemu-tcg";
    let cycle_ns = match pricing.found.layers.iter().any(is_emulated) {
        true => Err(Reason::Emulated),
        false => read_cycle_ns(view).ok_or(Reason::NoCycle),
    };
    let is_stolen = view.number("cpu.stolen").is_some_and(|share| share > MOST_STOLEN);
    let is_busy = view.number("cpu.others").is_some_and(|share| share > MOST_OF_OTHERS);
    let has_one = view.number("cpu.allowed") == Some(1.0);
    let compute = |priced: &Priced| {
        let ns = estimate(view, priced.key)?;
        let cycles = cycle_ns.ok().map(|cycle_ns| ns.times(1.0 / cycle_ns));
        let here = match priced.scale {
            Scale::Cycles => cycle_ns.map(|cycle_ns| ns.times(1.0 / cycle_ns)),
            Scale::Nanoseconds => cycle_ns.map(|_| ns),
        };
        let compared = match () {
            () if is_stolen => Err(Reason::Stolen),
            () if has_one && priced.processes == Processes::Apart => Err(Reason::OneProcessor),
            () => here.and_then(|here| Ok((here, look_up(view, pricing, priced)?))),
        };
        let (price, factor) = match &compared {
            Ok((here, found)) => (Some(found.clone()), divide(*here, middle_of(found.range))),
            Err(_) => (None, None),
        };
        let contrast = match (compared, judge(factor)) {
            (Err(reason), _) => Contrast::Untold(reason),
            (Ok((here, found)), Contrast::Untold(Reason::TooWide))
                if spread(here) < spread(middle_of(found.range)) =>
            {
                Contrast::Untold(Reason::WidePrice)
            }
            (Ok(_), Contrast::Slower) if is_busy && priced.processes != Processes::One => {
                Contrast::Untold(Reason::Busy)
            }
            (Ok(_), judged) => judged,
        };
        Some(Cost { operation: priced.operation, ns, cycles, against: None, price, factor, contrast })
    };
    PRICED.iter().filter_map(compute).collect()
}

fn look_up(view: View<'_>, pricing: &Pricing<'_>, priced: &Priced) -> Result<Found, Reason> {
    let processor = Processor::read(view).ok_or(Reason::NoEntry)?;
    let layers = &pricing.found.layers;
    let machine = layers.iter().rfind(|layer| layer.class == Class::Machine);
    // What a layer's own kernel says of itself says nothing of the machine's.
    let has_other_kernel = layers.iter().any(|layer| layer.class == Class::Kernel);
    let asked = Asked {
        family: &processor.family,
        kernel: if has_other_kernel { "" } else { &processor.kernel },
        mitigations: processor.mitigations.clone().filter(|_| !has_other_kernel),
        under: machine.map_or("", |layer| layer.name),
        hashes: pricing.hashes,
        now: pricing.now,
    };
    let take = |entry: &Entry| match priced.scale {
        Scale::Cycles => entry.cycles.get(priced.name).copied(),
        Scale::Nanoseconds => entry.ns.get(priced.name).copied(),
    };
    find_price(pricing.book, &asked, take).map_err(|missing| match missing {
        Missing::Unknown => Reason::NoEntry,
        Missing::Old => Reason::OldEntry,
    })
}

/// Computes how many times its low end the high end of an interval is.
fn spread(estimate: Estimate) -> f64 {
    estimate.high / estimate.low
}

/// Gives a range with its geometric middle: factors of both ends from it are alike.
fn middle_of([low, high]: Range) -> Estimate {
    Estimate { low, middle: (low * high).sqrt(), high }
}

/// Computes factors between times of here.
fn compute_contrasts(view: View<'_>) -> Vec<Cost> {
    let contrasts = [
        (Operation::Clock, "cost.clock", "cost.clock_call"),
        (Operation::Name, "cost.name.work", "cost.name.own"),
        (Operation::NewName, "cost.new_name.work", "cost.known_name.work"),
        (Operation::Sync, "cost.sync.work", "cost.write.work"),
        (Operation::NewCode, "cost.new_code", "cost.known_code"),
    ];
    let contrast = |operation, ns, against: Option<Estimate>| {
        let factor = against.and_then(|against| divide(ns, against));
        Cost { operation, ns, cycles: None, against, price: None, factor, contrast: judge(factor) }
    };
    let compute = |(operation, key, against): (Operation, &str, &str)| {
        Some(contrast(operation, estimate(view, key)?, estimate(view, against)))
    };
    let steady = compute_slowdowns(view).map(|slowdowns| {
        let first = Estimate { low: MILLISECOND_NS, middle: MILLISECOND_NS, high: MILLISECOND_NS };
        let cost = contrast(Operation::SteadyCpu, slowdowns.times(MILLISECOND_NS), Some(first));
        match cost.contrast {
            // Gaps at no equal distances are those of others.
            Contrast::Slower | Contrast::Untold(_) if find_throttling(view).is_none() => {
                Cost { contrast: Contrast::Untold(Reason::Busy), ..cost }
            }
            _ => cost,
        }
    });
    contrasts.into_iter().filter_map(compute).chain(steady).collect()
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
    use crate::here::book::tests::make;
    use crate::here::recognise_layers;

    fn facts(pairs: &[(&str, &str)]) -> Facts {
        let mut facts = Facts::default();
        pairs.iter().for_each(|(key, value)| facts.add_fact(*key, *value));
        facts
    }

    /// Computes costs with a book.
    fn compute_with(facts: &Facts, book: &Book) -> Vec<Cost> {
        let now = Month::try_from("2026-11".to_owned()).unwrap();
        compute_costs(facts, &Pricing { book, now, found: &recognise_layers(facts), hashes: &[] })
    }

    fn compute(facts: &Facts) -> Vec<Cost> {
        compute_with(facts, &Book::from_entries(Vec::new()))
    }

    const TWELVE: &str = "100 101 102 103 104 105 106 107 108 109 110 500";

    #[test]
    fn an_interval_is_that_of_the_median_by_ranks() {
        let costs = compute(&facts(&[("cost.name.work", TWELVE)]));
        assert_eq!(costs[0].ns, Estimate { low: 102.0, middle: 105.5, high: 109.0 });
        assert_eq!(costs[0].contrast, Contrast::Untold(Reason::NothingToCompare));
        // Five blocks allow no interval of 95 %.
        assert_eq!(compute(&facts(&[("cost.name.work", "1 2 3 4 5")])), []);
        assert_eq!(compute(&facts(&[("cost.name.work", "lies NaN inf")])), []);
    }

    #[test]
    fn a_share_is_slower_than_memory_and_moving_saves_the_difference() {
        let slow = "90000 91000 92000 93000 94000 95000 96000 97000 98000 99000 99500 99900";
        let costs = compute(&facts(&[("cost.name.work", slow), ("cost.name.own", TWELVE)]));
        assert_eq!(costs[0].contrast, Contrast::Slower);
        let mut changes = Vec::new();
        add_changes(&costs, &mut changes);
        assert_eq!(changes, [Change::MoveWork { saved_ns: [92_000.0 - 109.0, 99_000.0 - 102.0] }]);
        let same = compute(&facts(&[("cost.name.work", TWELVE), ("cost.name.own", TWELVE)]));
        assert_eq!(same[0].contrast, Contrast::Same);
        add_changes(&same, &mut changes);
        assert_eq!(changes.len(), 1);
    }

    #[test]
    fn a_factor_that_could_be_anything_is_not_told() {
        let wild = "1 1 1 1 1 50 60 900 900 900 900 900";
        let costs = compute(&facts(&[("cost.name.work", wild), ("cost.name.own", TWELVE)]));
        assert_eq!(costs[0].contrast, Contrast::Untold(Reason::TooWide));
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
            ("cpuid.vendor", "AuthenticAMD"),
            ("processor.family", "25-1-1"),
            ("kernel.release", "6.12.3"),
            ("mitigations", "no-pti"),
            ("cycle.addition", "0.5 0.5 0.5 0.5 0.5 0.5"),
            ("cycle.multiplication", "1.5 1.5 1.5 1.5 1.5 1.5"),
            ("price.getppid", call_ns),
        ];
        facts(&[&usual[..], more].concat())
    }

    #[test]
    fn a_call_is_compared_with_the_book_in_cycles() {
        let book = Book::from_entries(vec![make("amd-25-1", "metal", "6.12", &["no-pti"])]);
        let call = |facts: &Facts| compute_with(facts, &book).swap_remove(0);
        // 2,000 cycles of gVisor, against 200 to 250.
        let slow = call(&priced("1000 1000 1000 1000 1000 1000 1000 1000", &[]));
        assert_eq!(slow.operation, Operation::SystemCall);
        assert_eq!(slow.cycles, Some(Estimate { low: 2_000.0, middle: 2_000.0, high: 2_000.0 }));
        let factor = slow.factor.unwrap();
        assert_eq!((factor.low, factor.high), (8.0, 10.0));
        assert_eq!(slow.contrast, Contrast::Slower);
        assert_eq!(slow.price.unwrap().under, "metal");
        let usual = call(&priced("112 112 112 112 112 112 112 112", &[]));
        assert_eq!(usual.contrast, Contrast::Same);
    }

    #[test]
    fn a_price_that_cannot_be_told_has_a_reason() {
        let book = Book::from_entries(vec![make("amd-25-1", "metal", "6.12", &["no-pti"])]);
        let why = |more: &[(&str, &str)]| {
            let mut facts = priced("112 112 112 112 112 112 112 112", &[]);
            more.iter().for_each(|(key, value)| _ = facts.0.insert((*key).into(), (*value).into()));
            compute_with(&facts, &book).swap_remove(0).contrast
        };
        assert_eq!(
            why(&[("cycle.multiplication", "0.6 0.6 0.6 0.6 0.6 0.6")]),
            Contrast::Untold(Reason::NoCycle)
        );
        assert_eq!(why(&[("processor.family", "26-1-1")]), Contrast::Untold(Reason::NoEntry));
        assert_eq!(why(&[("cpuid.interfaces", "TCGTCGTCGTCG")]), Contrast::Untold(Reason::Emulated));
        assert_eq!(why(&[("cpu.stolen", "0.4")]), Contrast::Untold(Reason::Stolen));
        // 1.6 and 1.25 wider at each end is too wide to be the same.
        assert_eq!(
            why(&[("processor.family", "25-97-1"), ("kernel.release", "6.1.2")]),
            Contrast::Untold(Reason::WidePrice)
        );
    }

    #[test]
    fn beside_other_programs_what_two_processes_take_is_untold() {
        let mut entry = make("amd-25-1", "metal", "6.12", &["no-pti"]);
        for name in ["fork", "switch"] {
            entry.cycles.insert(name.to_owned(), [200.0, 250.0]);
        }
        let book = Book::from_entries(vec![entry]);
        let slow = "1000 1000 1000 1000 1000 1000 1000 1000";
        let judged = |others: &str| {
            let facts = priced(slow, &[("price.fork", slow), ("price.switch", slow), ("cpu.others", others)]);
            let costs = compute_with(&facts, &book);
            costs.into_iter().map(|cost| (cost.operation.name(), cost.contrast)).collect::<Vec<_>>()
        };
        let busy = Contrast::Untold(Reason::Busy);
        let slower = Contrast::Slower;
        assert_eq!(judged("0.05"), [("system_call", slower), ("fork", slower), ("switch", slower)]);
        assert_eq!(judged("0.9"), [("system_call", slower), ("fork", busy), ("switch", busy)]);
    }

    #[test]
    fn a_quota_makes_steady_work_slower_than_a_burst() {
        let gaps = "25000-100000 125000-200000 225000-300000";
        let ran = ("burst.ran", "50000 50000 50000");
        let costs = compute(&facts(&[("burst.gaps", gaps), ran, ("burst.threads", "2")]));
        let [cost] = costs.as_slice() else { panic!("{costs:?}") };
        assert_eq!((cost.operation, cost.contrast), (Operation::SteadyCpu, Contrast::Slower));
        assert_eq!(cost.factor.unwrap().middle, 4.0);
        let others = [["0.5"; 10], ["0.4"; 10]].concat().join(" ");
        let costs =
            compute(&facts(&[("burst.gaps", "none"), ("burst.threads", "2"), ("burst.used", &others)]));
        assert_eq!(costs[0].contrast, Contrast::Untold(Reason::Busy));
    }
}
