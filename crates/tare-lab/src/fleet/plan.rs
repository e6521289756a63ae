//! The plan of a fleet: which sessions are measured on which nodes. It is written once, and everything is compared with
//! its hash.

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use tare_data::encoding::encode_hex;
use tare_data::foreign::Foreign;
use tare_data::generator::Generator;
use tare_data::session::specification::NATIVE;

use crate::error::LabError;
use crate::node_names::is_node_name;
use crate::study::Study;

/// Limit on the cells of a plan: a hundred sessions on each of ten thousand nodes.
const MOST_CELLS: u64 = 1_000_000;
/// Limit on the number of a session of a node: sessions that broke off keep theirs.
pub(crate) const LAST_SESSION: u32 = 1_000_000;

/// Measurements of every node.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FleetPlan {
    /// 128 random bits in hex.
    pub fleet: String,
    pub study: FleetStudy,
    #[serde(default)]
    pub measure: Measure,
    /// Orders nodes.
    pub seed: u64,
    /// SHA-256 of the program that measures, in hex.
    pub binary: String,
    /// Sessions on each node.
    pub sessions: u32,
    /// Limit on simultaneous jobs.
    pub at_once: u32,
    /// Longest time of a job, in seconds.
    pub limit_s: u64,
    /// Facts by which reports take nodes for one kind, where they are not the usual ones.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub by: Vec<String>,
    pub nodes: Vec<Node>,
    /// In the order in which they are measured.
    pub cells: Vec<PlannedCell>,
    pub engine: PlannedEngine,
    /// As it was typed.
    pub command: Foreign<String>,
}

/// A shipped study by its name, or the text of another.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum FleetStudy {
    Shipped(String),
    Own { name: String, toml: String },
}

/// Settings of each session, as for `tare run`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Measure {
    #[serde(default, rename = "in", skip_serializing_if = "Vec::is_empty")]
    pub environments: Vec<String>,
    #[serde(default = "native")]
    pub against: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub only: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rounds: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budget_s: Option<f64>,
    /// Scratch folder of sessions on a node.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scratch: Option<String>,
}

fn native() -> String {
    NATIVE.into()
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Node {
    pub name: String,
}

/// A session on a node.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct PlannedCell {
    pub node: String,
    /// From 1.
    pub session: u32,
}

/// Engine that starts jobs: the name that was given, and its templates as they were then. A plan may be from elsewhere.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlannedEngine {
    pub on: Foreign<String>,
    pub toml: Foreign<String>,
}

impl FleetPlan {
    /// Reads a plan, and refuses one that no tare wrote.
    pub(crate) fn parse(bytes: &[u8]) -> Result<FleetPlan, String> {
        let plan: FleetPlan = serde_json::from_slice(bytes).map_err(|e| e.to_string())?;
        if let Some(name) = plan.names().find(|name| !is_node_name(name)) {
            return Err(format!("'{name}' is not the name of a node"));
        }
        if plan.fleet.len() != 32 || !plan.fleet.bytes().all(|b| b.is_ascii_hexdigit()) {
            return Err("its fleet is not 32 hex digits".into());
        }
        if let Some(cell) = plan.cells.iter().find(|cell| !is_session(cell.session)) {
            return Err(format!("{} is not the number of a session", cell.session));
        }
        match plan.cells.len() as u64 {
            count if count > MOST_CELLS => Err(format!("it has {count} cells, and {MOST_CELLS} are allowed")),
            _ => Ok(plan),
        }
    }

    /// Lists every name of a node in it.
    fn names(&self) -> impl Iterator<Item = &String> {
        let named = self.nodes.iter().map(|node| &node.name);
        named.chain(self.cells.iter().map(|cell| &cell.node))
    }

    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = serde_json::to_vec_pretty(self).expect("tare's own types always serialise");
        bytes.push(b'\n');
        bytes
    }

    /// Reads the study that is measured.
    pub(crate) fn read_study(&self) -> Result<Study, LabError> {
        match &self.study {
            FleetStudy::Shipped(name) => Study::from_name(name),
            FleetStudy::Own { name, toml } => Study::parse(toml, name),
        }
    }

    /// Returns the job name prefix.
    pub(crate) fn job_prefix(&self) -> String {
        format!("tare-{}", &self.fleet[..8])
    }
}

pub(crate) fn hash_bytes(bytes: &[u8]) -> String {
    encode_hex(&Sha256::digest(bytes))
}

/// Checks that a session can have this number.
pub(crate) fn is_session(number: u32) -> bool {
    (1..=LAST_SESSION).contains(&number)
}

/// Lists sessions in the order in which they are measured: nodes are shuffled for each session number, so that what changes at a
/// site meanwhile is not mistaken for a node.
pub fn list_planned_cells(nodes: &[Node], sessions: u32, seed: u64) -> Vec<PlannedCell> {
    let ordered = |session: u32| {
        let mut order: Vec<&Node> = nodes.iter().collect();
        shuffle_slice(&mut order, &mut of_session(seed, session));
        order.into_iter().map(move |node| PlannedCell { node: node.name.clone(), session })
    };
    (1..=sessions).flat_map(ordered).collect()
}

/// Seeds the shuffle of nodes for a session number.
pub(crate) fn of_session(seed: u64, session: u32) -> Generator {
    Generator::for_part(seed, &format!("nodes of session {session}"))
}

pub(crate) fn shuffle_slice<T>(things: &mut [T], generator: &mut Generator) {
    for at in (1..things.len()).rev() {
        things.swap(at, generator.draw_below(at as u64 + 1) as usize);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nodes(count: usize) -> Vec<Node> {
        (1..=count).map(|n| Node { name: format!("n{n}") }).collect()
    }

    #[test]
    fn every_node_has_every_session_and_the_order_changes() {
        let all = list_planned_cells(&nodes(9), 3, 7);
        assert_eq!(all, list_planned_cells(&nodes(9), 3, 7));
        let of = |session: u32| -> Vec<&str> {
            all.iter().filter(|cell| cell.session == session).map(|cell| cell.node.as_str()).collect()
        };
        assert_eq!(all.len(), 27);
        assert!(of(1) != of(2) && of(2) != of(3));
        for session in 1..=3 {
            let mut sorted = of(session);
            sorted.sort_unstable();
            sorted.dedup();
            assert_eq!(sorted.len(), 9);
        }
        assert!(all[..9].iter().all(|cell| cell.session == 1));
    }
}
