//! Destinations of exports: complete files, standard output, and files to append to.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use crate::records::{Made, USUAL, with_record, write_record};

#[test]
fn several_files_are_written_and_the_table_is_printed_still() {
    let program = with_record(USUAL);
    fs::write(program.path("a.csv"), "what was here before").unwrap();
    std::os::unix::fs::symlink("a.csv", program.path("link.csv")).unwrap();
    let said = program.run_tare(&["report", "--export", "csv=link.csv", "--export", "junit=b.xml", "s.tare"]);
    assert!(said.out.contains("system call") && said.out.contains("Times the time of native"), "{said:?}");
    assert!(fs::read_to_string(program.path("a.csv")).unwrap().starts_with("study,started,"));
    assert!(said.out.contains("export  link.csv\nexport  b.xml\n"), "written files are listed: {}", said.out);
    assert!(fs::symlink_metadata(program.path("link.csv")).unwrap().is_symlink());
    assert!(fs::read_to_string(program.path("b.xml")).unwrap().ends_with("</testsuites>\n"));
    let mode = fs::metadata(program.path("b.xml")).unwrap().permissions().mode();
    assert_eq!(mode & 0o600, 0o600);
    let left = program.list_remains().into_iter().filter(|path| path.to_str().unwrap().contains("/.tare-"));
    assert_eq!(left.count(), 0, "nothing half-written is left");
}

#[test]
fn without_a_file_an_export_is_all_that_is_printed() {
    let program = with_record(USUAL);
    let said = program.run_tare(&["report", "--export", "openmetrics", "s.tare"]);
    assert!(said.out.starts_with("# TYPE ") && said.out.ends_with("# EOF\n"), "{said:?}");
    for two in [
        &["--json", "--export", "csv"][..],
        &["--export", "csv", "--export", "junit"],
        &["--paste", "--export", "csv"],
    ] {
        let said = program.run_tare(&[&["report", "s.tare"], two].concat());
        assert_eq!((said.code, said.out.as_str()), (Some(2), ""), "{said:?}");
        assert!(said.err.contains("only one document can go to standard output"), "{said:?}");
    }
    let said = program.run_tare(&["run", "--json", "--export", "csv", "--record", "new.tare"]);
    assert_eq!(said.code, Some(2), "before anything is measured: {said:?}");
    assert!(!program.path("new.tare").exists());
}

/// Asserts that `--only` changes neither the findings nor the other exports.
#[test]
fn exports_hold_what_is_selected() {
    let program = with_record(USUAL);
    let whole = program.run_tare(&["report", "s.tare", "--json"]).parse_json();
    let one = program.run_tare(&["report", "s.tare", "--only", "sys.getppid", "--json"]).parse_json();
    let rows = |document: &serde_json::Value| document["rows"].as_array().unwrap().clone();
    let own: Vec<_> = rows(&whole).into_iter().filter(|row| row["probe"] == "sys.getppid").collect();
    assert!(rows(&whole).len() > own.len());
    assert_eq!(rows(&one), own, "verdicts and intervals are those of the whole session");
    for export in tare_report::exports::EXPORTS {
        let wanted = format!("{}=out", export.name);
        let said = program.run_tare(&["report", "s.tare", "--only", "sys.getppid", "--export", &wanted]);
        assert_eq!(said.code, Some(0), "{said:?}");
        let bytes = fs::read(program.path("out")).unwrap();
        let text = String::from_utf8_lossy(&bytes);
        let is_there = text.contains("getppid") || text.contains("system call");
        assert!(is_there, "{}: {text}", export.name);
        // JSON has the session's own command, with every probe.
        for other in ["cpu.primes", "file.seq"].iter().filter(|_| export.name != "json") {
            assert!(!text.contains(other), "{}: {text}", export.name);
        }
        fs::remove_file(program.path("out")).unwrap();
    }
    let said = program.run_tare(&["report", "s.tare", "--only", "sys.getpid"]);
    assert_eq!(said.code, Some(2), "{said:?}");
    assert!(said.err.contains("'sys.getpid' names no probe of this session"), "{said:?}");
}

#[test]
fn what_cannot_be_written_leaves_what_was_there() {
    let program = with_record(USUAL);
    let said = program.run_tare(&["report", "--export", "csv=/proc/x.csv", "s.tare"]);
    assert_eq!(said.code, Some(4), "{said:?}");
    assert!(said.err.contains("cannot write /proc/x.csv") && said.err.contains("hint: "), "{said:?}");
    let said = program.run_tare(&["report", "--export", "excel=x", "s.tare"]);
    assert_eq!(said.code, Some(2));
    assert!(said.err.contains("unknown format 'excel'") && said.err.contains("parquet"), "{said:?}");
    let said = program.run_tare(&["report", "--export", "csv=", "s.tare"]);
    assert!(said.err.contains("the name of a file must follow '='"), "{said:?}");
}

