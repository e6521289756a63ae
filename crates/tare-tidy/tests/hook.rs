//! The hook that CONTRIBUTING installs, with subjects that it takes and subjects that it refuses.

use std::fs;
use std::path::Path;
use std::process::Command;

/// Runs the hook with a message, and returns why it was refused; empty when it was taken.
fn refused(message: &str) -> String {
    refused_in(tempfile::tempdir().unwrap().path(), message)
}

/// Runs the hook in a folder, which may be a repository with changes.
fn refused_in(folder: &Path, message: &str) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let file = folder.join("message");
    fs::write(&file, message).unwrap();
    let mut hook = Command::new(root.join(".githooks/commit-msg"));
    let said = hook.arg(&file).current_dir(folder).output().unwrap();
    let reason = String::from_utf8(said.stderr).unwrap();
    assert_eq!(said.status.success(), reason.is_empty(), "{message}: {reason}");
    reason
}

/// Makes a subject of this many characters.
fn subject(characters: usize) -> String {
    let begin = "plan: cap quantile operations at ";
    begin.to_owned() + &"n".repeat(characters - begin.len())
}

#[test]
fn subjects_have_at_most_72_characters() {
    assert_eq!(refused(&subject(72)), "");
    assert!(refused(&subject(73)).contains("has 73 characters, of 72"));
    // Characters and not bytes; and other lines may be as long as they are.
    assert_eq!(refused(&format!("\n# A comment\n{}ä\n\n{}", subject(71), "n".repeat(99))), "");
}

#[test]
fn a_subject_is_one_imperative_topic_with_its_area() {
    for taken in [
        "plan: cap it",
        "lab, report: process rows",
        "docs/guide: embed a table",
        "Revert \"x\"",
        "fixup! so",
    ] {
        assert_eq!(refused(taken), "");
    }
    for (subject, reason) in [
        ("plan: cap it; fleet: wait", "two commits"),
        ("cap it", "'area: change'"),
        ("plan:cap it", "'area: change'"),
        ("plan: caps it", "not 'caps'"),
        ("plan: capped it", "not 'capped'"),
        ("plan: capping", "not 'capping'"),
        ("plan: hold caps", "'hold' can mean anything"),
        ("docs: say how", "'say' can mean anything"),
    ] {
        assert!(refused(subject).contains(reason), "{subject}");
    }
}

#[test]
fn a_commit_of_many_files_has_a_body() {
    let folder = tempfile::tempdir().unwrap();
    let git = |words: &[&str]| {
        let done = Command::new("git").args(words).current_dir(folder.path()).output().unwrap();
        assert!(done.status.success(), "{done:?}");
    };
    git(&["init", "-q"]);
    for number in 1..=8 {
        fs::write(folder.path().join(format!("file-{number}")), "").unwrap();
    }
    git(&["add", "."]);
    assert_eq!(refused_in(folder.path(), "plan: cap it\n"), "");
    fs::write(folder.path().join("file-9"), "").unwrap();
    git(&["add", "file-9"]);
    for bare in ["plan: cap it\n", "plan: cap it\n\n# A comment\nSigned-off-by: Somebody <a@b.c>\n"] {
        assert!(refused_in(folder.path(), bare).contains("changes 9 files"), "{bare}");
    }
    assert_eq!(refused_in(folder.path(), "plan: cap it\n\nIt grew without end.\n"), "");
}

#[test]
fn contributing_says_how_to_install_it() {
    let contributing = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../CONTRIBUTING.md");
    assert!(fs::read_to_string(contributing).unwrap().contains("git config core.hooksPath .githooks\n"));
}
