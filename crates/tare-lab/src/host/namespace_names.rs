//! Network namespaces with names: their folder, and how a session names its own.

use std::path::{Path, PathBuf};

use crate::owned::PREFIX;

/// Folder of named network namespaces. It is not iproute2's /run/netns: the first `ip netns add` on a machine mounts that folder
/// over itself, and what was mounted below before cannot be removed any more.
pub const FOLDER: &str = "/run/tare-netns";

pub fn namespace_path(name: &str) -> PathBuf {
    Path::new(FOLDER).join(name)
}

pub(crate) fn lab_namespace_name(session: &str) -> String {
    format!("{PREFIX}{session}-lab")
}
