//! The bill: where the difference goes between a command in the baseline and in an environment.
//!
//! A line is an amount of work that the command asks for, times the environment's price of a unit of it above
//! the baseline. Time that the lines do not explain has a separate line, and is never spread over the others.

mod prices;

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;
use tare_data::names::USER;
use tare_data::session::demand::{Counted, Demand, Work};
use tare_data::session::{PINNED, Role, Session, Side};

pub use self::prices::list_needed_cases;
use self::prices::{Price, Prices};
use crate::statistics::signed_ranks::{compute_median, sort_values};
use crate::verdicts::summary::{list_counted_trials, read_series};

/// Rounds from which a price explains a difference, where any has as many: from six on a median has an interval.
pub const ROUNDS_OF_A_PRICE: usize = 6;

/// Demand of a command where it was counted, and its bill in each environment.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Explained {
    /// `PlannedCase::id` and label of the command.
    pub case: String,
    pub label: String,
    /// Demand, or the reason why it could not be counted.
    pub counted: Counted,
    /// Its time in the baseline, in nanoseconds: the median over rounds.
    pub baseline_ns: Option<f64>,
    /// Elapsed time over processor time, at most 1: below that several of its processes run at once, and
    /// where they are served at once as well, a line delays it by its share only.
    pub overlap: f64,
    pub bills: Vec<Bill>,
}

/// The bill of a command in an environment.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Bill {
    #[serde(rename = "environment")]
    pub target: String,
    /// Its time there, in nanoseconds; none where it was not run or did not end.
    pub ns: Option<f64>,
    /// Rounds of the price that has the fewest, in the baseline and here.
    pub rounds: usize,
    /// Largest amount first. Work whose price is not known in both is in `unpriced`.
    pub lines: Vec<Line>,
    /// Work that the command asks for, without a price in the baseline or here, with one that noise hides, or with one of few rounds where
    /// others have enough.
    pub unpriced: Vec<Work>,
    pub forecast: Forecast,
    /// The difference that no line explains; none where the command was not timed on both sides.
    pub rest_ns: Option<f64>,
}

/// Line of a bill: one kind of work.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Line {
    pub work: Work,
    /// Units that the command asks for.
    pub amount: f64,
    /// Nanoseconds for a unit.
    pub baseline_ns: f64,
    pub here_ns: f64,
    /// Time that it adds to the command; below zero where it is cheaper here.
    pub more_ns: f64,
    /// The least and the most that it adds by the prices of single starts; none of fewer starts than two.
    pub range_ns: Option<[f64; 2]>,
}

/// The command's time by its bill alone, as if it had not been run there.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Forecast {
    /// Forecast of the time of a typical program with these lines over its time in the baseline; None
    /// where it was not timed there.
    pub ratio: Option<f64>,
    /// The least by the prices of any start, and the most, each as programs differ from loops.
    pub range: Option<[f64; 2]>,
    pub starts: usize,
}

/// Bounds of a program's own difference over that of its lines, for nine of ten programs of known kinds
/// (docs/method/forecast.md). A program is not a loop.
const LEAST_BESIDE: f64 = 0.6;
const MOST_BESIDE: f64 = 2.5;

/// The prices of an environment, in nanoseconds for a unit; of computing, the time of it over the baseline's.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Charged {
    #[serde(rename = "environment")]
    pub target: String,
    pub prices: BTreeMap<Work, Charge>,
}

/// A price, with the least and the most that it is in single starts.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Charge {
    pub typical: f64,
    pub least: f64,
    pub most: f64,
}

/// Computes the charges of each environment of a session, the baseline first; kinds of work that it did not
/// measure are left out.
pub fn compute_charges(session: &Session) -> Vec<Charged> {
    let Some(baseline) = session.baseline() else { return Vec::new() };
    let of_baseline = Prices::from_session(session, &baseline.name);
    let subjects = session.plan.targets.of_role(Role::Subject);
    let charged = |target: &Side| {
        let charge = |(work, price): (&Work, &Price)| {
            let baseline = of_baseline.0.get(work)?;
            let here = |value: f64| unit(*work, baseline, value)[1];
            let starts = price.by_start.values().copied();
            let least = starts.clone().fold(price.typical, f64::min);
            let most = starts.fold(price.typical, f64::max);
            Some((*work, Charge { typical: here(price.typical), least: here(least), most: here(most) }))
        };
        let prices = Prices::from_session(session, &target.name);
        Charged { target: target.name.clone(), prices: prices.0.iter().filter_map(charge).collect() }
    };
    std::iter::once(baseline)
        .chain(subjects)
        .map(charged)
        .filter(|charged| !charged.prices.is_empty())
        .collect()
}

