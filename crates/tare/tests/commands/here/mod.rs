//! `tare here`: documents as their schema says, in whatever this runs in, and in places that forbid things.

#![allow(unsafe_code, reason = "a filter of system calls is set by calls")]

mod anywhere;
mod left_over;

use std::iter;
use std::os::unix::process::CommandExt;
use std::process::{Command, Output};

use serde_json::Value;

fn run(program: &str, words: &[&str]) -> Option<Output> {
    match Command::new(program).args(words).env("LC_ALL", "C").output() {
        Ok(output) => Some(output),
        Err(_) => {
            println!("SKIPPED {program}: it is not installed");
            None
        }
    }
}

fn here(words: &[&str]) -> Output {
    run(env!("CARGO_BIN_EXE_tare"), &[&["here"], words].concat()).unwrap()
}

fn document(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).unwrap_or_else(|e| panic!("{e}: {output:?}"))
}

#[test]
fn the_document_is_as_its_schema_says() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("here.json");
    let saved = here(&["--save", file.to_str().unwrap()]);
    assert!(saved.status.success() && !saved.stdout.is_empty(), "{saved:?}");
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let schema = std::fs::read_to_string(root.join("docs/reference/here.schema.json")).unwrap();
    let (mut schemas, mut compiler) = (boon::Schemas::new(), boon::Compiler::new());
    compiler.add_resource("file:///here.schema.json", serde_json::from_str(&schema).unwrap()).unwrap();
    let index = compiler.compile("file:///here.schema.json", &mut schemas).unwrap();
    let output = here(&["--json", "--against", file.to_str().unwrap()]);
    assert!(output.status.success(), "{output:?}");
    let found = document(&output);
    schemas.validate(&found, index).unwrap_or_else(|e| panic!("{e:#}"));
    let pair = &found["against"];
    assert!(pair["same_processor"] == true && pair["apart_s"].as_u64().is_some_and(|s| s < 600), "{pair}");
    let operations = pair["costs"].as_array().unwrap().iter().map(|cost| cost["operation"].as_str());
    assert!(operations.clone().any(|name| name == Some("system_call")), "{pair}");
    assert!(found["facts"]["kernel.release"].is_string());
}

#[test]
fn a_file_that_is_no_document_is_refused_in_words() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("here.json");
    let pipe = folder.path().join("pipe");
    rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, rustix::fs::Mode::RUSR, 0)
        .unwrap();
    let refused = |file: &std::path::Path| {
        let output = here(&["--against", file.to_str().unwrap()]);
        assert!(!output.status.success() && output.stdout.is_empty(), "{output:?}");
        String::from_utf8(output.stderr).unwrap()
    };
    for lies in [&b"{}"[..], b"\xff", &[b'['; 2 << 20]] {
        std::fs::write(&file, lies).unwrap();
        assert!(refused(&file).contains("document"));
    }
    assert!(refused(&pipe).contains("it is not a file"));
    assert!(refused(&folder.path().join("none")).contains("cannot read"));
}

#[test]
fn the_text_has_at_most_fourteen_lines_and_names_the_system() {
    let output = here(&[]);
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.lines().count() <= 14, "{text}");
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    assert!(text.contains("in ") && text.contains("limits"), "{text}");
}

#[test]
fn conditions_name_a_layer() {
    for wrong in ["docker", "in:", "in:no-such-layer", "slower:", "slower:exce", "fsync:some", "steal:9"] {
        assert_eq!(here(&["--fail-if", wrong]).status.code(), Some(2), "{wrong}");
    }
    let layers = document(&here(&["--json"]));
    if let Some(layer) =
        layers["where"].as_array().unwrap().iter().find(|layer| layer["confidence"] == "sure")
    {
        let condition = format!("in:{}", layer["name"].as_str().unwrap());
        assert_eq!(here(&["--fail-if", &condition]).status.code(), Some(6));
    }
}

#[test]
fn a_folder_in_memory_has_no_durable_files() {
    let Ok(folder) = tempfile::tempdir_in("/dev/shm") else {
        println!("SKIPPED memory: nothing can be written in /dev/shm");
        return;
    };
    let mut command = Command::new(env!("CARGO_BIN_EXE_tare"));
    let output =
        command.args(["here", "--fail-if", "fsync:none"]).current_dir(folder.path()).output().unwrap();
    assert_eq!(output.status.code(), Some(6), "{output:?}");
}

#[test]
fn layers_alone_take_no_times() {
    let found = document(&here(&["--json", "--only", "where"]));
    assert!(!found["namespaces"].as_object().unwrap().is_empty());
    assert_eq!(found["costs"], serde_json::json!([]), "code that is run for layers is not a cost here");
    assert_eq!(here(&["--only", "where", "--thorough"]).status.code(), Some(2));
}

