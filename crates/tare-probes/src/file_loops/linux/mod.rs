//! Loops over files on Linux: io_uring, and calls relative to an open folder.

pub(crate) mod ring;
pub(crate) mod small_files;
