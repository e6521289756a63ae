//! Errors: each one names the problem, the cause and the next step, and has its documented exit code.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::program::{Program, Said};

/// Asserts the exit code and the lines of an error by their headings.
fn says(said: &Said, code: i32, error: &str, cause: &str, hint: &str) {
    assert_eq!(said.code, Some(code), "{said:?}");
    for (heading, text) in [("error: ", error), ("caused by: ", cause), ("hint: ", hint)] {
        if !text.is_empty() {
            let found = said.err.lines().any(|line| line.starts_with(heading) && line.contains(text));
            assert!(found, "no '{heading}{text}' in {}", said.err);
        }
    }
}

#[test]
fn a_wrong_study_key() {
    let program = Program::new();
    let study = "name = 'mine'\ntitle = 'x'\nabout = ''\nbudgte = '1m'\n";
    fs::write(program.path("mine.toml"), study).unwrap();
    let said = program.run_tare(&["run", "mine.toml"]);
    says(&said, 2, "cannot read the study mine.toml", "line 4", "did you mean 'budget'?");
}

#[test]
fn an_unknown_study_probe_environment_and_name() {
    let program = Program::new();
    says(&program.run_tare(&["run", "quikc"]), 2, "there is no study 'quikc'", "", "did you mean 'quick'?");
    let said = program.run_tare(&["run", "--only", "sys.getpid"]);
    says(&said, 2, "'sys.getpid' names no probe", "", "did you mean 'sys.getppid'?");
    let said = program.run_tare(&["run", "--in", "native,contaner"]);
    says(&said, 2, "there is no environment 'contaner'", "", "did you mean 'container'?");
    let said = program.run_tare(&["run", "--in", "gvisor?platfrom=kvm"]);
    says(&said, 2, "gvisor has no option 'platfrom'", "", "did you mean 'platform'?");
    says(
        &program.run_tare(&["show", "file.sqe"]),
        2,
        "no probe, environment, study or article",
        "",
        "did you mean 'file.seq'?",
    );
}

#[test]
fn a_missing_runtime() {
    let program = Program::new();
    let mut command = program.tare_command(&["run", "--in", "native,gvisor", "--only", "null"]);
    command.env("PATH", "/nowhere").env("HOME", program.path("")).env_remove("GOBIN");
    says(
        &Said::from_output(command.output().unwrap()),
        3,
        "cannot enter 'gvisor'",
        "runsc is not installed",
        "go install",
    );
}

#[test]
fn a_folder_that_cannot_be_written() {
    let program = Program::new();
    let said =
        program.run_tare(&["run", "--in", "native", "--only", "null", "--record", "/proc/session.tare"]);
    says(&said, 4, "cannot create /proc/session.tare", "No such file", "--record FILE");
    let said = program.run_tare(&["run", "--in", "native", "--only", "file.sync", "--place", "/proc"]);
    says(&said, 4, "cannot write in the place /proc", "", "name a folder that you may write");
    assert_eq!(program.list_remains(), Vec::<std::path::PathBuf>::new());
}

#[test]
fn a_record_that_is_none() {
    let program = Program::new();
    fs::write(program.path("x.tare"), "hello\n").unwrap();
    says(&program.run_tare(&["report", "x.tare"]), 5, "x.tare is not a tare record", "", "made by tare run");
    says(&program.run_tare(&["report", "y.tare"]), 5, "cannot read y.tare", "No such file", "x.tare");
}

