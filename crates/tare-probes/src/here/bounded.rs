//! Files that an environment may have covered with anything: opened without waiting, read within a bound.

use std::os::fd::AsFd;

use rustix::fd::OwnedFd;
use rustix::fs::{AtFlags, CWD, Mode, OFlags};

/// Bytes of a file of the kernel that are read.
pub const MOST_BYTES: usize = 64 << 10;
/// Bytes of a mount table that are read: those of container hosts have some hundred KiB.
pub const MOST_MOUNTS: usize = 1 << 20;
/// Number of procfs, as statfs(2) gives it.
const PROC: u64 = 0x9fa0;

/// Reads the beginning of a file; None where it cannot be opened or read.
pub fn read_beginning(path: &str, most: usize) -> Option<String> {
    let file = open_at_once(path)?;
    let mut bytes = Vec::new();
    let mut piece = [0; 4096];
    while bytes.len() < most {
        match rustix::io::read(&file, &mut piece) {
            Ok(0) => break,
            Ok(read) => bytes.extend_from_slice(&piece[..read.min(most - bytes.len())]),
            Err(_) => return None,
        }
    }
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

/// Reads a file of the kernel, trimmed; None where it is empty.
pub fn read_line(path: &str) -> Option<String> {
    let text = read_beginning(path, MOST_BYTES)?;
    let text = text.trim_matches(|c: char| c == '\0' || c.is_whitespace());
    (!text.is_empty()).then(|| text.to_owned())
}

/// Reads a file of procfs itself: anything that covers it may tell lies, or not answer.
pub fn read_proc_itself(path: &str, most: usize) -> Option<String> {
    let is_proc = |file: &OwnedFd| rustix::fs::fstatfs(file).is_ok_and(|about| about.f_type as u64 == PROC);
    // A path alone is opened without asking what is there.
    let place = rustix::fs::openat(CWD, path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty()).ok()?;
    is_proc(&place).then(|| read_beginning(path, most))?
}

/// Tells whether something has this path, without following it.
pub fn is_there(path: &str) -> bool {
    rustix::fs::statat(CWD, path, AtFlags::SYMLINK_NOFOLLOW).is_ok()
}

fn open_at_once(path: &str) -> Option<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY;
    rustix::fs::openat(CWD, path, flags, Mode::empty()).ok()
}

/// Gives the number of the file system of an open file, in hex.
pub fn file_system_number(file: impl AsFd) -> Option<String> {
    rustix::fs::fstatfs(file).ok().map(|about| format!("{:x}", about.f_type as u32))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pipe_in_place_of_a_file_holds_nobody_up() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("status");
        rustix::fs::mknodat(CWD, &path, rustix::fs::FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
        let path = path.to_str().unwrap();
        assert_eq!(read_line(path), None);
        assert_eq!(read_proc_itself(path, 7), None);
        assert!(is_there(path));
    }

    #[test]
    fn files_are_read_within_a_bound() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("long");
        std::fs::write(&path, "ab\n".repeat(100_000)).unwrap();
        let path = path.to_str().unwrap();
        assert_eq!(read_beginning(path, 7).as_deref(), Some("ab\nab\na"));
        assert_eq!(read_line(path).unwrap().len(), MOST_BYTES);
        assert_eq!(read_proc_itself(path, 7), None);
        assert!(read_proc_itself("/proc/self/status", MOST_BYTES).unwrap().contains("TracerPid"));
    }
}
