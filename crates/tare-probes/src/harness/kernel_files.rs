//! Files that a kernel makes up as they are read: /proc and /sys, and the sizes in meminfo.

use rustix::fs::{CWD, Mode, OFlags};
use tare_data::facts::Facts;

/// Longest text that is read: mount tables of busy container hosts are some hundred KiB.
const MOST_BYTES: usize = 1 << 20;

/// Reads the text of such a file, at most [`MOST_BYTES`] of it; None where it does not exist.
///
/// It is read in one piece from the first line on, since the next read may find another text.
pub(crate) fn read_text(path: &str) -> Option<String> {
    let flags = OFlags::RDONLY | OFlags::CLOEXEC;
    let file = rustix::fs::openat(CWD, path, flags, Mode::empty()).ok()?;
    let mut bytes = Vec::new();
    let mut piece = [0; 4096];
    while bytes.len() < MOST_BYTES {
        match rustix::io::read(&file, &mut piece) {
            Ok(0) => break,
            Ok(read) => bytes.extend_from_slice(&piece[..read]),
            Err(_) => return None,
        }
    }
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

/// Notes the trimmed text of a file, where there is one.
pub(crate) fn note_file(facts: &mut Facts, key: &str, path: &str) {
    if let Some(text) = read_text(path) {
        facts.add_fact(key, text.trim());
    }
}

/// Reads how much memory is available without swapping, as this kernel reports it; None where it does not.
pub fn available_bytes() -> Option<u64> {
    meminfo_bytes(&read_text("/proc/meminfo")?, "MemAvailable:")
}

/// Reads a line of meminfo, or of a file in its format, in bytes.
pub(crate) fn meminfo_bytes(text: &str, key: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(key))?;
    line.split_ascii_whitespace().next()?.parse::<u64>().ok()?.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_meminfo_are_read_in_bytes() {
        let text = "MemTotal:  24000000 kB\nMemFree:   1000000 kB\nHugePages_Total: lots\n";
        assert_eq!(meminfo_bytes(text, "MemFree:"), Some(1_024_000_000));
        assert_eq!(meminfo_bytes(text, "HugePages_Total:"), None);
        assert_eq!(meminfo_bytes(text, "PageTables:"), None);
    }
}
