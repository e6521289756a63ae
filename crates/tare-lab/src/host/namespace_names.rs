//! Network namespaces with names: their folder, and how a session names its own.

use std::path::{Path, PathBuf};

use crate::owned::PREFIX;

/// Folder of named network namespaces, as for iproute2.
pub const FOLDER: &str = "/run/netns";

pub fn namespace_path(name: &str) -> PathBuf {
    Path::new(FOLDER).join(name)
}

pub(crate) fn lab_namespace_name(session: &str) -> String {
    format!("{PREFIX}{session}-lab")
}
