//! Linux, and what resembles it.

use std::fs::Metadata;
use std::os::unix::fs::PermissionsExt;

/// Whether an error says that this machine has too little of what every program needs: descriptors, memory, processes.
pub(crate) fn is_exhausted(code: i32) -> bool {
    [libc::EMFILE, libc::ENFILE, libc::ENOMEM, libc::EAGAIN].contains(&code)
}

/// Whether a file's owner may run it.
pub(crate) fn is_executable(about: &Metadata) -> bool {
    about.permissions().mode() & 0o100 != 0
}
