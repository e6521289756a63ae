//! All sessions of a fleet put together: the findings of each module here.

use std::collections::{BTreeMap, BTreeSet};
use tare_data::facts::keys::{CPU_COUNT, CPU_MODEL, KERNEL_RELEASE, MEMORY_TOTAL_BYTES};

use serde::Serialize;
use tare_data::facts::Facts;
use tare_data::session::Role;
use tare_data::unit::{Direction, Unit};

use super::cells::{CellRow, SessionCells};
use super::change::{FleetChange, Values, compare_fleets};
use super::cost::{LayerCost, compute_layer_costs};
use super::slow::{Ranking, rank_nodes};
use super::{NodeFigure, NodeRatio};

/// Facts by which nodes are of one kind, where nobody names others.
pub const KIND: [&str; 4] = [CPU_MODEL, CPU_COUNT, MEMORY_TOTAL_BYTES, KERNEL_RELEASE];

/// A session and its cell in the fleet.
#[derive(Clone, Debug)]
pub struct OfNode {
    pub node: String,
    /// From 1.
    pub session: u32,
    pub cells: SessionCells,
}

/// Results of a fleet's sessions.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Fleet {
    /// Sessions and nodes that were read.
    pub sessions: usize,
    pub nodes: usize,
    /// Headline rows, by case and metric.
    pub cases: Vec<CaseOf>,
    pub costs: Vec<LayerCost>,
    pub ranking: Ranking,
    /// Changes from an older fleet; None without one.
    pub changes: Option<Vec<FleetChange>>,
    /// Values that were left out, because another definition of their case is more common.
    pub other_definitions: usize,
}

/// Identity of a row.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CaseOf {
    pub case: String,
    pub metric: String,
    pub probe: String,
    pub label: String,
    pub place: Option<String>,
    pub peer: Option<String>,
    pub unit: Unit,
    pub better: Direction,
    /// The typical baseline value of all nodes; none where no node has one.
    pub median: Option<f64>,
}

impl Fleet {
    pub fn find_case(&self, case: &str, metric: &str) -> Option<&CaseOf> {
        self.cases.iter().find(|known| known.case == case && known.metric == metric)
    }
}

/// Headline rows of a fleet, by their meaning.
#[derive(Clone, Debug, Default)]
pub struct Rows {
    figures: Vec<NodeFigure>,
    fresh: Vec<NodeFigure>,
    ratios: Vec<NodeRatio>,
    cases: Vec<CaseOf>,
    sessions: usize,
    nodes: BTreeSet<String>,
    other_definitions: usize,
    /// Number of rows with each definition of a case.
    definitions: BTreeMap<(String, String), BTreeMap<String, usize>>,
}

impl Rows {
    /// Collects the rows of sessions. A node's whole sessions after the first `planned` were measured to confirm.
    pub fn from_sessions(sessions: &[OfNode], by: &[String], planned: u32) -> Rows {
        let mut rows = Rows { sessions: sessions.len(), ..Rows::default() };
        let all = sessions.iter().flat_map(|of| &of.cells.rows);
        all.filter(|row| row.headline).for_each(|row| rows.count(row));
        let mut order: Vec<&OfNode> = sessions.iter().collect();
        order.sort_by(|a, b| (&a.node, a.session).cmp(&(&b.node, b.session)));
        for of_node in order.chunk_by(|a, b| a.node == b.node) {
            // Nothing makes a node of another kind while it is measured; where facts differ, the first are taken.
            let kind = derive_node_kind(&of_node[0].cells.host, by);
            for (at, of) in of_node.iter().enumerate() {
                rows.take_node(of, &kind, at as u64 >= u64::from(planned));
            }
        }
        rows.with_medians()
    }

    fn count(&mut self, row: &CellRow) {
        let of_case = self.definitions.entry((row.case.clone(), row.metric.clone())).or_default();
        *of_case.entry(row.definition.clone()).or_default() += 1;
        if self.cases.iter().all(|known| (&known.case, &known.metric) != (&row.case, &row.metric)) {
            self.cases.push(CaseOf {
                case: row.case.clone(),
                metric: row.metric.clone(),
                probe: row.probe.clone(),
                label: row.label.clone(),
                place: row.place.clone(),
                peer: row.peer.clone(),
                unit: row.unit,
                better: row.better,
                median: None,
            });
        }
    }

    /// Checks that a row has the definition of most rows of its case; the others are counted.
    fn is_usual(&mut self, row: &CellRow) -> bool {
        let of_case = self.definitions.get(&(row.case.clone(), row.metric.clone()));
        let usual = of_case.and_then(|all| all.iter().rev().max_by_key(|(_, count)| **count));
        let is_usual = usual.is_some_and(|(definition, _)| *definition == row.definition);
        self.other_definitions += usize::from(!is_usual);
        is_usual
    }

