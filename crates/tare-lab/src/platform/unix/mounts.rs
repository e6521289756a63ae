//! Mounts as this process sees them: what lies below a folder, and which file system a path is on.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use tare_data::facts::Facts;
pub use tare_probes::facts::mounts::{Mount, list_mounts};

/// Lists mount points at or below a folder, the innermost first.
pub fn list_mounts_below(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut points: Vec<PathBuf> = list_mounts()?
        .into_iter()
        .map(|mount| mount.point)
        .filter(|point| point.starts_with(folder))
        .collect();
    points.sort_by_key(|point| std::cmp::Reverse(point.components().count()));
    Ok(points)
}

/// Finds the mount that a path is on; the path must be absolute and without symbolic links.
pub fn find_mount(path: &Path) -> Option<Mount> {
    let mut mounts = list_mounts().ok()?;
    mounts.retain(|mount| path.starts_with(&mount.point));
    // `max_by_key` gives the last of equals, which is the mount on top.
    mounts.into_iter().max_by_key(|mount| mount.point.components().count())
}

/// Beginning of the keys of facts about a place; its name and the fact's follow, with a dot between.
pub(crate) const PLACE: &str = "place.";

/// Records facts of the file system under a place, as the host sees it.
pub fn note_file_system(facts: &mut Facts, place: &str, path: &Path) {
    let path = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let Some(mount) = find_mount(&path) else { return };
    let image = image(&mount.source);
    if let Some((_, is_direct)) = image {
        note_image(facts, place, is_direct);
    }
    let mut note = |fact: &str, value: String| facts.add_fact(format!("{PLACE}{place}.{fact}"), value);
    if let Some((image, _)) = &image {
        note("image_filesystem", find_mount(image).map(|mount| mount.filesystem).unwrap_or_default());
    }
    note("filesystem", mount.filesystem);
    note("device", mount.source);
    note("options", mount.options);
}

/// Records whether a place's image bypasses the host's page cache: where it does not, what a guest reads from its disk
/// may come from this machine's memory.
pub fn note_image(facts: &mut Facts, place: &str, is_direct: bool) {
    facts.add_fact(format!("{PLACE}{place}.image_direct"), if is_direct { "yes" } else { "no" });
}

/// Finds the file behind a loop device, and whether the device bypasses the page cache.
fn image(device: &str) -> Option<(PathBuf, bool)> {
    let folder = Path::new("/sys/block").join(device.strip_prefix("/dev/")?).join("loop");
    let file = fs::read(folder.join("backing_file")).ok()?;
    let direct = fs::read_to_string(folder.join("dio")).ok()?;
    Some((PathBuf::from(OsString::from_vec(file.trim_ascii_end().to_vec())), direct.trim() == "1"))
}

/// Checks by its words alone that a path stays below a folder: no `..`.
pub fn is_inside(path: &Path, folder: &Path) -> bool {
    path.starts_with(folder) && !path.as_os_str().as_bytes().split(|&b| b == b'/').any(|part| part == b"..")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mount_on_top_holds_a_path() {
        assert_eq!(find_mount(Path::new("/proc/self")).unwrap().filesystem, "proc");
        assert!(list_mounts_below(Path::new("/proc")).unwrap().contains(&PathBuf::from("/proc")));
    }

    #[test]
    fn a_way_out_is_not_inside() {
        assert!(is_inside(Path::new("/a/b"), Path::new("/a")));
        assert!(!is_inside(Path::new("/a/../b"), Path::new("/a")));
        assert!(!is_inside(Path::new("/ab"), Path::new("/a")));
    }
}
