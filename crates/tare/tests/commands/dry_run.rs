//! The dry run, compared with a real session by the system calls of both.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::program::{Program, Said};

/// Prefixes of paths, besides its own files, that a session may open because nothing is stored there.
const NOT_FILES: [&str; 6] = ["/dev/null", "/dev/tty", "/dev/pts/", "/proc/", "pipe:", "socket:"];
/// System calls that change a file or folder that they name.
const CHANGING: [&str; 22] = [
    "creat",
    "mkdir",
    "mkdirat",
    "rmdir",
    "unlink",
    "unlinkat",
    "rename",
    "renameat",
    "renameat2",
    "link",
    "linkat",
    "symlink",
    "symlinkat",
    "chmod",
    "fchmodat",
    "chown",
    "fchownat",
    "truncate",
    "mknod",
    "mknodat",
    "utimensat",
    "setxattr",
];
/// System calls that a dry run must not make either.
const DOING: [&str; 9] =
    ["mount", "umount2", "unshare", "setns", "connect", "sendto", "kill", "clone3", "vfork"];

/// Traces the system calls of a program and its children, one per line, if strace is installed.
fn traced(program: &Program, arguments: &[&str], test: &str) -> Option<(Said, Vec<String>)> {
    let is_there = Command::new("strace").arg("-V").stdout(Stdio::null()).status().is_ok_and(|s| s.success());
    if !is_there {
        println!("SKIPPED {test}: strace is not installed");
        return None;
    }
    let log = tempfile::NamedTempFile::new().unwrap();
    let run = program.tare_command(arguments);
    let calls = [&CHANGING[..], &DOING, &["openat", "open", "execve", "fork", "clone"]].concat().join(",?");
    let mut command = Command::new("strace");
    command.args(["-f", "-y", "-s", "400", "--seccomp-bpf", "-e", &format!("trace=?{calls}"), "-o"]);
    command.arg(log.path()).arg(run.get_program()).args(run.get_args()).current_dir(program.path(""));
    command.env("XDG_STATE_HOME", program.path("state")).env("NO_COLOR", "1").stdin(Stdio::null());
    let said = Said::from_output(command.output().unwrap());
    let lines = std::fs::read_to_string(log.path()).unwrap();
    let call = |line: &str| line.split_once(' ').map(|(_, call)| call.trim().to_owned());
    Some((said, lines.lines().filter_map(call).collect()))
}

fn name(call: &str) -> &str {
    call.split('(').next().unwrap_or_default()
}

/// Lists the paths that a call changes, which it names relative to the folders that strace prints for
/// descriptors.
fn changed(call: &str) -> Vec<PathBuf> {
    let opens = ["open", "openat"].contains(&name(call));
    let writes =
        ["O_WRONLY", "O_RDWR", "O_CREAT", "O_TRUNC", "O_APPEND"].iter().any(|flag| call.contains(flag));
    let failed = call.contains(" = -1 ");
    if failed || (opens && !writes) || !(opens || CHANGING.contains(&name(call))) {
        return Vec::new();
    }
    let arguments = call.split_once('(').map_or("", |(_, arguments)| arguments);
    let mut folder = PathBuf::new();
    let mut paths = Vec::new();
    for part in arguments.split(", ") {
        if let Some(path) = part.strip_prefix('"').and_then(|part| part.split('"').next()) {
            paths.push(folder.join(path));
        } else if let Some((_, path)) = part.split_once('<') {
            folder = PathBuf::from(path.split('>').next().unwrap_or_default());
        }
    }
    paths
}

fn is_file(path: &Path) -> bool {
    let text = path.to_string_lossy();
    !NOT_FILES.iter().any(|other| text.starts_with(other))
}

fn session<'a>(more: &[&'a str]) -> Vec<&'a str> {
    let fixed = [
        "run",
        "--only",
        "sys.getppid,file.sync",
        "--place",
        "own,./place",
        "--rounds",
        "2",
        "--record",
        "s.tare",
    ];
    [&fixed[..], &["--json", "--html", "page.html"], more].concat()
}

