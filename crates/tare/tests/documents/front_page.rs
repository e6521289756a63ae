//! The front page's example: the report of a real session, whose record is in the repository.

use std::process::Command;

use crate::book;

/// The record of the session that the front page shows.
const RECORD: &str = "fixtures/sessions/container-gvisor.tare";
/// The opening of the fence that shows its report.
const EXAMPLE: &str = "text example";

/// Prints the report of the record, on a terminal of 80 columns without colours.
fn report(options: &[&str]) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tare"));
    command.current_dir(book::root()).args(["report", RECORD]).args(options).env("NO_COLOR", "1");
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn the_front_page_shows_a_real_session() {
    let _lock = book::lock();
    let readme = book::root().join("README.md");
    let laid = book::keep_fences(&readme, |fence, _| (fence.info == EXAMPLE).then(|| report(&[])));
    assert_eq!(laid, 1, "one example on the front page");
}

#[test]
fn the_example_has_a_container_that_is_the_same_and_a_sandbox_that_is_slower() {
    let document: serde_json::Value = serde_json::from_str(&report(&["--json"])).unwrap();
    let headlines: Vec<_> =
        document["rows"].as_array().unwrap().iter().filter(|row| row["headline"] == true).collect();
    let count = |environment: &str, verdict: &str| {
        let cells = headlines.iter().flat_map(|row| row["cells"].as_array().unwrap());
        cells.filter(|cell| cell["environment"] == environment && cell["verdict"] == verdict).count()
    };
    assert!(count("container", "same") * 2 > headlines.len(), "the container is mostly the same");
    assert_eq!(count("container", "slower"), 0);
    assert!(count("gvisor", "slower") * 2 > headlines.len(), "gVisor is mostly slower");
}
