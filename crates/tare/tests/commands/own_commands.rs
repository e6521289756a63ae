//! Commands of one's own: `tare run -- COMMAND` and `tare ladder`, in real environments that need nothing installed.

use std::fs;

use serde_json::Value;

use crate::program::{Program, Said};

/// A session as root needs an overlay of the root folder; where there is none, the test says so.
fn can_show_its_root(test: &str) -> bool {
    let root = rustix::process::geteuid().is_root();
    if !root {
        println!("SKIPPED {test}: only root can show an environment this machine's programs");
    }
    root
}

fn ok(said: Said) -> String {
    assert_eq!(said.code, Some(0), "{said:?}");
    said.out
}

#[test]
fn a_command_runs_in_every_environment_and_writes_nowhere() {
    if !can_show_its_root("a_command_runs_in_every_environment_and_writes_nowhere") {
        return;
    }
    let program = Program::new();
    fs::write(program.path("source"), "of this test").unwrap();
    let command = "cp source copy && echo y >/etc/tare-was-here && test -e setup";
    let out = ok(program.run(&[
        "run",
        "--in",
        "native,container,traced",
        "-r",
        "6",
        "-s",
        "touch setup",
        "--shell",
        "default",
        "-n",
        "copying",
        "--record",
        "c.tare",
        "--export-json",
        "c.json",
        "--",
        command,
    ]));
    for words in ["copying: container, traced against native", "against native", "user", "system", "traced"] {
        assert!(out.contains(words), "no '{words}' in {out}");
    }
    // It may begin a line of its own.
    let again = out.replace("\\\n", "").split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(again.contains("-- 'cp source copy"), "the command stands last in what does it again: {out}");
    for trap in ["copy", "setup"] {
        assert!(!program.path(trap).exists(), "{trap} was made here");
    }
    assert!(!fs::exists("/etc/tare-was-here").unwrap());
    let hyperfine: Value = serde_json::from_slice(&fs::read(program.path("c.json")).unwrap()).unwrap();
    assert_eq!(hyperfine["results"].as_array().map(Vec::len), Some(4), "baseline, control and two subjects");
    assert_eq!(hyperfine["results"][0]["times"].as_array().map(Vec::len), Some(6));
    for own in ["source", "c.json"] {
        fs::remove_file(program.path(own)).unwrap();
    }
    assert_eq!(program.remains(), Vec::<std::path::PathBuf>::new());
}

#[test]
fn a_shared_work_folder_is_written_to() {
    if !can_show_its_root("a_shared_work_folder_is_written_to") {
        return;
    }
    let program = Program::new();
    let work = program.path("work");
    fs::create_dir(&work).unwrap();
    let words = ["run", "--in", "native,container", "-r", "2", "--work", "share", "--", "touch", "made"];
    ok(Said::of(program.command(&words).current_dir(&work).output().unwrap()));
    assert!(work.join("made").exists());
}

#[test]
fn a_command_that_fails_says_how() {
    if !can_show_its_root("a_command_that_fails_says_how") {
        return;
    }
    let program = Program::new();
    let run = |more: &[&str]| {
        let words: Vec<&str> = ["run", "--in", "native", "-r", "2"].iter().chain(more).copied().collect();
        program.run(&words)
    };
    let failed = run(&["--", "ls /no/such/file"]);
    assert_ne!(failed.code, Some(0), "{failed:?}");
    assert!(failed.err.contains("ls ended with exit code 2, expected 0"), "{failed:?}");
    ok(run(&["-i", "--", "ls /no/such/file"]));
    let missing = run(&["--", "no-such-program", "-x"]);
    assert!(missing.err.contains("no no-such-program in "), "{missing:?}");
    let piped = run(&["--", "ls | wc -l"]);
    assert!(piped.err.contains("needs a shell") && piped.err.contains("--shell default"), "{piped:?}");
}

#[test]
fn a_ladder_compares_each_step_with_the_one_before() {
    let program = Program::new();
    let out = ok(program.run(&[
        "ladder",
        "seccomp",
        "--only",
        "sys.getppid",
        "--budget",
        "12s",
        "--record",
        "l.tare",
    ]));
    for words in ["against the line before", "+ a container", "+ filter of 10 rules", "+ Docker's list"] {
        assert!(out.contains(words), "no '{words}' in {out}");
    }
    assert_eq!(out, ok(program.run(&["ladder", "l.tare"])));
    let json = program.run(&["ladder", "l.tare", "--json"]).json();
    assert_eq!(json["rows"][0]["cells"].as_array().map(Vec::len), Some(5));
    let other = program.run(&["ladder", "contaner"]);
    assert!(other.err.contains("did you mean 'container'?"), "{other:?}");
}
