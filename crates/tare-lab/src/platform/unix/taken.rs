//! Resources of a start on this machine once it is idle: memory and disk.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// Files of a start's folder that are looked at: an image holds some thousands.
const MOST_FILES: usize = 200_000;
/// Bytes of a block, as stat(2) counts them.
const BLOCK: u64 = 512;

/// Sums the proportional set size of processes; None when it can be read of none of them.
pub fn memory_bytes(processes: &BTreeMap<u32, u64>) -> Option<u64> {
    let each = processes.keys().filter_map(|pid| {
        let text = fs::read_to_string(format!("/proc/{pid}/smaps_rollup")).ok()?;
        let line = text.lines().find_map(|line| line.strip_prefix("Pss:"))?;
        line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()
    });
    let (count, kib) = each.fold((0u32, 0u64), |(count, sum), kib| (count + 1, sum.saturating_add(kib)));
    (count > 0).then_some(kib.saturating_mul(1024))
}

/// Measures a folder on its disk: blocks, each file once, nothing that is mounted into it.
pub fn disk_bytes(folder: &Path) -> Option<u64> {
    let device = fs::symlink_metadata(folder).ok()?.dev();
    let mut open = vec![folder.to_owned()];
    let mut seen = BTreeSet::new();
    let mut bytes = 0u64;
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(&folder).ok().into_iter().flatten().flatten() {
            let Ok(about) = fs::symlink_metadata(entry.path()) else { continue };
            if about.dev() != device || !seen.insert(about.ino()) {
                continue;
            }
            if seen.len() > MOST_FILES {
                return None;
            }
            bytes = bytes.saturating_add(about.blocks() * BLOCK);
            if about.is_dir() {
                open.push(entry.path());
            }
        }
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_with_two_names_counts_once() {
        let folder = tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).unwrap();
        fs::write(folder.path().join("a"), vec![1u8; 100_000]).unwrap();
        fs::hard_link(folder.path().join("a"), folder.path().join("b")).unwrap();
        let bytes = disk_bytes(folder.path()).unwrap();
        assert!((100_000..200_000).contains(&bytes), "{bytes}");
        assert_eq!(disk_bytes(Path::new("/no/such/folder")), None);
    }

    #[test]
    fn this_process_has_memory_and_one_that_is_not_there_has_none() {
        assert!(memory_bytes(&[(std::process::id(), 0)].into()).is_some_and(|bytes| bytes > 100_000));
        assert_eq!(memory_bytes(&BTreeMap::new()), None);
    }
}
