//! Honesty: values that only look like measurements must be caught in real environments.

use std::process::Command;

use serde_json::Value;

use crate::places::{can_make, find_cell};
use crate::program::Program;

/// Measures some cases in native and a subject, and returns the JSON document.
fn session(program: &Program, subject: &str, only: &str, place: &str) -> Value {
    let targets = format!("native,{subject}");
    let arguments = ["run", "--json", "--in", &targets, "--only", only, "--place", place, "--rounds", "2"];
    let said = program.run_tare(&arguments);
    assert_eq!(said.code, Some(0), "{said:?}");
    said.parse_json()
}

/// Asserts that a cell is not comparable, and why.
fn caught(document: &Value, case: &str, target: &str, why: &str) {
    let cell = find_cell(document, case, target);
    assert_eq!(cell["missing"]["kind"], "not_comparable", "{cell}");
    let reason = cell["missing"]["reason"].as_str().unwrap();
    assert!(reason.contains(why), "{reason}");
}

fn gvisor_is_ready(program: &Program, test: &str) -> bool {
    is_ready(program, "gvisor", test)
}

fn is_ready(program: &Program, environment: &str, test: &str) -> bool {
    let environments = program.run_tare(&["check", "--in", environment, "--json"]).parse_json();
    let all = environments["environments"].as_array().unwrap();
    let ready = all.iter().any(|e| e["environment"] == environment && e["ready"] == true);
    if !ready {
        println!("SKIPPED {test}: {environment} is not ready");
    }
    ready
}

#[test]
fn podmans_own_root_syncs_nothing_and_its_share_does() {
    let program = Program::new();
    if !is_ready(&program, "podman", "podmans_own_root_syncs_nothing_and_its_share_does") {
        return;
    }
    let document = session(&program, "podman?own=root", "file.sync", "own,share");
    caught(&document, "file.sync@own", "podman-root", "mounted volatile: fdatasync does nothing");
    assert!(find_cell(&document, "file.sync@share", "podman-root")["comparison"]["slowdown"].is_number());
}

#[test]
fn gvisors_overlay_in_memory_makes_nothing_durable() {
    let program = Program::new();
    if !gvisor_is_ready(&program, "gvisors_overlay_in_memory_makes_nothing_durable") {
        return;
    }
    for overlay in ["self", "memory"] {
        let document = session(&program, &format!("gvisor?overlay={overlay}"), "file.sync", "own");
        caught(&document, "file.sync", &format!("gvisor-{overlay}"), "the bytes stay in memory");
    }
}

#[test]
fn gvisors_o_direct_and_its_dropped_caches_are_none() {
    let program = Program::new();
    if !gvisor_is_ready(&program, "gvisors_o_direct_and_its_dropped_caches_are_none") {
        return;
    }
    let only = "file.seq*bs=1MiB*op=write*sync=direct*,file.seq*bs=1MiB*cache=cold*op=read*,\
                file.seq*bs=1MiB*cache=direct*op=read*";
    let document = session(&program, "gvisor", only, "share");
    caught(&document, "sync=direct", "gvisor", "a cache serves it");
    caught(&document, "cache=direct", "gvisor", "a cache serves it");
    caught(&document, "cache=cold", "gvisor", "stay in the cache when it is dropped");
}

#[test]
fn gvisors_word_on_memory_does_not_count() {
    let program = Program::new();
    if !gvisor_is_ready(&program, "gvisors_word_on_memory_does_not_count") {
        return;
    }
    let document = session(&program, "gvisor", "proc.fork_hold*ballast=none*", "own");
    let rows = document["rows"].as_array().unwrap();
    let row = rows.iter().find(|row| row["metric"]["name"] == "memory").unwrap();
    let missing = &row["cells"][0]["missing"];
    assert_eq!(missing["kind"], "not_comparable", "{row}");
    assert!(missing["reason"].as_str().unwrap().contains("meminfo"), "{missing}");
    assert!(find_cell(&document, "proc.fork_hold", "gvisor")["comparison"]["slowdown"].is_number());
}

#[test]
fn a_place_in_memory_is_no_disk() {
    if !can_make("a_place_in_memory_is_no_disk") {
        return;
    }
    let program = Program::new();
    let document = session(&program, "container", "file.sync", "tmpfs");
    caught(&document, "file.sync", "container", "a file system in memory: nothing is made durable");
}

/// An overlay mounted as podman mounts the root of a container: it answers fsync without doing it.
struct Volatile {
    program: Program,
}

impl Volatile {
    fn mount() -> Volatile {
        let program = Program::new();
        let folder = program.path("overlay.tare");
        for name in ["lower", "upper", "work", "merged"] {
            std::fs::create_dir_all(folder.join(name)).unwrap();
        }
        let path = |name: &str| folder.join(name).display().to_string();
        let options = format!(
            "lowerdir={},upperdir={},workdir={},volatile",
            path("lower"),
            path("upper"),
            path("work")
        );
        let mut command = Command::new("mount");
        command.args(["-t", "overlay", "overlay", "-o", &options, &path("merged")]);
        let mounted = command.output().unwrap();
        assert!(mounted.status.success(), "{mounted:?}");
        Volatile { program }
    }

    fn place(&self) -> String {
        self.program.path("overlay.tare/merged").display().to_string()
    }
}

impl Drop for Volatile {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(self.place()).status();
    }
}

#[test]
fn a_volatile_root_syncs_nothing() {
    if !can_make("a_volatile_root_syncs_nothing") {
        return;
    }
    let volatile = Volatile::mount();
    let document = session(&volatile.program, "container", "file.sync", &volatile.place());
    caught(&document, "file.sync", "container", "mounted volatile: fdatasync does nothing");
    // Inside gVisor the overlay cannot be seen.
    if gvisor_is_ready(&volatile.program, "a_volatile_root_syncs_nothing") {
        let document = session(&volatile.program, "gvisor", "file.sync", &volatile.place());
        let cell = find_cell(&document, "file.sync", "gvisor");
        assert_eq!(cell["missing"]["kind"], "not_comparable", "{cell}");
    }
}
