//! Names of network namespaces: where those with a name are, and what a session calls its own.

use std::path::{Path, PathBuf};

use crate::owned::PREFIX;

/// Where named network namespaces are, as for iproute2.
pub const FOLDER: &str = "/run/netns";

pub fn path(name: &str) -> PathBuf {
    Path::new(FOLDER).join(name)
}

/// A session's own.
pub(crate) fn lab(session: &str) -> String {
    format!("{PREFIX}{session}-lab")
}
