//! The folder of a fleet: what was measured, what is missing and why follows from the names of its files.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use tare_paths::door::{Door, Kind};

use crate::error::{ErrorKind, LabError};
use crate::fleet::files::{What, of_cell};
use crate::fleet::plan::{
    FleetPlan, LAST_SESSION, PlannedCell, hash_bytes, is_session, of_session, shuffle_slice,
};
use crate::node_names::is_node_name;

/// File names in the folder.
pub(super) const PLAN: &str = "plan.json";
pub(super) const BINARY: &str = "tare";
/// Longest plan: a million cells of some 60 bytes.
const LONGEST_PLAN: u64 = 128 << 20;
/// Fresh sessions of a node that was chosen as slow, and of those beside it.
const FRESH: u32 = 4;

/// A fleet's folder, as it is now.
#[derive(Debug)]
pub struct Folder {
    pub path: PathBuf,
    pub plan: FleetPlan,
    /// SHA-256 of the plan's file.
    pub plan_sha256: String,
    /// Planned ones, and those that took the place of one that broke off. In the plan's order, then by name.
    pub cells: Vec<CellState>,
    /// Files whose names no tare gives.
    pub strangers: usize,
    pub wanted: Wanted,
}

/// Number of whole sessions that nodes are to have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wanted {
    pub nodes: BTreeSet<String>,
    pub sessions: u32,
}

