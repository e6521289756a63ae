//! The plan of a fleet, from arguments.

use std::fs;
use std::path::Path;

use rustix::rand::{GetRandomFlags, getrandom};
use sha2::{Digest, Sha256};
use tare_data::encoding::encode_hex;
use tare_data::foreign::Foreign;
use tare_data::peer::NODE;
use tare_data::shell::join_words;
use tare_lab::error::{ErrorKind, LabError};
use tare_lab::fleet::engines::Engine;
use tare_lab::fleet::plan::{FleetPlan, FleetStudy, Measure, Node, PlannedEngine, list_planned_cells};
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
pub fn make_fleet_plan(study: &str, args: &FleetPlanning) -> Result<(FleetPlan, Engine), LabError> {
    let Some(on) = &args.on else {
        return Err(LabError::usage_error(format!("there is no fleet at '{study}'"))
            .with_hint("for a new fleet, name the engine: --on slurm, --on kubernetes or --on ssh"));
    };
    let engine = Engine::from_name(on)?;
    let whole = Study::from_name(study)?;
    if !whole.collect_carried_files()?.is_empty() {
        return Err(LabError::usage_error(format!(
            "{study} carries files along, which a fleet's plan does not hold"
        ))
        .with_hint("put them on every node, and give their paths"));
    }
    if whole.cases.iter().any(|case| case.peers.iter().any(|peer| peer == NODE)) {
        return Err(LabError::usage_error(format!("{study} has cases whose peer is another node"))
            .with_cause("the sessions of a fleet measure each node by itself")
            .with_hint(
                "leave the peer 'node' out; two machines measure between them with tare serve and tare run --peer",
            ));
    }
    let names = match args.nodes.as_slice() {
        [] => engine.list_nodes(&paths::find_programs()?)?,
        named => named.to_vec(),
    };
    let nodes = nodes(names)?;
    let seed = args.seed.map_or_else(|| draw_random_bytes(4).map(|bytes| number(&bytes)), Ok)?;
    let budget_s = args.budget.map(|budget| budget.as_secs_f64());
    let plan = FleetPlan {
        fleet: encode_hex(&draw_random_bytes(16)?),
        study: frozen(study)?,
        measure: Measure {
            environments: args.environments.clone(),
            against: args.against.clone(),
            only: args.only.clone(),
            rounds: args.rounds,
            budget_s,
            scratch: args.scratch.clone(),
        },
        seed,
        binary: sha256(&invocation::find_binary()?)?,
        sessions: args.sessions,
        at_once: args.at_once.unwrap_or(nodes.len() as u32),
        limit_s: limit_s(args, &whole, budget_s)?,
        cells: list_planned_cells(&nodes, args.sessions, seed),
        by: args.by.clone(),
        nodes,
        engine: PlannedEngine { on: Foreign::new(on.clone()), toml: Foreign::new(engine.text().to_owned()) },
        command: Foreign::new(join_words(invocation::list_arguments())),
    };
    Ok((plan, engine))
}

/// Copies the study into the plan: the user's file may change later.
fn frozen(study: &str) -> Result<FleetStudy, LabError> {
    if Study::find_shipped(study)?.is_some() {
        return Ok(FleetStudy::Shipped(study.to_owned()));
    }
    if study.contains(',') {
        return Err(LabError::usage_error(format!("a fleet has one study, and {study} are several"))
            .with_hint("shipped studies can be joined; put your own cases into one file"));
    }
    let toml = fs::read_to_string(study)
        .map_err(|e| LabError::usage_error(format!("cannot read the study {study}")).with_cause(e))?;
    Ok(FleetStudy::Own { name: study.to_owned(), toml })
}

fn nodes(mut names: Vec<String>) -> Result<Vec<Node>, LabError> {
    names.sort_unstable();
    names.dedup();
    match names.iter().find(|name| !is_node_name(name)) {
        Some(name) => Err(LabError::usage_error(format!("'{name}' is not the name of a node")).with_hint(
            "names have letters, digits, '.', '-' and '_', and begin with a letter, a digit or '_'",
        )),
        None => Ok(names.into_iter().map(|name| Node { name }).collect()),
    }
}

fn limit_s(args: &FleetPlanning, study: &Study, budget_s: Option<f64>) -> Result<u64, LabError> {
    if let Some(limit) = args.limit {
        return Ok(limit.as_secs().max(1));
    }
    if args.rounds.is_some() {
        return Ok(ROUNDS_LIMIT_S);
    }
    let budget_s = budget_s.unwrap_or_else(|| study.budget_in(study.size).as_secs_f64());
    Ok(2 * budget_s.ceil() as u64 + BESIDE_S)
}

fn sha256(program: &Path) -> Result<String, LabError> {
    let bytes = fs::read(program).map_err(LabError::storage_error("read", program))?;
    Ok(encode_hex(&Sha256::digest(bytes)))
}

/// Draws random bytes.
fn draw_random_bytes(count: usize) -> Result<Vec<u8>, LabError> {
    let mut bytes = vec![0; count];
    getrandom(&mut bytes, GetRandomFlags::empty())
        .map_err(|e| LabError::new(ErrorKind::Host, "cannot draw random numbers").with_cause(e))?;
    Ok(bytes)
}

fn number(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0, |number, byte| number << 8 | u64::from(*byte))
}
