//! Counts of real programs: the calls that strace counts, and the work that a script is known to do.

#![allow(clippy::disallowed_methods, reason = "tests are told where they run, and start what they look for")]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use tare_data::session::demand::{Demand, Work};

/// Finds the agent, which cargo builds next to this test: deps/../examples/agent.
fn agent() -> PathBuf {
    let test = std::env::current_exe().unwrap();
    test.parent().and_then(Path::parent).unwrap().join("examples/agent")
}

/// Counts a shell's script in a folder.
fn count(folder: &Path, script: &str) -> Demand {
    let result = folder.with_extension("demand");
    let ended = Command::new(agent())
        .args(["agent-count".as_ref(), "tracer".as_ref(), result.as_os_str(), "/bin/sh".as_ref()])
        .args(["sh", "-c", script])
        .current_dir(folder)
        .env_clear()
        .env("PATH", "/usr/bin:/bin")
        .output()
        .unwrap();
    assert!(ended.status.success(), "{script}: {}", String::from_utf8_lossy(&ended.stderr));
    serde_json::from_slice(&std::fs::read(result).unwrap()).unwrap()
}

/// Counts calls with `strace -f -c`; none where it is not installed.
fn strace(folder: &Path, script: &str) -> Option<f64> {
    let result = folder.with_extension("strace");
    let traced = Command::new("strace")
        .args(["-f", "-c", "-o"])
        .arg(&result)
        .args(["/bin/sh", "-c", script])
        .current_dir(folder)
        .env_clear()
        .env("PATH", "/usr/bin:/bin")
        .output();
    assert!(traced.ok()?.status.success(), "{script}");
    let text = std::fs::read_to_string(result).unwrap();
    let total = text.lines().last().unwrap().split_whitespace().collect::<Vec<_>>();
    total[3].parse().ok()
}

#[test]
fn as_many_calls_are_counted_as_strace_counts() {
    let folder = tempfile::tempdir().unwrap();
    let inside = folder.path().join("inside");
    std::fs::create_dir(&inside).unwrap();
    for number in 0..20 {
        std::fs::write(inside.join(format!("file-{number}")), "some text\n".repeat(100)).unwrap();
    }
    let scripts = [
        "/bin/true",
        "ls -l .",
        "cat file-1 file-2",
        "find . -name 'file*'",
        "grep -r some .",
        "tar cf /dev/null .",
        "gzip -c file-3",
        "sort file-4",
        "for i in 1 2 3 4 5; do /bin/true; done",
        "cat file-5 | tr s t | wc -l",
    ];
    for script in scripts {
        let Some(expected) = strace(&inside, script) else {
            return println!("SKIPPED as_many_calls_are_counted_as_strace_counts: strace is not installed");
        };
        let counted = count(&inside, script).calls;
        // A shell that waits for children is interrupted by some of their ends and not by others.
        assert!((counted - expected).abs() <= 6.0, "{script}: {counted}, strace {expected}");
    }
}

#[test]
fn a_script_is_counted_by_what_it_does() {
    let folder = tempfile::tempdir().unwrap();
    let inside = folder.path().join("inside");
    std::fs::create_dir(&inside).unwrap();
    let demand = count(&inside, "mkdir a; mv a b; rmdir b; : > f; cat f; rm f; cat gone 2>/dev/null; true");
    let amounts: BTreeMap<Work, f64> = demand.amounts.clone();
    let of = |work: Work| amounts.get(&work).copied().unwrap_or(0.0);
    assert_eq!(of(Work::Renames), 1.0, "{amounts:?}");
    assert_eq!(of(Work::Removes), 2.0, "{amounts:?}");
    // The folder, and the file that the shell makes; /dev/null is opened for writing as well.
    assert!((2.0..=3.0).contains(&of(Work::Creates)), "{amounts:?}");
    // The shell itself, mkdir, mv, rmdir, cat, rm, cat.
    assert_eq!(of(Work::Execs), 7.0, "{amounts:?}");
    assert_eq!(of(Work::Forks) + of(Work::Spawns), 6.0, "{amounts:?}");
    assert!(of(Work::Missing) >= 1.0 && of(Work::Opens) >= 7.0, "{amounts:?}");
    assert!(of(Work::FileMaps) >= 7.0 && of(Work::Signals) >= 1.0, "{amounts:?}");
}

