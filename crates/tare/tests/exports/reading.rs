//! Programs that read tare's output, if they are installed: `./test` puts them into `target/readers`.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

pub fn repository_root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// Finds a reader by name, ours before the system's, and prints that the test is skipped if there is none.
pub fn find_reader(test: &str, name: &str) -> Option<PathBuf> {
    let ours = repository_root().join("target/readers/bin").join(name);
    let path = std::env::var_os("PATH").unwrap_or_default();
    // A Python of the system's has none of the packages.
    let system = (name != "python").then(|| std::env::split_paths(&path).map(|folder| folder.join(name)));
    let found = std::iter::once(ours).chain(system.into_iter().flatten()).find(|path| path.is_file());
    if found.is_none() {
        println!("SKIPPED {test}: {name} is not installed; ./test does it");
    }
    found
}

/// Runs a reader, asserts that it accepts the file, and returns its output.
pub fn run_reader(mut command: Command) -> String {
    let output = command.stdin(Stdio::null()).output().unwrap();
    let err = String::from_utf8_lossy(&output.stderr);
    let out = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{command:?}: {out}{err}");
    out
}

/// Runs one of our Python scripts, and parses its output as JSON.
pub fn run_script(python: &Path, name: &str, arguments: &[&str]) -> serde_json::Value {
    let mut command = Command::new(python);
    command.arg(repository_root().join("crates/tare/tests/exports/readers").join(name)).args(arguments);
    serde_json::from_str(&run_reader(command)).unwrap()
}

/// Asserts that a document is valid by its schema, using `check-jsonschema`.
pub fn keeps_to(checker: &Path, schema: &str, document: &Path) {
    let mut command = Command::new(checker);
    command.arg("--schemafile").arg(repository_root().join(schema)).arg(document);
    run_reader(command);
}
