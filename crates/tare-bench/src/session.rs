//! A session of tare in a temporary folder: its document.

use std::process::{Command, ExitStatus, Stdio};

use serde_json::Value;

use crate::setting::Setting;

/// Exit code of a session that decided nothing: its document says so, and that is an answer here.
const NOTHING_DECIDED: i32 = 7;

/// Tells whether a session ended with a document, whatever it decided.
pub fn is_answer(status: ExitStatus) -> bool {
    status.success() || status.code() == Some(NOTHING_DECIDED)
}

/// Runs `tare run` with a study and these words, and returns its document.
pub fn run_session(setting: &Setting, study: &str, words: &[String], seed: u64) -> Result<Value, String> {
    let folder = tempfile::Builder::new().prefix("session-").tempdir_in(&setting.scratch);
    let folder = folder.map_err(|e| e.to_string())?;
    let output = Command::new(setting.find_binary()?)
        .args(["run", study, "--json"])
        .args(words)
        .args(["--seed", &format!("{seed:x}"), "--scratch"])
        .arg(folder.path())
        .current_dir(folder.path())
        .env("XDG_STATE_HOME", folder.path().join("state"))
        .stdin(Stdio::null())
        .output()
        .map_err(|e| format!("tare: {e}"))?;
    if !is_answer(output.status) {
        return Err(String::from_utf8_lossy(&output.stderr).trim().to_owned());
    }
    serde_json::from_slice(&output.stdout).map_err(|e| format!("tare's document: {e}"))
}
