//! File systems under paths. Drives are not mounted anywhere: each path names its own.

#![allow(unsafe_code, reason = "the system is called by its C interface")]

use std::io;
use std::os::windows::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};
use std::ptr;

use tare_data::facts::Facts;
use windows_sys::Win32::Storage::FileSystem::GetVolumeInformationW;

/// Longest name of a file system, with its end.
const LONGEST: usize = 64;

/// A mount, as Linux has them.
#[derive(Debug)]
pub struct Mount {
    pub point: PathBuf,
    pub filesystem: String,
    pub source: String,
    pub options: String,
}

pub(crate) fn list_mounts() -> io::Result<Vec<Mount>> {
    Ok(Vec::new())
}

pub(crate) fn list_mounts_below(_: &Path) -> io::Result<Vec<PathBuf>> {
    Ok(Vec::new())
}

pub(crate) fn find_mount(_: &Path) -> Option<Mount> {
    None
}

/// Beginning of the keys of facts about a place; its name and the fact's follow, with a dot between.
pub(crate) const PLACE: &str = "place.";

/// Records facts of the file system under a place.
pub(crate) fn note_file_system(facts: &mut Facts, place: &str, path: &Path) {
    // `C:\`, or the share of another machine.
    let Some(root) = path.ancestors().last() else { return };
    let root: Vec<u16> = root.as_os_str().encode_wide().chain([0]).collect();
    let mut name = [0u16; LONGEST];
    // SAFETY: the path ends with a zero, the name has that length, and nothing else is asked for.
    let known = unsafe {
        let (none, no_number) = (ptr::null_mut(), ptr::null_mut());
        let length = LONGEST as u32;
        GetVolumeInformationW(
            root.as_ptr(),
            none,
            0,
            no_number,
            no_number,
            no_number,
            name.as_mut_ptr(),
            length,
        )
    };
    let end = name.iter().position(|&unit| unit == 0).unwrap_or(0);
    if known != 0 {
        facts.add_fact(format!("{PLACE}{place}.filesystem"), String::from_utf16_lossy(&name[..end]));
    }
}

/// Checks by its words alone that a path stays below a folder: no `..`.
pub(crate) fn is_inside(path: &Path, folder: &Path) -> bool {
    let folder_is_root = folder == Path::new("/");
    let is_below = if folder_is_root { path.is_absolute() } else { path.starts_with(folder) };
    is_below && !path.components().any(|part| part == Component::ParentDir)
}
