//! User commands: `tare run -- COMMAND`, and the same in `tare ladder`, `explain` and `advise`, in real
//! environments that need nothing installed.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use serde_json::Value;

use crate::program::{Program, Said};

/// Tells whether root can put an overlay on the root folder, and prints that the test is skipped if not.
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
    let out = ok(program.run_tare(&[
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
    let of_baseline = |key: &str| hyperfine["results"][0][key].as_array().unwrap().clone();
    assert!(of_baseline("times").len() >= 6, "every run of six rounds: {hyperfine}");
    assert_eq!(of_baseline("exit_codes"), vec![0; of_baseline("times").len()]);
    assert!(hyperfine["results"][0]["user"].as_f64().is_some(), "{hyperfine}");
    for own in ["source", "c.json"] {
        fs::remove_file(program.path(own)).unwrap();
    }
    assert_eq!(program.list_remains(), Vec::<std::path::PathBuf>::new());
}

#[test]
fn a_record_is_no_part_of_the_folder_that_its_command_works_in() {
    if !can_show_its_root("a_record_is_no_part_of_the_folder_that_its_command_works_in") {
        return;
    }
    let program = Program::new();
    let work = program.path("work");
    fs::create_dir(&work).unwrap();
    let run = |arguments: &[&str]| {
        Said::from_output(program.tare_command(arguments).current_dir(&work).output().unwrap())
    };
    let planned = ok(run(&["run", "--in", "native", "-r", "2", "--dry-run", "--", "ls"]));
    let planned = planned.split_whitespace().collect::<String>();
    assert!(planned.contains("/state/tare/records/"), "{planned}");
    assert!(!program.path("state").exists(), "a dry run makes nothing");
    let aborted = run(&["run", "--in", "native", "-r", "2", "-s", "false", "--", "ls"]);
    assert_eq!(aborted.code, Some(3), "{aborted:?}");
    assert_eq!(fs::read_dir(program.path("state/tare/records")).unwrap().count(), 0, "nothing was measured");
    let out = ok(run(&["run", "--in", "native", "-r", "2", "--", "ls"]));
    let record = out.lines().find_map(|line| line.strip_prefix("record")).unwrap_or_default().trim();
    assert!(std::path::Path::new(record).starts_with(program.path("state/tare/records")), "{out}");
    assert_eq!(fs::read_dir(&work).unwrap().count(), 0);
    for private in ["state", "state/tare", "state/tare/records"] {
        let mode = fs::metadata(program.path(private)).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode, 0o700, "{private}: journals are believed only where nobody else writes");
    }
    let shown = run(&["report"]);
    assert!(shown.code == Some(0) && shown.err.contains(record), "{shown:?}");
    fs::remove_dir(&work).unwrap();
    assert_eq!(program.list_remains(), Vec::<std::path::PathBuf>::new());
    // A folder that has the state folder in it leaves no place apart.
    let all = program.run_tare(&["run", "--in", "native", "-r", "2", "--dry-run", "--", "ls"]);
    assert!(!all.out.split_whitespace().collect::<String>().contains("/state/tare/records/"), "{all:?}");
}

#[test]
fn commands_are_compared_with_the_first_and_none_finds_what_another_wrote() {
    if !can_show_its_root("commands_are_compared_with_the_first_and_none_finds_what_another_wrote") {
        return;
    }
    let program = Program::new();
    let (old, new) = ("touch by-old; test ! -e by-new", "touch by-new; test ! -e by-old && sleep 0.5");
    let run =
        |more: &[&str], commands: &[&str]| program.run_tare(&[&["run"], more, &["--"], commands].concat());
    let options = ["-S", "default", "-n", "old", "-n", "it's new", "-r", "6", "--record", "c.tare"];
    let said = run(&[&options[..], &["--fail-if", "slower:5%"]].concat(), &[old, "---", new]);
    assert_eq!(said.code, Some(6), "{said:?}");
    let screen = said.out.split_whitespace().collect::<Vec<_>>().join(" ");
    let differs = "it's new does not do the same as old. Differs: by-old is not written; by-new is written there alone.";
    assert!(screen.starts_with(differs) && screen.contains(" it's new takes "), "{screen}");
    assert!(screen.contains(". Control: "), "{screen}");
    assert!(
        screen.contains(" 6 runs each, ") && screen.contains("it's new against old, in native"),
        "{screen}"
    );
    assert!(!program.path("by-old").exists() && !program.path("by-new").exists());
    let shown = program.run_tare(&["report", "c.tare", "--json"]).parse_json();
    let sides = shown["plan"]["environments"].as_array().unwrap();
    let roles: Vec<&str> = sides.iter().filter_map(|side| side["role"].as_str()).collect();
    assert_eq!(roles, ["baseline", "control", "subject"]);
    assert!(sides.iter().all(|side| side["specification"] == "native"), "{sides:?}");
    assert_eq!([&sides[1]["command"][2], &sides[2]["command"][2]], [old, new]);
    assert_eq!(shown["rows"][0]["cells"][0]["answer"], "slower");
    // It is complete, and its commands may run again here.
    let resumed = program.run_tare(&["run", "--resume", "c.tare"]);
    assert!(resumed.out.contains("it's new takes "), "{resumed:?}");
    let planned = ok(run(&["--against", "true", "--dry-run"], &["false", "---", "true"]));
    let planned = planned.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(planned.contains("for true: run true (in ") && !planned.contains("container"), "{planned}");
    let idle = run(&["--fail-if", "slower:./nwe"], &["true", "---", "false"]);
    assert!(idle.code == Some(2) && idle.err.contains("it compares false with the baseline"), "{idle:?}");
}

#[test]
fn a_command_is_compared_in_two_folders_which_are_written_to_if_they_are_shared() {
    if !can_show_its_root("a_command_is_compared_in_two_folders_which_are_written_to_if_they_are_shared") {
        return;
    }
    let program = Program::new();
    ["left", "right"].into_iter().for_each(|folder| fs::create_dir(program.path(folder)).unwrap());
    let folders = ["--folder", "left", "--folder", "right", "-r", "2"];
    for (how, is_written) in [("copy", false), ("share", true)] {
        let words = ["run", "--in", "container", "--work", how];
        let out = ok(program.run_tare(&[&words[..], &folders, &["--", "mkdir", "-p", "made"]].concat()));
        assert!(out.contains("right against left, in container"), "{out}");
        for folder in ["left", "right"] {
            assert_eq!(program.path(folder).join("made").exists(), is_written, "{how} of {folder}");
        }
    }
}

#[test]
fn a_command_that_fails_says_how() {
    if !can_show_its_root("a_command_that_fails_says_how") {
        return;
    }
    let program = Program::new();
    let run = |more: &[&str]| {
        let words: Vec<&str> = ["run", "--in", "native", "-r", "2"].iter().chain(more).copied().collect();
        program.run_tare(&words)
    };
    let failed = run(&["--", "ls /no/such/file"]);
    assert_ne!(failed.code, Some(0), "{failed:?}");
    assert!(failed.err.contains("ls ended with exit code 2, expected 0"), "{failed:?}");
    ok(run(&["-i", "--", "ls /no/such/file"]));
    let missing = run(&["--", "no-such-program", "-x"]);
    assert_eq!(missing.code, Some(2), "{missing:?}");
    assert!(missing.err.contains("there is no program 'no-such-program' in PATH"), "{missing:?}");
    let piped = run(&["--", "ls | wc -l"]);
    assert!(piped.err.contains("needs a shell") && piped.err.contains("--shell default"), "{piped:?}");
}

#[test]
fn a_command_that_fails_in_one_environment_alone_is_an_answer() {
    if !can_show_its_root("a_command_that_fails_in_one_environment_alone_is_an_answer") {
        return;
    }
    let program = Program::new();
    // This process is seen in native alone.
    let command = format!(
        "echo $$ $(date +%N); test -e /proc/{} || {{ echo lost >&2; exit 7; }}; echo found; echo x >made",
        std::process::id()
    );
    let run = |more: &[&str]| {
        let common = ["run", "--in", "container", "-r", "6"];
        program.run_tare(&[&common[..], more, &["--", "sh", "-c", &command]].concat())
    };
    let out = ok(run(&["--record", "x.tare"]));
    let said = out.split_whitespace().collect::<Vec<_>>().join(" ");
    for words in [
        "fails only in container: exit code 7 in 6 of 6, native 0 of 6. Times aren't compared",
        "\"found\" is missing; \"lost\" on standard error is there alone; made is not written.",
    ] {
        assert!(said.contains(words), "no '{words}' in {out}");
    }
    assert!(!out.contains("faster"), "{out}");
    let json = program.run_tare(&["report", "x.tare", "--json"]).parse_json();
    let outcome = &json["outcomes"][0];
    assert_eq!(
        (&outcome["word"], &outcome["unsteady"][0]),
        (&"fails_only".into(), &"output".into()),
        "{outcome}"
    );
    assert_eq!(outcome["counts"][1]["so"], 6, "{outcome}");
    assert_eq!(run(&["--fail-if", "differs"]).code, Some(6));
    // With -i runs that fail are timed as well, but not against those that do not.
    let out = ok(run(&["-i"]));
    assert!(out.contains("fails only in") && !out.contains("faster"), "{out}");
    assert!(!program.path("made").exists(), "it was made here");
}

#[test]
fn a_command_that_fails_everywhere_has_a_hint_and_one_that_does_the_same_says_so() {
    if !can_show_its_root("a_command_that_fails_everywhere_has_a_hint_and_one_that_does_the_same_says_so") {
        return;
    }
    let program = Program::new();
    let run = |command: &str| {
        program.run_tare(&[
            "run",
            "--in",
            "container",
            "-r",
            "6",
            "--fail-if",
            "differs",
            "--",
            "sh",
            "-c",
            command,
        ])
    };
    let said = run("no-such-program");
    assert_eq!(said.code, Some(7), "{said:?}");
    let out = said.out.split_whitespace().collect::<Vec<_>>().join(" ");
    let words = "fails everywhere alike: exit code 127 in 6 of 6, native 6 of 6 (a program was not found).";
    assert!(out.contains(words), "{out}");
    // The first run of a start leaves what the second finds; and lines may come in any order.
    let out = ok(run("echo $$; date; { echo a & echo b & wait; }; test -e left || touch left"));
    assert!(out.contains("does the same."), "{out}");
}

#[test]
fn the_message_of_a_step_that_fails_is_short_and_names_it() {
    if !can_show_its_root("the_message_of_a_step_that_fails_is_short_and_names_it") {
        return;
    }
    let program = Program::new();
    for (words, what, hint) in [
        (
            &["-p", "false", "--", "true"][..],
            "in native: --prepare 'false' ended with exit code 1",
            "by itself",
        ),
        (&["-s", "false", "--", "true"], "in native: --setup 'false' ended with exit code 1", "by itself"),
        (&["-C", "false", "--", "true"], "in native: --conclude 'false' ended with exit code 1", "by itself"),
    ] {
        let said = program.run_tare(&[&["run", "--in", "container"], words].concat());
        assert_eq!(said.code, Some(3), "{said:?}");
        let message =
            said.err.lines().skip_while(|line| !line.starts_with("error:")).collect::<Vec<_>>().join("\n");
        assert!(message.contains(what) && message.contains(hint), "{said:?}");
        assert!(message.chars().count() <= 200, "{} characters: {message}", message.chars().count());
    }
    let missing = program.run_tare(&["run", "--in", "container", "--", "gti", "status"]);
    assert!(missing.code == Some(2) && missing.err.contains("did you mean 'git'?"), "{missing:?}");
}

#[test]
fn a_command_is_measured_in_company_which_ends_with_it() {
    if !can_show_its_root("a_command_is_measured_in_company_which_ends_with_it") {
        return;
    }
    let program = Program::new();
    let run = |more: &[&str]| {
        let words: Vec<&str> = ["run", "--in", "native", "-r", "2"].iter().chain(more).copied().collect();
        program.run_tare(&words)
    };
    // Three copies at once leave three lines, and wait for each other: alone none of them would end in time.
    let meet = "echo x >>met; until test $(wc -l <met) -ge 3; do sleep 0.01; done";
    let company = ["--at-once", "3", "--neighbour", "none,fork", "--record", "c.tare"];
    ok(run(&[&company[..], &["-p", "rm -f met", "-n", "meet", "--", "sh", "-c", meet]].concat()));
    let rows =
        program.run_tare(&["report", "c.tare", "--json"]).parse_json()["rows"].as_array().unwrap().clone();
    let labels: Vec<&str> = rows.iter().filter_map(|row| row["label"].as_str()).collect();
    for label in ["meet x3", "meet x3 beside fork"] {
        assert!(labels.contains(&label), "no '{label}' in {labels:?}");
    }
    let failed = run(&["--at-once", "2", "--neighbour", "burn,sync", "--", "sh", "-c", "exit 7"]);
    assert!(failed.err.contains("ended with exit code 7, expected 0"), "{failed:?}");
    assert_eq!(program.list_processes(), Vec::<String>::new());
    let refused = program.run_tare(&["run", "quick", "--neighbour", "burn"]);
    assert!(refused.code == Some(2) && refused.err.contains("--neighbour is about commands"), "{refused:?}");
}

/// Tells whether what a command shows has nothing but ASCII in a locale that has no more.
fn is_ascii_in_c(program: &Program, arguments: &[&str]) -> bool {
    let said = Said::from_output(program.tare_command(arguments).env("LC_ALL", "C").output().unwrap());
    said.code == Some(0) && !said.out.is_empty() && said.out.is_ascii()
}

#[test]
fn a_ladder_compares_each_step_with_the_one_before() {
    let program = Program::new();
    let out = ok(program.run_tare(&[
        "ladder",
        "seccomp",
        "--only",
        "sys.getppid",
        "--rounds",
        "6",
        "--record",
        "l.tare",
    ]));
    for words in ["against the line before", "+ a container", "+ filter of 10 rules", "+ Docker's list"] {
        assert!(out.contains(words), "no '{words}' in {out}");
    }
    assert_eq!(out, ok(program.run_tare(&["ladder", "l.tare"])));
    assert!(is_ascii_in_c(&program, &["ladder", "l.tare"]), "{out}");
    assert!(!out.contains("seccomp=") && !out.contains("container-"), "names of steps alone: {out}");
    let json = program.run_tare(&["ladder", "l.tare", "--json"]).parse_json();
    assert_eq!(json["rows"][0]["cells"].as_array().map(Vec::len), Some(5));
    let both = [
        "ladder",
        "landlock",
        "--both-orders",
        "--only",
        "sys.getppid",
        "--rounds",
        "6",
        "--record",
        "b.tare",
    ];
    if program.run_tare(&["check", "--in", "landlock"]).code == Some(0) {
        let out = ok(program.run_tare(&both));
        // A line may break anywhere.
        let said = out.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(said.contains("+ 15 layers") && said.contains("in reverse order"), "{out}");
        assert_eq!(out, ok(program.run_tare(&["ladder", "b.tare"])));
    }
    let other = program.run_tare(&["ladder", "contaner"]);
    assert!(other.err.contains("did you mean 'container'?"), "{other:?}");
}

#[test]
fn a_bill_says_where_the_time_goes_and_a_forecast_needs_no_run_there() {
    if !can_show_its_root("a_bill_says_where_the_time_goes_and_a_forecast_needs_no_run_there") {
        return;
    }
    let program = Program::new();
    let command = ["--", "find", "/usr/share/doc", "-maxdepth", "1"];
    let explain = ["explain", "--in", "native,traced", "--rounds", "2", "--record", "e.tare"];
    let out = ok(program.run_tare(&[&explain[..], &command].concat()));
    // Two rounds of prices make no bill, and a forecast says of what it is.
    for words in ["native", "traced", "No bill yet", "Forecast by these prices", "Counted once"] {
        assert!(out.contains(words), "no '{words}' in {out}");
    }
    let shown: Value = serde_json::from_str(&ok(program.run_tare(&["explain", "e.tare", "--json"]))).unwrap();
    let explained = &shown["explained"][0];
    let bill = &explained["bills"][0];
    let number = |value: &Value| value.as_f64().unwrap_or(f64::NAN);
    let lines = bill["lines"].as_array().unwrap();
    let sum: f64 = lines.iter().map(|line| number(&line["more_ns"])).sum();
    let difference = number(&bill["ns"]) - number(&explained["baseline_ns"]);
    // To the nanosecond, whatever the model says.
    assert!((sum + number(&bill["rest_ns"]) - difference).abs() < 1.0, "{bill}");
    // Every call stops at a tracer, and find lists a folder: it opens files and looks paths up.
    let of = |work: &str| lines.iter().find(|line| line["work"] == work);
    assert!(of("opens").is_some_and(|line| number(&line["more_ns"]) > 0.0), "{bill}");
    assert!(
        explained["counted"]["demand"]["calls"].as_f64().is_some_and(|calls| calls > 50.0),
        "{explained}"
    );

    assert!(is_ascii_in_c(&program, &["explain", "e.tare"]), "{out}");
    let prices = ok(program.run_tare(&["explain", "--prices", "e.tare"]));
    assert!(prices.contains("files opened and closed") && prices.contains("traced"), "{prices}");
    let forecast = ["explain", "--forecast", "--from", "e.tare", "--rounds", "2", "--record", "p.tare"];
    let out = ok(program.run_tare(&[&forecast[..], &command].concat()));
    assert!(out.contains("was not timed in traced") && out.contains("Forecast by these prices"), "{out}");
    let refused = program.run_tare(&["explain", "p.tare"]);
    assert_eq!(refused.code, Some(2), "{refused:?}");
    assert!(refused.err.contains("p.tare has no prices"), "{refused:?}");
}

#[test]
fn an_explanation_says_first_how_long_it_takes_and_leaves_one_record() {
    if !can_show_its_root("an_explanation_says_first_how_long_it_takes_and_leaves_one_record") {
        return;
    }
    let program = Program::new();
    fs::create_dir(program.path("tmp")).unwrap();
    let explain = ["explain", "--in", "container", "--budget", "12s", "--record", "e.tare", "--", "ls", "/"];
    let mut command = program.tare_command(&explain);
    command.env("TMPDIR", program.path("tmp"));
    let said = Said::from_output(command.output().unwrap());
    assert!(matches!(said.code, Some(0 | 7)), "{said:?}");
    let text = said.out.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.starts_with("ls / in container"), "{text}");
    let [times, bill] = ["The bill follows.", "Counted once"].map(|words| text.find(words).unwrap());
    assert!(times < bill && text.matches("The bill follows.").count() == 1, "{text}");
    assert_eq!(said.err.matches("record ").count(), 1, "{said:?}");
    let left = fs::read_dir(program.path("tmp")).unwrap().map(|entry| entry.unwrap().file_name());
    assert_eq!(left.collect::<Vec<_>>(), Vec::<std::ffi::OsString>::new());
    // The record has the prices that the command needs, and no others.
    let cases = |record: &str| {
        let report = program.run_tare(&["report", record, "--json"]).parse_json();
        let rows = report["rows"].as_array().unwrap();
        rows.iter()
            .map(|row| row["case"].as_str().unwrap().to_owned())
            .collect::<std::collections::BTreeSet<_>>()
    };
    let priced = cases("e.tare");
    assert!(
        (2..30).contains(&priced.len()) && priced.iter().any(|case| case.starts_with("user.")),
        "{priced:?}"
    );
}

