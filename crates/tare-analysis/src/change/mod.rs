//! Change over time: the costs of layers in older records and in newer ones, and the verdict on both together.
//!
//! Values of different days are never paired. The ratios of the records are compared, each of which was
//! paired within its session. Several records a side show how much sessions differ, and the interval is Student's t by
//! that. With one a side it is made of the two intervals that they have there (MOVER: Zou and Donner 2008) and of a spread
//! between sessions that is stated. A change among many cells is claimed only where Benjamini and Hochberg's procedure
//! keeps it.

mod costs;
pub mod facts;
mod judged;
mod sides;

use serde::Serialize;
use tare_data::names::Parameters;
use tare_data::session::specification::Specification;
use tare_data::session::{Plan, Role};

pub use self::costs::{Cost, Factor, Value};
pub use self::judged::Judged;
use crate::change::facts::{ChangedFact, changed_facts};
use crate::change::sides::compare_costs;
use crate::findings::sameness::MARGIN;
use crate::findings::{Answer, Cell, Comparison, Interval, Missing, Reach, Row, Verdict};
use crate::gate::{
    Condition, Judging, Kind, Outcome, Ruling, Selector, TargetNames, rule_on_slower, rule_within_reach,
};
use crate::statistics::multiplicity::{FALSE_SHARE, benjamini_hochberg};
use crate::verdicts::doubts::ends::{Ends, explain_other_ends};
use crate::verdicts::verdict::{Margin, decide_verdict};

/// Spread between sessions of one machine where nothing measures it and no other is stated, as a standard deviation of
/// logarithms: 0.5 %, by which the ratios of trials that take turns differ from one session to the next.
pub const STATED_SPREAD: f64 = 0.005;

/// Older and newer records compared.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Changes {
    /// Environments of any record, those of the newer ones first; the cells of every row are in this order.
    #[serde(rename = "environments")]
    pub targets: Vec<Target>,
    pub rows: Vec<ChangedRow>,
    pub facts: Vec<ChangedFact>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Target {
    pub name: String,
    pub specification: Specification,
    /// The command that it runs, where commands are compared.
    #[serde(skip)]
    command: Option<Parameters>,
    #[serde(skip)]
    title: Option<String>,
}

impl Target {
    /// Tells whether a record's side is this one.
    fn is(&self, side: &tare_data::session::Side) -> bool {
        self.specification == side.specification && self.command == side.list_run()
    }
}

/// A case and metric of any record.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ChangedRow {
    pub case: String,
    pub probe: String,
    pub label: String,
    pub metric: String,
    pub headline: bool,
    pub cells: Vec<ChangedCell>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ChangedCell {
    Compared {
        old: Cost,
        new: Cost,
        /// The answer to whether it is slower than it was.
        answer: Answer,
        /// Factor from the old slowdown to the new one; none where a side has no interval.
        factor: Option<Factor>,
    },
    /// There is no pair of ratios, or none that means the same.
    NotComparable { reason: String, old: Option<Cost>, new: Option<Cost> },
}

/// Judges the interval of a change. A control that is off makes both a change and sameness harder to claim.
pub fn judge_change(factor: Factor, margin: Margin) -> Verdict {
    decide_verdict(factor.interval.logarithms(), margin)
}

/// Returns the answer of a change; not sure where there is no factor.
fn answer_change(factor: Option<Factor>, verdict: Verdict, margin: Margin) -> Answer {
    let interval = factor.map_or(Interval::UNKNOWN, |factor| factor.interval);
    Answer::from_verdict(verdict, interval, libm::exp(margin.planned))
}

/// Compares older records with newer ones, at least one of each. `spread` is that between sessions, as a standard deviation of
/// logarithms, for cells with one session a side.
pub fn compare_records(old: &[&Judged], new: &[&Judged], spread: f64) -> Changes {
    let newer_first: Vec<&Judged> = new.iter().chain(old).copied().collect();
    let targets = list_subjects(&newer_first);
    let mut rows: Vec<(ChangedRow, Margin)> = Vec::new();
    for row in newer_first.iter().flat_map(|side| &side.findings.rows) {
        if rows.iter().all(|(known, _)| (&known.case, &known.metric) != (&row.case, &row.metric.name)) {
            let sides = [old, new].map(|sides| find_rows(sides, row));
            rows.push(changed_row(&sides, row, &targets, spread));
        }
    }
    let (mut rows, margins): (Vec<ChangedRow>, Vec<Margin>) = rows.into_iter().unzip();
    confirm(&mut rows, &margins);
    let facts = match (old.first(), new.first()) {
        (Some(old), Some(new)) => changed_facts(old, new),
        _ => Vec::new(),
    };
    Changes { targets, rows, facts }
}