/// Asserts that every command refuses a broken record, and one of another schema, with the same exit code and the same words.
#[test]
fn every_command_that_reads_a_record_refuses_a_broken_one_and_one_of_another_schema() {
    let program = Program::new();
    let whole = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/sessions/container-gvisor.tare");
    let text = fs::read_to_string(whole).unwrap();
    let (first, rest) = text.split_once('\n').unwrap();
    let first = first[9..].replacen("\"schema\":4", "\"schema\":3", 1);
    let third = format!("{:08x} {first}\n{rest}", crc32fast::hash(first.as_bytes()));
    let of_third = "broken.tare is a record of schema 3, and this build of tare reads only the records of schema 4 that it \
                    writes: measure again with this build";
    for (content, problem, hint) in
        [("hello\n", "broken.tare is not a tare record", "made by tare run"), (&third, of_third, "")]
    {
        fs::write(program.path("broken.tare"), content).unwrap();
        for arguments in [
            &["report", "broken.tare"][..],
            &["report", "broken.tare", "--json"],
            &["report", "broken.tare", whole, "--export", "csv=%n.csv"],
            &["report", whole, "--beside", "broken.tare"],
            &["compare", "broken.tare", "--to", whole],
            &["compare", whole, "--to", "broken.tare"],
            &["compare", "--together", "broken.tare", whole, whole],
            &["show", "broken.tare"],
            &["advise", "broken.tare"],
            &["explain", "broken.tare"],
            &["explain", "--prices", "broken.tare"],
            &["explain", "--forecast", "--from", "broken.tare", "--", "true"],
            &["ladder", "broken.tare"],
            &["selftest", "broken.tare"],
            &["run", "--resume", "broken.tare"],
        ] {
            let said = program.run_tare(arguments);
            assert_eq!(said.code, Some(5), "{arguments:?}: {said:?}");
            says(&said, 5, problem, "", hint);
        }
    }
}

#[test]
fn what_says_how_to_measure_is_refused_with_a_record() {
    let program = Program::new();
    let record = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/sessions/container-gvisor.tare");
    for command in ["advise", "explain", "ladder", "selftest"] {
        let said = program.run_tare(&[command, record, "--rounds", "2"]);
        says(&said, 2, "--rounds is about measuring", "", "leave out the record");
    }
}

#[test]
fn a_command_that_is_not_in_path_is_found_before_anything_is_measured() {
    let program = Program::new();
    for arguments in [
        &["run", "--in", "native", "--record", "s.tare", "--", "tru"][..],
        &["explain", "--in", "native", "--record", "s.tare", "--", "tru"],
        &["ladder", "container", "--record", "s.tare", "--", "tru"],
        &["advise", "--in", "native", "--record", "s.tare", "--", "tru"],
    ] {
        says(&program.run_tare(arguments), 2, "there is no program 'tru' in PATH", "", "did you mean");
    }
    assert!(!program.path("s.tare").exists());
}

/// A file system of 8 MB, mounted for one test.
struct SmallDisk {
    program: Program,
    mounted: bool,
}

impl SmallDisk {
    fn new(test: &str) -> Option<SmallDisk> {
        let program = Program::new();
        let (image, point) = (program.path("image"), program.path("disk"));
        fs::create_dir(&point).unwrap();
        fs::File::create(&image).unwrap().set_len(8 << 20).unwrap();
        let ran = |command: &mut Command| command.output().is_ok_and(|output| output.status.success());
        let mounted = ran(Command::new("mkfs.ext4").args(["-qF", "-m", "0"]).arg(&image))
            && ran(Command::new("mount").args(["-o", "loop"]).arg(&image).arg(&point));
        if !mounted {
            println!("SKIPPED {test}: an image can only be mounted by root, with mkfs.ext4");
        }
        Some(SmallDisk { program, mounted }).filter(|disk| disk.mounted)
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        if self.mounted {
            let _ = Command::new("umount").arg(self.program.path("disk")).status();
        }
    }
}

#[test]
fn a_place_without_room() {
    let Some(disk) = SmallDisk::new("a_place_without_room") else { return };
    let place = disk.program.path("disk");
    let place = place.to_str().unwrap();
    let said = disk.program.run_tare(&["run", "--in", "native", "--only", "file.seq", "--place", place]);
    says(&said, 4, "no room in the place", "No space left on device", "make room");
}