#[test]
fn files_that_were_read_are_named_once() {
    let folder = tempfile::tempdir().unwrap();
    let inside = folder.path().join("inside");
    std::fs::create_dir(&inside).unwrap();
    std::fs::write(inside.join("own"), "text").unwrap();
    std::fs::write(inside.join("other"), "text").unwrap();
    std::fs::create_dir(inside.join("folder")).unwrap();
    std::fs::create_dir(folder.path().join("beside")).unwrap();
    count(&inside, "cat own; cat own gone; ls .");
    let counted = std::fs::read(inside.with_extension("demand")).unwrap();
    let counted: serde_json::Value = serde_json::from_slice(&counted).unwrap();
    let list = |of: &serde_json::Value| -> Vec<PathBuf> {
        let all = of.as_array().unwrap().iter().map(|path| PathBuf::from(path.as_str().unwrap()));
        all.filter(|path| path.starts_with(folder.path())).collect()
    };
    assert_eq!(list(&counted["files"]), [inside.join("own")], "{counted}");
    assert_eq!(list(&counted["unmet"][0]), [inside.join("other")], "{counted}");
    assert_eq!(list(&counted["unmet"][1]), [folder.path().join("beside")], "{counted}");
}

#[test]
fn what_many_paths_are_and_how_deep_is_counted() {
    let folder = tempfile::tempdir().unwrap();
    let inside = folder.path().join("inside");
    std::fs::create_dir_all(inside.join("deep/er")).unwrap();
    for number in 0..1100 {
        std::fs::write(inside.join(format!("deep/er/file-{number}")), "").unwrap();
    }
    // As many as a layer's cache holds are not many.
    let few = count(&inside, "stat deep/er/file-[1-8]?? >/dev/null");
    let many = count(&inside, "ls -l deep/er; stat deep/er/* >/dev/null");
    let of = |demand: &Demand, work| demand.amounts.get(&work).copied().unwrap_or(0.0);
    assert!(of(&few, Work::Lookups) >= 800.0, "{few:?}");
    assert_eq!(of(&few, Work::DistinctPaths), 0.0, "{few:?}");
    assert!(of(&many, Work::DistinctPaths) >= 1100.0, "{many:?}");
    assert!(of(&many, Work::Lookups) >= 1100.0, "{many:?}");
    assert!(of(&many, Work::FurtherFolders) >= 2200.0, "{many:?}");
    assert!(of(&many, Work::Entries) >= 1100.0, "{many:?}");
}

/// Counts a shell's script by tracepoints; none where they cannot be had.
fn watch(folder: &Path, script: &str) -> Option<(f64, f64)> {
    let result = folder.with_extension("watched");
    let ended = Command::new(agent())
        .args(["agent-count".as_ref(), "tracepoints".as_ref(), result.as_os_str(), "/bin/sh".as_ref()])
        .args(["sh", "-c", script])
        .current_dir(folder)
        .env_clear()
        .env("PATH", "/usr/bin:/bin")
        .output()
        .unwrap();
    let text = std::fs::read(result).unwrap();
    let watched: serde_json::Value = serde_json::from_slice(&text).unwrap();
    let seen = watched.get("seen")?;
    assert!(ended.status.success(), "{script}: {}", String::from_utf8_lossy(&ended.stderr));
    let count = |name: &str| seen[name].as_f64().unwrap();
    Some((count("calls"), count("pauses") + count("long_pauses")))
}

#[test]
fn tracepoints_count_the_calls_that_strace_counts_and_see_pauses() {
    const NAME: &str = "tracepoints_count_the_calls_that_strace_counts_and_see_pauses";
    let folder = tempfile::tempdir().unwrap();
    let inside = folder.path().join("inside");
    std::fs::create_dir(&inside).unwrap();
    std::fs::write(inside.join("file"), "some text\n".repeat(1000)).unwrap();
    for script in
        ["/bin/true", "ls -l .", "for i in 1 2 3 4 5; do /bin/true; done", "cat file | tr s t | wc -l"]
    {
        let Some((calls, _)) = watch(&inside, script) else {
            return println!("SKIPPED {NAME}: no tracepoints: it needs root in the first process namespace");
        };
        let Some(expected) = strace(&inside, script) else {
            return println!("SKIPPED {NAME}: strace is not installed");
        };
        assert!((calls - expected).abs() <= 6.0, "{script}: {calls}, strace {expected}");
    }
    // Compressing is computing between few calls; a call after another is none.
    let pauses = |script: &str| watch(&inside, script).unwrap();
    let (calls, long) = pauses("for i in 1 2 3; do gzip -9 -c file file file > /dev/null; done");
    assert!(long >= 9.0 && long < calls, "{long} of {calls}");
}
