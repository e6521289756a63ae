//! `tare selftest`: puts costs of known size into this machine's environments, and reports which of them a session finds.

use std::process::ExitCode;

use tare_analysis::selftest::injected;
use tare_data::session::Ending;
use tare_lab::asked::{Recorded, Request};
use tare_lab::error::{ErrorKind, LabError};
use tare_lab::parse_duration;
use tare_lab::provider::options::SLOWER;
use tare_report::{json, terminal};

use crate::args::SelfTest;
use crate::failure::Exit;
use crate::{invocation, measuring, ui};

pub fn run(args: SelfTest) -> anyhow::Result<ExitCode> {
    let (record, ending) = match &args.file {
        Some(file) => (file.clone(), None),
        None => {
            let recorded = measure(&args)?;
            anstream::eprintln!("record {}", recorded.record.display());
            (recorded.record, Some(recorded.ending))
        }
    };
    let session = tare_record::read(&record).map_err(LabError::from)?.session;
    let findings = tare_analysis::findings(&session, &tare_analysis::Options::default());
    let injected = injected(&session, &findings);
    if injected.is_empty() {
        let what = format!("{} is not the record of a self-test", record.display());
        return Err(LabError::new(ErrorKind::Usage, what)
            .because("no environment in it is slower on purpose")
            .hint("tare selftest makes one")
            .into());
    }
    ui::print(match args.json {
        true => json::selftest(&injected),
        false => terminal::selftest::render(&injected, ui::width()),
    })?;
    Ok(match ending {
        Some(Ending::Interrupted) => Exit::Interrupted.into(),
        _ => ExitCode::SUCCESS,
    })
}

fn measure(args: &SelfTest) -> anyhow::Result<Recorded> {
    let budget_s = args.budget.as_deref().map(parse_duration).transpose()?.map(|b| b.as_secs_f64());
    measuring::to_its_end(request(args, budget_s), args.scratch.as_deref())
}

/// The environment, and the same again with each share as its cost.
fn request(args: &SelfTest, budget_s: Option<f64>) -> Request {
    let separator = if args.against.contains('?') { '&' } else { '?' };
    let slower = |share: &String| format!("{}{separator}{}={share}%", args.against, SLOWER.key);
    Request {
        study: Some("quick".to_owned()),
        environments: args.shares.iter().map(slower).collect(),
        baseline: args.against.clone(),
        only: args.only.clone(),
        budget_s,
        seed: args.seed,
        record: args.record.clone().unwrap_or_else(|| invocation::fresh_record("tare-selftest")),
        ..Request::default()
    }
}
