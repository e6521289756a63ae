//! Conditions that a script sets on a fleet.

use std::fmt;
use std::str::FromStr;

use super::change::FleetChange;
use super::cost::LayerCost;
use super::slow::Standing;
use super::summary::Fleet;
use crate::change::Change;
use crate::gate::{Condition, Kind, Ruling, TargetNames, rule_on_slower};
use crate::statistics::level::ALPHA;
use crate::statistics::multiplicity::select_by_holm;
use crate::statistics::signed_ranks::{Nulls, compute_median, p_value, sort_values};

/// When a fleet's gate is tripped.
#[derive(Clone, Debug, PartialEq)]
pub enum FleetCondition {
    /// A node is slow, whether or not fresh sessions confirmed it.
    Outlier,
    /// More than this share of the planned sessions and pairs is missing.
    Missing { beyond: f64 },
    /// `slower` or `regressed`, of the layers' costs over nodes.
    Layer(Condition),
}

impl FromStr for FleetCondition {
    type Err = String;

    fn from_str(text: &str) -> Result<FleetCondition, String> {
        let word = text.split([':', '>']).next().unwrap_or("");
        match word {
            "outlier" if text == word => Ok(FleetCondition::Outlier),
            "missing" if text == word => Ok(FleetCondition::Missing { beyond: 0.0 }),
            "missing" => {
                let percent = text.strip_prefix("missing>").and_then(|rest| rest.strip_suffix('%'));
                let percent = percent.and_then(|percent| percent.parse::<f64>().ok());
                percent
                    .filter(|percent| (0.0..100.0).contains(percent))
                    .map(|percent| FleetCondition::Missing { beyond: percent / 100.0 })
                    .ok_or_else(|| format!("'{text}' is not a share, e.g. missing>5%"))
            }
            "slower" => Condition::of_one(text).map(FleetCondition::Layer),
            "regressed" => Condition::of_two(text).map(FleetCondition::Layer),
            _ => Err(format!(
                "'{text}' is not a condition; there are outlier, missing, missing>5%, slower and regressed"
            )),
        }
    }
}

impl fmt::Display for FleetCondition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FleetCondition::Outlier => f.write_str("outlier"),
            FleetCondition::Missing { beyond } if *beyond > 0.0 => write!(f, "missing>{}%", beyond * 100.0),
            FleetCondition::Missing { .. } => f.write_str("missing"),
            FleetCondition::Layer(condition) => condition.fmt(f),
        }
    }
}

/// Answer of a condition on a fleet.
#[derive(Clone, Debug, PartialEq)]
pub struct FleetAnswer {
    /// As it was written.
    pub condition: String,
    /// Missing where there was nothing to check: no kind has nodes enough, no layer a cost.
    pub answer: Ruling,
    /// Nodes, or cells as `environment: case`.
    pub of: Vec<String>,
}

/// Tells whether the gate fails: a condition holds, or one had nothing to check.
pub fn is_shut(answers: &[FleetAnswer]) -> bool {
    answers.iter().any(|of| matches!(of.answer, Ruling::Trips | Ruling::Missing))
}

/// Puts conditions to a fleet. `planned` counts its sessions and pairs, and `missing` those that are missing.
pub fn judge_fleet(
    fleet: &Fleet,
    conditions: &[FleetCondition],
    planned: usize,
    missing: usize,
) -> Vec<FleetAnswer> {
    let answer = |condition: &FleetCondition| {
        let (answer, of) = match condition {
            FleetCondition::Outlier => outlier(fleet),
            FleetCondition::Missing { beyond } => {
                let share = missing as f64 / planned.max(1) as f64;
                let answer = if share > *beyond { Ruling::Trips } else { Ruling::Passes };
                (answer, vec![format!("{missing} of {planned}")])
            }
            FleetCondition::Layer(condition) if condition.kind == Kind::Regressed => {
                regressed(fleet, condition)
            }
            FleetCondition::Layer(condition) => slower(fleet, condition),
        };
        FleetAnswer { condition: condition.to_string(), answer, of }
    };
    conditions.iter().map(answer).collect()
}

fn outlier(fleet: &Fleet) -> (Ruling, Vec<String>) {
    let nodes = &fleet.ranking.nodes;
    let is_slow = |standing: Standing| matches!(standing, Standing::Slow | Standing::MaybeSlow);
    let slow: Vec<String> =
        nodes.iter().filter(|node| is_slow(node.standing)).map(|node| node.node.clone()).collect();
    match (slow.is_empty(), nodes.iter().all(|node| node.standing == Standing::NotJudged)) {
        (false, _) => (Ruling::Trips, slow),
        (true, true) => (Ruling::Missing, slow),
        (true, false) => (Ruling::Passes, slow),
    }
}

