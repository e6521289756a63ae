//! Conditions that a script sets on a fleet.

use std::fmt;
use std::str::FromStr;

use super::change::FleetChange;
use super::cost::LayerCost;
use super::slow::Standing;
use super::summary::Fleet;
use crate::gate::{Condition, Kind, Ruling, TargetNames, rule_on_interval, rule_on_slower};

/// When a fleet's gate is tripped.
#[derive(Clone, Debug, PartialEq)]
pub enum FleetCondition {
    /// A node is slow, whether or not fresh sessions confirmed it.
    Outlier,
    /// More than this share of the planned sessions is missing.
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

/// Puts conditions to a fleet. `planned` counts its sessions, and `missing` those that are missing.
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

fn slower(fleet: &Fleet, condition: &Condition) -> (Ruling, Vec<String>) {
    let chosen = |cost: &&LayerCost| chooses(fleet, condition, &cost.target, &cost.case, &cost.metric);
    let cells = fleet.costs.iter().filter(chosen).map(|cost| {
        let answer = match (&cost.fleet, condition.beyond) {
            (None, _) => Ruling::Missing,
            (Some(of_fleet), Some(ratio)) => rule_on_interval(of_fleet.interval, ratio),
            (Some(of_fleet), None) => rule_on_slower(of_fleet.answer()),
        };
        (answer, format!("{}: {}", cost.target, cost.case))
    });
    together(cells.collect())
}

fn regressed(fleet: &Fleet, condition: &Condition) -> (Ruling, Vec<String>) {
    let cells = fleet.changes.iter().flatten().filter_map(|cell: &FleetChange| {
        let target = cell.target.as_deref()?;
        let answer = match (cell.change, condition.beyond) {
            (None, _) => Ruling::Missing,
            (Some(changed), Some(ratio)) => rule_on_interval(changed.interval, ratio),
            (Some(changed), None) => rule_on_slower(changed.answer),
        };
        let is_chosen = chooses(fleet, condition, target, &cell.case, &cell.metric);
        is_chosen.then(|| (answer, format!("{target}: {}", cell.case)))
    });
    together(cells.collect())
}

fn chooses(fleet: &Fleet, condition: &Condition, target: &str, case: &str, metric: &str) -> bool {
    let names = TargetNames::of_column(target);
    let probe = fleet.find_case(case, metric).map_or("", |of| of.probe.as_str());
    condition.selector.matches_cell(&names, &[case, probe])
}

/// Answers for all cells that were chosen, with the cells that gave the answer.
fn together(answers: Vec<(Ruling, String)>) -> (Ruling, Vec<String>) {
    let of = |wanted: Ruling| answers.iter().any(|(answer, _)| *answer == wanted);
    let answer = [Ruling::Trips, Ruling::Undecided, Ruling::Passes].into_iter().find(|answer| of(*answer));
    let answer = answer.unwrap_or(Ruling::Missing);
    (answer, answers.into_iter().filter(|(of, _)| *of == answer).map(|(_, name)| name).collect())
}
