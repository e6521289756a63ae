//! Conditions of --fail-if: exit codes, and the line about undecided cells.

use std::fs::{self, File};

use crate::program::{Program, Said};
use crate::records::{Made, USUAL, with_record};

fn gated(made: Made, conditions: &[&str]) -> (Option<i32>, String) {
    let program = with_record(made);
    let mut arguments = vec!["report", "s.tare"];
    conditions.iter().for_each(|condition| arguments.extend(["--fail-if", condition]));
    let said = program.run_tare(&arguments);
    assert!(said.out.contains("system call") || said.code == Some(2), "the table is shown: {said:?}");
    (said.code, said.err)
}

#[test]
fn a_gate_has_an_exit_code_of_its_own() {
    let (code, err) = gated(USUAL, &["slower"]);
    assert_eq!(code, Some(6), "{err}");
    let line = "condition met: in 2 of 3 cells; 1 could not be compared, all others are decided\n";
    assert!(err.starts_with(line), "{err}");
    assert!(err.contains("\n  container: system call 3x ("), "{err}");
    assert_eq!(gated(USUAL, &["slower:container:sys.*>2.5"]).0, Some(6));
    assert_eq!(gated(USUAL, &["slower:container:*>5"]).0, Some(0));
    let same = Made { cost: 1.0, ..USUAL };
    assert_eq!(gated(same, &["slower"]).0, Some(6), "twelve rounds are too few to say the same");
    assert_eq!(gated(same, &["slower>1.2"]).0, Some(0));
    assert_eq!(gated(USUAL, &["missing"]).0, Some(6));
    assert_eq!(gated(USUAL, &["missing:container:sys.*"]).0, Some(0));
}

#[test]
fn work_that_lasts_leaves_a_gate_undecided_where_it_differs_and_is_read_from_a_record() {
    let program = Program::new();
    fs::write(program.path("l.tare"), tare_specimen::render_record(&tare_specimen::make_lasting())).unwrap();
    let code = |condition: &str| program.run_tare(&["report", "l.tare", "--fail-if", condition]).code;
    assert_eq!(["container", "noisy"].map(|name| code(&format!("slower:{name}"))), [Some(0); 2]);
    assert_eq!(["slower:q20", "slower:q20:cpu.*>3"].map(code), [Some(6); 2]);
    let said = program.run_tare(&["report", "l.tare", "--fail-if", "slower", "--allow-undecided"]);
    assert_eq!(said.code, Some(0), "rows of lasting work are none that a gate asks for: {said:?}");
    let said = program.run_tare(&["report", "l.tare", "--only", "cpu.*", "--wide"]);
    let flat = said.out.split_whitespace().collect::<Vec<_>>().join(" ");
    for text in ["Lasting arithmetic: container 0.98 to 1.03x, q20 4.9 to 5.1x, ", "calls and forks 997 ns"] {
        assert!(flat.contains(text), "{text}: {said:?}");
    }
    let said = program.run_tare(&["compare", "l.tare", "--to", "l.tare", "--fail-if", "regressed:q20"]);
    assert_eq!(said.code, Some(6), "a change of short operations: {said:?}");
    let said = program.run_tare(&["compare", "l.tare", "--to", "l.tare", "--fail-if", "regressed:container"]);
    assert_eq!(said.code, Some(0), "{said:?}");
}

#[test]
fn what_is_beyond_the_baseline_may_be_within_the_ratio() {
    let (code, err) = gated(Made { cost: 1.1, ..USUAL }, &["slower>1.2", "undecided"]);
    assert_eq!(code, Some(0), "{err}");
    assert!(
        err.starts_with("condition not met in any of 3 cells; 1 could not be compared, all others"),
        "{err}"
    );
}

