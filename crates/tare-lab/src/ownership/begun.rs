//! The list of what began on this machine: hashes of plans, which can continue without a question. A plan from elsewhere names
//! commands and programs, and its own checksums do not stop anyone from adding others.

use std::io::{Read, Seek, SeekFrom, Write};
use std::path::Path;

use tare_paths::ours::check_opened;

use crate::error::LabError;
use crate::ownership::state::StateFolder;

/// File in the state folder, with a hash in each line.
const BEGUN: &str = "begun";
/// Maximum number of bytes to read from it, enough for a quarter of a million plans.
const LONGEST: u64 = 16 << 20;

/// Writes down that something with this hash began on this machine.
pub(crate) fn write_begun(state: &Path, hash: &str) -> Result<(), LabError> {
    let path = state.join(BEGUN);
    let written = StateFolder::open_or_make(state)?.open_or_create_file(&path).and_then(|mut file| {
        // A line that a full disk tore must not swallow this one.
        let is_torn = file.seek(SeekFrom::End(-1)).is_ok() && {
            let mut last = [0];
            file.read_exact(&mut last)?;
            last != *b"\n"
        };
        file.write_all(format!("{}{hash}\n", if is_torn { "\n" } else { "" }).as_bytes())
    });
    written.map_err(LabError::storage_error("write", &path))
}

/// Tells whether something with this hash began on this machine.
pub(crate) fn has_begun(state: &Path, hash: &str) -> Result<bool, LabError> {
    let path = state.join(BEGUN);
    let Some(folder) = StateFolder::open(state)? else { return Ok(false) };
    let Ok(file) = folder.open_file(&path) else { return Ok(false) };
    let mut bytes = Vec::new();
    let read = file.metadata().and_then(|about| {
        check_opened(&path, &about)?;
        file.take(LONGEST).read_to_end(&mut bytes)
    });
    read.map_err(LabError::storage_error("read", &path))?;
    Ok(bytes.split(|byte| *byte == b'\n').any(|line| line == hash.as_bytes()))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn what_began_is_known_even_after_a_torn_line() {
        let place = tempfile::tempdir().unwrap();
        let state = place.path().join("state");
        assert!(!has_begun(&state, "ab").unwrap());
        write_begun(&state, "ab").unwrap();
        let mut torn = fs::OpenOptions::new().append(true).open(state.join(BEGUN)).unwrap();
        torn.write_all(b"12345678\xff").unwrap();
        write_begun(&state, "cd").unwrap();
        assert!(has_begun(&state, "ab").unwrap() && has_begun(&state, "cd").unwrap());
        assert!(!has_begun(&state, "a").unwrap() && !has_begun(&state, "12345678cd").unwrap());
    }
}
