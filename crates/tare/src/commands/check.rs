//! `tare check`: says what is ready here, and what this machine is like to measure on.

use std::fmt::Write;
use std::process::ExitCode;

use serde_json::json;
use tare_lab::environments::{self, NotReady, PROVIDERS};
use tare_lab::presets::PRESETS;
use tare_probes::facts;

use crate::args::Check;
use crate::{paths, ui};

/// Families of facts of this machine that bear on measuring, in the order in which they are shown.
const SHOWN: [&str; 8] = ["kernel", "cpu", "memory", "clock", "noise", "cgroup", "process", "honesty"];

pub fn run(args: Check) -> anyhow::Result<ExitCode> {
    if args.time {
        return super::time::run(&args);
    }
    let programs = paths::programs()?;
    let mut rows: Vec<(&str, Result<String, NotReady>)> = Vec::new();
    for provider in PROVIDERS {
        let texts = match provider.by_default() {
            [] => &[provider.name()][..],
            texts => texts,
        };
        for text in texts {
            let ready = provider.ready(&environments::parse(text)?, &programs);
            rows.push((text, ready.map(|facts| facts.get("runtime.version").unwrap_or("").to_owned())));
        }
    }
    for preset in PRESETS {
        let specification = environments::parse(preset.specification)?;
        let ready = environments::find(&specification)?.ready(&specification, &programs);
        rows.push((preset.name, ready.map(|_| preset.specification.to_owned())));
    }
    let mut machine = facts::environment();
    machine.0.extend(tare_lab::machine::noise().0);
    if args.json {
        let all: Vec<_> = rows
            .iter()
            .map(|(name, ready)| match ready {
                Ok(version) => json!({ "environment": name, "ready": true, "version": version }),
                Err(n) => {
                    json!({ "environment": name, "ready": false, "reason": n.reason, "command": n.command })
                }
            })
            .collect();
        ui::print(&format!("{:#}\n", json!({ "environments": all, "machine": machine })))?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut text = String::from("Environments\n");
    let widest = rows.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
    for (name, ready) in rows {
        match ready {
            Ok(version) => writeln!(text, "  {name:widest$}  ready      {version}")?,
            Err(not_ready) => {
                writeln!(text, "  {name:widest$}  not ready  {}", not_ready.reason)?;
                if let Some(command) = not_ready.command {
                    writeln!(text, "  {:widest$}             {command}", "")?;
                }
            }
        }
    }
    text.push_str("\nThis machine\n");
    for family in SHOWN {
        for (key, value) in &machine.0 {
            if key.split('.').next() == Some(family) {
                writeln!(text, "  {key:24}  {value}")?;
            }
        }
    }
    ui::print(&text)?;
    Ok(ExitCode::SUCCESS)
}
