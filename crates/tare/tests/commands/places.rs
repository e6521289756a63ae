//! Places: file systems created for a session, used by every environment, and removed however the session
//! ends.

use std::fs;
use std::os::unix::fs::chown;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};

use serde_json::Value;
use tare_bench::programs::copy_program;

use crate::faults::kill::{resume_for_a_while, under_way, wait_until};
use crate::program::{Program, Said};

/// Everything that is made for a session.
const MADE: &str = "share,ext4,btrfs,xfs,tmpfs,overlay";

/// Tells whether file systems can be created here, and prints that the test is skipped if not.
pub fn can_make(test: &str) -> bool {
    let maker = |name: &str| ["/usr/sbin", "/sbin"].iter().any(|f| PathBuf::from(f).join(name).exists());
    let missing: Vec<&str> =
        ["mkfs.ext4", "mkfs.btrfs", "mkfs.xfs"].into_iter().filter(|name| !maker(name)).collect();
    if !rustix::process::geteuid().is_root() || !missing.is_empty() {
        println!("SKIPPED {test}: file systems are made by root, with mkfs.ext4, mkfs.btrfs and mkfs.xfs");
        return false;
    }
    true
}

/// Waits until nothing is left: the kernel releases a device shortly after its mount.
fn nothing_is_left(program: &Program) {
    wait_until("its processes are gone", || program.list_processes().is_empty());
    assert_eq!(program.list_mounts(), Vec::<String>::new());
    wait_until("its loop devices are gone", || program.loop_devices().is_empty());
    assert_eq!(program.list_remains(), Vec::<PathBuf>::new());
}

/// Finds the cell of a case's headline metric in an environment.
pub fn find_cell<'a>(document: &'a Value, case: &str, target: &str) -> &'a Value {
    let rows = document["rows"].as_array().unwrap();
    let row = rows.iter().find(|row| row["case"].as_str().unwrap().contains(case) && row["headline"] == true);
    let row = row.unwrap_or_else(|| panic!("no row {case} in {document}"));
    let cells = row["cells"].as_array().unwrap();
    cells
        .iter()
        .find(|cell| cell["environment"] == target)
        .unwrap_or_else(|| panic!("no environment {target} in {row}"))
}

fn facts<'a>(document: &'a Value, target: &str, place: &str) -> &'a Value {
    let targets = document["facts"]["environments"].as_array().unwrap();
    &targets.iter().find(|facts| facts["environment"] == target).unwrap()["places"][place]
}

#[test]
fn every_file_system_is_made_used_and_taken_away() {
    if !can_make("every_file_system_is_made_used_and_taken_away") {
        return;
    }
    let program = Program::new();
    let mine = program.path(MINE);
    fs::create_dir(&mine).unwrap();
    fs::write(mine.join("kept"), "the user's own").unwrap();
    let places = format!("own,{MADE},{}", mine.display());
    let said = program.run_tare(&[
        "run",
        "--json",
        "--only",
        "file.meta",
        "--in",
        "native,container",
        "--place",
        &places,
        "--rounds",
        "2",
    ]);
    assert_eq!(said.code, Some(0), "{said:?}");
    let document = said.parse_json();
    for place in places.split(',') {
        let compared = &find_cell(&document, &format!("@{place}"), "container")["comparison"]["slowdown"];
        assert!(compared.is_number(), "{place}: {document}");
        for target in ["native", "container"] {
            let facts = facts(&document, target, place);
            assert_eq!(facts["outside.filesystem"], facts["mount.type"], "{place} {facts}");
            if ["ext4", "btrfs", "xfs", "tmpfs", "overlay"].contains(&place) {
                assert_eq!(facts["mount.type"], place);
            }
        }
    }
    let label = |place: &str| {
        let rows = document["rows"].as_array().unwrap();
        rows.iter().find(|row| row["place"] == place).unwrap()["label"].as_str().unwrap().to_owned()
    };
    assert!(label("btrfs").ends_with(" @btrfs"), "{}", label("btrfs"));
    assert!(label(mine.to_str().unwrap()).ends_with(" @mine.tare/"), "{}", label(mine.to_str().unwrap()));
    nothing_is_left(&program);
    assert_eq!(fs::read_dir(&mine).unwrap().count(), 1, "only what the user had");
    assert_eq!(fs::read_to_string(mine.join("kept")).unwrap(), "the user's own");
}

/// Starts a session in every place, including the user's own folder.
fn with_places(program: &Program) -> Child {
    let mine = program.path(MINE);
    fs::create_dir(&mine).unwrap();
    let places = format!("{MADE},{}", mine.display());
    under_way(program, &["--in", "native,container", "--only", "file.sync", "--place", &places])
}

/// Folder named like a record, so that the check for leftovers treats it separately.
const MINE: &str = "mine.tare";

fn left_in_mine(program: &Program) -> usize {
    fs::read_dir(program.path(MINE)).unwrap().count()
}