#[test]
fn the_commands_of_a_study_are_explained_in_one_session() {
    if !can_show_its_root("the_commands_of_a_study_are_explained_in_one_session") {
        return;
    }
    let program = Program::new();
    let study = |rest: &str| {
        format!(
            "name = 'c'\ntitle = 'c'\nabout = 'c'\nbudget = '60s'\n[probe.here]\ncommand = ['ls', 'c.toml']\n{rest}"
        )
    };
    fs::write(program.path("c.toml"), study("[probe.date]\ncommand = ['date']\n")).unwrap();
    let explain =
        ["explain", "c.toml", "--in", "native,traced", "--rounds", "1", "--record", "e.tare", "--json"];
    let shown: Value = serde_json::from_str(&ok(program.run_tare(&explain))).unwrap();
    let explained = shown["explained"].as_array().unwrap();
    assert_eq!(explained.len(), 2, "{shown}");
    // Both ran, the one in the folder where its file is.
    assert!(explained.iter().all(|command| command["bills"][0]["ns"].as_f64().is_some()), "{explained:?}");

    fs::write(program.path("c.toml"), study("[[case]]\nprobe = 'null'\n")).unwrap();
    let refused = program.run_tare(&explain);
    assert!(refused.code == Some(2) && refused.err.contains("other cases than commands"), "{refused:?}");
}