/// A record with its row of one case and metric.
type SideRow<'a> = (&'a Judged, Option<&'a Row>);

/// Finds the row of a case and metric in each of some records.
pub(crate) fn find_rows<'a>(sides: &[&'a Judged], row: &Row) -> Vec<SideRow<'a>> {
    let is_it = |other: &&Row| (&other.case, &other.metric.name) == (&row.case, &row.metric.name);
    sides.iter().map(|side| (*side, side.findings.rows.iter().find(is_it))).collect()
}

/// Leaves the changes that their family bears out, headline cells and further metrics each by themselves: a cell by itself
/// misses one time in twenty, and there are many.
fn confirm(rows: &mut [ChangedRow], margins: &[Margin]) {
    for headline in [true, false] {
        let mut family: Vec<(&mut Answer, Factor, Margin)> = Vec::new();
        for (row, margin) in rows.iter_mut().zip(margins).filter(|(row, _)| row.headline == headline) {
            for cell in &mut row.cells {
                if let ChangedCell::Compared { answer, factor: Some(factor), .. } = cell {
                    family.push((answer, *factor, *margin));
                }
            }
        }
        let p = family.iter().map(|(_, factor, margin)| factor.p_beyond(margin.difference_edge()));
        let kept = benjamini_hochberg(&p.collect::<Vec<_>>(), FALSE_SHARE);
        for ((answer, factor, margin), _) in family.into_iter().zip(kept).filter(|(_, kept)| !kept) {
            let verdict = judge_change(factor, margin);
            if verdict.is_settled() && !verdict.is_within_margin() {
                let reach = answer.reach();
                *answer = answer_change(Some(factor), verdict.to_unconfirmed(), margin).with_reach(reach);
            }
        }
    }
}

/// Lists the subjects of some records in the order in which they first occur. Each is known by its specification: a preset's name
/// may come to mean another environment. A name that does is told apart by the specification behind it.
pub(crate) fn list_subjects(records: &[&Judged]) -> Vec<Target> {
    let mut targets: Vec<Target> = Vec::new();
    let all = records.iter().flat_map(|record| record.plan.targets.of_role(Role::Subject));
    for target in all {
        if targets.iter().any(|known| known.is(target)) {
            continue;
        }
        let is_taken = targets.iter().any(|known| known.name == target.name);
        let name = match is_taken {
            true => name_exactly(target),
            false => target.name.clone(),
        };
        let (specification, command) = (target.specification.clone(), target.list_run());
        let title = target.title().map(str::to_owned);
        targets.push(Target { name, specification, command, title });
    }
    targets
}

/// Formats a side's name with what it is.
fn name_exactly(side: &tare_data::session::Side) -> String {
    match &side.command {
        None => format!("{} ({})", side.name, side.specification),
        Some(_) => format!("{} ({} in {})", side.name, side.short_description, side.specification),
    }
}

