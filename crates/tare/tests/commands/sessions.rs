//! Small real sessions: the table, the JSON document, the record read again.

use std::process::Stdio;
use std::thread;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};

use crate::program::{Program, Said};

#[test]
fn a_session_ends_with_a_table_and_a_record_that_says_the_same() {
    let program = Program::new();
    let said = program.run_tare(&[
        "run",
        "--in",
        "native,container",
        "--only",
        "sys.getppid",
        "--rounds",
        "6",
        "--record",
        "s.tare",
    ]);
    assert_eq!(said.code, Some(0), "{said:?}");
    for words in ["system call", "container", "record  s.tare", "again   tare run"] {
        assert!(said.out.contains(words), "no '{words}' in {}", said.out);
    }
    let wide = program.run_tare(&["report", "s.tare", "--wide"]).out;
    assert!(wide.contains("control (native against native)"), "{wide}");
    // Words are wrapped and never cut, and the checkout may be in a folder whose path is longer than a line.
    let short = said.out.replace(program.path("").to_str().unwrap().trim_end_matches('/'), ".");
    assert!(short.lines().all(|line| line.chars().count() <= 80), "{}", said.out);
    let again = program.run_tare(&["report", "s.tare"]);
    let rows = |text: &str| text.lines().skip(2).take(4).map(str::to_owned).collect::<Vec<_>>();
    assert_eq!(rows(&said.out), rows(&again.out));
    assert_eq!(program.list_remains(), Vec::<std::path::PathBuf>::new());
}

#[test]
fn json_is_one_document_with_estimates_intervals_and_facts() {
    let program = Program::new();
    let said =
        program.run_tare(&["run", "--json", "--rounds", "12", "--only", "sys.*", "--in", "native,container"]);
    let document = said.parse_json();
    // Six rounds may have no interval at the level of a direction among several.
    let cell = &document["rows"][0]["cells"][0]["comparison"];
    for key in ["slowdown", "low", "high", "p"] {
        assert!(cell[key].is_number(), "{key} in {cell}");
    }
    assert_eq!(cell["level"]["values"].as_array().map(Vec::len), Some(12));
    assert!(document["facts"].to_string().contains("kernel.release"));
}

#[test]
fn the_page_is_written_again_and_again_while_the_session_runs() {
    let program = Program::new();
    let page = program.path("p.html");
    let arguments = ["run", "--in", "native", "--only", "null", "--rounds", "100000", "--html", "p.html"];
    let mut session =
        program.tare_command(&arguments).stderr(Stdio::null()).stdout(Stdio::null()).spawn().unwrap();
    let mut next_page = |last: &str| loop {
        assert_eq!(session.try_wait().unwrap(), None, "the session ended before the next page");
        match std::fs::read_to_string(&page) {
            Ok(text) if text != last => break text,
            _ => thread::sleep(Duration::from_millis(50)),
        }
    };
    let reloads = "http-equiv=\"refresh\"";
    let first = next_page("");
    for running in [&first, &next_page(&first)] {
        assert!(running.trim_end().ends_with("</html>") && running.contains(reloads));
        assert!(running.contains(" elapsed, run ") && running.contains(" left"));
    }
    kill_process(Pid::from_child(&session), Signal::INT).unwrap();
    assert_eq!(session.wait().unwrap().code(), Some(130));
    let last = std::fs::read_to_string(&page).unwrap();
    assert!(last.trim_end().ends_with("</html>") && !last.contains(reloads) && !last.contains(" elapsed, "));
    assert_eq!(program.list_remains(), Vec::<std::path::PathBuf>::new());
}

