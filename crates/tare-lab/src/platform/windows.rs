//! Windows.

use std::fs::Metadata;

/// ERROR_TOO_MANY_OPEN_FILES, ERROR_NOT_ENOUGH_MEMORY, ERROR_OUTOFMEMORY, ERROR_NO_SYSTEM_RESOURCES.
const EXHAUSTED: [i32; 4] = [4, 8, 14, 1450];

/// Whether an error says that this machine has too little of what every program needs.
pub(crate) fn is_exhausted(code: i32) -> bool {
    EXHAUSTED.contains(&code)
}

/// Whether a file's owner may run it: files have no such mark here, and what they hold may begin with `#!`.
pub(crate) fn is_executable(_: &Metadata) -> bool {
    true
}
