//! Making the folder of a fleet, and trusting it: what it holds is run on every node.

use std::fs;
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;

use tare_data::foreign::{Foreign, Trust};
use tare_paths::door::Door;
use tare_paths::ours::check_opened;

use crate::error::{ErrorKind, LabError};
use crate::fleet::engines::Engine;
use crate::fleet::folder::{BINARY, Folder, PLAN};
use crate::fleet::plan::FleetPlan;
use crate::ownership::begun;

impl Folder {
    /// Makes the folder of a new fleet with its plan and the program; one that is there must be empty.
    pub fn make_fleet(path: &Path, plan: &FleetPlan, program: &Path) -> Result<(Folder, Door), LabError> {
        let failed = LabError::storage_error("write in", path);
        let made = fs::DirBuilder::new().recursive(true).mode(0o755).create(path);
        made.map_err(&failed)?;
        let fleet = Door::open(path).map_err(&failed)?;
        if !fleet.list_entries(Path::new("")).map_err(&failed)?.is_empty() {
            return Err(LabError::usage_error(format!("{} is not empty", path.display())).with_hint(
                format!("name a new folder, or continue its fleet: tare fleet run {}", path.display()),
            ));
        }
        let new = |name: &str, mode: u32, bytes: &[u8]| fleet.create_with_mode(Path::new(name), mode, bytes);
        let program = fs::read(program).map_err(LabError::storage_error("read", program))?;
        new(BINARY, 0o755, &program).map_err(&failed)?;
        // Last: a folder with a plan is whole.
        new(PLAN, 0o644, &plan.to_bytes()).map_err(&failed)?;
        Ok((Folder::open(&fleet)?, fleet))
    }

    /// Refuses a folder in which others can write: what it says is run.
    pub fn only_mine(&self, fleet: &Door) -> Result<(), LabError> {
        let file = |name: &str| fleet.open_file(Path::new(name)).and_then(|file| file.metadata());
        for (name, about) in [("", fleet.metadata()), (PLAN, file(PLAN)), (BINARY, file(BINARY))] {
            let path = if name.is_empty() { self.path.clone() } else { fleet.join(Path::new(name)) };
            let about = about.map_err(LabError::storage_error("look at", &path))?;
            if let Err(distrust) = check_opened(&path, &about) {
                return Err(LabError::new(ErrorKind::Storage, format!("{} is not trusted", path.display()))
                    .with_cause(distrust)
                    .with_hint(
                        "jobs run programs from the folder: only you may be able to write to it (chown, chmod go-w)",
                    ));
            }
        }
        Ok(())
    }

    /// Writes down that this fleet began on this machine. Its folder cannot tell: every node may write there.
    pub fn write_begun(&self, state: &Path) -> Result<(), LabError> {
        begun::write_begun(state, &self.plan_sha256)
    }

    /// Trusts the plan, to run its engine here: one that began on this machine, or that the user says to trust.
    pub fn trust(&self, engine: &Foreign<Engine>, state: &Path, is_trusted: bool) -> Result<Trust, LabError> {
        if is_trusted {
            return Ok(Trust::because_the_user_says_so());
        }
        if begun::has_begun(state, &self.plan_sha256)? {
            return Ok(Trust::because_it_began_here());
        }
        let path = self.path.display();
        let would = engine.map(Engine::list_commands).to_lines();
        Err(LabError::usage_error(format!("{path} is not a fleet that began here, or its plan was changed"))
            .with_cause(format!("continuing it would run on this machine:\n{would}"))
            .with_hint(format!(
                "tare fleet print {path} shows its jobs; if you trust all of that, add --trust"
            )))
    }
}