#[test]
fn advice_names_the_best_for_each_kind_of_work_and_what_it_rests_on() {
    let program = Program::new();
    let kinds = r#"
[[kind]]
name = "calls"
title = "many system calls"
basis = "made up"
part = [{ share = 0.5, probe = "sys.getppid" }, { share = 0.5, probe = "null" }]

[[kind]]
name = "disk"
title = "a disk"
basis = "made up"
part = [{ share = 1.0, probe = "file.sync", place = "own" }]
"#;
    fs::write(program.path("k.toml"), kinds).unwrap();
    let given = ["advise", "--in", "native,traced", "--kinds", "k.toml", "--for", "calls"];
    let out = ok(program.run_tare(&[&given[..], &["--rounds", "40", "--record", "a.tare"]].concat()));
    assert!(
        out.contains("many system calls") && out.contains("traced is slower for many system calls."),
        "{out}"
    );
    assert!(out.contains("50 % system call, 50 %") && !out.contains("a disk"), "{out}");
    let shown = ok(program.run_tare(&["advise", "a.tare", "--kinds", "k.toml", "--json"]));
    let shown: Value = serde_json::from_str(&shown).unwrap();
    let [calls, disk] = [0, 1].map(|at| &shown["advice"]["kinds"][at]);
    assert_eq!(shown["advice"]["environments"], serde_json::json!(["traced"]));
    let compared = &calls["choices"][0]["compared"];
    assert!(
        compared["low"].as_f64().is_some_and(|low| low > 1.05) && compared["answer"] == "slower",
        "{calls}"
    );
    // A kind of work that the session did not measure is not judged for anybody.
    assert_eq!(disk["choices"][0]["not_compared"]["reason"], "not_in_session", "{disk}");

    let refused = program.run_tare(&["advise", "a.tare", "--for", "biuld"]);
    assert!(refused.code == Some(2) && refused.err.contains("did you mean 'build'?"), "{refused:?}");
    let printed = ok(program.run_tare(&["advise", "--print-kinds"]));
    assert_eq!(printed, ok(program.run_tare(&["advise", "a.tare", "--print-kinds"])));
    fs::write(program.path("k.toml"), printed.replacen("share = 0.75", "share = 0.5", 1)).unwrap();
    let refused = program.run_tare(&["advise", "a.tare", "--kinds", "k.toml"]);
    assert!(refused.code == Some(2) && refused.err.contains("add up to 0.75"), "{refused:?}");
}

