//! Other processes: the first, the tracer, and the ancestors that this process sees.

use super::bounded::{MOST_BYTES, read_beginning, read_line};
use super::steps::Noting;
use tare_data::facts::keys::{PROCESS_ANCESTORS, PROCESS_FIRST, PROCESS_SECOND, ROOT_LINK, TRACER_NAME};

/// Ancestors that are looked at.
const MOST_ANCESTORS: usize = 20;
/// Bytes of /proc/PID/stat that hold its name and its parent.
const STAT_BYTES: usize = 512;
/// Beginnings of the names of programs that enter environments. Others say nothing, and are not kept.
const KNOWN: [&str; 8] =
    ["bwrap", "firejail", "codex-linux", "proot", "conmon", "containerd-shim", "srt", "strace"];

/// Notes who the first process, the second and the tracer are, and known programs among the ancestors, the nearest first.
pub fn note_all(noting: &mut Noting<'_>, tracer: Option<u64>) {
    noting.add_fact(PROCESS_FIRST, read_line("/proc/1/comm").unwrap_or_default());
    noting.add_fact(PROCESS_SECOND, read_line("/proc/2/comm").unwrap_or_default());
    note_tracer(noting, tracer);
    noting.add_fact(PROCESS_ANCESTORS, list_known_ancestors().join(" "));
    if let Ok(root) = rustix::fs::readlinkat(rustix::fs::CWD, "/proc/self/root", Vec::new()) {
        noting.add_fact(ROOT_LINK, if root.as_bytes() == b"/" { "/" } else { "elsewhere" });
    }
}

/// Notes the name of the process that traces this one.
pub fn note_tracer(noting: &mut Noting<'_>, tracer: Option<u64>) {
    if let Some(tracer) = tracer.filter(|tracer| *tracer > 0) {
        noting.add_fact(TRACER_NAME, read_line(&format!("/proc/{tracer}/comm")).unwrap_or_default());
    }
}

/// Lists the ancestors, once for each namespace of processes: a namespace's first process is a copy of the program that made it,
/// and waits for it.
fn list_known_ancestors() -> Vec<String> {
    let (mut known, mut copy): (Vec<String>, Option<String>) = (Vec::new(), None);
    // By /proc from the first on: it may number processes for an outer namespace.
    let mut next = "self".to_owned();
    for _ in 0..MOST_ANCESTORS {
        let stat = read_beginning(&format!("/proc/{next}/stat"), STAT_BYTES);
        let Some((name, parent)) = stat.as_deref().and_then(parse_stat) else { break };
        let is_original = copy.take().is_some_and(|copy| copy == name);
        if !is_original && KNOWN.iter().any(|begin| name.starts_with(begin)) {
            known.push(name.replace(' ', "_"));
            copy = is_first_of_namespace(&next).then(|| name.to_owned());
        }
        if parent == 0 {
            break;
        }
        next = parent.to_string();
    }
    known
}

/// Tells whether a process has number 1 in its own namespace: `NSpid: 17 1`.
fn is_first_of_namespace(process: &str) -> bool {
    let status = read_beginning(&format!("/proc/{process}/status"), MOST_BYTES).unwrap_or_default();
    let numbers = status.lines().find_map(|line| line.strip_prefix("NSpid:"));
    numbers.is_some_and(|numbers| numbers.split_ascii_whitespace().next_back() == Some("1"))
}

/// Parses the name and the parent's number of a process: `17 (name) S 1 ...`, where a name may hold parentheses.
pub(super) fn parse_stat(stat: &str) -> Option<(&str, i32)> {
    let (before, after) = stat.rsplit_once(')')?;
    let (_, name) = before.split_once('(')?;
    Some((name, after.split_ascii_whitespace().nth(1)?.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_may_hold_anything() {
        assert_eq!(parse_stat("17 (bwrap) S 12 17 17"), Some(("bwrap", 12)));
        assert_eq!(parse_stat("17 (a) b (c)) R 1 0"), Some(("a) b (c)", 1)));
        assert_eq!(parse_stat("17 (cut"), None);
        assert_eq!(parse_stat("17 (cut) S"), None);
    }
}