#[test]
fn the_tables_of_articles_are_filled_from_a_record() {
    let program = Program::new();
    let only = "ipc.pipe,cpu.primes,net.rr,file.seq*bs=4KiB*op=write*fdatasync*";
    let said =
        program.run_tare(&["run", "--in", "native", "--only", only, "--rounds", "2", "--record", "v.tare"]);
    assert_eq!(said.code, Some(0), "{said:?}");
    for (article, words) in [
        ("qiita-wsl-rtt", "MEAN_LATENCY, us"),
        ("mynavi-wsl-filesystems", "As dd prints its rate"),
        ("ascii-wsl2-unixbench", "- native: the index needs all twelve scores (Index of the twelve scores)"),
    ] {
        let said = program.run_tare(&["report", "--published", article, "v.tare"]);
        assert!(said.out.replace('\n', " ").contains(words), "{article}: {said:?}");
    }
}

#[test]
fn the_same_seed_gives_the_same_order() {
    let program = Program::new();
    let order = |record: &str| {
        program.run_tare(&[
            "run",
            "--in",
            "native,container",
            "--only",
            "null",
            "--rounds",
            "4",
            "--seed",
            "2a",
            "--record",
            record,
        ]);
        let trials = tare_record::read_session(&program.path(record)).unwrap().session.trials;
        trials.into_iter().map(|t| (t.round, t.target)).collect::<Vec<_>>()
    };
    assert_eq!(order("a.tare"), order("b.tare"));
}

#[test]
fn help_has_examples_and_lists_name_things() {
    let program = Program::new();
    for arguments in [&["--help"][..], &["run", "--help"], &["report", "--help"], &["show", "--help"]] {
        assert!(program.run_tare(arguments).out.contains("Examples:"), "{arguments:?}");
    }
    assert!(program.run_tare(&["list", "probes"]).out.contains("net.rr"));
    assert!(
        program
            .run_tare(&["list", "environments", "--json"])
            .parse_json()
            .as_array()
            .is_some_and(|a| a.len() > 5)
    );
    assert!(program.run_tare(&["show", "quick"]).out.contains("sys.getppid"));
    assert!(program.run_tare(&["check", "--wide", "--in", "native"]).out.contains("kernel.release"));
}

#[test]
fn no_open_file_and_no_ignored_signal_is_inherited() {
    let program = Program::new();
    let study = r#"
name = "open"
title = "Open files"
about = "Fails where descriptor 9 is open."
budget = "10s"
[probe.closed]
command = ["/bin/sh", "-c", "test ! -e /proc/self/fd/9"]
"#;
    std::fs::write(program.path("open.toml"), study).unwrap();
    let mut shell = std::process::Command::new("bash");
    shell.args(["-c", "trap '' CHLD; exec 9<open.toml; exec \"$0\" \"$@\"", env!("CARGO_BIN_EXE_tare")]);
    shell.args(["run", "open.toml", "--in", "native", "--rounds", "1", "--record", "s.tare", "--scratch"]);
    shell.arg(program.path("")).current_dir(program.path("")).env("XDG_STATE_HOME", program.path("state"));
    let said = Said::from_output(shell.output().unwrap());
    assert_eq!(said.code, Some(0), "{said:?}");
}

#[test]
fn a_pinned_session_has_one_processor_everywhere_and_says_so() {
    let program = Program::new();
    let said = program.run_tare(&[
        "run",
        "--pin",
        "--in",
        "container,traced",
        "--only",
        "sys.getppid",
        "--rounds",
        "1",
        "--record",
        "p.tare",
    ]);
    assert!(said.out.lines().nth(1).is_some_and(|line| line.contains(", all on CPU ")), "{said:?}");
    let document = program.run_tare(&["report", "--json", "p.tare"]).parse_json();
    let facts = &document["facts"];
    assert!(facts["host"]["session.pinned_to"].is_string(), "{facts}");
    for environment in facts["environments"].as_array().unwrap() {
        assert_eq!(environment["inside"]["cpu.count"], "1", "{environment}");
    }
    for (words, says) in [
        (&["run", "--pin=99999", "--in", "container"][..], "the processors are 0"),
        (&["run", "--pin=first", "--in", "container"], "a processor is a number"),
    ] {
        let said = program.run_tare(words);
        assert_eq!(said.code, Some(2), "{said:?}");
        assert!(said.err.contains(says), "{said:?}");
    }
}
