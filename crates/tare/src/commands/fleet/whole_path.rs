//! The absolute path of a fleet's folder.

use std::path::{Path, PathBuf};

use tare_lab::error::LabError;

use crate::platform::IN_PATHS;

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
