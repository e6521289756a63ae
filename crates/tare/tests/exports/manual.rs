//! Completions and the manual, read by shells and formatters.

use std::fs;
use std::process::Command;

use crate::program::{Program, Said};
use crate::reading::{find_reader, run_reader};

#[test]
fn completions_are_read_by_their_shells() {
    let program = Program::new();
    for (shell, arguments) in [("bash", &["-n"][..]), ("zsh", &["-n"]), ("fish", &["--no-execute"])] {
        let script = program.run_tare(&["self", "completions", shell]);
        assert!(script.out.contains("report") && script.out.contains("export"), "{shell}: {script:?}");
        let path = program.path(&format!("tare.{shell}"));
        fs::write(&path, &script.out).unwrap();
        let Some(shell) = find_reader("completions_are_read_by_their_shells", shell) else { continue };
        let mut command = Command::new(shell);
        command.args(arguments).arg(&path);
        run_reader(command);
    }
    assert_eq!(program.run_tare(&["self", "completions", "cmd"]).code, Some(2));
}

#[test]
fn the_manual_has_a_page_a_command_without_a_fault() {
    let program = Program::new();
    fs::create_dir(program.path("man")).unwrap();
    let mut command = program.tare_command(&["self", "man", "man"]);
    let said_by_tare = Said::from_output(command.env("SOURCE_DATE_EPOCH", "1000000000").output().unwrap());
    assert_eq!(said_by_tare.code, Some(0), "{said_by_tare:?}");
    let pages: Vec<_> = fs::read_dir(program.path("man")).unwrap().map(|e| e.unwrap().path()).collect();
    for name in ["tare.1", "tare-run.1", "tare-report.1", "tare-compare.1", "tare-environment.1"] {
        assert!(pages.iter().any(|page| page.ends_with(name)), "no {name} in {pages:?}");
    }
    let run = fs::read_to_string(program.path("man/tare-run.1")).unwrap();
    assert!(run.contains(".TH TARE-RUN 1 2001-09-09 \"tare "), "{run}");
    for words in ["[\\fB\\-\\-budget\\fR \\fITIME\\fR]\n", "[\\fB\\-\\-hops\\fR]\n", "[\\fISTUDY\\fR]\n"] {
        assert!(run.contains(words), "no {words} in {run}");
    }
    assert!(!run.contains("\n\n.TP"), "every option is described: {run}");
    for page in &pages {
        if let Some(mandoc) = find_reader("the_manual_has_a_page_a_command_without_a_fault", "mandoc") {
            let mut command = Command::new(mandoc);
            command.args(["-T", "lint", "-W", "warning"]).arg(page);
            assert_eq!(run_reader(command), "", "{}", page.display());
        }
        if let Some(groff) = find_reader("the_manual_has_a_page_a_command_without_a_fault", "groff") {
            let mut command = Command::new(groff);
            command.args(["-man", "-Tutf8", "-ww"]).arg(page);
            let output = command.output().unwrap();
            assert_eq!(
                (output.status.success(), output.stderr.as_slice()),
                (true, &b""[..]),
                "{}",
                page.display()
            );
            assert!(output.stdout.len() > 500, "{}", page.display());
        }
    }
    let said = program.run_tare(&["self", "man", "nowhere"]);
    assert_eq!(said.code, Some(4), "{said:?}");
}

#[test]
fn tare_alone_says_where_it_is_and_what_to_do_first() {
    let said = Program::new().run_tare(&[]);
    assert_eq!((said.code, said.err.as_str()), (Some(2), ""), "nothing was asked for: {said:?}");
    assert!((8..=24).contains(&said.out.lines().count()), "{}", said.out);
    assert!(said.out.lines().all(|line| line.chars().count() <= 80), "{}", said.out);
    assert!(!said.out.contains('\x1b'), "{}", said.out);
    for words in
        ["You are in", "container", "tare check", "tare run -- git status", "--like", "tare help --all"]
    {
        assert!(said.out.contains(words), "{}", said.out);
    }
}
