//! Lasting work: stretches of each environment beside those of the one that it is compared with, in the same rounds.

use std::collections::BTreeMap;

use tare_data::metric::{Metric, Reading};
use tare_data::names::Case;
use tare_data::session::lasting::{LastingWork, Stretch};
use tare_data::session::{Role, Session};
use tare_data::unit::{Direction, Unit};
use tare_data::warning::Warning;

use crate::findings::sameness::MARGIN;
use crate::findings::{
    Cell, Comparison, Estimate, Family, Findings, Interval, LastingCost, Leading, Missing, Outcome, Reach,
    Row, Span, Why,
};
use crate::statistics::level::ALPHA;
use crate::statistics::signed_ranks::{self, compute_median, sort_values};
use crate::statistics::student;
use crate::verdicts::summary::compute_level_of;
use crate::verdicts::verdict::{Margin, decide_verdict};

/// Fewest rounds that an interval rests on.
const FEWEST_ROUNDS: usize = 4;

/// Parameters that have a case use several processors at once where they are more than one.
const AT_ONCE: [&str; 4] = ["threads", "parallel", "copies", "at_once"];

/// Stretches of a kind of work in an environment, each behind the one of the same round in its baseline.
struct Pairs<'a> {
    target: &'a str,
    work: LastingWork,
    pairs: Vec<[&'a Stretch; 2]>,
}

impl Pairs<'_> {
    /// Lists a number of each round that has one on both sides, as ln of the environment's over the baseline's.
    fn list_logarithms(&self, number: impl Fn(&Stretch) -> f64) -> Vec<f64> {
        let differences = self.pairs.iter().map(|pair| {
            let [of_baseline, own] = pair.map(|stretch| libm::log(number(stretch)));
            own - of_baseline
        });
        differences.filter(|difference| difference.is_finite()).collect()
    }

    fn list_ratios(&self) -> Vec<f64> {
        self.list_logarithms(operation_ns)
    }

    fn judge(&self, chance: f64, margin: f64) -> LastingCost {
        let excess = self.list_logarithms(|stretch| operation_ns(stretch) / stretch.slice_ns);
        let excess = estimate(&excess, chance);
        LastingCost {
            target: self.target.to_owned(),
            work: self.work,
            stretches: self.pairs.len() as u32,
            seconds: self.pairs.iter().map(|[_, own]| own.elapsed_ns as f64 / 1e9).sum(),
            ratio: estimate(&self.list_ratios(), chance),
            excess,
            outcome: excess.map(|excess| Outcome::from_excess(excess.interval, margin)),
        }
    }

    /// Makes the cell of the environment, of a long ratio that is judged at a margin.
    fn make_cell(&self, cost: &LastingCost, margin: f64) -> Option<Cell> {
        let all = |side: usize| self.pairs.iter().map(move |pair| operation_ns(pair[side]));
        let level = compute_level_of(all(1).collect())?;
        let Some(Estimate { ratio, interval }) = cost.ratio else { return Some(Cell::Observed(level)) };
        let differences = all(1).zip(all(0)).map(|(own, of_baseline)| own - of_baseline);
        let verdict = decide_verdict(interval.logarithms(), Margin::from_planned(libm::log(margin)));
        let rounds = self.pairs.len() as u32;
        let ratios = self.list_ratios();
        let alone = estimate(&ratios, 1.0 - ALPHA).map_or(Interval::UNKNOWN, |alone| alone.interval);
        let (mean, error) = (libm::log(ratio), student::estimate_error(&ratios)?);
        let all_seconds = self.pairs.iter().flatten().map(|stretch| stretch.elapsed_ns as f64 / 1e9);
        Some(Cell::Compared(Box::new(Comparison {
            level,
            rounds,
            ratio,
            interval,
            interval_alone: alone,
            total: None,
            signs: Interval::UNKNOWN,
            leading: Leading::Student,
            p: 1.0 - student::compute_two_sided_chance(mean / error, rounds.saturating_sub(1)),
            margin,
            verdict,
            reach: Reach::Lasting,
            seen: Span { rounds, seconds: all_seconds.sum(), is_lasting: false },
            slow: None,
            lacks: Why::Rounds,
            decided_at: verdict.is_settled().then_some(rounds),
            needed: None,
            smallest: None,
            difference: compute_median(&sort_values(&differences.collect::<Vec<_>>())),
            starts: None,
            warnings: Vec::new(),
        })))
    }
}

