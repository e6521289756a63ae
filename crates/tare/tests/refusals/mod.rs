//! Tests of attacks, run once more with a program that refuses everything.
//!
//! An attack that fails because nothing works shows no defence. So each of these tests first sees the honest form of its command
//! succeed, and fails with such a program.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::Command;

/// Variable that names the program to run the tests on.
const UNDER_TEST: &str = "TARE_UNDER_TEST";

/// Finds the program under test.
pub fn find_tare() -> PathBuf {
    std::env::var_os(UNDER_TEST).map_or_else(|| env!("CARGO_BIN_EXE_tare").into(), PathBuf::from)
}

/// Asserts that the tests of this binary with names that begin so fail with a program that refuses everything.
pub fn assert_tests_see(begin: &str) {
    let folder = tempfile::tempdir().unwrap();
    let refuser = folder.path().join("tare");
    fs::write(&refuser, "#!/bin/sh\necho 'error: refused' >&2\nexit 2\n").unwrap();
    fs::set_permissions(&refuser, fs::Permissions::from_mode(0o755)).unwrap();
    let mut again = Command::new(std::env::current_exe().unwrap());
    // Without the test that asks this.
    let said = again
        .args([begin, "--show-output", "--skip", "attacks_are_seen"])
        .env(UNDER_TEST, &refuser)
        .output()
        .unwrap();
    let out = String::from_utf8_lossy(&said.stdout);
    let passed = out.lines().filter_map(|line| line.strip_prefix("test ")?.strip_suffix(" ... ok"));
    let is_skipped = |name: &&str| out.contains(&format!("SKIPPED {}", name.rsplit("::").next().unwrap()));
    let blind: Vec<&str> = passed.filter(|name| !is_skipped(name)).collect();
    assert!(out.contains(" ... FAILED") || out.contains("SKIPPED"), "nothing was run: {out}");
    assert!(blind.is_empty(), "{blind:#?}");
}