#[test]
fn a_job_s_summary_is_added_to() {
    let program = with_record(Made { hostile: true, ..USUAL });
    let summary = program.path("summary.md");
    fs::write(&summary, "# Earlier\n").unwrap();
    let mut command =
        program.tare_command(&["report", "--export", "github-summary", "--fail-if", "slower", "s.tare"]);
    let output = command.env("GITHUB_STEP_SUMMARY", &summary).output().unwrap();
    assert_eq!(output.status.code(), Some(6));
    let table = String::from_utf8(output.stdout).unwrap();
    assert!(table.contains("Times the time of native"), "the table is printed beside it: {table}");
    let text = fs::read_to_string(&summary).unwrap();
    assert!(text.starts_with("# Earlier\n> [!CAUTION]\n> condition met: in 2 of 3 cells; "), "{text}");
    assert!(text.contains("| probe | native | container |"), "{text}");
    let mut command = program.tare_command(&["report", "--export", "github-summary", "s.tare"]);
    let output = command.env_remove("GITHUB_STEP_SUMMARY").output().unwrap();
    let printed = String::from_utf8(output.stdout).unwrap();
    assert!(printed.contains("| probe | native | container |"), "without a summary it is printed: {printed}");
}

#[test]
fn annotations_are_one_command_a_line() {
    let program = with_record(Made { hostile: true, ..USUAL });
    let said =
        program.run_tare(&["report", "--export", "github-annotations", "--fail-if", "slower>2", "s.tare"]);
    let lines: Vec<&str> = said.out.lines().collect();
    assert!(lines.iter().all(|line| {
        ["::error title=", "::warning title=", "::notice title="].iter().any(|l| line.starts_with(l))
    }));
    assert_eq!(lines.iter().filter(|line| line.starts_with("::error ")).count(), 3, "{lines:?}");
    // The label's own colons and commas are escaped in the title, and its line break is taken out.
    let label = "a \"b\" <c> & 50 %25%3A d%2Ce\\f\u{fffd}%3A%3Aerror%3A%3Ag`|h ]]> {i}";
    let title = format!("::error title=tare%3A {label} in container::");
    assert!(lines.iter().any(|line| line.starts_with(&title)), "{lines:?}");
    assert!(
        lines
            .iter()
            .any(|line| line.starts_with("::notice ") && line.contains("no primes here, 100 %25 sure"))
    );
}

#[test]
fn several_records_go_into_files_of_their_names() {
    let program = with_record(USUAL);
    write_record(&program.path("t.tare"), Made { native_ns: 2000.0, ..USUAL });
    fs::create_dir(program.path("out")).unwrap();
    let words =
        ["report", "--export", "csv=out/%n.csv", "--export", "parquet=%n.parquet", "s.tare", "t.tare"];
    let said = program.run_tare(&words);
    assert_eq!((said.code, said.out.as_str()), (Some(0), ""), "{said:?}");
    assert_eq!(said.err.lines().count(), 4, "{said:?}");
    for (record, expected) in [("s", 1000.0), ("t", 2000.0)] {
        assert!(program.path(&format!("{record}.parquet")).exists());
        let text = fs::read_to_string(program.path(&format!("out/{record}.csv"))).unwrap();
        let one = program.run_tare(&["report", "--csv", &format!("{record}.tare")]).out;
        assert_eq!(text, one);
        let row =
            text.lines().find(|line| line.contains("sys.getppid") && line.contains(",native,")).unwrap();
        assert!(
            row.split(',').filter_map(|field| field.parse().ok()).any(|value: f64| value.round() == expected),
            "{row}"
        );
    }
    fs::create_dir(program.path("other")).unwrap();
    fs::copy(program.path("s.tare"), program.path("other/s.tare")).unwrap();
    for (words, error) in [
        (&["--export", "csv=all.csv", "s.tare", "t.tare"][..], "csv=%n.csv"),
        (&["--export", "csv", "s.tare", "t.tare"], "csv=%n.csv"),
        (&["s.tare", "t.tare"], "--export"),
        (&["--json", "--export", "csv=%n.csv", "s.tare", "t.tare"], "--json"),
        (&["--export", "csv=twice-%n.csv", "s.tare", "other/s.tare"], "twice-s.csv would be written twice"),
        (&["--export", "csv=%n.tare", "s.tare", "t.tare"], "is a record, and would be replaced"),
    ] {
        let said = program.run_tare(&[&["report"], words].concat());
        assert!(said.code == Some(2) && said.err.contains(error), "{words:?}: {said:?}");
    }
    assert!(!program.path("twice-s.csv").exists() && !program.path("all.csv").exists());
}
