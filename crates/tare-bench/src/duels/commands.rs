//! user.command and hyperfine: the time of a program from its start until it has been waited for.

use std::fs;
use std::process::Command;

use serde_json::Value;
use tare_data::names::Case;
use tare_data::request::Amount;
use tare_data::shell;

use crate::agent::make_case;
use crate::duel::{Duel, Figure, Site};
use crate::ratio::Requirement;
use crate::tool;

/// Search path of both; hyperfine's environment is made as small as tare's.
const PATH: &str = "/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin";
/// Working folder of both.
const FOLDER: &str = "/";
/// Limit on the runs of a side in a round.
const MOST_RUNS: f64 = 1000.0;
/// Commands that both run: from nothing at all to tens of milliseconds, with few and with many system calls.
const COMMANDS: [(&str, &[&str]); 10] = [
    ("true", &["/bin/true"]),
    ("ls", &["ls", "-la", "/usr/bin"]),
    ("sh", &["sh", "-c", "echo a"]),
    ("sort", &["sort", "/etc/services"]),
    ("grep", &["grep", "-rc", "root", "/etc/pam.d"]),
    ("find", &["find", "/usr/share/doc", "-maxdepth", "2"]),
    ("tar", &["tar", "cf", "-", "/etc/init.d"]),
    ("gzip", &["gzip", "-c", "/bin/tar"]),
    ("sha256sum", &["sha256sum", "/bin/bash"]),
    ("perl", &["perl", "-e", "1"]),
];

pub fn list_duels() -> Vec<Box<dyn Duel>> {
    let duel = |(name, words)| Box::new(OwnCommand { name, words, ready: None }) as Box<dyn Duel>;
    COMMANDS.into_iter().map(duel).collect()
}

struct OwnCommand {
    name: &'static str,
    words: &'static [&'static str],
    /// The case, and how often each side runs it in a round.
    ready: Option<(Case, u32)>,
}

impl Duel for OwnCommand {
    fn name(&self) -> String {
        format!("user.command {}", self.name)
    }

    fn describe_tool(&self) -> String {
        format!("hyperfine -N -w 1 '{}'", shell::join_words(self.words))
    }

    fn figures(&self) -> Vec<Figure> {
        vec![Figure { name: "mean time", unit: "ms", required: Requirement::Within(0.02) }]
    }

    fn prepare(&mut self, site: &mut Site<'_>) -> Result<(), String> {
        tool::find_program("hyperfine")?;
        let words = serde_json::to_string(self.words).map_err(|e| e.to_string())?;
        let case = make_case("user.command", &[("command", &words), ("folder", FOLDER), ("output", "null")])?;
        let few = Amount::Operations { batch: 1, batches: 5 };
        let run_ns = site.agent.run_trial(&case, few)?.metric_value("time")?;
        let runs = f64::from(site.setting.seconds()) * 1e9 / run_ns.max(1.0);
        self.ready = Some((case, runs.clamp(5.0, MOST_RUNS) as u32));
        Ok(())
    }

    fn run_tare(&mut self, site: &mut Site<'_>) -> Result<Vec<f64>, String> {
        let (case, runs) = self.ready.as_ref().ok_or("not prepared")?;
        let amount = Amount::Operations { batch: 1, batches: *runs };
        Ok(vec![site.agent.run_trial(case, amount)?.metric_value("time")? / 1e6])
    }

    fn run_tool(&mut self, site: &mut Site<'_>) -> Result<Vec<f64>, String> {
        let (_, runs) = self.ready.as_ref().ok_or("not prepared")?;
        let folder = tempfile::tempdir().map_err(|e| e.to_string())?;
        let file = folder.path().join("hyperfine.json");
        let mut command = Command::new(tool::find_program("hyperfine")?);
        command.env_clear().env("PATH", PATH).env("HOME", FOLDER).env("LANG", "C").current_dir(FOLDER);
        command.args(["-N", "-w", "1", "-r", &runs.to_string()]);
        command.arg("--export-json").arg(&file).arg(shell::join_words(self.words));
        tool::run_program(&mut command, site.setting.patience())?;
        let text = fs::read_to_string(&file).map_err(|e| e.to_string())?;
        let json: Value = serde_json::from_str(&text).map_err(|e| e.to_string())?;
        let mean = json["results"][0]["mean"].as_f64().ok_or("hyperfine gave no mean")?;
        Ok(vec![mean * 1e3])
    }
}
