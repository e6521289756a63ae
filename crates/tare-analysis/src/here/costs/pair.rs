//! A pair: times of here over those of another place, as a document of it has them.

use tare_data::facts::Facts;
use tare_data::facts::keys::{
    COST_CLOCK, COST_SYNC_WORK, CPU_STOLEN, CPUID_BRAND, CPUINFO_MODEL, CYCLE_ADDITION, PRICE_MAP_OWN,
    PRICE_OPEN_NEW, PRICE_OPEN_OWN, TAKEN_AT,
};

use super::{CONTRASTS, Cost, MOST_STOLEN, Operation, Reason, divide, judge};
use crate::findings::Interval;
use crate::here::recognise_layers;
use crate::here::signs::View;
use crate::here::times::burst::{compute_slowdowns, is_busy};
use crate::here::times::operations::{PRICED, Processes};
use crate::here::times::{Estimate, estimate};

/// Widening of a factor at both ends, since a process's place in memory and its processor shift all of its blocks: between eight starts in
/// one place, 95 % of 1,120 intervals of factors were no further from 1.
const SHIFT: f64 = 1.15;
/// Times of files of a command, which explain what it takes and are judged by nobody.
const OWN_FILES: [Operation; 3] =
    [Operation::Priced("map-own"), Operation::Priced("open-own"), Operation::Priced("open-new")];
/// Times besides those of the table of prices.
const OTHERS: [(Operation, &str); 10] = [
    (Operation::Priced("computing"), CYCLE_ADDITION),
    (Operation::Priced("map-file"), "price.map-file"),
    (Operation::Priced("map-own"), PRICE_MAP_OWN),
    (Operation::Priced("open-own"), PRICE_OPEN_OWN),
    (Operation::Priced("open-new"), PRICE_OPEN_NEW),
    (Operation::Priced("stat-8"), "price.stat-8"),
    (Operation::Priced("list"), "price.list"),
    (Operation::Clock, COST_CLOCK),
    (Operation::Name, "cost.name.work"),
    (Operation::Sync, COST_SYNC_WORK),
];

/// Lists the operations of which it can be told that they are slower: here, or than in another place.
pub fn list_operations(is_pair: bool) -> Vec<Operation> {
    let priced = PRICED.iter().map(|priced| priced.operation).chain([Operation::SteadyCpu]);
    let others = OTHERS.map(|(operation, _)| operation).into_iter();
    match is_pair {
        true => priced.chain(others.filter(|operation| !OWN_FILES.contains(operation))).collect(),
        false => priced.chain(CONTRASTS.map(|(operation, ..)| operation)).collect(),
    }
}

/// Comparison of this place with another.
#[derive(Clone, Debug, PartialEq)]
pub struct Pair {
    pub costs: Vec<Cost>,
    /// Seconds between both; none where a clock says otherwise.
    pub apart_s: Option<u64>,
    pub is_same_processor: bool,
}

/// Compares times of here with those of another place.
pub fn pair_with(here: &Facts, other: &Facts) -> Pair {
    let views = [View(here), View(other)];
    let is_stolen = views.iter().any(|view| view.number(CPU_STOLEN).is_some_and(|share| share > MOST_STOLEN));
    let is_busy = views.iter().any(|view| is_busy(*view, recognise_layers(view.0).is_served()));
    let compare = |operation, processes, both: [Option<Estimate>; 2]| {
        let [Some(ns), Some(against)] = both else { return None };
        let factor = divide(ns, against).map(|factor| widen(factor, SHIFT));
        let cost = judge(operation, ns, Some(against), factor);
        Some(match () {
            () if is_stolen => cost.without_answer(Reason::Stolen),
            () if OWN_FILES.contains(&operation) => cost.without_answer(Reason::OwnFiles),
            () if is_busy && processes != Processes::One => cost.without_answer(Reason::Busy),
            () => cost,
        })
    };
    let is_in_both = |key: &str| views.iter().all(|view| !view.text(key).is_empty());
    let prices = PRICED.iter().filter(|priced| !priced.is_needless(is_in_both)).filter_map(|priced| {
        compare(priced.operation, priced.processes, views.map(|view| estimate(view, priced.key)))
    });
    // A name that is not there is another work than one that is.
    let written = views.map(|view| view.text("place.work.written"));
    let others =
        OTHERS.iter().filter(|(operation, _)| *operation != Operation::Name || written[0] == written[1]);
    let others = others.filter_map(|(operation, key)| {
        compare(*operation, Processes::One, views.map(|view| estimate(view, key)))
    });
    let steady = compare(Operation::SteadyCpu, Processes::Apart, views.map(compute_slowdowns));
    let steady = steady.map(|cost| Cost {
        ns: cost.ns.times(1e6),
        against: cost.against.map(|one| one.times(1e6)),
        ..cost
    });
    let mut costs: Vec<Cost> = prices.chain(others).chain(steady).collect();
    costs.sort_by_key(|cost| cost.operation);
    let taken = views.map(|view| view.0.get_integer(TAKEN_AT));
    let is_same = |key: &str| !views[0].text(key).is_empty() && views[0].text(key) == views[1].text(key);
    Pair {
        costs,
        apart_s: taken[0].zip(taken[1]).and_then(|(here, other)| here.checked_sub(other)),
        // A translator answers for the program's processor, and the kernel for the machine's.
        is_same_processor: is_same(CPUID_BRAND) || is_same(CPUINFO_MODEL),
    }
}

