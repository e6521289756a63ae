//! `tare selftest`: injects known costs into environments, and reports which of them a session detects.

use tare_analysis::selftest::count_injected_findings;
use tare_data::session::specification::Specification;
use tare_lab::asked::{Measured, Request};
use tare_lab::error::LabError;
use tare_lab::provider::options::SLOWER;
use tare_report::{json, terminal};

use crate::args::SelfTest;
use crate::command_error::CommandError;
use crate::exit::Exit;
use crate::{recorded, ui};

pub fn run_selftest(args: &SelfTest) -> Result<Exit, CommandError> {
    let measured = || request(args);
    let Some(obtained) = recorded::obtain_session(args.file.as_deref(), &args.session, args.json, measured)?
    else {
        return Ok(Exit::Done);
    };
    let findings = tare_analysis::compute_findings(&obtained.session, &tare_analysis::Options::default());
    let injected = count_injected_findings(&obtained.session, &findings);
    if injected.is_empty() {
        return Err(LabError::usage_error(format!(
            "{} is not the record of a self-test",
            obtained.record.display()
        ))
        .with_cause("no environment in it has an injected cost")
        .with_hint("tare selftest makes one")
        .into());
    }
    ui::print_text(
        &match args.json {
            true => json::render_selftest(&injected),
            false => terminal::selftest::render_selftest_terminal(&injected, ui::measure_width()),
        },
        args.json,
    )?;
    Ok(obtained.exit_code(&findings))
}

/// Requests a session of the environment against copies of itself, one for each injected cost.
fn request(args: &SelfTest) -> Result<Request, LabError> {
    let against: Specification = args.against.parse()?;
    if against.get_option(SLOWER.key).is_some() {
        return Err(LabError::usage_error(format!("{against} is slower on purpose already")));
    }
    let slower = |share: &String| against.clone().with_option(SLOWER.key, format!("{share}%")).to_string();
    Ok(Request {
        environments: args.shares.iter().map(slower).collect(),
        baseline: args.against.clone(),
        ..recorded::make_request(Measured::Named("quick".to_owned()), &args.session, "tare-selftest")?
    })
}
