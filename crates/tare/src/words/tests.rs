//! Lines that people type, each with what it leads to. None begins a session.

use std::ffi::OsString;
use std::path::Path;

use clap::error::ErrorKind;
use tare_report::language::Language;

use super::line::show_line;
use super::options::{Unparsed, parse_words};
use super::*;

/// End to which a line leads.
enum Leads {
    /// It is done, as this line.
    To(&'static str),
    /// It is done as this line, and a note has these parts.
    Noting(&'static str, &'static [&'static str]),
    /// It is refused: the thing, and parts of the lines to type.
    No(&'static str, &'static [&'static str]),
    /// Help is printed.
    Help,
}

use Leads::{Help, No, Noting, To};

/// Programs of the machine on which the lines are read.
const PROGRAMS: &[&str] = &[
    "git",
    "make",
    "docker",
    "podman",
    "dd",
    "fio",
    "sysbench",
    "sleep",
    "true",
    "test",
    "python3",
    "npm",
    "cargo",
    "ls",
    "./old",
    "./new",
    "./suite.sh",
    "openssl",
    "file",
    "unshare",
    "chroot",
    "time",
    "sh",
    "quick",
];

/// Reads a line up to the arguments that commands get.
fn read(line: &str, records: &[&str]) -> Result<Reading, Unparsed> {
    let words = shlex::split(line).unwrap();
    assert_eq!(words[0], "tare", "{line}");
    let records: Vec<String> = records.iter().map(|record| (*record).to_owned()).collect();
    let machine = Machine {
        is_program: &|word| PROGRAMS.contains(&word),
        is_own_environment: &|word| word == "mybox",
        list_records: &|folder| [".", "a/", "b/"].contains(&folder).then(|| records.clone()),
        find_records_folder: &|folder| Some(Path::new("/state/records").join(folder)),
    };
    let reading = read_words(&words[1..], &machine).map_err(Unparsed::Refused)?;
    parse_words(reading.words.iter().map(OsString::from).collect(), Language::English)?;
    Ok(reading)
}

fn check(line: &str, leads: &Leads) -> Result<(), String> {
    let read = read(line, &["new.tare", "old.tare"]);
    let shown = format!("{line}: {read:?}");
    let is_right = match (leads, read) {
        (To(expected), Ok(reading)) => reading.note.is_none() && show_line(&reading.words) == *expected,
        (Noting(expected, parts), Ok(reading)) => {
            let note = reading.note.unwrap_or_default();
            show_line(&reading.words) == *expected && parts.iter().all(|part| note.contains(part))
        }
        (No(thing, parts), Err(Unparsed::Refused(error))) => {
            let hint = error.hint.clone().unwrap_or_default();
            let names = |name: &str| hint.contains(name) && hint.len() < 420;
            error.what.contains(thing) && parts.iter().all(|part| names(part))
        }
        (No(thing, parts), Err(Unparsed::Other(error))) => {
            let text = error.to_string();
            text.contains(thing) && parts.iter().all(|part| text.contains(part))
        }
        (Help, Err(Unparsed::Other(error))) => {
            matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion)
        }
        _ => false,
    };
    if is_right { Ok(()) } else { Err(shown) }
}

fn check_all(table: &[(&str, Leads)]) {
    let wrong: Vec<String> = table.iter().filter_map(|(line, leads)| check(line, leads).err()).collect();
    assert!(wrong.is_empty(), "{} of {} lines:\n{}", wrong.len(), table.len(), wrong.join("\n"));
}

/// Words of `tare run`, by the order of their reading: a study, a name, commands by white space, several programs, an option
/// behind a program, one command. Separators are never read otherwise.
#[test]
fn words_of_a_session_are_a_study_a_name_or_commands_in_this_order() {
    check_all(&[
        ("tare run", To("tare run")),
        ("tare run full", To("tare run full")),
        ("tare run quick", To("tare run quick")),
        ("tare run quick,rtt --budget 60s", To("tare run quick,rtt --budget 60s")),
        ("tare run mine.toml", To("tare run mine.toml")),
        ("tare run quick rtt", No("follows the study 'quick'", &["tare run quick,rtt"])),
        ("tare run rtt gvisor", No("follows the study 'rtt'", &["tare run rtt --in native,gvisor"])),
        (
            "tare run docker",
            No("'docker'", &["tare run --in native,docker", "as a command: tare run -- docker"]),
        ),
        ("tare run docker ps", No("'docker'", &["tare run --in native,docker", "tare run -- docker ps"])),
        ("tare run fio --rw=read", No("'fio'", &["tare run filesystems", "tare run -- fio --rw=read"])),
        (
            "tare run unshare -r true",
            No("'unshare'", &["--in native,unshare", "tare run -- unshare -r true"]),
        ),
        ("tare run 'make -j1' 'make -j2'", Noting("tare run -- 'make -j1' --- 'make -j2'", &["read as"])),
        ("tare run -w 3 'sleep 1' true", Noting("tare run -w 3 -- 'sleep 1' --- true", &[])),
        (
            "tare run 'make -j1' 'make -j2' --in native",
            Noting("tare run --in native -- 'make -j1' --- 'make -j2'", &[]),
        ),
        ("tare run 'nothing -x' 'make -j2'", No("no study", &["tare run -- 'nothing -x' 'make -j2'"])),
        ("tare run git status", Noting("tare run -- git status", &["read as tare run -- git status"])),
        (
            "tare run --in native,gvisor -r 5 git status",
            Noting("tare run --in native,gvisor -r 5 -- git status", &[]),
        ),
        (
            "tare run ./old ./new",
            No("several ways", &["tare run -- ./old --- ./new", "tare run -- ./old ./new"]),
        ),
        ("tare run make test", No("several ways", &["tare run -- make --- test", "tare run -- make test"])),
        ("tare run make", No("no study 'make'", &["tare run -- make"])),
        ("tare run git status -s", No("'-s'", &["tare run -- git status -s"])),
        ("tare run git status --in gvisor", No("'--in'", &["tare run --in gvisor -- git status"])),
        ("tare run -- ./old --- ./new", To("tare run -- ./old --- ./new")),
        ("tare run ./old --- ./new", No("'---'", &["tare run -- ./old --- ./new"])),
        ("tare run --- ./new", No("'---'", &["tare run -- ./new"])),
        ("tare run quick --- make", No("'---'", &["tare run -- quick --- make"])),
        ("tare run 'git status' --- 'git log'", No("'---'", &["tare run -- 'git status' --- 'git log'"])),
        ("tare run docker -- git", No("'docker'", &["tare run --in native,docker -- git"])),
        ("tare run openssl x509 -in cert.pem", No("'-in'", &["tare run -- openssl x509 -in cert.pem"])),
        ("tare run openssl x509 --in cert.pem", No("'--in'", &["tare run -- openssl x509 --in cert.pem"])),
        ("tare run -in native openssl", No("'-in'", &["tare run --in native openssl"])),
        ("tare run git log -h", No("'-h'", &["tare run -- git log -h"])),
        ("tare run git log --help", No("'--help'", &["tare run -- git log --help"])),
        ("tare run -h git log", Help),
        ("tare run docker -h", Help),
        ("tare run file /bin/ls", Noting("tare run -- file /bin/ls", &["read as"])),
        ("tare run -- docker", To("tare run -- docker")),
        ("tare run make -n 5", No("'-n'", &["tare run -- make -n 5"])),
        ("tare run gvisor -- git status", No("'gvisor'", &["tare run --in native,gvisor -- git status"])),
    ]);
}

/// A variable of a script that is empty takes a command away, and another session would begin.
#[test]
fn a_command_that_is_missing_is_not_passed_over() {
    check_all(&[
        ("tare run --", No("no command follows --", &["tare run -- COMMAND"])),
        ("tare run --in gvisor --fail-if differs --", No("no command follows --", &["-- COMMAND"])),
        ("tare run -- ./old ---", No("missing beside '---'", &["tare run -- ./old --- ./new"])),
        ("tare run -- --- ./new", No("missing beside '---'", &["tare run -- ./old --- ./new"])),
        ("tare run -- ./a --- --- ./b", No("missing beside '---'", &[])),
        ("tare ladder container --", No("no command follows --", &["tare ladder container -- COMMAND"])),
        ("tare here --", No("no command follows --", &["tare here -- COMMAND"])),
        ("tare here -- ls ---", To("tare here -- ls ---")),
        ("tare run quick --", To("tare run quick --")),
        ("tare run --command ls --", To("tare run --command ls --")),
        ("tare report old.tare --", To("tare report old.tare --")),
    ]);
}

/// Lines that were typed by people who had not read the documentation, with what each should lead to.
#[test]
fn the_most_likely_lines_lead_on() {
    check_all(&[
        ("tare docker", No("'docker'", &["tare run --in native,docker", "tare show docker"])),
        ("tare compare native docker", No("native docker", &["tare run --in native,docker"])),
        ("tare version", Help),
        ("tare bench", No("'bench'", &["tare run"])),
        (
            "tare wsl",
            No("'wsl'", &["tare show wsl", "tare run --in native,wsl2-like", "--in native,wsl:DISTRIBUTION"]),
        ),
        ("tare run native container", No("'native'", &["tare run --in native,container"])),
        ("tare run --env container", No("'--env'", &["tare run --in container"])),
        ("tare run --in containers", No("'containers'", &["tare run --in container"])),
        (
            "tare run --in WSL2",
            No("'WSL2'", &["tare run --in wsl2-like", "wsl:DISTRIBUTION?version=2 on Windows"]),
        ),
        ("tare run --in vm", No("'vm'", &["qemu", "uml", "wsl2-like", "ssh:HOST"])),
        ("tare run gvisor", No("'gvisor'", &["tare run --in native,gvisor"])),
        ("tare ls", To("tare list")),
        ("tare help", Help),
        ("tare help run", Help),
        ("tare check gvisor", To("tare check --in gvisor")),
        ("tare run --study quick", No("'--study'", &["tare run quick"])),
        ("tare run --time 30", No("'--time'", &["tare run --budget 30s"])),
        ("tare report", Noting("tare report new.tare", &["new.tare"])),
        ("tare report .", Noting("tare report new.tare", &["new.tare"])),
        ("tare report -- old.tare", To("tare report -- old.tare")),
        ("tare compare", No("no newer record", &["tare compare old.tare --to new.tare"])),
        ("tare export", No("'export'", &["tare report --export FORMAT", "json, csv"])),
        ("tare export csv", No("'export'", &["tare report --export csv FILE"])),
        ("tare report --export cvs imp/x.tare", No("cvs", &["did you mean 'csv'?"])),
        (
            "tare run sysbench",
            Noting("tare run sysbench", &["the tool's tests", "tare run --like tuni-wsl2-linux"]),
        ),
        ("tare run netperf", No("'netperf'", &["tare run rtt", "tare run --like qiita-wsl-rtt"])),
        ("tare run fio", No("'fio'", &["tare run filesystems"])),
        ("tare run unixbench", Noting("tare run unixbench", &["tare run --like ascii-wsl2-unixbench"])),
        ("tare run --like unixbench", No("'unixbench'", &["tare run --like ascii-wsl2-unixbench"])),
        ("tare run --like netperf", No("'netperf'", &["tare run --like qiita-wsl-rtt"])),
        ("tare run --like qiita", No("'qiita'", &["qiita-wsl-rtt", "qiita-wsl-guest-native"])),
        ("tare list", To("tare list")),
        ("tare list env", To("tare list env")),
    ]);
}

/// The same, of commands beside `run`.
#[test]
fn the_most_likely_lines_of_other_commands_lead_on() {
    check_all(&[
        ("tare list tools", No("tools", &["tare import --help"])),
        ("tare show docker", To("tare show docker")),
        ("tare show wsl2", Noting("tare show wsl2-like", &["tare show wsl"])),
        ("tare explain git status", Noting("tare explain -- git status", &["tare explain -- git status"])),
        ("tare advise container", No("'container'", &["tare advise --in native,container"])),
        ("tare ladder", No("no ladder", &["tare ladder container"])),
        ("tare ladder docker", No("'docker'", &["tare ladder container"])),
        // The shell keeps what follows '>'; outputs.rs refuses a file of that name.
        ("tare run --in container --fail-if slower", To("tare run --in container --fail-if slower")),
        // There is a ladder of gVisor's.
        ("tare ladder gvisor", To("tare ladder gvisor")),
        ("tare here --fix", No("'--fix'", &["under 'change'"])),
        (
            "tare here docker",
            No("'docker'", &["tare here --fail-if in:docker", "tare run --in native,docker"]),
        ),
        ("tare doctor", No("'doctor'", &["tare check"])),
        ("tare init", No("'init'", &["tare check", "tare environment prepare"])),
        ("tare run --in native,docker -- git status", To("tare run --in native,docker -- git status")),
        ("tare import", No("no file", &["tare import out.txt"])),
        ("tare import nofile.txt", To("tare import nofile.txt")),
        (
            "tare run --in container '--fail-if=slower:container>1.5x'",
            To("tare run --in container '--fail-if=slower:container>1.5x'"),
        ),
        ("tare -v", Help),
        (
            "tare run --in native,gvisor git status",
            Noting("tare run --in native,gvisor -- git status", &["read as"]),
        ),
        ("tare run -in native", No("'-in'", &["tare run --in native"])),
        ("tare why", No("'why'", &["tare explain"])),
        ("tare cost", No("'cost'", &["tare run", "tare explain"])),
        ("tare measure", No("'measure'", &["tare run"])),
        ("tare diff a b", No("'diff'", &["tare compare a --to b"])),
        (
            "tare compare --wide a.tare b.tare --markdown",
            Noting("tare compare a.tare --to b.tare --wide --markdown", &["read as"]),
        ),
        ("tare compare a.tare b", No("no newer record", &["tare compare a.tare --to b"])),
        ("tare compare a.tare b.tare c.tare", No("no newer record", &["tare compare --together"])),
        ("tare run --compare native,container", No("'--compare'", &["tare run --in native,container"])),
        (
            "tare run wsl1 wsl2",
            No("'wsl1'", &["tare run --in native,wsl1-like,wsl2-like", "on Windows: --in native,wsl:"]),
        ),
        (
            "tare run --in 'native,ubuntu'",
            No("'ubuntu'", &["docker:ubuntu", "wsl:Ubuntu", "tare list environments"]),
        ),
        ("tare wsl2-like", No("'wsl2-like'", &["tare run --in native,wsl2-like"])),
        ("tare serve --help", Help),
        ("tare clean --dry-run", To("tare clean --dry-run")),
    ]);
}

/// Further lines, whose meaning was written down before they were read.
#[test]
fn further_near_misses_lead_on() {
    check_all(&[
        ("tare run podman", No("'podman'", &["tare run --in native,podman"])),
        ("tare run firecracker", No("'firecracker'", &["tare run --in native,qemu"])),
        ("tare run --in Docker", No("'Docker'", &["tare run --in docker"])),
        ("tare run --in native docker", No("'docker'", &["tare run --in native,docker"])),
        ("tare run --in=native,gvisor hyperfine 'sleep 1'", No("'hyperfine'", &["tare run -- COMMAND"])),
        ("tare hyperfine 'sleep 1'", No("'hyperfine'", &["tare run -- COMMAND"])),
        ("tare run native,container", No("'native,container'", &["tare run --in native,container"])),
        ("tare compare docker podman", No("docker podman", &["tare run --in native,docker,podman"])),
        ("tare compare new.tare", No("no newer record", &["tare compare OLD --to NEW"])),
        ("tare new.tare", No("'new.tare'", &["tare report new.tare"])),
        ("tare run new.tare", No("'new.tare'", &["tare report new.tare"])),
        // A bare number is read as seconds.
        ("tare run --budget 30", To("tare run --budget 30")),
        ("tare Run quick", No("'Run'", &["'run'"])),
        ("tare run Quick", No("'Quick'", &["'quick'"])),
        ("tare list environment", To("tare list environment")),
        ("tare show k8s", Noting("tare show kubernetes", &["kubernetes"])),
        ("tare check --in gvizor", No("'gvizor'", &["'gvisor'"])),
        ("tare check docker podman", To("tare check --in docker,podman")),
        ("tare check native docker", To("tare check --in native,docker")),
        ("tare check mybox docker", To("tare check --in mybox,docker")),
        ("tare check --in native docker", To("tare check --in native,docker")),
        ("tare report a/ b/", No("'b/'", &["tare report a/"])),
        ("tare run hyperfin", No("'hyperfin'", &["'hyperfine'", "tare run -- COMMAND"])),
        ("tare run netpref", No("'netpref'", &["'netperf'", "tare run rtt"])),
        ("tare run codspace", No("'codspace'", &["'codespace'", "tare run --in native,docker-like"])),
        ("tare run gvizor", No("'gvizor'", &["tare run --in native,gvisor"])),
        ("tare run --like wsl2", No("'wsl2'", &["tuni-wsl2-linux", "ascii-wsl2-unixbench"])),
        (
            "tare explain gvisor -- git status",
            No("'gvisor'", &["tare explain --in native,gvisor -- git status"]),
        ),
        ("tare explain make", No("'make'", &["tare explain -- make"])),
        ("tare advise docker podman", No("'docker'", &["tare advise --in native,docker,podman"])),
        ("tare ladder container git status", Noting("tare ladder container -- git status", &["read as"])),
        ("tare ladder container make", Noting("tare ladder container -- make", &["read as"])),
        ("tare ladder container git -- make", No("'git'", &["tare ladder container -- make"])),
        ("tare ladder container make -j4", No("'-j4'", &["tare ladder container -- make -j4"])),
        ("tare ladder container make --- git", No("'---'", &["tare ladder container -- make --- git"])),
        ("tare ladder container -h", Help),
        ("tare run cargo build --release", No("'--release'", &["tare run -- cargo build --release"])),
        ("tare run python3 script.py", Noting("tare run -- python3 script.py", &["read as"])),
        ("tare run './suite.sh --fast'", Noting("tare run -- './suite.sh --fast'", &["read as"])),
        ("tare run k8s", No("'k8s'", &["tare run --in native,kubernetes"])),
        ("tare run —in native", No("'—in'", &["tare run --in native"])),
        ("tare run mybox", No("'mybox'", &["tare run --in native,mybox"])),
        ("tare serve 8080", No("'8080'", &["tare serve -h"])),
        (
            "tare run 'docker run alpine true' 'podman run alpine true'",
            Noting("tare run -- 'docker run alpine true' --- 'podman run alpine true'", &[]),
        ),
    ]);
}

/// Lines of a third list, of which each stands for a kind that did not lead on.
#[test]
fn names_with_words_between_them_and_names_as_options_lead_on() {
    check_all(&[
        ("tare docker vs podman", No("'docker'", &["tare run --in native,docker,podman"])),
        ("tare run --docker -- git status", No("'--docker'", &["tare run --in docker -- git status"])),
        (
            "tare compare old.tare vs new.tare",
            No("no newer record", &["tare compare old.tare --to new.tare"]),
        ),
        ("tare explain gvisor", No("'gvisor'", &["tare explain --in native,gvisor -- COMMAND"])),
        ("tare run -n 10 -- git status", No("-n 10", &["-r 10"])),
        ("tare like qiita-wsl-rtt", No("'like'", &["tare run --like ARTICLE"])),
    ]);
}

/// An option that may take a word away from the command is not offered.
#[test]
fn only_options_that_are_named_in_full_are_offered_as_ones_of_tare() {
    for (line, is_offered) in [
        ("tare run git -C x status", false),
        ("tare run git log --pin", false),
        ("tare run git log --oneline --in gvisor", false),
        ("tare run git log --in gvisor", true),
    ] {
        let Err(Unparsed::Refused(error)) = read(line, &[]) else { panic!("{line} is taken") };
        let hint = error.hint.unwrap_or_default();
        assert!(hint.starts_with(&line.replace("run", "run --")), "{line}: {hint}");
        assert_eq!(hint.contains("an option of tare"), is_offered, "{line}: {hint}");
    }
}

#[test]
fn a_folder_without_records_says_so() {
    for line in ["tare report", "tare compare"] {
        let Err(Unparsed::Refused(error)) = read(line, &[]) else { panic!("{line} is taken") };
        assert!(error.hint.as_deref().is_some_and(|hint| hint.contains("tare run")), "{line}: {error:?}");
    }
    let Err(Unparsed::Refused(error)) = read("tare report a/", &[]) else { panic!("it is taken") };
    let cause = error.causes().next().unwrap_or_default();
    assert!(
        cause.contains("is in /state/records/a/, or with another user who ran it, such as root"),
        "{cause}"
    );
    assert!(error.hint.is_some_and(|hint| hint.contains("sudo tare report")));
}

#[test]
fn words_after_the_separator_are_never_read() {
    for words in ["docker", "wsl2 -in native", "./old --- ./new", "--help", "quick"] {
        for command in ["run", "explain"] {
            let line = format!("tare {command} --in gvisor -- {words}");
            check(&line, &To(Box::leak(line.clone().into_boxed_str()))).unwrap();
        }
    }
}