/// Computes the bills of every command of a session whose demand was counted, by its own prices or those of
/// another session, in whose environments the commands need not have run.
pub fn compute_bills(session: &Session, prices: &Session) -> Vec<Explained> {
    let baseline_of = |session: &Session| {
        let baseline = session.plan.targets.of_role(Role::Baseline).next();
        baseline.map(|target| target.name.clone())
    };
    let (Some(baseline), Some(priced)) = (baseline_of(session), baseline_of(prices)) else {
        return Vec::new();
    };
    let of_baseline = Prices::from_session(prices, &priced);
    let is_pinned = prices.header.host.get(PINNED).is_some();
    let targets = prices.plan.targets.of_role(Role::Subject);
    let subjects: Vec<(&Side, Prices)> =
        targets.map(|target| (target, Prices::from_session(prices, &target.name))).collect();
    let commands = session.plan.cases.iter().filter(|case| case.case.probe.starts_with(USER));
    let counted = commands.filter_map(|case| Some((case, session.plan.demands.get(&case.id)?)));
    counted
        .map(|(case, counted)| {
            let demand = match counted {
                Counted::Demand(demand) => Some(demand),
                Counted::Failed(_) => None,
            };
            let value = |target: &str, metric: &str| typical(session, &case.id, target, metric);
            let baseline_ns = value(&baseline, "time");
            let used = ["user", "system"].map(|metric| value(&baseline, metric));
            let overlap = match (baseline_ns, used) {
                (Some(elapsed), [Some(user), Some(system)]) if user + system > 0.0 => {
                    (elapsed / (user + system)).min(1.0)
                }
                _ => 1.0,
            };
            let bill = |(target, prices): &(&Side, Prices)| {
                let here_ns = value(&target.name, "time");
                let delaying = if target.serving.one_at_a_time { 1.0 } else { overlap };
                let beside = if is_pinned { target.serving.beside_pinned } else { target.serving.beside };
                let times = (baseline_ns, here_ns);
                bill(demand?, (&of_baseline, prices), (target, times, delaying, beside))
            };
            Explained {
                case: case.id.clone(),
                label: case.label.clone(),
                bills: subjects.iter().filter_map(bill).collect(),
                counted: counted.clone(),
                baseline_ns,
                overlap,
            }
        })
        .collect()
}

/// Computes the median of a metric over the rounds of a case in an environment.
fn typical(session: &Session, case: &str, target: &str, metric: &str) -> Option<f64> {
    let planned = session.plan.cases.iter().find(|planned| planned.id == case)?;
    let at = planned.metrics.iter().position(|described| described.name == metric)?;
    let trials =
        list_counted_trials(&session.trials, &session.repeated, |t| t.case == case && t.target == target);
    let values = read_series(&trials, &planned.metrics).swap_remove(at).plain_values();
    // Processor time in ticks is right in the mean alone.
    match (values.is_empty(), metric) {
        (true, _) => None,
        (false, "time") => Some(compute_median(&sort_values(&values))),
        (false, _) => Some(values.iter().sum::<f64>() / values.len() as f64),
    }
}

/// Computes the price of a unit of work in the baseline and here. Computing is an exception: its unit is the
/// baseline's nanosecond.
fn unit(work: Work, baseline: &Price, here: f64) -> [f64; 2] {
    match work {
        Work::Computing if baseline.typical > 0.0 => [1.0, here / baseline.typical],
        // A difference of two measured values may fall below zero, and no work costs less than nothing.
        _ => [baseline.typical.max(0.0), here.max(0.0)],
    }
}

