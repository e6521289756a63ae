//! Every environment: entered, described, tried in each place, and left without a trace; and refused by hostile set-ups with the cause.

use std::path::Path;
use std::process::{Command, Stdio};

use rustix::system::sethostname;

use crate::bench::machine::{Machine, leave_the_machines_name};
use crate::bench::{Bench, Spoken, TARE, control_groups, find_programs, parse_if_ready};

/// Set-ups of bench/setups, and environments that are tried in each.
const SETUPS: &str = "refused-ptrace,refused-namespaces,covered-proc,noexec-var-tmp,descriptors-24,in-namespaces,in-proot,umask-777";
const ENVIRONMENTS: &str = "native,container,bwrap,oci:runc,nspawn,gvisor,traced,proot,landlock";
/// Probes that are run once, with place and peer.
const ONCE: [(&str, Option<&str>, Option<&str>); 3] = [
    // A new namespace, and a new kernel, have their loopback device down.
    ("net.rr", None, Some("loopback")),
    ("proc.exec", None, None),
    // Processes of processes keep what the first was told of its C library.
    ("proc.shell", Some("own"), None),
];

/// Environments of root that have this machine's name and may change it. All others have a UTS namespace of their own, or may not.
const RENAMES: [&str; 3] =
    ["native", "container?root=host&namespaces=mounts&net=host", "exec:bwrap --dev-bind / / --"];
/// Environments in which a command tries to change the name, each with the programs of this machine.
const TRIED: [&str; 19] = [
    "native",
    "native?root=host",
    "traced?root=host",
    "proot?root=host",
    "landlock?root=host",
    "container?root=host",
    "container?root=host&namespaces=mounts&net=host",
    "container?root=host&net=host",
    "docker-like?root=host",
    "bwrap?root=host",
    "bwrap?root=host&net=host",
    "exec:bwrap --dev-bind / / --",
    "exec:bwrap --dev-bind / / --?root=host",
    "oci:runc?root=host",
    "oci:crun?root=host",
    "nspawn?root=host",
    "podman?root=host",
    "gvisor?root=host",
    "uml?root=host",
];

/// Enters the environment and tries everything in it. The contents of a share must match the host's folder,
/// before and after.
fn visit(test: &str, text: &str) {
    let Some(specification) = parse_if_ready(test, text) else { return };
    leave_the_machines_name();
    let machine = Machine::look();
    let bench = Bench::new();
    std::fs::write(bench.shares["share"].join("kept"), "the user's own").unwrap();
    let session = bench.make_session();
    // Twice: what the first start leaves behind would stand in the second's way.
    for _ in 0..2 {
        let mut inside = Spoken::enter_environment(&session, &specification);
        inside.request_description();
        inside.run_null_trial(1, None);
        let folder = bench.find_share(session.id(), 0);
        let changed = || std::fs::metadata(&folder).unwrap().modified().unwrap();
        for (place, is_seen) in [("own", false), ("share", true)] {
            let before = changed();
            inside.run_null_trial(2, Some(place));
            inside.run_trial(3, "file.sync", Some(place), None);
            assert_eq!(changed() != before, is_seen, "files made in {place}, and seen in the host's folder");
        }
        for (number, (probe, place, peer)) in (4..).zip(ONCE) {
            inside.run_trial(number, probe, place, peer);
        }
        for outcome in inside.leave_environment() {
            assert_eq!(outcome.left_because, None, "{}", outcome.what);
        }
        let below: Vec<_> =
            std::fs::read_dir(session.folder().join("00")).unwrap().map(|e| e.unwrap().file_name()).collect();
        // Folders that the starts of a side share have names; a start's folder has its number.
        let of_starts: Vec<_> = below.iter().filter(|name| name.to_string_lossy().starts_with('0')).collect();
        assert!(of_starts.is_empty(), "a start left something behind: {below:?}");
    }
    let id = session.id().to_owned();
    assert!(session.close().iter().all(|outcome| outcome.left_because.is_none()));
    assert_eq!(bench.list_remains(), [""; 0]);
    assert!(control_groups(|name| name.contains(&id)).is_empty());
    assert_eq!(std::fs::read_to_string(bench.shares["share"].join("kept")).unwrap(), "the user's own");
    assert_eq!(machine.list_changes(), [""; 0], "{text} changed the machine");
}

