//! Loops over files on Windows: overlapped I/O, and calls by whole paths.

pub(crate) mod ring;
pub(crate) mod small_files;