/// Computes a line of a bill; `delaying` is the part of the amount that delays the command.
fn line(work: Work, delaying: f64, (baseline, here): (&Price, &Price), amount: f64) -> Line {
    let more = |price: f64| {
        let [before, now] = unit(work, baseline, price);
        delaying * (now - before)
    };
    let starts = here.by_start.values().map(|price| more(*price));
    let least = starts.clone().fold(f64::INFINITY, f64::min);
    let most = starts.fold(f64::NEG_INFINITY, f64::max);
    let [baseline_ns, here_ns] = unit(work, baseline, here.typical);
    let range_ns = (here.by_start.len() > 1).then_some([least, most]);
    Line { work, amount, baseline_ns, here_ns, more_ns: more(here.typical), range_ns }
}

fn bill(
    demand: &Demand,
    (baseline, here): (&Prices, &Prices),
    (target, (baseline_ns, here_ns), delaying, beside): (&Side, (Option<f64>, Option<f64>), f64, f64),
) -> Option<Bill> {
    let (mut lines, mut unpriced) = (Vec::new(), Vec::new());
    let mut starts: BTreeSet<u32> = BTreeSet::new();
    let rounds_of = |line: &Line| baseline.0[&line.work].rounds.min(here.0[&line.work].rounds);
    for (&work, &amount) in &demand.amounts {
        let (Some(of_baseline), Some(price)) = (baseline.0.get(&work), here.0.get(&work)) else {
            unpriced.push(work);
            continue;
        };
        starts.extend(price.by_start.keys());
        lines.push(line(work, amount * delaying, (of_baseline, price), amount));
    }
    lines.sort_by(|a, b| b.more_ns.abs().total_cmp(&a.more_ns.abs()));
    let explained: f64 = lines.iter().map(|line| line.more_ns).sum();
    let of_start = |start: &u32| {
        let parts = lines.iter().filter_map(|line| {
            let price = &here.0.get(&line.work)?;
            let value = price.by_start.get(start).copied().unwrap_or(price.typical);
            let [before, now] = unit(line.work, baseline.0.get(&line.work)?, value);
            Some(line.amount * (now - before) * delaying)
        });
        parts.sum::<f64>()
    };
    let ratio = |more: f64| baseline_ns.map(|ns| (ns + more) / ns);
    let by_start: BTreeMap<u32, f64> = starts.iter().map(|start| (*start, of_start(start))).collect();
    let least = by_start.values().copied().fold(f64::INFINITY, f64::min);
    let most = by_start.values().copied().fold(f64::NEG_INFINITY, f64::max);
    let extremes = [LEAST_BESIDE, MOST_BESIDE];
    let lowest = extremes.map(|times| least * times).into_iter().fold(f64::INFINITY, f64::min);
    let highest = extremes.map(|times| most * times).into_iter().fold(f64::NEG_INFINITY, f64::max);
    let range = ratio(lowest).zip(ratio(highest)).filter(|_| !by_start.is_empty());
    // No work is for nothing: a price of 0 is one that noise hides, and explains nothing. Nor does one of few rounds, where others have
    // enough; computing alone, which is quick to price, explains little.
    let is_plain = |line: &Line| line.baseline_ns > 0.0 && line.here_ns > 0.0;
    let is_sure = |line: &Line| is_plain(line) && rounds_of(line) >= ROUNDS_OF_A_PRICE;
    let is_enough = lines.iter().any(|line| line.work != Work::Computing && is_sure(line));
    let (lines, hidden): (Vec<Line>, Vec<Line>) =
        lines.into_iter().partition(|line| if is_enough { is_sure(line) } else { is_plain(line) });
    unpriced.extend(hidden.iter().map(|line| line.work));
    let shown: f64 = lines.iter().map(|line| line.more_ns).sum();
    (!lines.is_empty()).then(|| Bill {
        target: target.name.clone(),
        ns: here_ns,
        rounds: lines.iter().map(rounds_of).min().unwrap_or(0),
        unpriced,
        forecast: Forecast {
            ratio: ratio(explained * beside),
            range: range.map(|(least, most)| [least.max(0.0), most]),
            starts: by_start.len(),
        },
        rest_ns: baseline_ns.zip(here_ns).map(|(before, now)| now - before - shown),
        lines,
    })
}
