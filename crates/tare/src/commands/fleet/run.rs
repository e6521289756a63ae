//! `tare fleet run`: plans a fleet and measures it, or its missing part.

use std::path::Path;

use tare_data::encoding::hex;
use tare_lab::error::LabError;
use tare_lab::fleet::driving::{self, Progress};
use tare_lab::fleet::engines::Engine;
use tare_lab::fleet::folder::Folder;
use tare_report::text::plain;

use super::gathered::gather;
use super::whole_path::absolute;
use super::{planning, status};
use crate::args::fleet::FleetRun;
use crate::command_error::CommandError;
use crate::exit::Exit;
use crate::{invocation, paths, signals, ui};

pub fn run(args: FleetRun) -> Result<Exit, CommandError> {
    let (folder, engine) = match &args.into {
        Some(into) => {
            let into = absolute(into)?;
            let (plan, engine) = planning::plan(&args.what, &args.plan)?;
            let lies_there = !plan.pairs.is_empty() && !engine.brings_secrets();
            let secret = lies_there.then(|| planning::random(32)).transpose()?.map(|bytes| hex(&bytes));
            (Folder::make(&into, &plan, &invocation::binary()?, secret.as_deref())?, engine)
        }
        None => {
            let mut folder = existing(&args)?;
            if args.confirm {
                let nodes = gather(&folder.path, &args.plan.by)?.rows.fleet(None).ranking.to_confirm();
                if nodes.is_empty() {
                    ui::print("no node stands out: nothing to confirm\n")?;
                    return Ok(Exit::Done);
                }
                folder = folder.confirming(nodes);
            }
            let engine = Engine::planned(&folder.plan.engine.on, &folder.plan.engine.toml)?;
            (folder, engine)
        }
    };
    folder.only_mine()?;
    if args.plan_only {
        ui::print(format!("planned in {}; tare fleet print shows its jobs\n", plain(&args.what_is_made())))?;
        return Ok(Exit::Done);
    }
    let interrupted = signals::watch()?;
    let left = driving::drive(&folder, &engine, &paths::programs()?, &interrupted, &mut note)?;
    signals::end_at_once(&interrupted);
    for (job, why) in &left.jobs {
        anstream::eprintln!("note: the job {} was not cancelled: {}", plain(job), plain(why));
    }
    let folder = folder.again()?;
    ui::print(status::text(&folder))?;
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
fn existing(args: &FleetRun) -> Result<Folder, CommandError> {
    let path = Path::new(&args.what);
    if path.is_dir() && args.plan.on.is_some() {
        return Err(LabError::usage(format!("{} is a fleet that already has an engine", args.what))
            .hint("leave out --on, or name a study and a new folder with --into")
            .into());
    }
    if args.plan.on.is_some() {
        return Err(LabError::usage("the new fleet has no folder")
            .hint("name one that all nodes share: --into FOLDER")
            .into());
    }
    if !args.plan.by.is_empty() && !args.confirm {
        return Err(LabError::usage(format!("{} has a plan that already sets --by", args.what))
            .hint("give --by to tare fleet report, or together with --confirm")
            .into());
    }
    if !path.is_dir() {
        // Says what is missing.
        planning::plan(&args.what, &args.plan)?;
    }
    Ok(Folder::open(&absolute(path)?)?)
}

/// Prints one line per event: a fleet may take days, and its output usually ends up in a log.
fn note(progress: Progress) {
    let Progress { whole, of, running, note } = progress;
    let what = note.map_or_else(String::new, |note| format!("  {}", plain(&note)));
    anstream::eprintln!("{whole} of {of} measured, {running} submitted{what}");
}