impl Wanted {
    fn planned(plan: &FleetPlan) -> Wanted {
        let nodes = plan.nodes.iter().map(|node| node.name.clone()).collect();
        Wanted { nodes, sessions: plan.sessions }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CellState {
    pub node: String,
    pub session: u32,
    pub what: What,
}

impl Folder {
    /// Creates a fleet that has nothing on disk yet.
    pub fn from_plan(path: PathBuf, plan: FleetPlan, plan_sha256: &str) -> Folder {
        let missing = || What::Missing { why: None };
        let cells = plan.cells.iter().cloned();
        let cells = cells.map(|PlannedCell { node, session }| CellState { node, session, what: missing() });
        let (cells, wanted) = (cells.collect(), Wanted::planned(&plan));
        Folder { path, plan, plan_sha256: plan_sha256.to_owned(), cells, strangers: 0, wanted }
    }

    /// Reads what is there now.
    pub fn open(fleet: &Door) -> Result<Folder, LabError> {
        let (plan, plan_sha256) = read_plan(fleet)?;
        Ok(Folder::with_plan(fleet, plan, plan_sha256))
    }

    fn with_plan(fleet: &Door, plan: FleetPlan, plan_sha256: String) -> Folder {
        let (found, strangers) = found(fleet);
        let mut cells: Vec<CellState> = Vec::new();
        let planned: BTreeSet<&PlannedCell> = plan.cells.iter().collect();
        let more = found.iter().filter(|cell| !planned.contains(cell));
        for PlannedCell { node, session } in plan.cells.iter().chain(more) {
            let what = of_cell(node, *session).read_state(fleet);
            cells.push(CellState { node: node.clone(), session: *session, what });
        }
        let wanted = Wanted::planned(&plan);
        Folder { path: fleet.path().to_owned(), plan, plan_sha256, cells, strangers, wanted }
    }

    /// Restricts the fleet to fresh sessions of some nodes, beyond the planned ones: results of these were
    /// not selected.
    pub fn restrict_to_confirming(mut self, nodes: BTreeSet<String>) -> Folder {
        self.cells.retain(|cell| nodes.contains(&cell.node));
        self.wanted = Wanted { nodes, sessions: self.plan.sessions + FRESH };
        self
    }

    pub fn is_confirming(&self) -> bool {
        self.wanted.sessions > self.plan.sessions
    }

    /// Reads again what is there, of what is wanted of this one. The plan stays the one that was trusted.
    pub fn read_again(&self, fleet: &Door) -> Folder {
        let folder = Folder::with_plan(fleet, self.plan.clone(), self.plan_sha256.clone());
        match self.is_confirming() {
            true => folder.restrict_to_confirming(self.wanted.nodes.clone()),
            false => folder,
        }
    }

    /// Lists sessions that nodes are to have and do not have whole: numbers that no record has, in the plan's order, and then those
    /// beyond it, nodes shuffled anew for each number.
    pub fn open_cells(&self) -> Vec<PlannedCell> {
        let mut by_node: BTreeMap<&str, Vec<&CellState>> = BTreeMap::new();
        for cell in &self.cells {
            by_node.entry(&cell.node).or_default().push(cell);
        }
        let mut open = Vec::new();
        for (node, cells) in by_node.into_iter().filter(|(node, _)| self.wanted.nodes.contains(*node)) {
            let whole = cells.iter().filter(|cell| cell.what.is_whole()).count();
            let running = cells.iter().filter(|cell| cell.what == What::Running).count();
            let wanted = (self.wanted.sessions as usize).saturating_sub(whole + running);
            let last = cells.iter().map(|cell| cell.session).max().unwrap_or(0);
            let untouched = cells.iter().filter(|cell| matches!(cell.what, What::Missing { .. }));
            let numbers = untouched.map(|cell| cell.session).chain(last.saturating_add(1)..=LAST_SESSION);
            open.extend(numbers.take(wanted).map(|session| PlannedCell { node: node.to_owned(), session }));
        }
        let places: BTreeMap<&PlannedCell, usize> =
            self.plan.cells.iter().enumerate().map(|(place, cell)| (cell, place)).collect();
        let place = |cell: &PlannedCell| places.get(cell).copied().unwrap_or(usize::MAX);
        open.sort_by_key(|cell| (place(cell), cell.session, cell.node.clone()));
        let beyond = open.partition_point(|cell| place(cell) != usize::MAX);
        for cells in open[beyond..].chunk_by_mut(|a, b| a.session == b.session) {
            shuffle_slice(cells, &mut of_session(self.plan.seed, cells[0].session));
        }
        open
    }

    /// Counts the whole sessions among those that are wanted, and all that are wanted.
    pub fn count_sessions(&self) -> (usize, usize) {
        let Wanted { nodes, sessions } = &self.wanted;
        let of = |node: &String| {
            let whole = self.cells.iter().filter(|cell| cell.node == *node && cell.what.is_whole()).count();
            whole.min(*sessions as usize)
        };
        (nodes.iter().map(of).sum(), nodes.len() * *sessions as usize)
    }
}

/// Reads the plan in a fleet's folder, and the SHA-256 of its file.
pub(crate) fn read_plan(fleet: &Door) -> Result<(FleetPlan, String), LabError> {
    let file = fleet.join(Path::new(PLAN));
    let cannot = |what: &str| LabError::new(ErrorKind::Record, format!("{what} {}", file.display()));
    let bytes = fleet.read_bytes(Path::new(PLAN), LONGEST_PLAN);
    let bytes = bytes.map_err(|e| cannot("cannot read").with_cause(e))?;
    let plan = FleetPlan::parse(&bytes).map_err(|e| cannot("cannot use").with_cause(e))?;
    Ok((plan, hash_bytes(&bytes)))
}

/// Lists sessions that there are files of, and how many files have other names.
fn found(fleet: &Door) -> (BTreeSet<PlannedCell>, usize) {
    let entries = |path: &Path| fleet.list_entries(path).unwrap_or_default();
    let (mut cells, mut strangers) = (BTreeSet::new(), 0);
    let place = Path::new("cells");
    for (node, kind) in entries(place) {
        if !is_node_name(&node) || kind != Kind::Folder {
            strangers += 1;
            continue;
        }
        for (file, _) in entries(&place.join(&node)) {
            match session_of(&file) {
                Some(session) => drop(cells.insert(PlannedCell { node: node.clone(), session })),
                None => strangers += 1,
            }
        }
    }
    (cells, strangers)
}

/// Parses the session number in a file's name.
fn session_of(name: &str) -> Option<u32> {
    let (number, ending) = name.split_once('.')?;
    let known = ["part", "tare", "why", "job", "log", "parquet"].contains(&ending);
    let number = number.parse::<u32>().ok().filter(|session| session.to_string() == number);
    number.filter(|session| known && is_session(*session))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use tare_data::foreign::Foreign;

    use super::*;
    use crate::fleet::plan::{FleetStudy, Node, PlannedEngine, list_planned_cells};

    fn plan() -> FleetPlan {
        let nodes: Vec<Node> = ["n1", "n2"].map(|name| Node { name: name.into() }).into();
        FleetPlan {
            fleet: "ab".repeat(16),
            study: FleetStudy::Shipped("quick".into()),
            measure: Default::default(),
            seed: 1,
            binary: String::new(),
            sessions: 2,
            at_once: 2,
            limit_s: 60,
            by: Vec::new(),
            cells: list_planned_cells(&nodes, 2, 1),
            nodes,
            engine: PlannedEngine { on: Foreign::new("slurm".into()), toml: Foreign::new(String::new()) },
            command: Foreign::new(String::new()),
        }
    }

    /// Creates a fleet whose folder has these files.
    fn with(files: &[&str]) -> (tempfile::TempDir, Folder, Door) {
        let place = tempfile::tempdir().unwrap();
        let (path, program) = (place.path().join("f"), place.path().join("program"));
        fs::write(&program, "x").unwrap();
        let (_, fleet) = Folder::make_fleet(&path, &plan(), &program).unwrap();
        for file in files {
            let file = path.join(file);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, "why\n").unwrap();
        }
        let folder = Folder::open(&fleet).unwrap();
        (place, folder, fleet)
    }

    fn open(files: &[&str]) -> Vec<(String, u32)> {
        with(files).1.open_cells().into_iter().map(|cell| (cell.node, cell.session)).collect()
    }

    #[test]
    fn what_is_missing_follows_from_names() {
        let all = |cells: &[(&str, u32)]| -> BTreeSet<(String, u32)> {
            cells.iter().map(|(node, session)| ((*node).to_owned(), *session)).collect()
        };
        let missing = |files: &[&str]| open(files).into_iter().collect::<BTreeSet<_>>();
        assert_eq!(missing(&[]), all(&[("n1", 1), ("n1", 2), ("n2", 1), ("n2", 2)]));
        assert_eq!(missing(&["cells/n1/1.tare", "cells/n1/2.part"]), all(&[("n2", 1), ("n2", 2)]));
        // A session that broke off keeps its number, and the next has another.
        let broken = ["cells/n1/1.part", "cells/n1/1.why", "cells/n1/2.tare"];
        assert_eq!(missing(&broken), all(&[("n1", 3), ("n2", 1), ("n2", 2)]));
        assert_eq!(missing(&[&broken[..], &["cells/n1/3.tare"]].concat()), all(&[("n2", 1), ("n2", 2)]));
        // A session that never began is tried again under its number.
        assert_eq!(missing(&["cells/n1/1.why", "cells/n1/2.job"]), all(&[("n1", 1), ("n2", 1), ("n2", 2)]));
        let (_place, folder, _) = with(&["cells/n1/1.tare", "cells/n1/2.tare", "cells/n1/3.tare"]);
        assert_eq!(folder.count_sessions(), (2, 4));
    }

    #[test]
    fn fresh_sessions_are_of_the_chosen_nodes_alone_and_counted_from_the_planned_ones() {
        let files = ["cells/n1/1.tare", "cells/n1/2.tare", "cells/n1/3.tare", "cells/n2/1.tare"];
        let (_place, folder, fleet) = with(&files);
        let folder = folder.restrict_to_confirming(["n1".to_owned()].into());
        assert_eq!(folder.count_sessions(), (3, 6));
        let open: Vec<u32> = folder.open_cells().into_iter().map(|cell| cell.session).collect();
        assert_eq!(open, [4, 5, 6]);
        assert_eq!(folder.read_again(&fleet).open_cells(), folder.open_cells());
        let both = ["n1", "n2"].map(str::to_owned).into();
        let open = with(&files[..3]).1.restrict_to_confirming(both).open_cells();
        let numbers: Vec<u32> = open.iter().map(|cell| cell.session).collect();
        assert_eq!(numbers, [1, 2, 3, 4, 4, 5, 5, 6, 6]);
    }

    #[test]
    fn strange_names_are_counted_and_passed_over() {
        let (_place, folder, _) = with(&[
            "cells/n1/4294967295.part",
            "cells/n1/01.tare",
            "cells/n1/x.tare",
            "cells/n1/1.tare.gz",
            "cells/-n/1.tare",
            "cells/n1/0.tare",
            "cells/n9/7.tare",
        ]);
        assert_eq!(folder.strangers, 6);
        let seventh = folder.cells.iter().find(|cell| cell.node == "n9").unwrap();
        assert!(seventh.what.is_whole() && seventh.session == 7);
        assert_eq!(folder.cells.len(), 5);
    }

    #[test]
    fn a_session_that_never_began_is_tried_again_and_its_first_reason_stays() {
        let (_place, folder, fleet) = with(&["cells/n1/1.why"]);
        let is_first = |cell: &&CellState| (cell.node.as_str(), cell.session) == ("n1", 1);
        let first = folder.cells.iter().find(is_first).unwrap();
        assert_eq!(first.what.reason().unwrap().to_string(), "why");
        let files = of_cell("n1", 1);
        files.clear_for_retry(&fleet).unwrap();
        assert!(!fleet.has_file(&files.why_path()));
        files.write_why(&fleet, "a\nb  c").unwrap();
        files.write_why(&fleet, "later").unwrap();
        assert_eq!(fs::read_to_string(fleet.join(&files.why_path())).unwrap(), "a b c\n");
    }

    #[test]
    fn a_folder_in_which_others_write_is_not_trusted() {
        use std::os::unix::fs::PermissionsExt;
        let (_place, folder, fleet) = with(&[]);
        folder.only_mine(&fleet).unwrap();
        fs::set_permissions(&folder.path, fs::Permissions::from_mode(0o777)).unwrap();
        assert!(folder.only_mine(&fleet).is_err());
    }

    #[test]
    fn plans_that_no_tare_wrote_are_refused() {
        let text = String::from_utf8(plan().to_bytes()).unwrap();
        assert!(FleetPlan::parse(text.as_bytes()).is_ok());
        for (from, to) in [("n1", "../n1"), ("abab", "zz"), ("\"seed\"", "\"weed\""), ("{", "[")] {
            assert!(FleetPlan::parse(text.replace(from, to).as_bytes()).is_err(), "{to}");
        }
    }
}