/// Adds to findings what stretches of lasting work say: costs and rows of their own, and the reach of every other answer.
pub(crate) fn add_lasting_work(findings: &mut Findings, session: &Session, margin: Option<f64>) {
    let all = pair_stretches(session);
    let margin = libm::exp(find_margin(session, margin));
    // Each has a test, and all together have the chance of a false one.
    let chance = 1.0 - ALPHA / all.len().max(1) as f64;
    let costs: Vec<LastingCost> = all.iter().map(|pairs| pairs.judge(chance, margin)).collect();
    let of_target = |target: &str| costs.iter().filter(|cost| cost.target == target).collect::<Vec<_>>();
    for row in &mut findings.rows {
        let Some(planned) = session.plan.cases.iter().find(|planned| planned.id == row.case) else {
            continue;
        };
        for (cell, target) in row.cells.iter_mut().zip(&findings.subjects) {
            let costs = of_target(target);
            let found = cell.compared_mut().into_iter();
            found.for_each(|found| found.reach = find_reach(found.reach, &costs, &planned.case));
        }
    }
    for (target, warning) in &mut findings.warnings {
        if let (Some(target), Warning::Throttled { factor, interval, .. }) = (target, warning)
            && let Some(long) = of_target(target)
                .iter()
                .find_map(|cost| cost.ratio.filter(|_| cost.outcome == Some(Outcome::Differs)))
        {
            (*factor, *interval) = (Some(long.ratio), Some(long.interval.bounds()));
        }
    }
    findings
        .rows
        .extend(LastingWork::ALL.iter().filter_map(|work| make_row(session, *work, &all, &costs, margin)));
    findings.lasting = costs;
}

/// Pairs the stretches of each kind of work in each environment with those of the one that it is compared with. Of several in a round the
/// first counts.
fn pair_stretches(session: &Session) -> Vec<Pairs<'_>> {
    let mut rounds: BTreeMap<(LastingWork, &str), BTreeMap<u32, &Stretch>> = BTreeMap::new();
    for stretch in session.stretches.iter().filter(|stretch| operation_ns(stretch) > 0.0) {
        let of_target = rounds.entry((stretch.work, &stretch.target)).or_default();
        of_target.entry(stretch.round).or_insert(stretch);
    }
    let targets = &session.plan.targets;
    let sides = targets.list_role(Role::Subject).filter_map(|at| Some([targets.partner_of(at)?, at]));
    let sides = sides.map(|sides| sides.map(|at| targets[at].name.as_str()));
    let of_work = |work: LastingWork| {
        let rounds = &rounds;
        sides.clone().filter_map(move |[first, target]| {
            let [first, own] = [first, target].map(|name| rounds.get(&(work, name)));
            let first = first?;
            let both = own?.iter().filter_map(|(round, own)| Some([*first.get(round)?, *own]));
            let pairs: Vec<_> = both.collect();
            (!pairs.is_empty()).then_some(Pairs { target, work, pairs })
        })
    };
    LastingWork::ALL.into_iter().flat_map(of_work).collect()
}

/// Computes the time of an operation; 0 where there was none, or no time.
fn operation_ns(stretch: &Stretch) -> f64 {
    match stretch.operations {
        0 => 0.0,
        operations => stretch.elapsed_ns as f64 / operations as f64,
    }
}

/// Estimates a ratio from its logarithms in each round, with an interval that holds it with this chance.
fn estimate(logarithms: &[f64], chance: f64) -> Option<Estimate> {
    let (mean, half) =
        student::estimate_mean(logarithms, chance).filter(|_| logarithms.len() >= FEWEST_ROUNDS)?;
    let interval = signed_ranks::Interval { low: mean - half, high: mean + half };
    Some(Estimate { ratio: libm::exp(mean), interval: Interval::from_logarithms(interval) })
}

