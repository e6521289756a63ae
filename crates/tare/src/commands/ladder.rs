//! `tare ladder`: builds an environment up one mechanism at a time, and reports what each adds.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use tare_analysis::Options;
use tare_data::session::{Ending, Role, Session};
use tare_lab::asked::{Recorded, Request};
use tare_lab::environments::ladders::{self, LADDERS};
use tare_lab::error::LabError;
use tare_lab::parse_duration;
use tare_report::{json, terminal};

use crate::args::{Commands, Ladder};
use crate::failure::Exit;
use crate::measuring::Way;
use crate::{invocation, measuring, own_commands, ui};

/// Time for a ladder of a command of one's own: its steps share it.
const COMMAND_BUDGET: &str = "5m";

pub fn run(args: &Ladder) -> anyhow::Result<ExitCode> {
    let (record, ending) = if args.ladder.ends_with(".tare") {
        (PathBuf::from(&args.ladder), None)
    } else {
        let Some(recorded) = measure(args)? else { return Ok(ExitCode::SUCCESS) };
        anstream::eprintln!("record {}", recorded.record.display());
        (recorded.record, Some(recorded.ending))
    };
    let session = tare_record::read(&record).map_err(LabError::from)?.session;
    let steps = steps_of(&session, &record)?;
    let findings = tare_analysis::steps(&session, &Options::default());
    ui::print(match args.json {
        true => json::render(&session, &findings),
        false => {
            let terminal = (ui::width(), ui::colour());
            terminal::ladder::render(&session, &findings, &steps, terminal, ui::language())
        }
    })?;
    Ok(match ending {
        Some(Ending::Interrupted) => Exit::Interrupted.into(),
        Some(Ending::BaselineFailed) => Exit::Environment.into(),
        _ => ExitCode::SUCCESS,
    })
}

fn measure(args: &Ladder) -> anyhow::Result<Option<Recorded>> {
    let ladder = ladders::named(&args.ladder)?;
    let commands = Commands { words: args.words.clone(), ..Commands::default() };
    let mut own = own_commands::study(&commands)?;
    if let Some(study) = &mut own {
        // All steps have the same rounds.
        study.least_rounds = Some(u32::MAX);
        study.budget = COMMAND_BUDGET.to_owned();
    }
    let budget_s = args.budget.as_deref().map(parse_duration).transpose()?.map(|b| b.as_secs_f64());
    let request = Request {
        study: own.is_none().then(|| "ladder".to_owned()),
        commands: own,
        inside: own_commands::inside(&commands)?,
        environments: ladder.steps.iter().map(|step| step.specification.to_owned()).collect(),
        baseline: "native".to_owned(),
        only: args.only.clone(),
        budget_s,
        seed: args.seed,
        record: args.record.clone().unwrap_or_else(|| invocation::fresh_record("tare-ladder")),
        ..Request::default()
    };
    let way = Way { scratch: args.scratch.as_deref(), dry_run: args.dry_run, as_json: args.json };
    measuring::begin(request, &way)
}

/// What each environment of a recorded ladder adds.
fn steps_of(session: &Session, record: &Path) -> Result<Vec<String>, LabError> {
    let subjects = session.plan.targets.iter().filter(|target| target.role == Role::Subject);
    let specifications: Vec<&str> = subjects.map(|target| target.specification.as_str()).collect();
    let of_ladder = LADDERS
        .iter()
        .find(|ladder| ladder.steps.iter().map(|step| step.specification).eq(specifications.iter().copied()));
    let ladder = of_ladder.ok_or_else(|| {
        LabError::usage(format!("{} is not the record of a ladder", record.display()))
            .hint("tare ladder container makes one; tare report shows any session")
    })?;
    Ok(ladder.steps.iter().map(|step| step.adds.to_owned()).collect())
}
