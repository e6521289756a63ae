//! The plan of a fleet, from arguments.

use std::fs;
use std::path::Path;

use rustix::rand::{GetRandomFlags, getrandom};
use sha2::{Digest, Sha256};
use tare_data::encoding::hex;
use tare_data::peer::NODE;
use tare_data::shell::line;
use tare_lab::error::{ErrorKind, LabError};
use tare_lab::fleet::engines::Engine;
use tare_lab::fleet::pairs;
use tare_lab::fleet::plan::{FleetPlan, FleetStudy, Measure, Node, PlannedEngine, cells};
use tare_lab::node_names::is_node_name;
use tare_lab::study::Study;

use crate::args::fleet::FleetPlanning;
use crate::{invocation, paths};

/// Time limit of a job with a fixed number of rounds, in seconds.
const ROUNDS_LIMIT_S: u64 = 3600;
/// Time that a job gets on top of twice its budget, in seconds, to wait for a file system and to start
/// environments.
const BESIDE_S: u64 = 600;

/// Makes a plan, and finds the engine that it names.
pub fn plan(study: &str, args: &FleetPlanning) -> Result<(FleetPlan, Engine), LabError> {
    let Some(on) = &args.on else {
        return Err(LabError::usage(format!("there is no fleet at '{study}'"))
            .hint("for a new fleet, name the engine: --on slurm, --on kubernetes or --on ssh"));
    };
    let engine = Engine::named(on)?;
    let whole = Study::named(study)?;
    if !whole.carried()?.is_empty() {
        return Err(LabError::usage(format!(
            "{study} carries files along, which a fleet's plan does not hold"
        ))
        .hint("put them on every node, and give their paths"));
    }
    let names = match args.nodes.as_slice() {
        [] => engine.nodes(&paths::programs()?)?,
        named => named.to_vec(),
    };
    let nodes = nodes(names)?;
    let seed = args.seed.map_or_else(|| random(4).map(|bytes| number(&bytes)), Ok)?;
    let between_nodes = whole.cases.iter().any(|case| case.peers.iter().any(|peer| peer == NODE));
    let alone = !whole.commands.is_empty()
        || whole.cases.iter().any(|case| case.peers.is_empty() || case.peers.iter().any(|peer| peer != NODE));
    if between_nodes && !engine.has_pairs() {
        return Err(LabError::usage(format!("the engine {} cannot start pairs of nodes", engine.name()))
            .because("the study has cases whose peer is another node")
            .hint("use --on slurm, or add [pair] to your own engine"));
    }
    let sessions = if alone { args.sessions } else { 0 };
    let budget_s = args.budget.map(|budget| budget.as_secs_f64());
    let plan = FleetPlan {
        fleet: hex(&random(16)?),
        study: frozen(study)?,
        measure: Measure {
            environments: args.environments.clone(),
            against: args.against.clone(),
            only: args.only.clone(),
            rounds: args.rounds,
            budget_s,
            scratch: args.scratch.clone(),
            port: args.port,
        },
        seed,
        binary: sha256(&invocation::binary()?)?,
        sessions,
        at_once: args.at_once.unwrap_or(nodes.len() as u32),
        limit_s: limit_s(args, &whole, budget_s)?,
        cells: cells(&nodes, sessions, seed),
        pairs: if between_nodes { pairs::rounds(&nodes, seed) } else { Vec::new() },
        by: args.by.clone(),
        nodes,
        engine: PlannedEngine { on: on.clone(), toml: engine.text().to_owned() },
        command: line(invocation::words()),
    };
    Ok((plan, engine))
}

/// Copies the study into the plan: the user's file may change later.
fn frozen(study: &str) -> Result<FleetStudy, LabError> {
    if Study::shipped(study)?.is_some() {
        return Ok(FleetStudy::Shipped(study.to_owned()));
    }
    if study.contains(',') {
        return Err(LabError::usage(format!("a fleet has one study, and {study} are several"))
            .hint("shipped studies can be joined; put your own cases into one file"));
    }
    let toml = fs::read_to_string(study)
        .map_err(|e| LabError::usage(format!("cannot read the study {study}")).because(e))?;
    Ok(FleetStudy::Own { name: study.to_owned(), toml })
}

fn nodes(mut names: Vec<String>) -> Result<Vec<Node>, LabError> {
    names.sort();
    names.dedup();
    match names.iter().find(|name| !is_node_name(name)) {
        Some(name) => Err(LabError::usage(format!("'{name}' is not the name of a node"))
            .hint("names have letters, digits, '.', '-' and '_', and begin with a letter, a digit or '_'")),
        None => Ok(names.into_iter().map(|name| Node { name }).collect()),
    }
}

fn limit_s(args: &FleetPlanning, study: &Study, budget_s: Option<f64>) -> Result<u64, LabError> {
    if let Some(limit) = args.limit {
        return Ok(limit.as_secs().max(60));
    }
    if args.rounds.is_some() {
        return Ok(ROUNDS_LIMIT_S);
    }
    let budget_s = budget_s.unwrap_or_else(|| study.budget_in(study.size).as_secs_f64());
    Ok(2 * budget_s.ceil() as u64 + BESIDE_S)
}

fn sha256(program: &Path) -> Result<String, LabError> {
    let bytes = fs::read(program).map_err(LabError::storage("read", program))?;
    Ok(hex(&Sha256::digest(bytes)))
}

/// Draws random bytes.
pub fn random(count: usize) -> Result<Vec<u8>, LabError> {
    let mut bytes = vec![0; count];
    getrandom(&mut bytes, GetRandomFlags::empty())
        .map_err(|e| LabError::new(ErrorKind::Host, "cannot draw random numbers").because(e))?;
    Ok(bytes)
}

fn number(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0, |number, byte| number << 8 | u64::from(*byte))
}
