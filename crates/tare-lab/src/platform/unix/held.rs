//! A program that is held open: whatever happens to its path, the file that was opened is the one that starts.

#![allow(unsafe_code, reason = "the standard library starts programs by their paths alone")]

use std::ffi::{CString, OsStr, OsString, c_char};
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

/// Path by which a program that was started so starts again: the open file's, whatever happens to its own path.
pub(crate) const AGAIN: &str = "/proc/self/exe";

#[derive(Debug)]
pub(crate) struct Held {
    file: Arc<File>,
    path: PathBuf,
}

impl Held {
    pub(crate) fn open(path: &Path) -> io::Result<Held> {
        Ok(Held { file: Arc::new(File::open(path)?), path: path.to_owned() })
    }

    /// Has a command that names this program start the open file, as a program called [`AGAIN`]. To be called last, when the command is prepared otherwise: its
    /// variables must be its own, and inherited by none.
    pub(crate) fn start_open_file(&self, command: &mut Command) -> io::Result<()> {
        if command.get_program() != self.path {
            return Ok(());
        }
        let start = Start {
            file: Arc::clone(&self.file),
            words: Texts::collect([OsStr::new(AGAIN)].into_iter().chain(command.get_args()))?,
            variables: Texts::collect(command.get_envs().filter_map(|(name, value)| {
                Some(OsString::from_vec([name.as_bytes(), b"=", value?.as_bytes()].concat()))
            }))?,
        };
        // SAFETY: between fork and exec only a system call is made, and nothing is allocated.
        unsafe { command.pre_exec(move || start.execute()) };
        Ok(())
    }
}

/// Everything that an exec needs, made before the fork.
struct Start {
    file: Arc<File>,
    words: Texts,
    variables: Texts,
}

impl Start {
    /// Becomes the program. Returns where that failed, and where the system knows no such call: the path is tried then.
    fn execute(&self) -> io::Result<()> {
        let (file, flags) = (self.file.as_raw_fd(), libc::AT_EMPTY_PATH);
        let (words, variables) = (self.words.pointers.as_ptr(), self.variables.pointers.as_ptr());
        // SAFETY: both arrays end with a null, and all that they point to lives as long as `self`.
        unsafe { libc::syscall(libc::SYS_execveat, file, c"".as_ptr(), words, variables, flags) };
        match io::Error::last_os_error() {
            e if e.raw_os_error() == Some(libc::ENOSYS) => Ok(()),
            e => Err(e),
        }
    }
}

/// Texts as exec takes them.
struct Texts {
    _texts: Vec<CString>,
    /// A pointer to each, and a null.
    pointers: Vec<*const c_char>,
}

// SAFETY: the pointers lead to texts that this owns, and that nobody changes.
unsafe impl Send for Texts {}
// SAFETY: as above.
unsafe impl Sync for Texts {}

impl Texts {
    fn collect<T: AsRef<OsStr>>(texts: impl Iterator<Item = T>) -> io::Result<Texts> {
        let texts: Vec<CString> =
            texts.map(|text| CString::new(text.as_ref().as_bytes())).collect::<Result<_, _>>()?;
        let pointers = texts.iter().map(|text| text.as_ptr()).chain([std::ptr::null()]).collect();
        Ok(Texts { _texts: texts, pointers })
    }
}

#[cfg(test)]
mod tests {
    use std::process::Stdio;

    use super::*;
    use crate::platform::processes::spawn_program;

    #[test]
    fn the_open_file_starts_with_its_words_and_variables_whatever_its_path_leads_to() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("program");
        std::fs::copy("/bin/sh", &path).unwrap();
        let held = Held::open(&path).unwrap();
        std::fs::rename(&path, folder.path().join("away")).unwrap();
        std::fs::write(&path, "#!/bin/sh\necho another\n").unwrap();
        let mut command = Command::new(&path);
        // A name of its own would be that of the file to be run: this shell's.
        let again = "$(tr '\\0' '\\n' </proc/$$/cmdline | head -1)";
        command.args(["-c", &format!("echo $0 $1 $A {again}"), "zero", "one"]);
        command.env_clear().env("A", "b").env("PATH", "/usr/bin:/bin");
        held.start_open_file(&mut command).unwrap();
        let said = |command: &mut Command| {
            let child = spawn_program(command.stdout(Stdio::piped())).unwrap();
            String::from_utf8(child.wait_with_output().unwrap().stdout).unwrap()
        };
        assert_eq!(said(&mut command), format!("zero one b {AGAIN}\n"));
        let mut other = Command::new("/bin/sh");
        held.start_open_file(other.args(["-c", "echo by its path"])).unwrap();
        assert_eq!(said(&mut other), "by its path\n");
    }
}
