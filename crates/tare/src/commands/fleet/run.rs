//! `tare fleet run`: plans a fleet and measures it, or its missing part.

use std::path::Path;

use tare_lab::error::LabError;
use tare_lab::fleet::driving::{self, Progress};
use tare_lab::fleet::engines::Engine;
use tare_lab::fleet::folder::Folder;
use tare_paths::door::Door;
use tare_report::text::plain_line;

use super::gathered::gather_records;
use super::whole_path::{open_fleet, resolve_fleet_folder};
use super::{planning, status};
use crate::args::fleet::FleetRun;
use crate::command_error::CommandError;
use crate::exit::Exit;
use crate::{invocation, paths, signals, ui};

pub fn run_fleet_run(args: FleetRun) -> Result<Exit, CommandError> {
    let state = paths::make_setting(None)?.state;
    let (folder, fleet, engine) = match &args.into {
        Some(into) => {
            let into = resolve_fleet_folder(into)?;
            let (plan, engine) = planning::make_fleet_plan(&args.what, &args.plan)?;
            let (folder, fleet) = Folder::make_fleet(&into, &plan, &invocation::find_binary()?)?;
            folder.write_begun(&state)?;
            (folder, fleet, engine)
        }
        None => {
            let fleet = existing(&args)?;
            let mut folder = Folder::open(&fleet)?;
            if args.confirm {
                let nodes =
                    gather_records(&fleet, &args.plan.by)?.rows.summarise_fleet(None).ranking.to_confirm();
                if nodes.is_empty() {
                    ui::print_output("no node stands out: nothing to confirm\n")?;
                    return Ok(Exit::Done);
                }
                folder = folder.restrict_to_confirming(nodes);
            }
            folder.only_mine(&fleet)?;
            let engine = Engine::from_plan(&folder.plan.engine)?;
            let trust = folder.trust(&engine, &state, args.trust)?;
            (folder, fleet, engine.trust(&trust))
        }
    };
    folder.only_mine(&fleet)?;
    if args.plan_only {
        ui::print_output(format!(
            "planned in {}; tare fleet print shows its jobs\n",
            plain_line(&args.what_is_made())
        ))?;
        return Ok(Exit::Done);
    }
    let interrupted = signals::watch_signals()?;
    let left =
        driving::drive_fleet(&folder, &fleet, &engine, &paths::find_programs()?, &interrupted, &mut note)?;
    signals::end_at_once(&interrupted);
    for (job, why) in &left.jobs {
        ui::print_note(&format!("note: the job {} was not cancelled: {}", plain_line(job), plain_line(why)));
    }
    let folder = folder.read_again(&fleet);
    ui::print_text(&status::format_status(&folder), false)?;
    Ok(match (left.interrupted, status::is_whole(&folder)) {
        (true, _) => Exit::Interrupted,
        (false, true) => Exit::Done,
        (false, false) => Exit::Environment,
    })
}

impl FleetRun {
    fn what_is_made(&self) -> String {
        self.into.as_ref().map_or_else(|| self.what.clone(), |into| into.display().to_string())
    }
}

/// Opens the fleet in the named folder. Fails for a study without --into, which has no folder.
fn existing(args: &FleetRun) -> Result<Door, CommandError> {
    let path = Path::new(&args.what);
    if path.is_dir() && args.plan.on.is_some() {
        return Err(LabError::usage_error(format!("{} is a fleet that already has an engine", args.what))
            .with_hint("leave out --on, or name a study and a new folder with --into")
            .into());
    }
    if args.plan.on.is_some() {
        return Err(LabError::usage_error("the new fleet has no folder")
            .with_hint("name one that all nodes share: --into FOLDER")
            .into());
    }
    if !args.plan.by.is_empty() && !args.confirm {
        return Err(LabError::usage_error(format!("{} has a plan that already sets --by", args.what))
            .with_hint("give --by to tare fleet report, or together with --confirm")
            .into());
    }
    if !path.is_dir() {
        // Says what is missing.
        planning::make_fleet_plan(&args.what, &args.plan)?;
    }
    Ok(open_fleet(path)?)
}

/// Prints one line per event: a fleet may take days, and its output usually ends up in a log.
fn note(progress: Progress) {
    let Progress { whole, of, running, note } = progress;
    let what = note.map_or_else(String::new, |note| format!("  {}", plain_line(&note)));
    ui::print_note(&format!("{whole} of {of} measured, {running} submitted{what}"));
}
