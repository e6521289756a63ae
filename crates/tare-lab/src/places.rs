//! Places: the host folders that a session shares into its environments, made for it and taken away again.

use std::collections::BTreeMap;
use std::path::PathBuf;

use crate::error::{ErrorKind, LabError};

/// Host folders by the name of the place under which environments see them.
#[derive(Debug, Default)]
pub struct Places {
    shares: BTreeMap<String, PathBuf>,
    made: Vec<tempfile::TempDir>,
}

impl Places {
    /// Makes a folder for every place that is a path; `own` is the environment's business.
    pub fn make<'a>(names: impl Iterator<Item = &'a str>) -> Result<Self, LabError> {
        let mut places = Places::default();
        for name in names {
            if name == "own" || places.shares.contains_key(name) {
                continue;
            }
            if !name.starts_with('/') {
                return Err(LabError::new(ErrorKind::Usage, format!("there is no place '{name}'"))
                    .hint("a place is own, share or a folder's path"));
            }
            let folder = tempfile::Builder::new().prefix("tare-").tempdir_in(name).map_err(|e| {
                LabError::new(ErrorKind::Storage, format!("cannot write in the place {name}"))
                    .because(e)
                    .hint("name a folder that you may write, on a disk with room")
            })?;
            places.shares.insert(name.to_owned(), folder.path().to_owned());
            places.made.push(folder);
        }
        Ok(places)
    }

    pub fn shares(&self) -> &BTreeMap<String, PathBuf> {
        &self.shares
    }
}
