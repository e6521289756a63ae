//! A cell on its node: what a job of a fleet does there. Plan and program are compared with what was submitted, and the record
//! gets its name last.

use std::fs;
use std::path::Path;
use std::time::Duration;

use tare_data::facts::Facts;
use tare_data::session::Ending;
use tare_data::session::identity::FleetCell;
use tare_paths::door::Door;

use crate::asked::{Measured, Request, Until};
use crate::error::{ErrorKind, LabError};
use crate::fleet::files::{Files, of_cell};
use crate::fleet::folder::read_plan;
use crate::fleet::plan::{FleetPlan, PlannedCell, hash_bytes};

/// A cell whose plan is the one that was submitted.
pub struct Cell {
    pub files: Files,
    /// The fleet's folder.
    pub fleet: Door,
    which: PlannedCell,
    plan: FleetPlan,
    plan_sha256: String,
}

impl Cell {
    /// Reads the plan. Another than the one that was submitted is refused, and so is another program: a folder in which
    /// several may write is not a place of trust.
    pub fn open(
        folder: &Path,
        which: PlannedCell,
        plan_sha256: &str,
        program: &Path,
    ) -> Result<Cell, LabError> {
        let fleet = Door::open(folder).map_err(LabError::storage_error("open", folder))?;
        let (plan, found) = read_plan(&fleet)?;
        let refused = |because: &str| {
            LabError::new(ErrorKind::Record, format!("{} is not measured here", folder.display()))
                .with_cause(because)
        };
        if found != plan_sha256 {
            return Err(refused("its plan is not the one that was submitted"));
        }
        let bytes = fs::read(program).map_err(LabError::storage_error("read", program))?;
        if hash_bytes(&bytes) != plan.binary {
            return Err(refused("this program is not the one that was planned"));
        }
        if !plan.nodes.iter().any(|node| node.name == which.node) {
            return Err(refused("the plan does not name it"));
        }
        let files = of_cell(&which.node, which.session);
        files.make_folder(&fleet).map_err(LabError::storage_error("write in", folder))?;
        Ok(Cell { files, fleet, which, plan, plan_sha256: found })
    }

    /// Builds the request for the session of this cell on this node. `facts` are the engine's about the job.
    pub fn make_request(&self, facts: Facts) -> Result<Request, LabError> {
        let measure = &self.plan.measure;
        let PlannedCell { node, session } = self.which.clone();
        let (id, plan) = (self.plan.fleet.clone(), self.plan_sha256.clone());
        let budget = measure.budget_s.and_then(|s| Duration::try_from_secs_f64(s).ok());
        Ok(Request {
            environments: measure.environments.clone(),
            only: measure.only.clone(),
            until: measure.rounds.map(Until::Rounds).or(budget.map(Until::Budget)),
            planted: true,
            fleet: Some(FleetCell { id, node, session, plan }),
            host: facts,
            ..Request::new(
                Measured::Read(self.plan.read_study()?),
                &measure.against,
                self.fleet.join(&self.files.part_path()),
            )
        })
    }

    pub fn scratch(&self) -> Option<&Path> {
        self.plan.measure.scratch.as_deref().map(Path::new)
    }

    /// Renames the record by how its session ended: whole, or left as it is with the reason next to it.
    pub fn finish_record(&self, ended: Result<Ending, &LabError>) -> Result<(), LabError> {
        let files = &self.files;
        let why = match ended {
            Ok(Ending::Complete | Ending::Early) => {
                let part = files.part_path();
                let whole = self.fleet.open_file(&part).and_then(|file| file.sync_all());
                return whole
                    .and_then(|()| self.fleet.rename(&part, &files.whole_path()))
                    .map_err(LabError::storage_error("name", &part));
            }
            Ok(Ending::Interrupted) => {
                "the session was stopped: its job was cancelled, or its time was up".to_owned()
            }
            Ok(Ending::BaselineFailed) => "the baseline failed in too many rounds in a row".to_owned(),
            Ok(Ending::SubjectsFailed) => "every other environment was given up".to_owned(),
            Ok(Ending::BrokenOff) => "the session broke off".to_owned(),
            Err(error) => error.to_string(),
        };
        files.write_why(&self.fleet, &why).map_err(LabError::storage_error("write", &files.why_path()))
    }
}
