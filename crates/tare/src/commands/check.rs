//! `tare check`: says what is ready here, and what this machine is like to measure on.

use std::fmt::Write;
use std::process::ExitCode;

use serde_json::json;
use tare_data::failure::{Failure, FailureKind};
use tare_data::peer::Peer;
use tare_lab::environments::presets::PRESETS;
use tare_lab::environments::{self, PROVIDERS};
use tare_lab::provider::{NotReady, Ready};
use tare_lab::session::peers::Peers;
use tare_probes::facts;
use tare_probes::netperf;
use tare_probes::peer::Secret;
use tare_probes::peer::client::PeerSession;

use crate::args::Check;
use crate::failure::Exit;
use crate::{paths, ui};

/// Families of facts of this machine that bear on measuring, in the order in which they are shown.
const SHOWN: [&str; 8] = ["kernel", "cpu", "memory", "clock", "noise", "cgroup", "process", "honesty"];

pub fn run(args: Check) -> anyhow::Result<ExitCode> {
    if args.time {
        return super::time::run(&args);
    }
    let peers = Peers::read(&args.peers)?;
    let tried: Vec<(&String, Result<String, Failure>)> =
        peers.ways().iter().map(|(name, way)| (name, try_peer(way))).collect();
    let code = match tried.iter().all(|(_, tried)| tried.is_ok()) {
        true => ExitCode::SUCCESS,
        false => Exit::Environment.into(),
    };
    let programs = paths::programs()?;
    let mut rows: Vec<(&str, Result<String, NotReady>)> = Vec::new();
    for provider in PROVIDERS {
        let texts = match provider.by_default {
            [] => &[provider.name][..],
            texts => texts,
        };
        for text in texts {
            let ready = environments::parse(text)?.ready(&programs);
            let version = |ready: Ready| ready.facts.get("runtime.version").unwrap_or("").to_owned();
            rows.push((text, ready.map(version)));
        }
    }
    for preset in PRESETS {
        let ready = environments::parse(preset.specification)?.ready(&programs);
        rows.push((preset.name, ready.map(|_| preset.specification.to_owned())));
    }
    let mut machine = facts::environment();
    machine.0.extend(tare_lab::host::machine::noise().0);
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
        let peers: Vec<_> = tried
            .iter()
            .map(|(name, tried)| match tried {
                Ok(words) => json!({ "peer": name, "ready": true, "about": words }),
                Err(failure) => json!({ "peer": name, "ready": false, "reason": failure.reason }),
            })
            .collect();
        let all = json!({ "environments": all, "peers": peers, "machine": machine });
        ui::print(format!("{all:#}\n"))?;
        return Ok(code);
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
    if !tried.is_empty() {
        text.push_str("\nPeers, from this machine\n");
    }
    for (name, tried) in tried {
        match tried {
            Ok(words) => writeln!(text, "  {name}  ready  {words}")?,
            Err(failure) => writeln!(text, "  {name}  not ready\n    {}", failure.reason)?,
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
    Ok(code)
}

/// Reaches a peer and proves the secret; says who answers.
fn try_peer(way: &Peer) -> Result<String, Failure> {
    match way {
        Peer::Loopback => Ok("in each environment".into()),
        Peer::Tare { address, secret } => {
            let wrong = || Failure::new(FailureKind::Broken, "its secret is not 64 hex digits");
            let secret = Secret::parse(secret).ok_or_else(wrong)?;
            let (version, sessions) = PeerSession::open(address, &secret)?.who()?;
            Ok(format!("tare {version}, {sessions} sessions wait or are served"))
        }
        Peer::Netperf { address } => {
            let data = netperf::client::try_out(address)?;
            Ok(format!("a netserver 2.7, which answered a request on port {}", data.port()))
        }
    }
}