    fn take_node(&mut self, of: &OfNode, kind: &str, is_fresh: bool) {
        self.nodes.insert(of.node.clone());
        for row in of.cells.rows.iter().filter(|row| row.headline) {
            if !self.is_usual(row) {
                continue;
            }
            match row.role {
                Role::Baseline => {
                    let Some(figure) = figure(of, kind, row) else { continue };
                    if is_fresh { self.fresh.push(figure) } else { self.figures.push(figure) }
                }
                Role::Subject => self.ratios.extend(ratio(of, row)),
                Role::Control | Role::Planted => {}
            }
        }
    }

    /// Adds the typical value of each case, over nodes.
    fn with_medians(mut self) -> Rows {
        let mut values: BTreeMap<(&str, &str), Vec<f64>> = BTreeMap::new();
        for row in &self.figures {
            values.entry((&row.case, &row.metric)).or_default().push(row.ln_figure);
        }
        let medians: Vec<Option<f64>> = self
            .cases
            .iter()
            .map(|of| {
                let values = values.get(&(of.case.as_str(), of.metric.as_str()))?;
                let ln = crate::statistics::signed_ranks::compute_median(
                    &crate::statistics::signed_ranks::sort_values(values),
                );
                Some(libm::exp(if of.better == Direction::Lower { ln } else { -ln }))
            })
            .collect();
        self.cases.iter_mut().zip(medians).for_each(|(of, median)| of.median = median);
        self
    }

    fn values(&self) -> Values<'_> {
        Values { figures: &self.figures, ratios: &self.ratios }
    }

    /// Summarises the fleet, compared with an older one where there is one.
    pub fn summarise_fleet(self, before: Option<&Rows>) -> Fleet {
        Fleet {
            costs: compute_layer_costs(&self.ratios),
            ranking: rank_nodes(&self.figures, &self.fresh),
            changes: before.map(|before| compare_fleets(before.values(), self.values())),
            sessions: self.sessions,
            nodes: self.nodes.len(),
            other_definitions: self.other_definitions,
            cases: self.cases,
        }
    }
}

fn figure(of: &OfNode, kind: &str, row: &CellRow) -> Option<NodeFigure> {
    Some(NodeFigure {
        node: of.node.clone(),
        kind: kind.to_owned(),
        session: of.session,
        case: row.case.clone(),
        metric: row.metric.clone(),
        ln_figure: row.ln_cost()?,
        deviation: row.deviation.unwrap_or(0.0),
        rounds: row.rounds,
        margin: row.margin,
    })
}

fn ratio(of: &OfNode, row: &CellRow) -> Option<NodeRatio> {
    let ratio = row.ratio.filter(|ratio| *ratio > 0.0)?;
    Some(NodeRatio {
        node: of.node.clone(),
        session: of.session,
        case: row.case.clone(),
        metric: row.metric.clone(),
        target: row.environment.clone(),
        ln_ratio: libm::log(ratio),
        low: row.low.filter(|low| *low > 0.0).map_or(f64::NEG_INFINITY, libm::log),
        high: row.high.filter(|high| *high > 0.0).map_or(f64::INFINITY, libm::log),
        margin: row.margin,
    })
}

/// Derives the kind of a node from its facts.
pub fn derive_node_kind(host: &Facts, by: &[String]) -> String {
    let fact = |key: &String| match (key.as_str(), host.get_integer(key)) {
        (MEMORY_TOTAL_BYTES, Some(bytes)) => memory(bytes),
        (CPU_COUNT, Some(count)) => format!("{count} CPUs"),
        _ => host.get(key).unwrap_or("?").to_owned(),
    };
    by.iter().map(fact).collect::<Vec<_>>().join(", ")
}

/// Rounds memory to the sum of modules: kernels keep some of it back, never the same.
fn memory(bytes: u64) -> String {
    let gib = bytes as f64 / f64::from(1 << 30);
    // Steps of an eighth of the next power of two: no module's size is between.
    let mut step = 0.125;
    while step * 8.0 < gib {
        step *= 2.0;
    }
    format!("{} GiB", (gib / step).ceil() * step)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_that_a_kernel_keeps_back_makes_no_kind() {
        for (gib, shown) in
            [(62.7, "64 GiB"), (62.2, "64 GiB"), (251.3, "256 GiB"), (7.7, "8 GiB"), (94.2, "96 GiB")]
        {
            assert_eq!(memory((gib * f64::from(1 << 30)) as u64), shown, "{gib}");
        }
    }

    #[test]
    fn a_kind_is_what_its_facts_are() {
        let mut host = Facts::default();
        host.add_fact("cpu.model", "EPYC");
        host.add_fact("cpu.count", "8");
        let by = |keys: &[&str]| {
            derive_node_kind(&host, &keys.iter().map(|key| (*key).to_owned()).collect::<Vec<_>>())
        };
        assert_eq!(by(&KIND), "EPYC, 8 CPUs, ?, ?");
        assert_eq!(by(&["rack"]), "?");
    }
}
