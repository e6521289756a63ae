//! The tiny program as a file: see `tiny/program.rs`.

use std::fs::{OpenOptions, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::Path;

/// Name of its file.
pub const FILE: &str = "tiny";
/// First argument under which it executes itself as often as is asked.
pub(crate) const CHAIN: &str = "chain";
static PROGRAM: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/tiny"));

/// Writes the program to a path at which there is nothing, for all to run.
pub fn write_program(path: &Path) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o755).open(path)?;
    file.write_all(PROGRAM)?;
    // Whatever the umask: whoever is inside may be another user.
    file.set_permissions(Permissions::from_mode(0o755))
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn the_program_is_tiny_and_runs_a_command() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(FILE);
        write_program(&path).unwrap();
        assert!(PROGRAM.len() <= 16 << 10, "{} bytes", PROGRAM.len());
        let run = |words: &[&str]| Command::new(&path).args(words).output().unwrap().status.code();
        assert_eq!(run(&[]), Some(0));
        assert_eq!(run(&["77", "sh", "-c", "exit 3"]), Some(3));
        assert_eq!(run(&["77", "sh", "-c", "kill -9 $$"]), Some(137));
        assert_eq!(run(&["77", "no-such-command"]), Some(127));
    }
}