#[test]
fn nothing_is_left_of_the_places_of_a_killed_session() {
    if !can_make("nothing_is_left_of_the_places_of_a_killed_session") {
        return;
    }
    let program = Program::new();
    let mut child = with_places(&program);
    assert_eq!((program.list_mounts().len() >= 5, program.loop_devices().len()), (true, 3));
    assert_eq!(left_in_mine(&program), 1);
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(program.run_tare(&["clean"]).code, Some(0));
    nothing_is_left(&program);
    assert_eq!(left_in_mine(&program), 0);
    let said =
        resume_for_a_while(program.tare_command(&["run", "--resume", "s.tare"]), &program.path("s.tare"));
    assert_eq!(said.code, Some(130), "{said:?}");
    nothing_is_left(&program);
    assert_eq!(left_in_mine(&program), 0);
}

#[test]
fn nothing_is_left_whenever_it_is_killed_while_places_are_made() {
    if !can_make("nothing_is_left_whenever_it_is_killed_while_places_are_made") {
        return;
    }
    let program = Program::new();
    let arguments = [
        "run",
        "--in",
        "native",
        "--only",
        "file.sync",
        "--place",
        MADE,
        "--rounds",
        "9",
        "--record",
        "s.tare",
    ];
    for wait_ms in [5, 20, 40, 60, 80, 100, 130, 160, 200, 300] {
        let mut command = program.tare_command(&arguments);
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        std::thread::sleep(std::time::Duration::from_millis(wait_ms));
        child.kill().unwrap();
        child.wait().unwrap();
        let said = program.run_tare(&["clean"]);
        assert_eq!(said.code, Some(0), "{said:?}");
        nothing_is_left(&program);
        let _ = fs::remove_file(program.path("s.tare"));
    }
}

#[test]
fn an_interrupt_takes_the_places_away() {
    if !can_make("an_interrupt_takes_the_places_away") {
        return;
    }
    let program = Program::new();
    let child = with_places(&program);
    let pid = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    let said = Said::from_output(child.wait_with_output().unwrap());
    assert_eq!(said.code, Some(130), "{said:?}");
    nothing_is_left(&program);
    assert_eq!(left_in_mine(&program), 0);
}

#[test]
fn a_place_that_is_none() {
    let program = Program::new();
    let said =
        |place: &str| program.run_tare(&["run", "--in", "native", "--only", "file.sync", "--place", place]);
    for (place, hint) in [("brtfs", "did you mean 'btrfs'?"), ("shrae", "did you mean 'share'?")] {
        let said = said(place);
        assert_eq!(said.code, Some(2), "{said:?}");
        assert!(said.err.contains(&format!("there is no place '{place}'")), "{}", said.err);
        assert!(said.err.contains(hint), "{}", said.err);
    }
    let said = said("./no-such-folder");
    assert_eq!(said.code, Some(4), "{said:?}");
    assert!(said.err.contains("cannot use the place ./no-such-folder"), "{}", said.err);
}

/// Debian's user without files.
const NOBODY: u32 = 65534;

#[test]
fn what_needs_root_is_a_missing_for_everybody_else() {
    let test = "what_needs_root_is_a_gap_for_everybody_else";
    if !rustix::process::geteuid().is_root() {
        return println!("SKIPPED {test}: only root can become another user");
    }
    // A folder on a disk, which everybody may list.
    let folder = tempfile::Builder::new().prefix("places-").tempdir_in("/var/tmp").unwrap();
    let binary = folder.path().join("program");
    copy_program(Path::new(env!("CARGO_BIN_EXE_tare")), &binary).unwrap();
    chown(folder.path(), Some(NOBODY), Some(NOBODY)).unwrap();
    let run = |places: &str| {
        let mut command = std::process::Command::new(&binary);
        command.args(["run", "--json", "--in", "native", "--only", "file.meta", "--rounds", "2"]);
        command.args(["--place", places, "--scratch"]).arg(folder.path()).current_dir(folder.path());
        command.env("XDG_STATE_HOME", folder.path()).uid(NOBODY).gid(NOBODY).stdin(Stdio::null());
        Said::from_output(command.output().unwrap())
    };
    let said = run("share,ext4,tmpfs");
    assert_eq!(said.code, Some(0), "{said:?}");
    let document = said.parse_json();
    for row in document["rows"].as_array().unwrap().iter().filter(|row| row["headline"] == true) {
        if row["place"] == "share" {
            assert!(row["baseline"]["median"].is_number(), "{row}");
        } else {
            let reason = format!("only root may mount {} (run tare as root)", row["place"].as_str().unwrap());
            assert_eq!(row["baseline_missing"]["reason"], *reason, "{row}");
            assert_eq!(row["baseline_missing"]["kind"], "not_permitted");
        }
    }
    let said = run("ext4,tmpfs");
    assert_eq!(said.code, Some(4), "{said:?}");
    assert!(said.err.contains("no case can be measured"), "{}", said.err);
    assert!(said.err.contains("hint: name another place"), "{}", said.err);
}
