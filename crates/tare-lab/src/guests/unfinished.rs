//! Unfinished folders, in which files are prepared until they are whole.

use std::io;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use tare_paths::marked::{self, LeftOver, MarkedFolder};

/// Name of such a folder, before the digits of the moment when it was made.
const NAME: &str = "kernel-";
const DIGITS: usize = 16;

pub(crate) fn make(parent: &Path) -> io::Result<MarkedFolder> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    MarkedFolder::make(parent, &format!("{NAME}{:0DIGITS$x}", now.as_nanos()))
}

/// Removes the folders that killed runs have left.
pub(crate) fn remove_left(parent: &Path) -> Vec<LeftOver> {
    marked::remove_left(parent, |name| {
        let digits = name.strip_prefix(NAME)?;
        let is_digit = |byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
        (digits.len() == DIGITS && digits.bytes().all(is_digit)).then_some(0)
    })
}

#[cfg(test)]
mod tests {
    use std::fs;

    use tare_paths::marked::MARKER;

    use super::*;

    #[test]
    fn only_what_a_killed_run_left_goes() {
        let parent = tempfile::tempdir().unwrap();
        let used = make(parent.path()).unwrap();
        let killed = "kernel-18a3b0c4d5e6f708";
        for name in [killed, "kernel-aarch64", "kernel", "kernel-18a3b0c4d5e6f70", "kernel-18A3B0C4D5E6F708"]
        {
            fs::create_dir(parent.path().join(name)).unwrap();
            for file in ["vmlinux", MARKER] {
                fs::write(parent.path().join(name).join(file), "x").unwrap();
            }
        }
        let left = remove_left(parent.path());
        assert_eq!(left, [LeftOver { folder: parent.path().join(killed), left_because: None }]);
        assert_eq!(fs::read_dir(parent.path()).unwrap().count(), 5);
        assert!(used.door().join(Path::new(MARKER)).exists());
    }
}
