//! `tare ladder`: builds an environment up one mechanism at a time, and reports the cost of each.

use std::path::Path;
use std::time::Duration;

use tare_analysis::Options;
use tare_analysis::orders::compare_orders;
use tare_data::session::{Role, Session};
use tare_lab::asked::{Measured, Request};
use tare_lab::environments::ladders::{self, LADDERS, Rung};
use tare_lab::error::LabError;
use tare_report::{json, terminal};

use crate::args::{Commands, Ladder};
use crate::command_error::CommandError;
use crate::exit::Exit;
use crate::{own_commands, recorded, ui};

/// Budget of a ladder for a user command, shared by its steps.
const COMMAND_BUDGET: Duration = Duration::from_secs(300);

pub fn run_ladder(args: &Ladder) -> Result<Exit, CommandError> {
    let file = Some(Path::new(&args.ladder)).filter(|file| file.extension().is_some_and(|e| e == "tare"));
    let Some(obtained) = recorded::obtain_session(file, &args.session, args.json, || request(args))? else {
        return Ok(Exit::Done);
    };
    let session = &obtained.session;
    let Climbed { ladder, rungs } = find_climbed(session, &obtained.record)?;
    let below: Vec<Option<usize>> = rungs.iter().map(|rung| rung.below).collect();
    let findings = tare_analysis::compute_step_findings(session, &Options::default(), &below);
    ui::print_text(
        &match args.json {
            true => json::render_json(session, &findings),
            false => {
                let terminal = (ui::measure_width(), ui::has_colour());
                let steps: Vec<String> = ladder.steps.iter().map(|step| step.adds.to_owned()).collect();
                // Without --both-orders there is one order alone.
                let exchanges = if rungs.len() > steps.len() { ladder.list_exchanges() } else { Vec::new() };
                let orders = compare_orders(session, &Options::default(), &exchanges);
                terminal::ladder::render_ladder(
                    session,
                    &findings,
                    (&steps, &orders),
                    terminal,
                    ui::find_language(),
                )
            }
        },
        args.json,
    )?;
    Ok(obtained.exit_code(&findings))
}

fn request(args: &Ladder) -> Result<Request, LabError> {
    let ladder = ladders::find_ladder(&args.ladder)?;
    let commands = Commands { words: args.words.clone(), ..Commands::default() };
    let mut own = own_commands::make_study(&commands)?;
    if let Some(study) = &mut own {
        own_commands::require_programs(study)?;
        // All steps have the same rounds.
        study.least_rounds = Some(u32::MAX);
        study.budget = COMMAND_BUDGET;
    }
    let measured = own.map_or_else(|| Measured::Named("ladder".to_owned()), Measured::Commands);
    let mut rungs = ladder.list_rungs();
    if !args.both_orders {
        rungs.truncate(ladder.steps.len());
    }
    Ok(Request {
        inside: own_commands::describe_inside(&commands)?,
        environments: rungs.into_iter().map(|rung| rung.specification).collect(),
        ..recorded::make_request(measured, &args.session, "tare-ladder")?
    })
}

/// A recorded ladder.
struct Climbed {
    ladder: &'static ladders::Ladder,
    /// Its environments in the record.
    rungs: Vec<Rung>,
}

/// Finds the ladder whose environments a record holds, with or without those of the reverse order.
fn find_climbed(session: &Session, record: &Path) -> Result<Climbed, LabError> {
    let subjects = session.plan.targets.of_role(Role::Subject);
    let specifications: Vec<String> = subjects.map(|target| target.specification.to_string()).collect();
    let is_it = |rungs: &[Rung]| rungs.iter().map(|rung| &rung.specification).eq(&specifications);
    let climbed = LADDERS.iter().find_map(|ladder| {
        let all = ladder.list_rungs();
        let steps = all[..ladder.steps.len()].to_vec();
        let rungs = [all, steps].into_iter().find(|rungs| is_it(rungs))?;
        Some(Climbed { ladder, rungs })
    });
    climbed.ok_or_else(|| {
        LabError::usage_error(format!("{} is not the record of a ladder", record.display()))
            .with_hint("tare ladder container makes one; tare report shows any session")
    })
}