#[test]
fn a_dry_run_does_nothing() {
    let program = Program::new();
    std::fs::create_dir(program.path("place")).unwrap();
    let all = [
        session(&["--in", "native,container,gvisor,podman", "--dry-run"]),
        vec!["explain", "--in", "container", "--dry-run", "--", "touch", "made"],
        vec!["explain", "--prices", "--in", "gvisor", "--dry-run"],
        vec!["ladder", "container", "--dry-run"],
        vec!["advise", "--in", "container", "--dry-run", "--", "touch", "made"],
    ];
    for arguments in all {
        let Some((said, calls)) = traced(&program, &arguments, "a_dry_run_does_nothing") else { return };
        assert_eq!(said.code, Some(0), "{said:?}");
        let execs = calls.iter().filter(|call| name(call) == "execve").count();
        assert_eq!(execs, 1, "{arguments:?}: {calls:#?}");
        let doing = |call: &&String| DOING.contains(&name(call)) || ["fork", "clone"].contains(&name(call));
        assert_eq!(calls.iter().filter(doing).collect::<Vec<_>>(), Vec::<&String>::new(), "{arguments:?}");
        let paths: Vec<PathBuf> =
            calls.iter().flat_map(|call| changed(call)).filter(|path| is_file(path)).collect();
        assert_eq!(paths, Vec::<PathBuf>::new(), "{arguments:?}");
        assert!(!program.path("state").exists());
    }
}

