//! Making the folder of a fleet, and trusting it: what it holds is run on every node.

use std::fs;
use std::io::Write;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::Path;

use crate::error::{ErrorKind, LabError};
use crate::fleet::folder::{BINARY, Folder, PLAN, SECRET, binary_path};
use crate::fleet::plan::FleetPlan;
use crate::ownership::state::explain_distrust;

impl Folder {
    /// Makes the folder of a new fleet with its plan, the program, and the secret of pairs where it lies there; one that is there must
    /// be empty.
    pub fn make_fleet(
        path: &Path,
        plan: &FleetPlan,
        program: &Path,
        secret_hex: Option<&str>,
    ) -> Result<Folder, LabError> {
        let failed = LabError::storage_error("write in", path);
        let made = fs::DirBuilder::new().recursive(true).mode(0o755).create(path);
        made.map_err(&failed)?;
        if fs::read_dir(path).map_err(&failed)?.next().is_some() {
            return Err(LabError::usage_error(format!("{} is not empty", path.display())).with_hint(
                format!("name a new folder, or continue its fleet: tare fleet run {}", path.display()),
            ));
        }
        let new = |name: &str, mode: u32, bytes: &[u8]| {
            let mut file =
                fs::OpenOptions::new().write(true).create_new(true).mode(mode).open(path.join(name))?;
            file.write_all(bytes)?;
            file.sync_all()
        };
        let program = fs::read(program).map_err(LabError::storage_error("read", program))?;
        new(BINARY, 0o755, &program).map_err(&failed)?;
        if let Some(secret) = secret_hex {
            new(SECRET, 0o600, format!("{secret}\n").as_bytes()).map_err(&failed)?;
        }
        // Last: a folder with a plan is whole.
        new(PLAN, 0o644, &plan.to_bytes()).map_err(&failed)?;
        Folder::open(path)
    }

    /// Refuses a folder in which others can write: what it says is run.
    pub fn only_mine(&self) -> Result<(), LabError> {
        for path in [self.path.clone(), self.path.join(PLAN), binary_path(&self.path)] {
            let about = path.symlink_metadata().map_err(LabError::storage_error("look at", &path))?;
            if let Some(because) = explain_distrust(&about) {
                return Err(LabError::new(ErrorKind::Storage, format!("{} is not trusted", path.display()))
                    .with_cause(because)
                    .with_hint(
                        "jobs run programs from the folder: only you may be able to write to it (chown, chmod go-w)",
                    ));
            }
        }
        Ok(())
    }
}
