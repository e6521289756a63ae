//! User commands: they run the same way in every environment, with the files that they need.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use tare_data::failure::FailureKind;

use crate::bench::{Bench, Spoken, parse_if_ready};

/// Tries all kinds of commands. `shell` tells whether the environment has a shell.
pub fn try_all(inside: &mut Spoken, shell: bool) {
    let folder = tempfile::tempdir().unwrap();
    // More than one piece, and a name below a folder.
    fs::create_dir(folder.path().join("data")).unwrap();
    fs::write(folder.path().join("data/text"), vec![b'x'; 5_000]).unwrap();
    fs::write(folder.path().join("check.sh"), "#!/bin/sh\ntest $(wc -c <data/text) = 5000 && exit 3\n")
        .unwrap();
    fs::set_permissions(folder.path().join("check.sh"), PermissionsExt::from_mode(0o755)).unwrap();

    let itself =
        "prepare = ['@tare', 'agent-work', 'tree', '40']\ncommand = ['@tare', 'agent-work', 'build', '40']";
    assert_eq!(inside.run_command(1, itself, folder.path()), None);
    let carried = "command = ['@tare', 'agent-applet', 'rm', 'data/text']\ncarry = ['data']";
    assert_eq!(inside.run_command(2, carried, folder.path()), None);
    let without = "command = ['@tare', 'agent-applet', 'rm', 'data/text']";
    let failure = inside.run_command(3, without, folder.path()).expect("nothing was carried for it");
    assert_eq!(failure.kind, FailureKind::WrongWork);

    let missing = inside.run_command(4, "command = ['no-such-tool', '-j4']", folder.path()).unwrap();
    assert_eq!(missing.kind, FailureKind::NotSupported);
    assert_eq!(missing.reason, "no-such-tool: not found in PATH");

    let script = "command = ['./check.sh']\ncarry = ['check.sh', 'data']\nexpect_exit = 3";
    match inside.run_command(5, script, folder.path()) {
        None => assert!(shell),
        Some(failure) => {
            assert!(!shell, "{failure}");
            assert_eq!(failure.kind, FailureKind::NotSupported);
            assert!(failure.reason.contains("interpreter"), "{failure}");
        }
    }
}

fn visit(test: &str, text: &str, shell: bool) {
    let Some(specification) = parse_if_ready(test, text) else { return };
    let bench = Bench::new();
    let session = bench.make_session();
    let mut inside = Spoken::enter_environment(&session, &specification);
    try_all(&mut inside, shell);
    assert!(inside.leave_environment().iter().all(|outcome| outcome.left_because.is_none()));
    assert!(session.close().iter().all(|outcome| outcome.left_because.is_none()));
    assert_eq!(bench.list_remains(), [""; 0]);
}

#[test]
fn commands_run_in_native() {
    visit("commands_run_in_native", "native", true);
}

#[test]
fn commands_run_in_a_container() {
    visit("commands_run_in_a_container", "container", false);
}

#[test]
fn commands_run_in_gvisor() {
    visit("commands_run_in_gvisor", "gvisor", false);
}

#[test]
fn commands_run_in_proot() {
    visit("commands_run_in_proot", "proot", false);
}

#[test]
fn commands_run_in_uml() {
    visit("commands_run_in_uml", "uml", false);
}
