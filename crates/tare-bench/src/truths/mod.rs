//! Truths: differences whose size is known beforehand, and tare's verdicts on them.

pub mod delay;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::setting::Setting;

/// Delay that is injected into each call, and the tolerance of the answer.
const DELAY_US: u32 = 200;
const TOLERANCE: f64 = 0.02;
/// Plausible cost of Podman's filter of system calls: some tens of ns a call on any current processor.
const FILTER_NS: (f64, f64) = (5.0, 500.0);

/// A script in ssh's place: the program that it starts has the delay that the host's name says. There is no connection to share.
const SSH: &str = r#"#!/bin/sh
for word; do
    case $word in -V) echo 'ssh in the place of ssh' >&2; exit ;; -O) exit ;; esac
done
while [ "$1" != -- ]; do shift; done
delay=${2#delay-}; shift 2
exec "BENCH" delayed --delay-us "$delay" -- sh -c "$*"
"#;

/// Result of a session with one row and one subject.
struct Said {
    answer: String,
    /// Bounds of the ratio; above 1 the subject is slower. Without an upper one there are too few rounds.
    low: f64,
    high: Option<f64>,
    baseline_ns: f64,
    subject_ns: f64,
}

impl Said {
    fn difference_ns(&self) -> f64 {
        self.subject_ns - self.baseline_ns
    }
}

/// Runs both; false when a truth was missed.
pub fn run_truths(setting: &Setting) -> Result<bool, String> {
    let folder =
        tempfile::Builder::new().prefix("truths-").tempdir_in(&setting.scratch).map_err(|e| e.to_string())?;
    let mut all = true;
    for truth in [filter, delay] {
        all &= truth(setting, folder.path()).unwrap_or_else(|reason| {
            println!("{}  {reason}", told(false));
            false
        });
    }
    Ok(all)
}

/// Compares Podman's default filter of system calls with none.
fn filter(setting: &Setting, folder: &Path) -> Result<bool, String> {
    let said = session(setting, folder, "podman?seccomp=unconfined", "podman?seccomp=default")?;
    let difference_ns = said.difference_ns();
    let excludes = said.low > 1.0 && said.answer == "slower";
    let found = excludes && (FILTER_NS.0..=FILTER_NS.1).contains(&difference_ns);
    println!(
        "{}  Podman's filter of system calls: {} by {difference_ns:.1} ns a call ({:.1} -> {:.1} ns), interval {}",
        told(found),
        said.answer,
        said.baseline_ns,
        said.subject_ns,
        interval(&said),
    );
    Ok(found)
}

/// Compares a delay of a known length in each call with one of zero.
fn delay(setting: &Setting, folder: &Path) -> Result<bool, String> {
    let own = std::env::current_exe().map_err(|e| format!("this program's own path: {e}"))?;
    let ssh = folder.join("ssh");
    let text = SSH.replace("BENCH", &own.display().to_string());
    fs::write(&ssh, text)
        .and_then(|()| fs::set_permissions(&ssh, fs::Permissions::from_mode(0o755)))
        .map_err(|e| e.to_string())?;
    let said = session(setting, folder, "ssh:delay-0", &format!("ssh:delay-{DELAY_US}"))?;
    let (difference_ns, injected_ns) = (said.difference_ns(), f64::from(DELAY_US) * 1e3);
    let error = difference_ns / injected_ns - 1.0;
    let found = said.low > 1.0 && error.abs() <= TOLERANCE;
    println!(
        "{}  {DELAY_US} us injected into each call: {} by {:.2} us ({:.2} -> {:.2} us), {:+.2} % of what was injected, interval {}",
        told(found),
        said.answer,
        difference_ns / 1e3,
        said.baseline_ns / 1e3,
        said.subject_ns / 1e3,
        error * 100.0,
        interval(&said),
    );
    Ok(found)
}

fn told(found: bool) -> &'static str {
    if found { "found " } else { "MISSED" }
}

fn interval(said: &Said) -> String {
    match said.high {
        Some(high) => format!("{:.4}x to {high:.4}x", said.low),
        None => format!("{:.4}x to no bound: too few rounds", said.low),
    }
}

/// Runs a session of one case and one subject.
fn session(setting: &Setting, folder: &Path, baseline: &str, subject: &str) -> Result<Said, String> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::iter::once(folder.to_owned()).chain(std::env::split_paths(&path));
    let path = std::env::join_paths(folders).map_err(|e| e.to_string())?;
    let output = Command::new(setting.find_binary()?)
        .args(["run", "--against", baseline, "--in", subject, "--only", "sys.getppid", "--json", "--rounds"])
        .arg(setting.rounds().to_string())
        .args(["--seed", &format!("{:x}", setting.seed), "--scratch"])
        .arg(folder)
        .current_dir(folder)
        .env("PATH", path)
        .env("XDG_STATE_HOME", folder.join("state"))
        .env("XDG_CACHE_HOME", folder.join("cache"))
        .stdin(Stdio::null())
        .output()
        .map_err(|e| format!("tare: {e}"))?;
    if !output.status.success() {
        return Err(format!("{baseline} and {subject}: {}", String::from_utf8_lossy(&output.stderr).trim()));
    }
    let document: Value =
        serde_json::from_slice(&output.stdout).map_err(|e| format!("tare's document: {e}"))?;
    said(&document)
        .ok_or_else(|| format!("{baseline} and {subject}: there is no comparison: {}", document["failures"]))
}

fn said(document: &Value) -> Option<Said> {
    let row = document["rows"].as_array()?.iter().find(|row| row["headline"] == true)?;
    let cell = row["cells"].get(0)?;
    let comparison = &cell["comparison"];
    Some(Said {
        answer: cell["answer"].as_str()?.to_owned(),
        low: comparison["low"].as_f64()?,
        high: comparison["high"].as_f64(),
        baseline_ns: row["baseline"]["median"].as_f64()?,
        subject_ns: comparison["level"]["median"].as_f64()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_document_without_a_comparison_says_nothing() {
        let mut document = serde_json::json!({ "rows": [{
            "headline": true,
            "baseline": { "median": 100.0 },
            "cells": [{ "answer": "slower", "comparison": { "low": 1.2, "high": 1.4, "level": { "median": 130.0 } } }],
        }] });
        let found = said(&document).unwrap();
        assert_eq!((found.difference_ns(), found.high), (30.0, Some(1.4)));
        document["rows"][0]["cells"][0]["comparison"] = Value::Null;
        assert!(said(&document).is_none());
    }
}