#[test]
fn a_sandbox_is_named_and_left_without_a_trace() {
    let program = env!("CARGO_BIN_EXE_tare");
    let Some(output) =
        run("bwrap", &["--unshare-all", "--ro-bind", "/", "/", "--proc", "/proc", program, "here", "--json"])
    else {
        return;
    };
    if !output.status.success() {
        println!("SKIPPED bwrap: {}", String::from_utf8_lossy(&output.stderr));
        return;
    }
    let found = document(&output);
    let layers = found["where"].as_array().unwrap();
    assert!(
        layers.iter().any(|layer| layer["name"] == "bwrap" && layer["confidence"] == "sure"),
        "{layers:?}"
    );
    assert_eq!(found["namespaces"]["mnt"], "own");
}

/// Lists refused calls of a document, each with who refused it.
fn list_refused(found: &Value) -> Vec<(String, bool)> {
    assert!(found["refused"]["tried"].as_u64().is_some_and(|tried| tried > 60), "{}", found["refused"]);
    let refused = found["refused"]["calls"].as_array().unwrap().iter();
    refused.map(|one| (one["call"].as_str().unwrap().to_owned(), one["by"] == "filter")).collect()
}

#[test]
fn a_call_that_a_filter_refuses_is_named_and_no_other() {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tare"));
    command.args(["here", "--json", "--only", "where"]).env("LC_ALL", "C");
    // SAFETY: system calls alone, between fork and exec.
    unsafe { command.pre_exec(|| refuse_call(libc::SYS_keyctl, libc::EPERM)) };
    if command.output().is_err() {
        println!("SKIPPED refused: no filter of system calls is taken");
        return;
    }
    // A busy machine may have no time to try them all.
    let looks = iter::repeat_with(|| {
        let without = document(&here(&["--json", "--only", "where"]));
        (without, document(&command.output().unwrap()))
    });
    let tried = |found: &Value| found["refused"]["tried"].as_u64();
    let are_alike =
        |(without, found): &(Value, Value)| tried(found).is_some() && tried(without) == tried(found);
    let (without, found) = looks.take(5).find(are_alike).expect("a quiet moment");
    let [before, after] = [&without, &found].map(list_refused);
    assert!(after.contains(&("keyctl".to_owned(), true)), "{after:?}");
    // A call that this kernel does not have counts below a filter.
    let absent = |found: &Value, call: &str| {
        let refused = found["refused"]["calls"].as_array().unwrap().iter();
        refused.clone().any(|one| one["call"] == call && one["answer"] == "ENOSYS")
    };
    let more =
        after.iter().map(|(call, _)| call).filter(|call| !before.iter().any(|(known, _)| known == *call));
    let more: Vec<&String> = more.filter(|call| !absent(&found, call)).collect();
    assert_eq!(more, ["keyctl"]);
}

#[test]
fn trying_calls_as_root_changes_nothing() {
    // A kernel that was built without modules lists none.
    let state = "state() { hostname; cat /proc/sys/kernel/domainname /proc/self/mountinfo /proc/swaps; \
                 cat /proc/modules 2>/dev/null || :; id; ulimit -a; readlink /proc/self/ns/*; keyctl show 2>/dev/null || :; }";
    // The second time for the calls alone: the first may have no time for all on a busy machine.
    let script = format!(
        "{state}; state >$F/before; \"$0\" here --json >/dev/null; \"$0\" here --json --only where >$F/json; state >$F/after"
    );
    let folder = tempfile::tempdir().unwrap();
    let mut command = Command::new("unshare");
    command.args(["-m", "-u", "-i", "-n", "-p", "-f", "--mount-proc", "sh", "-ec", &script]);
    let output = command.arg(env!("CARGO_BIN_EXE_tare")).env("F", folder.path()).output();
    if !output.as_ref().is_ok_and(|output| output.status.success()) {
        println!("SKIPPED refused: {output:?}");
        return;
    }
    let [before, after] =
        ["before", "after"].map(|name| std::fs::read_to_string(folder.path().join(name)).unwrap());
    assert!(before.lines().count() > 10 && before == after, "{before}\n{after}");
    let json = std::fs::read(folder.path().join("json")).unwrap();
    list_refused(&serde_json::from_slice(&json).unwrap());
}

#[test]
fn few_files_and_a_small_address_space_are_enough() {
    let program = env!("CARGO_BIN_EXE_tare");
    let words = format!("ulimit -n 16; ulimit -v 131072; exec {program} here --json");
    let output = run("sh", &["-c", &words]).unwrap();
    assert!(output.status.success(), "{output:?}");
    assert_eq!(document(&output)["limits"]["open_files"], 16);
}

#[test]
fn a_command_runs_twice_and_its_counts_explain_its_time() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("ran");
    let words = format!("echo . >> {}; echo out", file.display());
    let saved = folder.path().join("saved.json");
    let output = here(&["--save", saved.to_str().unwrap(), "--", "sh", "-c", &words]);
    assert!(output.status.success() && output.stdout.starts_with(b"out\n"), "{output:?}");
    assert_eq!(std::fs::read_to_string(&file).unwrap().lines().count(), 2, "it ran twice");
    // A document is alone on standard output.
    let output = here(&["--json", "--against", saved.to_str().unwrap(), "--", "echo", "out"]);
    let (found, said) = (document(&output), String::from_utf8(output.stderr).unwrap());
    assert!(said.contains("\nout\n") && said.contains("not compared: another one ran"), "{said}");
    assert!(found["against"].is_object() && found["command"]["more_ns"].is_null(), "{found}");
    let command = &found["command"];
    assert_eq!(command["exit_code"], 0);
    // If this test is traced already, nothing can be counted, and the reason is given.
    let is_counted = command["calls"].as_f64().is_some_and(|calls| calls > 10.0);
    assert!(is_counted || command["why_not_split"].is_string(), "{command}");
    assert_eq!(here(&["--", "no-such-program"]).status.code(), Some(2));
}