fn widen(factor: Interval, by: f64) -> Interval {
    let [low, high] = factor.ends(f64::from);
    Interval::new(low / by, high * by)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::findings::Kind;

    fn facts(call_ns: &str, more: &[(&str, &str)]) -> Facts {
        let mut facts = Facts::default();
        facts.add_fact("price.getppid", [call_ns; 8].join(" "));
        facts.add_fact("price.fork", ["200000"; 8].join(" "));
        more.iter().for_each(|(key, value)| facts.add_fact(*key, *value));
        facts
    }

    fn answers(here: &Facts, other: &Facts) -> Vec<(&'static str, Kind, Option<Reason>)> {
        let costs = pair_with(here, other).costs;
        costs.iter().map(|cost| (cost.operation.name(), cost.answer.kind(), cost.untold)).collect()
    }

    #[test]
    fn a_pair_tells_what_is_slower_and_what_is_the_same() {
        let told = answers(&facts("17000", &[]), &facts("180", &[]));
        assert_eq!(told, [("system_call", Kind::Slower, None), ("fork", Kind::Same, None)]);
        let factor = pair_with(&facts("17000", &[]), &facts("180", &[])).costs[0].factor.unwrap();
        assert!(factor.contains(94.4) && !factor.contains(120.0), "{factor:?}");
        let quick = answers(&facts("180", &[]), &facts("17000", &[]));
        assert_eq!(quick[0].1, Kind::Faster);
    }

    #[test]
    fn a_pair_of_a_busy_hour_is_not_told() {
        let busy = facts("180", &[("cpu.others", "0.5")]);
        let told = answers(&facts("17000", &[]), &busy);
        assert_eq!(told[0].2, None);
        assert_eq!(told[1].2, Some(Reason::Busy), "another process waits for a processor");
        let traced = |share: &str| {
            let used = [share; 20].join(" ");
            facts("17000", &[("tracer", "41"), ("cpu.others", "0.5"), ("burst.used", &used)])
        };
        let fork = |here: &Facts| answers(here, &facts("180", &[]))[1].2;
        assert_eq!(fork(&traced("1.0")), None, "others are the tracer, which rests while nothing is called");
        assert_eq!(fork(&traced("0.6")), Some(Reason::Busy));
        let stolen = answers(&facts("17000", &[]), &facts("180", &[("cpu.stolen", "0.5")]));
        assert_eq!(stolen[0].2, Some(Reason::Stolen));
        let own = |ns: &str| facts("180", &[("price.open-new", [ns; 8].join(" ").as_str())]);
        let told = answers(&own("90000"), &own("2000"));
        let of_files = told.iter().find(|(name, ..)| *name == "open-new").unwrap();
        assert_eq!(of_files.2, Some(Reason::OwnFiles), "the second of two runs finds them in caches");
    }

    #[test]
    fn a_pair_says_whether_it_is_of_one_machine_and_hour() {
        let at = |seconds: &str, brand: &str| facts("180", &[("taken.at", seconds), ("cpuid.brand", brand)]);
        let pair = pair_with(&at("4000", "EPYC"), &at("400", "EPYC"));
        assert_eq!((pair.apart_s, pair.is_same_processor), (Some(3_600), true));
        let pair = pair_with(&at("400", "Xeon"), &at("4000", "EPYC"));
        assert_eq!((pair.apart_s, pair.is_same_processor), (None, false));
    }

    #[test]
    fn times_that_lie_tell_nothing() {
        for lies in ["0", "-5", "nan", "inf", "x"] {
            let told = answers(&facts("180", &[]), &facts(lies, &[]));
            assert!(
                told.iter().all(|(name, _, why)| *name != "system_call" || why.is_some()),
                "{lies}: {told:?}"
            );
        }
    }
}
