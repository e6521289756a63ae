//! Site and purpose of a file system that a session makes.

use std::path::Path;

use crate::host::programs::Programs;

#[derive(Clone, Copy, Debug)]
pub struct Site<'a> {
    /// A folder of the session's, on a disk; images and folders of overlays are made in it.
    pub folder: &'a Path,
    /// Bytes that the largest case has in its files.
    pub room_bytes: u64,
    pub programs: &'a Programs,
    /// Value of the mark that the session's processes carry.
    pub mark: &'a str,
}