#[test]
fn a_session_names_the_layers_that_it_is_in() {
    let folder = tempfile::tempdir().unwrap();
    let record = folder.path().join("s.tare");
    let words = [
        "run",
        "--in",
        "native",
        "--only",
        "null",
        "--rounds",
        "2",
        "--json",
        "--record",
        record.to_str().unwrap(),
    ];
    let session = document(&run(env!("CARGO_BIN_EXE_tare"), &words).unwrap());
    let found = document(&here(&["--json"]));
    let told = found["where"].as_array().unwrap().iter();
    let told = told.filter(|layer| layer["confidence"] != "possible" && layer["class"] != "filter");
    let names: Vec<&str> = told.map(|layer| layer["name"].as_str().unwrap()).collect();
    assert_eq!(session["facts"]["host"]["layers"].as_str().unwrap_or_default(), names.join(" "));
}

/// Layers around a command in environments that tare enters. The mounts of native, and of those that are native with something added,
/// are their own, so that changes are discarded.
const ENTERED: [(&str, &[&str]); 9] = [
    ("container", &["container"]),
    ("bwrap", &["bwrap"]),
    ("oci:runc", &["oci"]),
    ("nspawn", &["seccomp", "nspawn"]),
    ("podman", &["seccomp", "podman"]),
    ("gvisor", &["gvisor"]),
    ("traced", &["traced", "namespaces"]),
    ("proot", &["proot", "seccomp", "namespaces"]),
    ("landlock", &["landlock", "namespaces"]),
];

#[test]
fn layers_of_environments_that_tare_enters_are_told() {
    let tare = env!("CARGO_BIN_EXE_tare");
    let list = |found: &Value| -> Vec<String> {
        let layers = found["where"].as_array().unwrap().iter();
        let told = layers.filter(|layer| layer["confidence"] != "possible");
        told.map(|layer| layer["name"].as_str().unwrap().to_owned()).collect()
    };
    let own = list(&document(&here(&["--only", "where", "--json"])));
    let behind = |layers: &[&str]| -> Vec<String> {
        layers.iter().map(|layer| (*layer).to_owned()).chain(own.iter().cloned()).collect()
    };
    for (environment, layers) in ENTERED {
        if !run(tare, &["check", "--in", environment]).unwrap().status.success() {
            println!("SKIPPED {environment}: it is not ready");
            continue;
        }
        let folder = tempfile::tempdir().unwrap();
        let script = r#"exec "$0" here --only where --json >"$(mktemp -p . --suffix=.json)""#;
        let mut session = Command::new(tare);
        session.args([
            "run",
            "--in",
            environment,
            "--work",
            "share",
            "-r",
            "2",
            "--",
            "sh",
            "-c",
            script,
            tare,
        ]);
        let said = session.current_dir(folder.path()).env("LC_ALL", "C").output().unwrap();
        assert!(said.status.success(), "{said:?}");
        let entries = std::fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().path());
        let answers = entries.filter(|path| path.extension().is_some_and(|kind| kind == "json"));
        let mut told: Vec<Vec<String>> = answers
            .map(|path| list(&serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()))
            .collect();
        if environment == "gvisor" {
            // It answers cpuid itself on some processors, and then hides the name of the hypervisor below.
            let kvm = |name: &mut String| name.replace_range(.., "kvm");
            told.iter_mut().flatten().filter(|name| *name == "vm" && own == ["kvm"]).for_each(kvm);
        }
        let (native, wanted) = (behind(&["namespaces"]), behind(layers));
        assert!(told.iter().all(|found| *found == native || *found == wanted), "{environment}: {told:?}");
        assert!(told.contains(&wanted), "{environment}: {told:?}");
    }
}

/// Has the kernel answer every call of this number with an error, by a filter.
fn refuse_call(number: libc::c_long, error: i32) -> std::io::Result<()> {
    let step = |code: u32, jt: u8, jf: u8, k: u32| libc::sock_filter { code: code as u16, jt, jf, k };
    let mut steps = [
        step(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0, 0, 0),
        step(libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K, 0, 1, number as u32),
        step(libc::BPF_RET | libc::BPF_K, 0, 0, libc::SECCOMP_RET_ERRNO | error as u32),
        step(libc::BPF_RET | libc::BPF_K, 0, 0, libc::SECCOMP_RET_ALLOW),
    ];
    let filter = libc::sock_fprog { len: steps.len() as u16, filter: steps.as_mut_ptr() };
    // SAFETY: the filter lives through both calls.
    let set = unsafe {
        libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0
            && libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &raw const filter) == 0
    };
    if set { Ok(()) } else { Err(std::io::Error::last_os_error()) }
}
