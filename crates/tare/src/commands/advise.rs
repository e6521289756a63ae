//! `tare advise`: which environment to take for which kind of work.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::ExitCode;

use tare_analysis::Options;
use tare_analysis::advice::{self, Kind, Part};
use tare_data::names::USER;
use tare_data::session::{Ending, Session};
use tare_lab::asked::{Recorded, Request};
use tare_lab::parse_duration;
use tare_lab::study::kinds;
use tare_report::{json, terminal};

use crate::args::{Advise, Commands};
use crate::failure::Exit;
use crate::measuring::Way;
use crate::{invocation, measuring, own_commands, ui};

pub fn run(args: &Advise) -> anyhow::Result<ExitCode> {
    if args.print_kinds {
        ui::print(kinds::SHIPPED)?;
        return Ok(ExitCode::SUCCESS);
    }
    let wanted = kinds::named(kinds::read(args.kinds_file.as_deref())?, &args.kinds)?;
    let (record, ending) = match &args.file {
        Some(file) => (file.clone(), None),
        None => {
            let Some(recorded) = measure(args, &wanted)? else { return Ok(ExitCode::SUCCESS) };
            anstream::eprintln!("record {}", recorded.record.display());
            (recorded.record, Some(recorded.ending))
        }
    };
    show(args, wanted, &record)?;
    Ok(match ending {
        Some(Ending::Interrupted) => Exit::Interrupted.into(),
        Some(Ending::BaselineFailed) => Exit::Environment.into(),
        _ => ExitCode::SUCCESS,
    })
}

fn measure(args: &Advise, wanted: &[Kind]) -> anyhow::Result<Option<Recorded>> {
    let commands = Commands { words: args.words.clone(), ..Commands::default() };
    let parts = kinds::study(wanted);
    let study = match own_commands::study(&commands)? {
        Some(own) => own.with(parts)?,
        None => parts,
    };
    let of_session = &args.session;
    let request = Request {
        commands: Some(study),
        inside: own_commands::inside(&commands)?,
        environments: args.environments.clone(),
        baseline: "native".to_owned(),
        budget_s: of_session.budget.as_deref().map(parse_duration).transpose()?.map(|b| b.as_secs_f64()),
        rounds: of_session.rounds,
        pin: of_session.pin,
        seed: of_session.seed,
        record: of_session.record.clone().unwrap_or_else(|| invocation::fresh_record("tare-advise")),
        ..Request::default()
    };
    let (scratch, dry_run) = (of_session.scratch.as_deref(), of_session.dry_run);
    measuring::begin(request, &Way { scratch, dry_run, as_json: args.json })
}

fn show(args: &Advise, wanted: Vec<Kind>, record: &Path) -> anyhow::Result<()> {
    let session = tare_record::read(record)?.session;
    let findings = tare_analysis::findings(&session, &Options::default());
    let all: Vec<Kind> = own_kinds(&session).into_iter().chain(wanted).collect();
    let advice = advice::advise(&session, &findings, &all, args.margin);
    ui::print(match args.json {
        true => json::render_advice(&session, &findings, &advice),
        false => terminal::advice::render(&session, &findings, &advice, (ui::width(), ui::colour())),
    })?;
    Ok(())
}

/// Commands of one's own that a session measured: each is a kind of work by itself.
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
