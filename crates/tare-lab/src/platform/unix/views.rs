//! Views: mount namespaces of a session, by which a process is known whatever it has left.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// Mount namespaces with a layer in a folder. Whatever a command leaves running there is known by them, though it has cleared its
/// environment and left its parent.
pub(super) struct Views {
    /// Option of such a mount, up to the folder's end.
    layer: Vec<u8>,
    /// Namespaces by their names, and whether they are such; this process' own never is.
    known: BTreeMap<PathBuf, bool>,
}

impl Views {
    pub(super) fn new(folder: &Path) -> Views {
        let layer = [b"upperdir=", folder.as_os_str().as_bytes(), b"/"].concat();
        let own = fs::read_link("/proc/self/ns/mnt").unwrap_or_default();
        Views { layer, known: BTreeMap::from([(own, false)]) }
    }

    pub(super) fn has(&mut self, pid: u32) -> bool {
        let Ok(namespace) = fs::read_link(format!("/proc/{pid}/ns/mnt")) else { return false };
        let layer = &self.layer;
        let is_there = || {
            let mounts = fs::read(format!("/proc/{pid}/mountinfo")).unwrap_or_default();
            mounts.windows(layer.len()).any(|window| window == layer)
        };
        *self.known.entry(namespace).or_insert_with(is_there)
    }
}