#[test]
fn a_session_writes_only_what_its_dry_run_names() {
    let program = Program::new();
    std::fs::create_dir(program.path("place")).unwrap();
    let dry = program.run_tare(&session(&["--in", "native", "--dry-run"])).parse_json();
    let named = |key: &str| {
        let lines = dry[key].as_array().unwrap().iter();
        lines.map(|line| line.as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    // Up to what is not known beforehand.
    let known = |line: &String| line.split([':', '*']).next().unwrap().to_owned();
    let written: Vec<String> = named("write").iter().map(known).collect();
    let Some((said, calls)) =
        traced(&program, &session(&["--in", "native"]), "a_session_writes_only_what_its_dry_run_names")
    else {
        return;
    };
    assert_eq!(said.code, Some(0), "{said:?}");
    let here = program.path("");
    // A page is first written beside its place; the folder above the state is made on the way.
    let beside = [here.join(".tare-"), here.join("state")].map(|path| path.to_string_lossy().into_owned());
    let may = |path: &PathBuf| {
        let path = here.join(path).components().collect::<PathBuf>().to_string_lossy().into_owned();
        written.iter().chain([&beside[0]]).any(|named| path.starts_with(named)) || path == beside[1]
    };
    let all: Vec<PathBuf> =
        calls.iter().flat_map(|call| changed(call)).filter(|path| is_file(path)).collect();
    let others: Vec<&PathBuf> = all.iter().filter(|path| !may(path)).collect();
    assert!(!all.is_empty());
    assert_eq!(others, Vec::<&PathBuf>::new(), "named are {written:?}");
    assert_eq!(named("send"), ["nothing: no packet leaves this machine"]);
    assert_eq!(named("mount"), ["nothing"]);
    let sends = calls.iter().filter(|call| name(call) == "connect" && call.contains("AF_INET"));
    assert_eq!(sends.collect::<Vec<_>>(), Vec::<&String>::new());
}

#[test]
fn a_dry_run_names_commands_environments_places_and_peers() {
    let program = Program::new();
    let study = "name = 'mine'\ntitle = 'x'\nabout = ''\nbudget = '1m'\n[probe.x]\ncommand = ['touch', 'a b']\n[[case]]\nprobe = 'net.rr'\n[[case]]\nprobe = 'file.sync'\n";
    std::fs::write(program.path("mine.toml"), study).unwrap();
    let arguments = [
        "run",
        "mine.toml",
        "--in",
        "native,podman,gvisor?net=sandbox",
        "--peer",
        "host",
        "--place",
        "ext4",
        "--dry-run",
    ];
    let said = program.run_tare(&arguments);
    assert_eq!(said.code, Some(0), "{said:?}");
    let flat = said.out.split_whitespace().collect::<Vec<_>>().join(" ");
    for expected in [
        "Nothing of it was done.",
        "run touch 'a b'",
        "podman: an engine's container",
        "/run/tare-netns/tare-*-lab",
        "mkfs.ext4, for the place ext4",
        "a peer of the session",
        "the engine's own storage",
    ] {
        assert!(flat.contains(expected), "{expected}: {}", said.out);
    }
    let refused = program.run_tare(&["run", "--in", "nothing", "--dry-run"]);
    assert_eq!(refused.code, Some(2), "{refused:?}");
}

/// Returns the section of a dry run that says what would be measured, in one line, and the same as JSON.
fn measured(arguments: &[&str]) -> (String, serde_json::Value) {
    let program = Program::new();
    let said = program.run_tare(arguments);
    assert_eq!(said.code, Some(0), "{said:?}");
    let section = said.out.split("\nmeasure\n").nth(1).unwrap_or_else(|| panic!("{}", said.out));
    let section = section.split("\nstart\n").next().unwrap_or_default();
    let json = program.run_tare(&[&["run", "--json"], &arguments[1..]].concat()).parse_json();
    (section.split_whitespace().collect::<Vec<_>>().join(" "), json["measure"].clone())
}

#[test]
fn a_dry_run_says_how_far_the_time_goes() {
    let (said, json) = measured(&["run", "quick", "--in", "native,container", "--rounds", "3", "--dry-run"]);
    let cases = json["cases"].as_u64().unwrap();
    assert!(cases >= 16, "{json}");
    assert_eq!((json["comparisons"].as_u64(), json["pairs"].as_u64()), (Some(cases), Some(3)), "{json}");
    assert_eq!(json["environments"], serde_json::json!(["native", "container"]));
    assert_eq!((json["rounds"].as_u64(), json["budget_s"].as_f64()), (Some(3), None), "{json}");
    let s = json["pairs_s"].as_f64().unwrap();
    assert!((0.5..60.0).contains(&s), "{json}");
    for expected in [
        &format!("{cases} cases in native and container: {cases} comparisons")[..],
        "3 pairs of each: about ",
        "these are typical times, from ",
    ] {
        assert!(said.contains(expected), "{expected}: {said}");
    }
}

#[test]
fn a_dry_run_says_which_environments_a_budget_leaves_out() {
    let (said, json) =
        measured(&["run", "--in", "native,qemu,gvisor,container", "--budget", "9s", "--dry-run"]);
    assert_eq!(json["environments"], serde_json::json!(["native", "container"]), "the container stays");
    assert_eq!((json["budget_s"].as_f64(), json["pairs"].as_u64()), (Some(9.0), Some(12)), "{json}");
    let left_out = json["left_out"].as_array().unwrap();
    assert_eq!(left_out.len(), 2, "{json}");
    for absent in left_out {
        assert!(absent["lacks_s"].as_f64().unwrap() > 0.0, "{absent}");
        let note = absent["note"].as_str().unwrap();
        assert!(note.contains("more than the budget has; name fewer environments, or --budget "));
        assert!(said.contains(note), "{note}: {said}");
    }
}

#[test]
fn a_dry_run_of_a_ladder_has_the_pairs_that_its_budget_has_room_for() {
    let said = Program::new().run_tare(&["ladder", "container", "--budget", "1m", "--dry-run"]);
    assert_eq!(said.code, Some(0), "{said:?}");
    let flat = said.out.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(flat.contains("budget of 1 min: nothing is decided before its end"), "{flat}");
    let pairs: u32 =
        flat.split(" pairs of each: about ").next().unwrap().rsplit(' ').next().unwrap().parse().unwrap();
    assert!((5..500).contains(&pairs), "{flat}");
}

#[test]
fn a_dry_run_says_what_it_does_not_know() {
    let (said, json) = measured(&["run", "--in", "container,ssh:nowhere", "--only", "null", "--dry-run"]);
    assert_eq!(json["unknown"]["environments"], serde_json::json!(["ssh-nowhere"]), "{json}");
    assert!(said.contains("because the time is not known: ssh-nowhere"), "{said}");
    let (said, json) = measured(&["run", "--in", "container", "--dry-run", "--", "true"]);
    assert_eq!((json["pairs_s"].as_f64(), json["runs_of_a_command"].as_array().unwrap().len()), (None, 2));
    assert!(
        said.contains("the time of a command is not known until it runs: a pair has 3 to 25 runs"),
        "{said}"
    );
    assert!(!said.contains("about"), "{said}");
}