#[test]
fn a_margin_to_look_at_is_in_the_head_and_judges_no_condition() {
    let program = with_record(Made { cost: 1.1, ..USUAL });
    let said = program.run_tare(&["report", "s.tare", "--margin", "20%"]);
    // Lines break where the machine's name lets them.
    let flat = said.out.split_ascii_whitespace().collect::<Vec<_>>().join(" ");
    assert!(flat.contains("margin 20 %") && flat.contains("at most"), "{said:?}");
    let said = program.run_tare(&["report", "s.tare", "--margin", "20%", "--fail-if", "slower"]);
    assert!(said.code == Some(2) && said.err.contains("--margin changes what is shown"), "{said:?}");
    assert!(!program.run_tare(&["report", "s.tare"]).out.contains("margin"), "the usual one is not named");
    let json = program.run_tare(&["report", "s.tare", "--margin", "0.5%", "--json"]).parse_json();
    assert!((json["rows"][0]["margin"].as_f64().unwrap() - 1.005).abs() < 1e-12);
    assert_eq!(program.run_tare(&["report", "s.tare", "--margin", "2"]).code, Some(2));
}

#[test]
fn a_condition_that_matches_nothing_is_a_mistake() {
    let (code, err) = gated(USUAL, &["slower:gvisor"]);
    assert_eq!(code, Some(2));
    assert!(
        err.contains("'slower:gvisor' matches no cell") && err.contains("it compares container"),
        "{err}"
    );
    let (code, err) = gated(USUAL, &["slowr"]);
    assert_eq!(code, Some(2));
    assert!(err.contains("'slowr' is not a condition; there are slower, undecided, missing"), "{err}");
}

#[test]
fn a_row_is_named_by_its_heading_as_by_its_probe() {
    for case in ["sys.getppid", "system call", "system *"] {
        assert_eq!(gated(USUAL, &[&format!("slower:container:{case}>2.5")]).0, Some(6), "{case}");
    }
}

#[test]
fn a_bound_needs_no_quotes_and_one_that_a_shell_takes_is_a_mistake() {
    let program = with_record(USUAL);
    for (bound, code) in [("container:sys.getppid=2.5", 6), ("container=5", 0), ("container", 2), ("=2", 2)] {
        let said = program.run_tare(&["report", "s.tare", "--at-most", bound]);
        assert_eq!(said.code, Some(code), "{bound}: {said:?}");
    }
    let eaten = |condition: &str, file: &str| {
        let output = File::create(program.path(file)).unwrap();
        let mut command = program.tare_command(&["report", "s.tare", "--fail-if", condition]);
        Said::from_output(command.stdout(output).output().unwrap())
    };
    let said = eaten("slower:container", "1.5");
    assert_eq!(said.code, Some(2), "{said:?}");
    assert!(said.err.contains("the shell took '>1.5' for a file"), "{said:?}");
    assert!(said.err.contains("--fail-if 'slower:container>1.5'; or write --at-most"), "{said:?}");
    assert_eq!(eaten("slower:container", "1.5.txt").code, Some(6));
    assert_eq!(eaten("missing:container:sys.*", "2").code, Some(0), "it has no ratio to lose");
}

#[test]
fn a_session_ends_with_its_gate_and_a_wrong_gate_begins_none() {
    let program = crate::program::Program::new();
    let run = |condition: &str, record: &str| {
        program.run_tare(&[
            "run",
            "--in",
            "container",
            "--only",
            "sys.getppid",
            "--rounds",
            "2",
            "--record",
            record,
            "--fail-if",
            condition,
        ])
    };
    // Two rounds decide nothing, so that this cannot depend on the machine.
    let said = run("undecided", "a.tare");
    assert_eq!(said.code, Some(6), "{said:?}");
    assert!(said.err.contains("condition met: in 1 of 1 cell"), "{said:?}");
    assert!(said.out.contains("report  ") && said.out.contains("a.html"), "the report is named: {said:?}");
    let said = run("slower", "b.tare");
    assert_eq!(said.code, Some(6), "{said:?}");
    assert!(said.err.contains("condition not met in any of 1 cell; 1 could not be decided\n"), "{said:?}");
    let said = program.run_tare(&["report", "b.tare", "--fail-if", "slower", "--allow-undecided"]);
    assert_eq!(said.code, Some(0), "{said:?}");
    assert!(said.err.contains("and --allow-undecided lets that pass"), "{said:?}");
    let said = run("slower:gvisor", "c.tare");
    assert_eq!(said.code, Some(2), "{said:?}");
    assert!(!program.path("c.tare").exists());
}
