//! Mounts as this process sees them: what lies below a folder, and which file system a path is on.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use tare_data::facts::Facts;

/// A line of /proc/self/mountinfo.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mount {
    pub point: PathBuf,
    /// `ext4`, `overlay`, `9p` ...
    pub filesystem: String,
    /// Device or whatever the file system names instead.
    pub source: String,
    /// Options of the mount and of the file system, joined by commas.
    pub options: String,
}

/// All mounts, oldest first: of two at one point the later covers the earlier.
pub fn all() -> io::Result<Vec<Mount>> {
    Ok(fs::read("/proc/self/mountinfo")?.split(|&b| b == b'\n').filter_map(parse).collect())
}

/// Mount points at or below a folder, the innermost first.
pub fn below(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut points: Vec<PathBuf> =
        all()?.into_iter().map(|mount| mount.point).filter(|point| point.starts_with(folder)).collect();
    points.sort_by_key(|point| std::cmp::Reverse(point.components().count()));
    Ok(points)
}

/// The mount that a path is on; the path must be absolute and without symbolic links.
pub fn holding(path: &Path) -> Option<Mount> {
    let mut mounts = all().ok()?;
    mounts.retain(|mount| path.starts_with(&mount.point));
    // `max_by_key` gives the last of equals, which is the mount on top.
    mounts.into_iter().max_by_key(|mount| mount.point.components().count())
}

/// Beginning of the keys of facts about a place; its name and the fact's follow, with a dot between.
pub const PLACE: &str = "place.";

/// Facts of the file system under a place, as the host sees it.
pub fn note(facts: &mut Facts, place: &str, path: &Path) {
    let path = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let Some(mount) = holding(&path) else { return };
    let mut note = |fact: &str, value: String| facts.note(format!("{PLACE}{place}.{fact}"), value);
    if let Some((image, direct)) = image(&mount.source) {
        note("image_direct", if direct { "yes" } else { "no" }.to_owned());
        note("image_filesystem", holding(&image).map(|mount| mount.filesystem).unwrap_or_default());
    }
    note("filesystem", mount.filesystem);
    note("device", mount.source);
    note("options", mount.options);
}

/// The file behind a loop device, and whether the device goes past the page cache to it.
fn image(device: &str) -> Option<(PathBuf, bool)> {
    let folder = Path::new("/sys/block").join(device.strip_prefix("/dev/")?).join("loop");
    let file = fs::read(folder.join("backing_file")).ok()?;
    let direct = fs::read_to_string(folder.join("dio")).ok()?;
    Some((PathBuf::from(OsString::from_vec(file.trim_ascii_end().to_vec())), direct.trim() == "1"))
}

fn parse(line: &[u8]) -> Option<Mount> {
    let mut fields = line.split(|&b| b == b' ');
    let point = PathBuf::from(unescape(fields.nth(4)?));
    let options = text(fields.next()?);
    // Optional fields end with a lone hyphen.
    let mut rest = fields.skip_while(|field| *field != b"-").skip(1);
    let (filesystem, source, of_filesystem) = (text(rest.next()?), text(rest.next()?), text(rest.next()?));
    Some(Mount { point, filesystem, source, options: format!("{options},{of_filesystem}") })
}

fn text(field: &[u8]) -> String {
    unescape(field).to_string_lossy().into_owned()
}

/// The kernel writes space, tab, newline and backslash as `\` and three octal digits.
fn unescape(field: &[u8]) -> OsString {
    let mut bytes = Vec::with_capacity(field.len());
    let mut at = 0;
    while at < field.len() {
        let digits = field
            .get(at + 1..at + 4)
            .filter(|d| field[at] == b'\\' && d.iter().all(|d| (b'0'..b'8').contains(d)));
        match digits {
            Some(d) => {
                bytes.push(
                    d.iter().fold(0u8, |value, digit| value.wrapping_mul(8).wrapping_add(digit - b'0')),
                );
                at += 4;
            }
            None => {
                bytes.push(field[at]);
                at += 1;
            }
        }
    }
    OsString::from_vec(bytes)
}

/// Whether a path stays below a folder by its words alone: no `..`.
pub fn inside(path: &Path, folder: &Path) -> bool {
    path.starts_with(folder) && !path.as_os_str().as_bytes().split(|&b| b == b'/').any(|part| part == b"..")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_read_with_its_escapes() {
        let line = br"41 31 0:38 / /a\040b\134c rw,relatime shared:3 master:1 - cgroup2 the\040group rw";
        let mount = parse(line).unwrap();
        assert_eq!(mount.point, Path::new(r"/a b\c"));
        assert_eq!((mount.filesystem.as_str(), mount.source.as_str()), ("cgroup2", "the group"));
        assert_eq!(mount.options, "rw,relatime,rw");
        assert_eq!(parse(b"41 31 0:38 / /a rw - cgroup2"), None);
        assert_eq!(parse(b""), None);
    }

    #[test]
    fn the_mount_on_top_holds_a_path() {
        assert_eq!(holding(Path::new("/proc/self")).unwrap().filesystem, "proc");
        assert!(below(Path::new("/proc")).unwrap().contains(&PathBuf::from("/proc")));
    }

    #[test]
    fn a_way_out_is_not_inside() {
        assert!(inside(Path::new("/a/b"), Path::new("/a")));
        assert!(!inside(Path::new("/a/../b"), Path::new("/a")));
        assert!(!inside(Path::new("/ab"), Path::new("/a")));
    }
}
