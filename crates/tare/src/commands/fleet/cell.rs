//! `tare fleet cell`: runs a job on its node. Engines call it.

use std::sync::atomic::AtomicBool;
use std::time::Instant;

use tare_data::facts::Facts;
use tare_data::session::Ending;
use tare_lab::error::LabError;
use tare_lab::fleet::cell::Cell;
use tare_lab::fleet::files::of_cell;
use tare_lab::fleet::plan::PlannedCell;
use tare_lab::session;
use tare_paths::door::Door;
use tare_report::exports::{self, Source};

use crate::args::fleet::FleetCell;
use crate::command_error::CommandError;
use crate::exit::Exit;
use crate::show::session::compute_plain_findings;
use crate::{invocation, paths, signals, ui};

/// Environment variables in which engines describe a job, recorded as facts of its node. Slurm sets its own.
/// A pod's manifest sets those of Kubernetes, with the pod's requests equal to its limits.
const ENGINES: [(&str, &str); 9] = [
    ("slurm.job", "SLURM_JOB_ID"),
    ("slurm.partition", "SLURM_JOB_PARTITION"),
    ("slurm.cpus", "SLURM_CPUS_ON_NODE"),
    ("slurm.node", "SLURMD_NODENAME"),
    ("kubernetes.pod", "TARE_POD"),
    ("kubernetes.node", "TARE_POD_NODE"),
    ("kubernetes.runtime", "TARE_POD_RUNTIME"),
    ("kubernetes.cpu", "TARE_POD_CPU"),
    ("kubernetes.memory", "TARE_POD_MEMORY"),
];

/// In which engines name the node that a job runs on.
const NODE: [&str; 2] = ["SLURMD_NODENAME", "TARE_POD_NODE"];

pub fn run_fleet_cell(args: &FleetCell) -> Result<Exit, CommandError> {
    let engines = || NODE.iter().find_map(|variable| std::env::var(variable).ok());
    let node = args.node.clone().or_else(engines).unwrap_or_default();
    let which = PlannedCell { node, session: args.session };
    let interrupted = signals::watch_signals()?;
    // Without a plan, a name cannot be trusted in this folder, so nothing is written.
    let cell = Cell::open(&args.folder, which.clone(), &args.plan, &invocation::find_binary()?);
    let cell = match cell {
        Ok(cell) => cell,
        Err(error) => {
            note_refusal(args, &which, &error);
            return Err(error.into());
        }
    };
    let measured = measure(args, &cell, &interrupted);
    cell.finish_record(measured.as_ref().copied())?;
    Ok(match measured? {
        Ending::Complete | Ending::Early => Exit::Done,
        Ending::Interrupted => Exit::Interrupted,
        Ending::BaselineFailed | Ending::SubjectsFailed | Ending::BrokenOff => Exit::Environment,
    })
}

/// Writes down why a job of another plan did nothing, if its cell has a name that is safe as a file name.
fn note_refusal(args: &FleetCell, which: &PlannedCell, error: &LabError) {
    if !tare_lab::node_names::is_node_name(&which.node) {
        return;
    }
    let files = of_cell(&which.node, which.session);
    let _ = Door::open(&args.folder).and_then(|fleet| files.write_why(&fleet, &error.to_string()));
}

fn measure(args: &FleetCell, cell: &Cell, interrupted: &AtomicBool) -> Result<Ending, LabError> {
    let scratch = args.scratch.as_deref().or(cell.scratch());
    let setting = paths::make_setting(scratch)?;
    let caller = invocation::make_caller(Instant::now(), interrupted);
    let mut progress = ui::Progress::new();
    let recorded = session::begin_session(cell.make_request(facts())?, &setting, &caller, &mut progress);
    progress.clear();
    let recorded = recorded?;
    if recorded.ending == Ending::Complete {
        write_columns(cell)?;
    }
    Ok(recorded.ending)
}

/// Collects facts about the job from the engine's environment variables.
fn facts() -> Facts {
    let mut facts = Facts::default();
    for (key, variable) in ENGINES {
        if let Ok(value) = std::env::var(variable) {
            facts.add_fact(key, value);
        }
    }
    facts
}

/// Writes the trials in columns next to the record, so that no single machine has to read the journals of all
/// nodes.
fn write_columns(cell: &Cell) -> Result<(), LabError> {
    let mut session = tare_record::read_session_in(&cell.fleet, &cell.files.part_path())?.session;
    let findings = compute_plain_findings(&mut session);
    let Some(export) = exports::find_export("parquet") else { return Ok(()) };
    let bytes = (export.render)(&Source { session: &session, findings: &findings, gate: None });
    let file = cell.files.parquet_path();
    cell.fleet.write_file(&file, &bytes).map_err(LabError::storage_error("write", &cell.fleet.join(&file)))
}