/// Finds the margin of a session as a whole, as a logarithm: the widest of its cases, or the reader's.
fn find_margin(session: &Session, of_reader: Option<f64>) -> f64 {
    let of_cases = session.plan.cases.iter().map(|planned| of_reader.unwrap_or(planned.margin));
    of_cases.filter(|margin| margin.is_finite() && *margin > 0.0).reduce(f64::max).unwrap_or(MARGIN)
}

/// Tells whether the excess of a kind of work is that of a case: of arithmetic always, of calls where it makes some, and of all processors
/// where it uses several.
fn is_alike(work: LastingWork, case: &Case) -> bool {
    let parameter = |name: &str| case.parameters.0.get(name).map(String::as_str);
    match work {
        LastingWork::Arithmetic => true,
        LastingWork::Calls => !matches!(Family::from_probe(&case.probe), Family::Cpu | Family::Memory),
        LastingWork::Processors => {
            let is_several = |name| parameter(name).and_then(|n| n.parse().ok()).is_some_and(|n: u64| n > 1);
            AT_ONCE.into_iter().any(is_several) || parameter("neighbour").is_some_and(|next| next != "none")
        }
    }
}

/// Finds the reach of an answer with the worst that stretches show of work like its case's. What counters saw comes first.
fn find_reach(counted: Reach, costs: &[&LastingCost], case: &Case) -> Reach {
    let alike = costs.iter().filter(|cost| is_alike(cost.work, case));
    let judged =
        alike.filter_map(|cost| Some((cost.outcome?, libm::log(cost.excess?.ratio).abs(), cost.ratio?)));
    let worst = judged.max_by(|a, b| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)));
    let is_of_one = !is_alike(LastingWork::Processors, case);
    let has_all = costs.iter().any(|cost| cost.work == LastingWork::Processors);
    match (counted, worst) {
        // The limit leaves work like the case's as it is.
        (Reach::Stopped(_), Some((Outcome::Excludes, ..))) if is_of_one || has_all => Reach::Lasting,
        (Reach::Stopped(stop), worst) => {
            let slower = worst.filter(|(outcome, ..)| *outcome != Outcome::Excludes);
            Reach::Stopped(stop.with_measured(slower.map(|(.., long)| long)))
        }
        (counted, None) => counted,
        (_, Some((Outcome::Excludes, ..))) => Reach::Lasting,
        (_, Some((Outcome::Open, ..))) => Reach::Open,
        (_, Some((Outcome::Differs, _, long))) => Reach::Differs(long),
    }
}

/// Makes the row of a kind of work; none where it was not measured.
fn make_row(
    session: &Session,
    work: LastingWork,
    all: &[Pairs<'_>],
    costs: &[LastingCost],
    margin: f64,
) -> Option<Row> {
    let of_work = || all.iter().zip(costs).filter(|(pairs, _)| pairs.work == work);
    of_work().next()?;
    let baseline = session.baseline()?;
    let own =
        session.stretches.iter().filter(|stretch| stretch.work == work && stretch.target == baseline.name);
    let values = own.map(operation_ns).filter(|ns| *ns > 0.0).collect();
    let cell = |target: &str| -> Cell {
        let found = of_work().find(|(pairs, _)| pairs.target == target);
        let made = found.and_then(|(pairs, cost)| pairs.make_cell(cost, margin));
        made.unwrap_or(Cell::Missing(Missing::NotReached))
    };
    Some(Row {
        case: format!("{}.{}", Row::LASTING, work.name()),
        probe: Row::LASTING.into(),
        label: match work {
            LastingWork::Arithmetic => "arithmetic that lasts",
            LastingWork::Processors => "arithmetic that lasts, all processors",
            LastingWork::Calls => "calls and forks that last",
        }
        .into(),
        place: None,
        peer: None,
        metric: Metric {
            name: "time".into(),
            series: String::new(),
            reading: Reading::TimePerOperation,
            unit: Unit::Nanoseconds,
            direction: Direction::Lower,
        },
        headline: work == LastingWork::Processors,
        baseline: compute_level_of(values),
        cells: session.plan.targets.of_role(Role::Subject).map(|side| cell(&side.name)).collect(),
        control: None,
        published: Vec::new(),
    })
}