/// A cell that a condition chose: its name, the nodes' ratios, their interval, and whether it is past the
/// margin where the condition names no ratio.
struct Chosen<'a> {
    name: String,
    of_nodes: Vec<f64>,
    high: Option<f64>,
    plain: Ruling,
    condition: &'a Condition,
}

fn slower(fleet: &Fleet, condition: &Condition) -> (Ruling, Vec<String>) {
    let chosen = |cost: &&LayerCost| chooses(fleet, condition, &cost.target, &cost.case, &cost.metric);
    let cells = fleet.costs.iter().filter(chosen).map(|cost| Chosen {
        name: format!("{}: {}", cost.target, cost.case),
        of_nodes: cost.nodes.iter().map(|node| node.ratio).collect(),
        high: cost.fleet.as_ref().map(|fleet| fleet.high),
        plain: cost.fleet.as_ref().map_or(Ruling::Missing, |cost| rule_on_slower(cost.answer())),
        condition,
    });
    together(cells.collect())
}

fn regressed(fleet: &Fleet, condition: &Condition) -> (Ruling, Vec<String>) {
    let of_layers = |cell: &&FleetChange| {
        cell.target
            .as_deref()
            .is_some_and(|target| chooses(fleet, condition, target, &cell.case, &cell.metric))
    };
    let plain = |cell: &FleetChange| match cell.change.map(|changed| changed.change) {
        None => Ruling::Missing,
        Some(Change::Regressed) => Ruling::Trips,
        Some(Change::Improved | Change::Unchanged) => Ruling::Passes,
        Some(Change::Inconclusive) => Ruling::Undecided,
    };
    let cells = fleet.changes.iter().flatten().filter(of_layers).map(|cell| Chosen {
        name: format!("{}: {}", cell.target.as_deref().unwrap_or_default(), cell.case),
        of_nodes: cell.of_nodes.values().copied().collect(),
        high: cell.change.map(|changed| changed.high),
        plain: plain(cell),
        condition,
    });
    together(cells.collect())
}

fn chooses(fleet: &Fleet, condition: &Condition, target: &str, case: &str, metric: &str) -> bool {
    let names = TargetNames { name: target, specification: None };
    let probe = fleet.find_case(case, metric).map_or("", |of| of.probe.as_str());
    condition.selector.matches_cell(&names, case, probe)
}

/// Answers for all cells that were chosen, with the cells that gave the answer. A ratio is tested over nodes,
/// and Holm's procedure keeps the chance that any trips by accident at 5 %.
fn together(cells: Vec<Chosen<'_>>) -> (Ruling, Vec<String>) {
    let mut nulls = Nulls::default();
    let p: Vec<f64> = cells.iter().map(|cell| cell.p(&mut nulls)).collect();
    let answers: Vec<(Ruling, String)> = cells
        .into_iter()
        .zip(select_by_holm(&p, ALPHA))
        .map(|(cell, is_beyond)| (cell.answer(is_beyond), cell.name))
        .collect();
    let of = |wanted: Ruling| answers.iter().any(|(answer, _)| *answer == wanted);
    let answer = [Ruling::Trips, Ruling::Undecided, Ruling::Passes].into_iter().find(|answer| of(*answer));
    let answer = answer.unwrap_or(Ruling::Missing);
    (answer, answers.into_iter().filter(|(of, _)| *of == answer).map(|(_, name)| name).collect())
}

impl Chosen<'_> {
    fn p(&self, nulls: &mut Nulls) -> f64 {
        let Some(ratio) = self.condition.beyond.filter(|_| self.high.is_some()) else { return 1.0 };
        let above: Vec<f64> = self.of_nodes.iter().map(|of_node| libm::log(of_node / ratio)).collect();
        let above = sort_values(&above);
        if compute_median(&above) > 0.0 { p_value(&above, nulls.get_null(above.len())) } else { 1.0 }
    }

    fn answer(&self, is_beyond: bool) -> Ruling {
        match (self.condition.beyond, self.high) {
            (None, _) | (_, None) => self.plain,
            (Some(_), _) if is_beyond => Ruling::Trips,
            (Some(ratio), Some(high)) if high <= ratio => Ruling::Passes,
            (Some(_), Some(_)) => Ruling::Undecided,
        }
    }
}
