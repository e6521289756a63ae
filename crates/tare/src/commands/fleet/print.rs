//! `tare fleet print`: prints jobs as they would be submitted.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use tare_lab::fleet::driving;
use tare_lab::fleet::engines::{Engine, SECRET};
use tare_lab::fleet::folder::Folder;

use super::planning;
use super::whole_path::resolve_fleet_folder;
use crate::args::fleet::FleetPrint;
use crate::command_error::CommandError;
use crate::exit::Exit;
use crate::ui;

/// Placeholder for the hash of a plan that does not exist yet.
const NO_PLAN: &str = "PLAN";

pub fn run_fleet_print(args: &FleetPrint) -> Result<Exit, CommandError> {
    let path = Path::new(&args.what);
    let (engine, jobs) = if path.is_dir() {
        let folder = Folder::open(&resolve_fleet_folder(path)?)?;
        let engine = Engine::from_plan(&folder.plan.engine.on, &folder.plan.engine.toml)?;
        let jobs = driving::list_missing_jobs(&folder, &engine)?;
        (engine, jobs)
    } else {
        let (plan, engine) = planning::make_fleet_plan(&args.what, &args.plan)?;
        let folder = Folder::from_plan(PathBuf::from("/FOLDER"), plan, NO_PLAN);
        let mut jobs = driving::list_missing_jobs(&folder, &engine)?;
        jobs.truncate(1);
        (engine, jobs)
    };
    let mut text = format!("# {}: {}\n", engine.name(), engine.summary());
    for job in jobs {
        let command = job.command.replace('\n', "\n# ");
        write!(text, "\n# {command} reads:\n{}", job.script).expect("a text takes every line");
        if job.has_secret {
            writeln!(text, "# {SECRET} is of this job alone: 64 random hex digits (openssl rand -hex 32)")
                .expect("a text takes every line");
        }
    }
    ui::print_output(text)?;
    Ok(Exit::Done)
}
