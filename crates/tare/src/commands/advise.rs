//! `tare advise`: recommends an environment for each kind of work.

use std::collections::BTreeMap;

use tare_analysis::Options;
use tare_analysis::advice::{self, Kind, Part};
use tare_data::names::USER;
use tare_data::session::Session;
use tare_lab::asked::{Measured, Request};
use tare_lab::error::LabError;
use tare_lab::study::kinds;
use tare_report::{json, terminal};

use crate::args::{Advise, Commands};
use crate::command_error::CommandError;
use crate::exit::Exit;
use crate::{own_commands, recorded, ui};

pub fn run_advise(args: &Advise) -> Result<Exit, CommandError> {
    if args.print_kinds {
        ui::print_output(kinds::SHIPPED)?;
        return Ok(Exit::Done);
    }
    let wanted = kinds::select_kinds(kinds::read_kinds(args.kinds_file.as_deref())?, &args.kinds)?;
    let measured = || request(args, &wanted);
    let Some(obtained) = recorded::obtain_session(args.file.as_deref(), &args.session, args.json, measured)?
    else {
        return Ok(Exit::Done);
    };
    let session = &obtained.session;
    let findings = tare_analysis::compute_findings(session, &Options::default());
    let all: Vec<Kind> = own_kinds(session).into_iter().chain(wanted).collect();
    let advice = advice::compute_advice(session, &findings, &all, args.margin);
    ui::print_text(
        &match args.json {
            true => json::render_advice(session, &findings, &advice),
            false => terminal::advice::render_advice_terminal(
                session,
                &findings,
                &advice,
                (ui::measure_width(), ui::has_colour()),
                ui::find_language(),
            ),
        },
        args.json,
    )?;
    Ok(obtained.exit_code(&findings))
}

fn request(args: &Advise, wanted: &[Kind]) -> Result<Request, LabError> {
    let commands = Commands { words: args.words.clone(), ..Commands::default() };
    let parts = kinds::make_study(wanted);
    let study = match own_commands::make_study(&commands)? {
        Some(own) => {
            own_commands::require_programs(&own)?;
            own.join_study(parts)?
        }
        None => parts,
    };
    Ok(Request {
        inside: own_commands::describe_inside(&commands)?,
        environments: args.environments.clone(),
        ..recorded::make_request(Measured::Commands(study), &args.session, "tare-advise")?
    })
}

/// Turns each measured user command into a kind of work.
fn own_kinds(session: &Session) -> Vec<Kind> {
    let own = session.plan.cases.iter().filter(|planned| planned.case.probe.starts_with(USER));
    own.map(|planned| {
        let probe = planned.case.probe.clone();
        let part = Part { share: 1.0, probe, parameters: BTreeMap::new(), place: planned.case.place.clone() };
        Kind {
            name: planned.case.probe.clone(),
            title: planned.label.clone(),
            basis: "the command itself".to_owned(),
            parts: vec![part],
        }
    })
    .collect()
}