#[test]
fn a_disk_that_fills_up_under_the_record() {
    let Some(disk) = SmallDisk::new("a_disk_that_fills_up_under_the_record") else { return };
    let folder = disk.program.path("disk");
    // The header fits; the rounds do not.
    let mut filler = fs::File::create(folder.join("filler")).unwrap();
    while filler.write_all(&[0; 4096]).is_ok() {}
    filler.set_len(filler.metadata().unwrap().len() - 24 * 1024).unwrap();
    let record = folder.join("session.tare");
    let record = record.to_str().unwrap();
    let said = disk
        .program
        .run_tare(&["run", "--in", "native", "--only", "null", "--rounds", "60", "--record", record]);
    says(&said, 4, "cannot write", "No space left on device", "make room on that disk");
    assert_eq!(disk.program.run_tare(&["report", record]).code, Some(0), "the record so far is readable");
}

#[test]
fn a_condition_that_matches_no_cell_is_refused_for_a_resumed_session_too() {
    let program = Program::new();
    let said =
        program.run_tare(&["run", "--in", "native", "--only", "null", "--rounds", "1", "--record", "s.tare"]);
    assert_eq!(said.code, Some(0), "{said:?}");
    let before = fs::read(program.path("s.tare")).unwrap();
    let said = program.run_tare(&["run", "--resume", "s.tare", "--fail-if", "slower:container"]);
    says(&said, 2, "'slower:container' matches no cell", "", "there is no environment beside the baseline");
    assert_eq!(fs::read(program.path("s.tare")).unwrap(), before);
}

/// Asserts that a named article without a matching row gets a note.
#[test]
fn an_article_beside_no_row_is_named() {
    let program = Program::new();
    let record = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/sessions/container-gvisor.tare");
    let said = program.run_tare(&["report", record, "--published", "mynavi-wsl-filesystems"]);
    assert_eq!(said.code, Some(0), "{said:?}");
    let note = "note: no row of this session measures what mynavi-wsl-filesystems did; \
                'tare run --like mynavi-wsl-filesystems' does";
    assert!(said.err.contains(note), "{}", said.err);
}

/// Asserts that names from other tools are answered with tare's own.
#[test]
fn habits_from_other_tools_lead_somewhere() {
    let program = Program::new();
    says(
        &program.run_tare(&["run", "gvisor?platform=kvm"]),
        2,
        "there is no study",
        "",
        "'native,gvisor?platform=kvm'",
    );
    says(
        &program.run_tare(&["run", "file.seq"]),
        2,
        "there is no study 'file.seq'",
        "",
        "tare run --only 'file.seq'",
    );
    for (arguments, instead) in [
        (["run", "--environment", "native"], "--in"),
        (["report", "--export-json", "x"], "--export json=FILE"),
        (["run", "--export-json", "x"], "--export-json is about a command"),
        (["run", "-r", "5"], "--rounds N"),
        (["diff", "a", "b"], "tare compare a --to b"),
        (["predict", "--from", "x"], "tare explain --forecast"),
        (["sql", "select 1", "x"], "tare fleet report"),
        (["completions", "bash", "x"], "tare self"),
        (["ladder", "--warmup", "3"], "tare run -w N -- COMMAND"),
    ] {
        let said = program.run_tare(&arguments);
        assert_eq!(said.code, Some(2), "{said:?}");
        assert!(said.err.contains(instead) && !said.err.contains("as a value"), "{}", said.err);
    }
    let said = program.run_tare(&["run", "--nonsense"]);
    assert!(!said.err.contains("as a value"), "{}", said.err);
}

