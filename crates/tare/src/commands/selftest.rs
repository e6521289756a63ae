//! `tare selftest`: injects known costs into environments, and reports which of them a session detects.

use tare_analysis::selftest::injected;
use tare_data::session::specification::Specification;
use tare_lab::asked::{Measured, Request};
use tare_lab::error::LabError;
use tare_lab::provider::options::SLOWER;
use tare_report::{json, terminal};

use crate::args::SelfTest;
use crate::command_error::CommandError;
use crate::exit::Exit;
use crate::{recorded, ui};

pub fn run(args: &SelfTest) -> Result<Exit, CommandError> {
    let measured = || request(args);
    let Some(obtained) = recorded::obtain(args.file.as_deref(), &args.session, args.json, measured)? else {
        return Ok(Exit::Done);
    };
    let findings = tare_analysis::findings(&obtained.session, &tare_analysis::Options::default());
    let injected = injected(&obtained.session, &findings);
    if injected.is_empty() {
        return Err(LabError::usage(format!(
            "{} is not the record of a self-test",
            obtained.record.display()
        ))
        .because("no environment in it has an injected cost")
        .hint("tare selftest makes one")
        .into());
    }
    ui::print(match args.json {
        true => json::selftest(&injected),
        false => terminal::selftest::render(&injected, ui::width()),
    })?;
    Ok(obtained.exit(&findings))
}

/// Requests a session of the environment against copies of itself, one for each injected cost.
fn request(args: &SelfTest) -> Result<Request, LabError> {
    let against: Specification = args.against.parse()?;
    if against.option(SLOWER.key).is_some() {
        return Err(LabError::usage(format!("{against} is slower on purpose already")));
    }
    let slower = |share: &String| against.clone().with_option(SLOWER.key, format!("{share}%")).to_string();
    Ok(Request {
        environments: args.shares.iter().map(slower).collect(),
        baseline: args.against.clone(),
        ..recorded::request(Measured::Named("quick".to_owned()), &args.session, "tare-selftest")
    })
}