#[test]
fn a_command_works_in_the_users_files_where_no_namespace_may_be_made() {
    let test = "a_command_works_in_the_users_files_where_no_namespace_may_be_made";
    if !can_show_its_root(test) {
        return;
    }
    let program = Program::new();
    // As in a pod to which Kubernetes leaves no privileges.
    let run = |option: &str| {
        let words = ["run", "--in", "native,landlock", "--rounds", "2", option];
        let command = ["--", "sh", "-c", "echo x >>written"];
        let tare = program.tare_command(&[&words[..], &command].concat());
        let mut restricted = std::process::Command::new("setpriv");
        restricted.args(["--bounding-set=-all", "--inh-caps=-all", "--no-new-privs"]);
        restricted.arg(tare.get_program()).args(tare.get_args());
        restricted.envs(tare.get_envs().filter_map(|(key, value)| Some((key, value?))));
        Said::from_output(restricted.current_dir(program.path(".")).output().unwrap())
    };
    let planned = run("--dry-run");
    let stays = "landlock: files that commands write, which stay where no namespace may be made";
    assert!(planned.out.split_whitespace().collect::<Vec<_>>().join(" ").contains(stays), "{planned:?}");
    assert!(!program.path("written").exists(), "a dry run runs nothing");
    let said = run("--json");
    assert!(said.err.contains("files that commands write in native, landlock stay"), "{said:?}");
    let compared = said.parse_json()["rows"][0]["cells"][0]["answer"].clone();
    assert_eq!((said.code, compared), (Some(0), Value::from("not_sure")));
    assert!(fs::read_to_string(program.path("written")).unwrap().lines().count() >= 4, "each run wrote");
}

#[test]
fn a_command_works_in_the_root_folder_and_is_refused_where_environments_have_their_own() {
    if !can_show_its_root(
        "a_command_works_in_the_root_folder_and_is_refused_where_environments_have_their_own",
    ) {
        return;
    }
    let program = Program::new();
    let (record, own) = (program.path("r.tare"), program.path("."));
    let run_in = |folder: &str, more: &[&str]| {
        let words = ["run", "--in", "container", "--rounds", "1", "--record", record.to_str().unwrap()];
        let command = ["--", "test", "-d", own.to_str().unwrap()];
        let words: Vec<&str> = words.iter().chain(more).chain(&command).copied().collect();
        Said::from_output(program.tare_command(&words).current_dir(folder).output().unwrap())
    };
    ok(run_in("/", &[]));
    let refused = [("/", &["--work", "share"][..]), ("/dev/shm", &[]), ("/proc", &[])];
    for (folder, more) in refused {
        let said = run_in(folder, more);
        assert_eq!(said.code, Some(2), "{said:?}");
        assert!(said.err.contains("cannot work in /") && said.err.contains("hint: "), "{said:?}");
    }
}
