//! The absolute path of a fleet's folder.

use std::path::{Path, PathBuf};

use tare_lab::error::{ErrorKind, LabError};
use tare_paths::door::Door;

use crate::platform::IN_PATHS;

/// Opens the folder of a fleet by its absolute path.
pub fn open_fleet(folder: &Path) -> Result<Door, LabError> {
    open_typed(&resolve_fleet_folder(folder)?)
}

/// Opens the folder of a fleet by its path as it was typed.
pub fn open_typed(folder: &Path) -> Result<Door, LabError> {
    Door::open(folder).map_err(|e| {
        let what = format!("cannot read the fleet's plan {}", folder.join("plan.json").display());
        LabError::new(ErrorKind::Record, what).with_cause(e)
    })
}

/// Resolves a folder to an absolute path without characters that scripts would have to quote.
pub fn resolve_fleet_folder(folder: &Path) -> Result<PathBuf, LabError> {
    let path = std::path::absolute(folder).map_err(LabError::storage_error("find", folder))?;
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-+@,=%".contains(c) || IN_PATHS.contains(c);
    match path.to_str().filter(|text| text.chars().all(plain)) {
        Some(_) => Ok(path),
        None => Err(LabError::usage_error(format!("{} cannot be the folder of a fleet", path.display()))
            .with_cause("its path is used in scripts of other programs")
            .with_hint("choose one with only letters, digits and . _ - + @ , = %")),
    }
}
