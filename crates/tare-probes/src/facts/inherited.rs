//! Inherited state: how a process is scheduled, and what else it has from the one that started it and is not reset.
//!
//! A value that is usual is noted as such; one that cannot be read is absent.

use tare_data::facts::Facts;
use tare_data::facts::keys::{CPU_LIST, PROCESS_CLASS, PROCESS_NICE, USUAL};

use super::control_groups::Read;

/// Fields of /proc/PID/stat behind the name (proc_pid_stat(5)): nice, and the scheduling class.
const NICE: usize = 16;
const CLASS: usize = 38;
/// Words of files of a process: the key, the file, the beginning of the line, and the word behind it.
const WORDS: [(&str, &str, &str, usize); 6] = [
    (CPU_LIST, "status", "Cpus_allowed_list:", 0),
    ("memory.nodes", "status", "Mems_allowed_list:", 0),
    ("limit.core_bytes", "limits", "Max core file size", 0),
    ("process.oom_score_adj", "oom_score_adj", "", 0),
    ("process.personality", "personality", "", 0),
    ("process.autogroup_nice", "autogroup", "/autogroup-", 2),
];
/// Variables that choose the locale, the strongest first (locale(7)).
const LOCALE: [&str; 3] = ["LC_ALL=", "LC_CTYPE=", "LANG="];

/// Notes what a process has, by its folder in procfs.
pub fn note_process(process: &str, read: Read<'_>, facts: &mut Facts) {
    let file = |name: &str| read(&format!("{process}/{name}")).unwrap_or_default();
    let stat = file("stat");
    let field = |at: usize| stat.rsplit_once(')')?.1.split_ascii_whitespace().nth(at);
    facts.add_fact(PROCESS_NICE, field(NICE).unwrap_or_default());
    let class = match field(CLASS) {
        Some("0") => USUAL,
        Some("1" | "2") => "realtime",
        Some("3") => "batch",
        Some("5") => "idle",
        Some("6") => "deadline",
        other => other.unwrap_or_default(),
    };
    facts.add_fact(PROCESS_CLASS, class);
    for (key, name, beginning, at) in WORDS {
        let text = file(name);
        let rest = text.lines().find_map(|line| line.strip_prefix(beginning));
        facts.add_fact(key, rest.and_then(|rest| rest.split_ascii_whitespace().nth(at)).unwrap_or_default());
    }
    let variables = file("environ");
    let set = |name: &str| {
        variables.split('\0').find_map(|each| each.strip_prefix(name)).filter(|to| !to.is_empty())
    };
    let locale = LOCALE.iter().find_map(|name| set(name));
    facts.add_fact("process.locale", locale.unwrap_or(if variables.is_empty() { "" } else { USUAL }));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn note(files: &[(&str, &str)]) -> Facts {
        let mut facts = Facts::default();
        let read = |path: &str| {
            let of = files.iter().find(|(name, _)| path == format!("/proc/7/{name}"));
            of.map(|(_, text)| (*text).to_owned())
        };
        note_process("/proc/7", &read, &mut facts);
        facts
    }

    #[test]
    fn what_a_process_inherited_is_in_its_files() {
        let stat = format!("7 (a) b) S{} 10{} 3 0 0", " 0".repeat(15), " 0".repeat(21));
        let limits = "Limit  Soft Limit  Hard Limit  Units\nMax core file size        0   unlimited  bytes\n";
        let facts = note(&[
            ("stat", &stat),
            ("status", "Name:\tx\nCpus_allowed_list:\t0-1,4\nMems_allowed_list:\t0\n"),
            ("limits", limits),
            ("oom_score_adj", "500\n"),
            ("personality", "00040000\n"),
            ("autogroup", "/autogroup-31 nice 5\n"),
            ("environ", "A=1\0LANG=ja_JP.UTF-8\0LC_ALL=\0"),
        ]);
        let found: Vec<&str> = facts.0.values().map(String::as_str).collect();
        // In the order of their keys.
        assert_eq!(found, ["0-1,4", "0", "0", "5", "batch", "ja_JP.UTF-8", "10", "500", "00040000"]);
        assert_eq!(note(&[("environ", "A=1\0")]).get("process.locale"), Some(USUAL));
        assert_eq!(note(&[("stat", "7 (a"), ("limits", ""), ("autogroup", "x\n")]), Facts::default());
    }
}
