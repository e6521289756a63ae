//! `tare fleet print`: prints jobs as they would be submitted.

use std::path::{Path, PathBuf};

use tare_data::foreign::Foreign;
use tare_lab::fleet::driving;
use tare_lab::fleet::engines::{Engine, Printed};
use tare_lab::fleet::folder::Folder;

use super::planning;
use super::whole_path::open_fleet;
use crate::args::fleet::FleetPrint;
use crate::command_error::CommandError;
use crate::exit::Exit;
use crate::ui;

/// Placeholder for the hash of a plan that does not exist yet.
const NO_PLAN: &str = "PLAN";
/// Mark after jobs that are not shown as they are.
const ALTERED: &str =
    "\n# The jobs have control characters, which are shown as \u{fffd}: do not submit this text.\n";

pub fn run_fleet_print(args: &FleetPrint) -> Result<Exit, CommandError> {
    let path = Path::new(&args.what);
    let (folder, engine, most) = if path.is_dir() {
        let folder = Folder::open(&open_fleet(path)?)?;
        let engine = Engine::from_plan(&folder.plan.engine)?;
        (folder, engine, usize::MAX)
    } else {
        let (plan, engine) = planning::make_fleet_plan(&args.what, &args.plan)?;
        (Folder::from_plan(PathBuf::from("/FOLDER"), plan, NO_PLAN), Foreign::new(engine), 1)
    };
    let jobs = driving::list_missing_jobs(&folder, &engine);
    let heading = engine.map(|engine| format!("{}: {}", engine.name(), engine.summary()));
    let jobs = jobs.map(|jobs| jobs.iter().take(most).map(format_job).collect::<String>());
    let altered = if jobs.is_altered() { ALTERED } else { "" };
    ui::print_output(format!("# {heading}\n{}{altered}", jobs.to_lines()))?;
    Ok(Exit::Done)
}

fn format_job(job: &Printed) -> String {
    format!("\n# {} reads:\n{}", job.command, job.script)
}