#[test]
fn native() {
    visit("native", "native");
}

#[test]
fn container() {
    visit("container", "container");
    visit("container", "container?net=host");
    visit("container", "container?namespaces=mounts&net=host");
    visit("container", "container?namespaces=processes&user=yes&seccomp=300");
    visit("container", "docker-like");
}

#[test]
fn landlock() {
    visit("landlock", "landlock");
    visit("landlock", "landlock?root=host&rules=100&layers=15");
}

#[test]
fn traced() {
    visit("traced", "traced");
    visit("traced", "traced?root=host");
}

#[test]
fn emulated() {
    visit("emulated", "emulated");
}

#[test]
fn emulated_guest() {
    visit("emulated_guest", "qemu?processor=arm64");
}

#[test]
fn bwrap() {
    visit("bwrap", "bwrap");
    visit("bwrap", "bwrap?net=host");
}

/// Enters bubblewrap by its words alone: the folders of the host are seen, and nothing else is known of it.
#[test]
fn exec() {
    if parse_if_ready("exec", "bwrap").is_some() {
        visit("exec", "exec:bwrap --dev-bind / / --");
        visit("exec", "exec:bwrap --dev-bind / / --?root=host");
    }
}

#[test]
fn proot() {
    visit("proot", "proot");
    visit("proot", "proot?seccomp=off");
}

#[test]
fn oci_runc() {
    visit("oci_runc", "oci:runc");
    visit("oci_runc", "oci?net=host");
}

#[test]
fn oci_crun() {
    visit("oci_crun", "oci:crun");
}

#[test]
fn nspawn() {
    visit("nspawn", "nspawn");
    visit("nspawn", "nspawn?seccomp=off&net=host");
}

#[test]
fn podman() {
    visit("podman", "podman");
    visit("podman", "podman?runtime=runc&seccomp=unconfined&own=root");
    visit("podman", "podman?runtime=runsc");
    visit("podman", "podman?net=bridge");
    visit("podman", "podman?net=slirp4netns");
}

#[test]
fn gvisor_systrap() {
    visit("gvisor_systrap", "gvisor");
    visit("gvisor_systrap", "gvisor?overlay=self&net=host");
}

#[test]
fn gvisor_ptrace() {
    visit("gvisor_ptrace", "gvisor?platform=ptrace");
    visit("gvisor_ptrace", "gvisor?platform=ptrace&net=sandbox");
    visit("gvisor_ptrace", "gvisor?platform=ptrace&overlay=memory&directfs=off");
}

#[test]
fn uml() {
    visit("uml", "uml");
    visit("uml", "uml?own=hostfs&memory=256");
    visit("uml", "uml?net=tap&share=diod");
}

#[test]
fn qemu_q35() {
    visit("qemu_q35", "qemu?acceleration=tcg");
    visit("qemu_q35", "qemu?acceleration=tcg&net=user");
}

#[test]
fn qemu_microvm() {
    visit("qemu_microvm", "qemu?acceleration=tcg&machine=microvm&cache=loose");
}

#[test]
fn qemu_shares() {
    visit("qemu_shares", "qemu?acceleration=tcg&machine=microvm&share=virtiofs&cache=loose");
    visit("qemu_shares", "qemu?acceleration=tcg&share=diod&net=tap");
}

/// Asserts that a container stays on one processor: some engines allow it all processors of its control
/// group.
#[test]
fn a_pinned_session_stays_on_one_processor_in_every_engine() {
    let names = ["oci:crun", "oci:runc", "podman", "nspawn", "bwrap", "proot", "gvisor"];
    let environments: Vec<&str> =
        names.into_iter().filter(|name| parse_if_ready("a_pinned_session", name).is_some()).collect();
    if environments.is_empty() {
        return;
    }
    let bench = Bench::new();
    let said = Command::new(TARE)
        .args([
            "run",
            "--pin",
            "--only",
            "sys.getppid",
            "--rounds",
            "1",
            "--json",
            "--in",
            &environments.join(","),
        ])
        .current_dir(bench.folder.path())
        .env("XDG_STATE_HOME", bench.folder.path())
        .output()
        .unwrap();
    let document: serde_json::Value = serde_json::from_slice(&said.stdout)
        .unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&said.stderr)));
    let described = document["facts"]["environments"].as_array().unwrap();
    assert_eq!(described.len(), environments.len() + 2, "{described:?}");
    for environment in described {
        assert_eq!(environment["inside"]["cpu.count"], "1", "{environment}");
    }
}