fn changed_row(
    [old, new]: &[Vec<SideRow<'_>>; 2],
    row: &Row,
    targets: &[Target],
    spread: f64,
) -> (ChangedRow, Margin) {
    let all: Vec<SideRow<'_>> = old.iter().chain(new).copied().collect();
    let objection = find_objection(&all);
    let margin = widest_margin(&all);
    let cells = targets.iter().map(|target| match &objection {
        Some(reason) => {
            let [old, new] = [old, new].map(|side| side.iter().find_map(|at| find_cost(*at, target)));
            ChangedCell::NotComparable { reason: reason.clone(), old, new }
        }
        None => changed_cell([old, new], target, margin, spread),
    });
    let changed = ChangedRow {
        case: row.case.clone(),
        probe: row.probe.clone(),
        label: row.label.clone(),
        metric: row.metric.name.clone(),
        headline: row.headline,
        cells: cells.collect(),
    };
    (changed, margin)
}

/// Explains why the ratios of a row do not mean the same in all of some records.
pub(crate) fn find_objection(all: &[SideRow<'_>]) -> Option<String> {
    let (first, of_first) = all.iter().find(|(_, row)| row.is_some())?;
    all.iter().find_map(|(side, row)| find_row_objection(first, side, *of_first, *row))
}

/// Finds the cost of a layer in a record's row.
pub(crate) fn find_cost((side, row): SideRow<'_>, target: &Target) -> Option<Cost> {
    cell_cost(find_cell(side, row, target)?)
}

/// Finds an environment's cell of a row; None where the record has no such row or environment.
pub(crate) fn find_cell<'a>(side: &'a Judged, row: Option<&'a Row>, target: &Target) -> Option<&'a Cell> {
    let mut subjects = side.plan.targets.of_role(Role::Subject);
    let at = subjects.position(|subject| target.is(subject))?;
    row?.cells.get(at)
}

fn changed_cell(sides: [&Vec<SideRow<'_>>; 2], target: &Target, margin: Margin, spread: f64) -> ChangedCell {
    let [old, new] =
        sides.map(|side| -> Vec<Cost> { side.iter().filter_map(|at| find_cost(*at, target)).collect() });
    if let Some(reason) = explain_ends(sides, target) {
        let [old, new] = [old, new].map(|costs| costs.first().copied());
        return ChangedCell::NotComparable { reason, old, new };
    }
    if let Some((old, new, factor)) = compare_costs(&old, &new, spread) {
        let verdict = factor.map_or(Verdict::Inconclusive, |factor| judge_change(factor, margin));
        // A change of short stretches says nothing of work that lasts where either side does not.
        let answers = [&old, &new].into_iter().filter_map(|cost| cost.answer);
        let reach = answers.map(Answer::reach).reduce(Reach::join).unwrap_or_default();
        let answer = answer_change(factor, verdict, margin).with_reach(reach);
        return ChangedCell::Compared { old, new, answer, factor };
    }
    let lacking = |side: &Vec<SideRow<'_>>, which: &str| {
        side.first().and_then(|(side, row)| missing(find_cell(side, *row, target), which))
    };
    let reason = lacking(sides[0], "old").or_else(|| lacking(sides[1], "new"));
    ChangedCell::NotComparable {
        reason: reason.unwrap_or_else(|| "it is observed, never judged".into()),
        old: old.first().copied(),
        new: new.first().copied(),
    }
}

/// Explains why a command's runs do not compare, which ended otherwise than before in an environment or in the baseline.
fn explain_ends(sides: [&Vec<SideRow<'_>>; 2], target: &Target) -> Option<String> {
    let explain = |name_of: &dyn Fn(&Judged) -> Option<String>| {
        let [old, new] = sides.map(|side| {
            let mut all = Ends::new();
            for (side, row) in side {
                let (Some(name), Some(row)) = (name_of(side), row) else { continue };
                for (end, count) in side.ends_of(&row.case, &name).into_iter().flatten() {
                    *all.entry(*end).or_default() += count;
                }
            }
            all
        });
        explain_other_ends([&old, &new])
    };
    let subject = |record: &Judged| {
        let mut targets = record.plan.targets.of_role(Role::Subject);
        Some(targets.find(|of| target.is(of))?.name.clone())
    };
    let baseline = |record: &Judged| Some(record.baseline()?.name.clone());
    explain(&subject).or_else(|| Some(format!("in the baseline {}", explain(&baseline)?)))
}

pub(crate) fn cell_cost(cell: &Cell) -> Option<Cost> {
    let Cell::Compared(comparison) = cell else { return None };
    let Comparison { ratio, interval_alone: interval, rounds, .. } = **comparison;
    Some(Cost { ratio, interval, rounds, answer: Some(comparison.answer()) })
}

/// Explains why a record has no ratio in a cell; None where it has one, or an observation.
fn missing(cell: Option<&Cell>, record: &str) -> Option<String> {
    let why = match cell {
        None => return Some(format!("not in the {record} record")),
        Some(Cell::Compared(_) | Cell::Observed(_)) => return None,
        Some(Cell::Missing(Missing::Failed(failure))) => failure.reason.clone(),
        Some(Cell::Missing(Missing::NotReached)) => "not reached".into(),
        Some(Cell::Missing(Missing::NoBaseline(_))) => "the baseline has no value".into(),
        Some(Cell::Missing(Missing::NotComparable { reason, .. })) => reason.clone(),
    };
    Some(format!("in the {record} record: {why}"))
}

/// Explains why the ratios of a row do not mean the same in both records.
pub(crate) fn find_row_objection(
    old: &Judged,
    new: &Judged,
    old_row: Option<&Row>,
    new_row: Option<&Row>,
) -> Option<String> {
    let (old_row, new_row) = (old_row?, new_row?);
    let (then, now) = (old.baseline(), new.baseline());
    if !then.zip(now).map_or(then.is_none() && now.is_none(), |(then, now)| then.is_like(now)) {
        let named = |baseline: Option<&tare_data::session::Side>| match baseline {
            None => "nothing".into(),
            Some(side) if side.command.is_none() => side.specification.to_string(),
            Some(side) => name_exactly(side),
        };
        return Some(format!("the baseline was {} and is {}", named(then), named(now)));
    }
    let planned = |plan: &'_ Plan| -> Option<String> {
        plan.cases.iter().find(|case| case.id == new_row.case).map(|case| case.definition.clone())
    };
    if planned(&old.plan) != planned(&new.plan) {
        return Some("the measurement has changed: the definitions differ".into());
    }
    (old_row.metric != new_row.metric).then(|| "the metric is read otherwise".into())
}

/// Finds the widest margin of some records, raised for changes to the difference that any of their sessions
/// found where there is none.
pub(crate) fn widest_margin(sides: &[(&Judged, Option<&Row>)]) -> Margin {
    let planned = |(side, row): &(&Judged, Option<&Row>)| {
        let case = side.plan.cases.iter().find(|case| Some(&case.id) == row.map(|row| &row.case));
        case.map(|case| case.margin).filter(|margin| margin.is_finite() && *margin > 0.0)
    };
    let control = |(_, row): &(&Judged, Option<&Row>)| {
        let cost = cell_cost(row.as_ref()?.control.as_ref()?)?;
        (!cost.interval.contains(1.0)).then(|| libm::log(cost.ratio).abs()).filter(|floor| floor.is_finite())
    };
    let margin = sides.iter().filter_map(planned).reduce(f64::max).unwrap_or(MARGIN);
    sides.iter().filter_map(control).fold(Margin::from_planned(margin), Margin::raise_floor)
}

impl ChangedCell {
    /// Answers a condition for a cell of two records, by what is shown of it.
    fn answer(&self, condition: &Condition) -> Ruling {
        let ChangedCell::Compared { answer, factor, .. } = self else {
            return if condition.kind == Kind::Missing { Ruling::Trips } else { Ruling::Missing };
        };
        let ruling = rule_on_slower(*answer);
        match (condition.kind, condition.beyond) {
            (Kind::Missing, _) => Ruling::Passes,
            (Kind::Undecided, _) if ruling == Ruling::Undecided => Ruling::Trips,
            (Kind::Undecided, _) => Ruling::Passes,
            (Kind::Regressed, Some(ratio)) => factor.map_or(Ruling::Undecided, |factor| {
                rule_within_reach(factor.interval, ratio, answer.reach())
            }),
            (Kind::Regressed, None) => ruling,
            // It is about one record only; two say nothing of it.
            (Kind::Slower | Kind::Differs, _) => Ruling::Missing,
        }
    }
}

impl Changes {
    /// Lists the headline rows, with their positions, that are judged.
    pub fn list_headlines(&self) -> impl Iterator<Item = (usize, &ChangedRow)> {
        self.rows.iter().enumerate().filter(|(_, row)| row.headline && Row::is_judged(&row.probe))
    }

    /// Counts the headline cells that were compared.
    pub fn count_compared(&self) -> usize {
        let cells = self.list_headlines().flat_map(|(_, row)| &row.cells);
        cells.filter(|cell| matches!(cell, ChangedCell::Compared { .. })).count()
    }
}

/// Puts conditions to every headline cell of two records.
pub fn judge_changes(changes: &Changes, conditions: &[Condition]) -> Outcome {
    let mut judging = Judging::new(conditions);
    for (at, row) in changes.list_headlines() {
        for (of_target, (target, cell)) in changes.targets.iter().zip(&row.cells).enumerate() {
            let Target { name, specification, title, .. } = target;
            let (specification, title) = (Some(specification), title.as_deref());
            let names = TargetNames { name, specification, title };
            let chooses =
                |selector: &Selector| selector.matches_cell(&names, &[&row.case, &row.probe, &row.label]);
            judging.judge_cell((at, of_target), chooses, |condition| cell.answer(condition));
        }
    }
    judging.into_outcome()
}
