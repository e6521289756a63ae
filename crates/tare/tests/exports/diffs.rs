//! Older and newer records compared.

use crate::program::{Program, Said};
use crate::records::{Made, USUAL, write_record};

fn compare(old: Made, new: Made, arguments: &[&str]) -> Said {
    let program = Program::new();
    write_record(&program.path("old.tare"), old);
    write_record(&program.path("new.tare"), new);
    program.run_tare(&[&["compare"], arguments, &["old.tare", "--to", "new.tare"]].concat())
}

const DEARER: Made = Made { cost: 4.0, kernel: "6.2", ..USUAL };

#[test]
fn a_layer_that_has_become_slower_is_named_with_the_facts_that_differ() {
    let said = compare(USUAL, DEARER, &[]);
    assert_eq!((said.code, said.err.as_str()), (Some(0), ""), "{said:?}");
    for words in [
        "container slower in 2 of 3, not compared in 1 of 3",
        "3x 4x 1.33x (",
        "not comparable in the old record: no primes here",
        "kernel.release: 6.1 -> 6.2 (this machine)",
    ] {
        let flat = said.out.split_ascii_whitespace().collect::<Vec<_>>().join(" ");
        assert!(flat.contains(words), "no '{words}' in {}", said.out);
    }
    assert!(said.out.lines().all(|line| line.chars().count() <= 80), "{}", said.out);
    let markdown = compare(USUAL, DEARER, &["--md"]).out;
    assert!(markdown.contains("**1.33x ("), "{markdown}");
    let json = compare(DEARER, USUAL, &["--json"]).parse_json();
    assert_eq!(json["rows"][0]["cells"][0]["compared"]["answer"], "faster");
    assert_eq!(json["facts"][0]["old"], "6.2");
}

#[test]
fn a_gate_on_change_has_the_gate_s_exit_code() {
    let said = compare(USUAL, DEARER, &["--fail-if", "regressed"]);
    assert_eq!(said.code, Some(6), "{said:?}");
    assert!(said.err.starts_with("condition met: in 2 of 3 cells"), "{said:?}");
    assert_eq!(compare(USUAL, DEARER, &["--fail-if", "regressed:container:sys.*>1.2"]).code, Some(6));
    assert_eq!(compare(USUAL, DEARER, &["--fail-if", "regressed>1.5"]).code, Some(0));
    assert_eq!(compare(DEARER, USUAL, &["--fail-if", "regressed"]).code, Some(0));
    assert_eq!(compare(USUAL, USUAL, &["--fail-if", "regressed", "--fail-if", "undecided"]).code, Some(0));
    assert_eq!(compare(USUAL, DEARER, &["--fail-if", "slower"]).code, Some(2));
}

#[test]
fn another_definition_is_not_compared() {
    let said = compare(USUAL, Made { definition: Some("another"), ..DEARER }, &["--fail-if", "regressed"]);
    assert_eq!(said.code, Some(6), "{said:?}");
    assert!(said.err.starts_with("condition not checked: none of 3 cells could be compared"), "{said:?}");
    let said = compare(USUAL, Made { definition: Some("another"), ..DEARER }, &[]);
    assert_eq!(said.code, Some(7), "nothing is decided: {said:?}");
    assert!(said.out.contains("Nothing could be compared"), "{said:?}");
}

#[test]
fn records_are_pooled_from_three_on_and_each_session_counts_once() {
    let program = Program::new();
    // Nodes of a job begin in one second and with one seed: sessions are known by their identity.
    for (file, cost) in [("a.tare", 3.0), ("b.tare", 3.1), ("c.tare", 3.2)] {
        write_record(&program.path(file), Made { cost, ..USUAL });
    }
    let said = program.run_tare(&["compare", "--together", "a.tare", "b.tare", "c.tare"]);
    assert_eq!((said.code, said.err.as_str()), (Some(0), ""), "{said:?}");
    assert!(said.out.contains("between sessions") && said.out.contains("3.10x"), "{}", said.out);
    let json =
        program.run_tare(&["compare", "--together", "--json", "a.tare", "b.tare", "c.tare"]).parse_json();
    assert_eq!(json["rows"][0]["cells"][0]["joined"]["answer"], "slower");
    let said = program.run_tare(&["compare", "--together", "a.tare", "b.tare"]);
    assert_eq!(said.code, Some(2), "{said:?}");
    assert!(said.err.contains("tare compare OLD --to NEW"), "{said:?}");
    let said = program.run_tare(&["compare", "--together", "a.tare", "b.tare", "a.tare"]);
    assert_eq!(said.code, Some(2), "{said:?}");
    assert!(said.err.contains("a.tare and a.tare are of the same session"), "{said:?}");
    // The first of two is the older one, as for diff; what others would mean is asked.
    write_record(&program.path("d.tare"), Made { started: Some("2026-01-02T10:00:00Z"), ..USUAL });
    let said = program.run_tare(&["compare", "a.tare", "d.tare"]);
    assert!(said.code == Some(0) && said.err.contains("read as tare compare a.tare --to d.tare"), "{said:?}");
    let reversed = "\n! a.tare was started after d.tare: old is newer than new.\n";
    assert!(said.out.contains(reversed), "{said:?}");
    let json = program.run_tare(&["compare", "a.tare", "d.tare", "--json"]).parse_json();
    assert_eq!(json["reversed"], true, "{json}");
    for records in [&["a.tare"][..], &["a.tare", "b.tare", "c.tare"]] {
        let said = program.run_tare(&[&["compare"], records].concat());
        assert!(said.code == Some(2) && said.err.contains("--to"), "{said:?}");
    }
}

#[test]
fn several_records_a_side_show_how_much_sessions_differ() {
    let program = Program::new();
    for (file, cost) in
        [("a1", 3.0), ("a2", 3.1), ("a3", 3.2), ("b1", 3.05), ("b2", 3.15), ("b3", 3.25), ("c", 4.0)]
    {
        write_record(&program.path(&format!("{file}.tare")), Made { cost, ..USUAL });
    }
    let compare = |words: &str| {
        let words: Vec<String> = words.split(' ').map(|word| word.replace('@', ".tare")).collect();
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        program.run_tare(&[&["compare"], words.as_slice()].concat())
    };
    let change = |said: &Said| {
        let json = said.parse_json();
        let cell = &json["rows"][0]["cells"][0]["compared"];
        (cell["answer"].as_str().unwrap_or_default().to_owned(), json["stated_spread"].as_f64())
    };
    let one = compare("a1@ --to b3@ --between 0% --json");
    assert_eq!(change(&one), ("slower".to_owned(), Some(0.0)), "two sessions that differ by chance");
    let one = compare("a1@ --to b3@ --between 5% --json");
    assert_eq!(change(&one), ("not_sure".to_owned(), Some(0.05)));
    let three = compare("a1@ a2@ a3@ --to b1@ b2@ b3@ --json");
    assert_eq!(change(&three), ("at_most".to_owned(), None));
    assert_eq!(three.parse_json()["old"].as_array().map(Vec::len), Some(3));
    assert_eq!(change(&compare("a1@ a2@ a3@ --to c@ c@ --json")).0, "slower");
    let said = compare("a1@ a2@ --to b1@");
    assert!(
        said.out.starts_with("None of 2 is known to have become slower")
            && said.out.contains("\nold  a1.tare")
            && said.out.contains("as wide as"),
        "{}",
        said.out
    );
    assert!(compare("a1@ --to b1@").out.contains("differ by 0.5 % by chance"));
    assert_eq!(compare("a1@ --to b1@ --between much").code, Some(2));
}