#[test]
fn only_the_listed_environments_rename_the_machine() {
    if !leave_the_machines_name() {
        return println!(
            "SKIPPED only_the_listed_environments_rename_the_machine: only root can change its name"
        );
    }
    for text in TRIED {
        let Some(specification) = parse_if_ready("only_the_listed_environments_rename_the_machine", text)
        else {
            continue;
        };
        sethostname(b"before").unwrap();
        let (bench, folder) = (Bench::new(), tempfile::tempdir().unwrap());
        let session = bench.make_session();
        let mut inside = Spoken::enter_environment(&session, &specification);
        // It is tried in both ways; whether the environment allows it is all the same.
        let rename = "hostname renamed || echo renamed >/proc/sys/kernel/hostname; exit 0";
        let failure =
            inside.run_command(1, &format!("command = ['/bin/sh', '-c', '{rename}']"), folder.path());
        assert_eq!(failure, None, "{text}");
        inside.leave_environment();
        session.close();
        let is_renamed = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap() != "before\n";
        assert_eq!(is_renamed, RENAMES.contains(&text), "{text}");
    }
}

#[test]
fn kvm_is_proven_or_refused_in_time() {
    // Either is right, depending on the machine: what counts is an answer.
    match tare_lab::guests::kvm::check_kvm(&find_programs()) {
        Ok(()) => println!("KVM runs real code here"),
        Err(not) => assert!(not.reason.starts_with("KVM: "), "{not:?}"),
    }
}

#[test]
fn a_place_that_is_exchanged_for_a_link_is_worked_in_nowhere_else() {
    let bench = Bench::new();
    let session = bench.make_session();
    let native = parse_if_ready("a_place_that_is_exchanged", "native").unwrap();
    let mut inside = Spoken::enter_environment(&session, &native);
    inside.run_trial(1, "file.sync", Some("share"), None);
    let folder = bench.find_share(session.id(), 0);
    let (of_session, victim) = (folder.parent().unwrap(), bench.folder.path().join("victim"));
    for side in ["00", "01"] {
        std::fs::create_dir_all(victim.join(side)).unwrap();
    }
    std::fs::rename(of_session, bench.folder.path().join("moved")).unwrap();
    std::os::unix::fs::symlink(&victim, of_session).unwrap();
    let fails = |act: &mut dyn FnMut()| std::panic::catch_unwind(std::panic::AssertUnwindSafe(act)).is_err();
    assert!(fails(&mut || inside.run_trial(2, "file.sync", Some("share"), None)));
    assert!(fails(&mut || drop(Spoken::enter_side(&session, 1, &native))));
    let made = ["00", "01"].map(|side| std::fs::read_dir(victim.join(side)).unwrap().count());
    assert_eq!((made, std::fs::read_dir(&victim).unwrap().count()), ([0, 0], 2));
}

#[test]
fn what_a_set_up_refuses_is_a_gap_with_its_cause() {
    if !rustix::process::geteuid().is_root() {
        return println!(
            "SKIPPED what_a_set_up_refuses_is_a_gap_with_its_cause: only root can make the set-ups"
        );
    }
    let bench = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../bench/setups");
    let mut command = Command::new(bench);
    command.args(["--tare", env!("CARGO_BIN_EXE_tare"), "--setups", SETUPS, "--in", ENVIRONMENTS]);
    let said = command.stdin(Stdio::null()).output().unwrap();
    let (out, errors) = (String::from_utf8_lossy(&said.stdout), String::from_utf8_lossy(&said.stderr));
    out.lines().filter(|line| line.starts_with("SKIPPED")).for_each(|line| println!("{line}"));
    assert!(said.status.success(), "{out}\n{errors}");
    assert!(out.lines().any(|line| line.starts_with("81 pairs of 9 set-ups")), "{out}");
}