#[test]
fn what_was_meant_is_named() {
    let program = Program::new();
    let record = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/sessions/container-gvisor.tare");
    for (arguments, hint) in [
        (&["rnu"][..], "'run'"),
        (&["run", "srt"], "tare run --in native,srt"),
        (&["run", "--in", "native", "--only", "files.*"], "did you mean 'file.*'?"),
        (&["run", "--in", "native", "--only", "file.seq?bs=4k"], "'file.seq?*bs=4k*'"),
        (
            &["run", "--in", "native", "--only", "file.seq", "--place", "zfs"],
            "there are own, work, share, ext4",
        ),
        (&["import", record], "tare report "),
        (&["run", "--in", "native", "--only", "null", "--budget=-5s"], "'-5s' is not a time"),
    ] {
        let said = program.run_tare(arguments);
        assert_eq!(said.code, Some(2), "{said:?}");
        assert!(said.err.contains(hint), "{arguments:?}: {}", said.err);
    }
    let said = program.run_tare(&["run", "--in", "oci:rnuc", "--only", "null"]);
    says(&said, 3, "cannot enter 'oci:rnuc'", "did you mean 'runc'?", "tare check");
    assert!(!said.err.contains("apt"), "{}", said.err);
    let said = program.run_tare(&["list", "published"]);
    assert!(said.out.contains("tare run --like NAME"), "{}", said.out);
}

#[test]
fn no_terminal_is_sent_bytes() {
    let program = Program::new();
    let record = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/sessions/container-gvisor.tare");
    let line = format!("'{}' report --export parquet '{record}'", env!("CARGO_BIN_EXE_tare"));
    let mut terminal = Command::new("script");
    terminal.args(["--quiet", "--return", "--command", &line, "/dev/null"]).current_dir(program.path("."));
    let Ok(output) = terminal.stdin(Stdio::null()).output() else {
        return println!("SKIPPED no_terminal_is_sent_bytes: script is not installed");
    };
    let text = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(2), "{text}");
    assert!(text.contains("parquet is binary") && text.contains("--export parquet=FILE"), "{text}");
    let piped = program.tare_command(&["report", "--export", "parquet", record]).output().unwrap();
    assert!(piped.status.success() && piped.stdout.starts_with(b"PAR1"), "a pipe takes it");
}

/// Builds a program that panics, with the panic hook and the release profile of tare.
fn build_what_panics(folder: &Path) -> PathBuf {
    let (source, program) = (folder.join("divides.rs"), folder.join("divides"));
    let text = format!(
        "#[path = {:?}]\nmod panics;\n\n#[inline(never)]\nfn divide_by(number: usize) -> usize {{\n    1 / number\n}}\n\n\
         fn main() {{\n    panics::print_backtraces();\n    \
         println!(\"{{}}\", divide_by(std::env::args().count() - 1));\n}}\n",
        concat!(env!("CARGO_MANIFEST_DIR"), "/src/panics.rs")
    );
    fs::write(&source, text).unwrap();
    let manifest = fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../Cargo.toml")).unwrap();
    let manifest: toml::Table = manifest.parse().unwrap();
    let mut compile = Command::new("rustc");
    compile.args(["--edition=2024", "-Ctarget-feature=+crt-static", "-o"]).arg(&program).arg(&source);
    // The compiler calls these options as cargo does.
    for (name, value) in manifest["profile"]["release"].as_table().unwrap() {
        match value {
            toml::Value::Table(_) => {}
            toml::Value::String(text) => drop(compile.arg(format!("-C{name}={text}"))),
            other => drop(compile.arg(format!("-C{name}={other}"))),
        }
    }
    let compiled = compile.output().unwrap();
    assert!(compiled.status.success(), "{}", String::from_utf8_lossy(&compiled.stderr));
    program
}

#[test]
fn a_panic_in_a_release_has_its_place_and_a_backtrace_with_names() {
    let folder = tempfile::tempdir().unwrap();
    let program = build_what_panics(folder.path());
    let ended = Command::new(program).env_remove("RUST_BACKTRACE").output().unwrap();
    let said = String::from_utf8_lossy(&ended.stderr);
    assert!(!ended.status.success(), "{said}");
    for part in [
        "divides.rs:6:5",
        "attempt to divide by zero",
        "defect of tare",
        "divides::divide_by",
        "divides::main",
    ] {
        assert!(said.contains(part), "no {part} in {said}");
    }
}
