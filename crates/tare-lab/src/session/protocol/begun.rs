//! Sessions that began on this machine, which can continue without a question, and all that others would run.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use sha2::{Digest, Sha256};
use tare_data::encoding::encode_hex;
use tare_data::foreign::{Foreign, Trust};
use tare_data::names::Case;
use tare_data::session::specification::NATIVE;
use tare_data::session::{Header, Plan, Session, Side, Sides};
use tare_data::shell::{join_words, quote_word};
use tare_probes::descriptions::USER;

use crate::error::{ErrorKind, LabError};
use crate::ownership::begun;

/// Parameters of a user's command that hold words which are run.
const WORDS: [&str; 4] = ["setup", "prepare", "command", "clean"];

/// Writes down that a session with this plan began on this machine.
pub(super) fn write_begun_session(state: &Path, header: &Header, plan: &Plan) -> Result<(), LabError> {
    begun::write_begun(state, &hash(header, plan))
}

/// Refuses a session that did not begin here, with everything that it would run.
pub(super) fn only_here(state: &Path, session: &Session, record: &Path) -> Result<(), LabError> {
    if begun::has_begun(state, &hash(&session.header, &session.plan))? {
        return Ok(());
    }
    let what = format!("{} is not of a session that began here", record.display());
    let would: String = would_run(&session.plan).iter().map(|line| format!("\n{line}")).collect();
    Err(LabError::new(ErrorKind::Usage, what)
        .with_cause(format!("continuing it would run its plan:{would}"))
        .with_hint("if you trust all of that, add --trust"))
}

/// Trusts environments that a record names, to enter them: those of a session that began here, and those that the user named
/// or says to trust. The host itself, with nothing in between, is no environment that a record could choose.
pub fn trust_environments(
    state: &Path,
    session: &Session,
    record: &Path,
    environments: &Foreign<Vec<String>>,
    named: &[String],
    is_trusted: bool,
) -> Result<Trust, LabError> {
    if is_trusted {
        return Ok(Trust::because_the_user_says_so());
    }
    if begun::has_begun(state, &hash(&session.header, &session.plan))? {
        return Ok(Trust::because_it_began_here());
    }
    let is_unknown = |name: &&String| name.as_str() != NATIVE && !named.contains(name);
    let unknown = environments.map(|all| {
        all.iter().filter(is_unknown).map(|name| format!("\nenter {}", quote_word(name))).collect::<String>()
    });
    let lines = unknown.to_lines();
    if lines.is_empty() {
        return Ok(Trust::because_the_user_says_so());
    }
    let what = format!("{} is not of a session that began here", record.display());
    Err(LabError::new(ErrorKind::Usage, what)
        .with_cause(format!("its environments may be any programs:{lines}"))
        .with_hint("name those that you trust with --in, or add --trust"))
}

fn hash(header: &Header, plan: &Plan) -> String {
    let json = serde_json::to_string(&(&header.binary, &header.started, plan));
    encode_hex(&Sha256::digest(json.expect("tare's own types always serialise")))
}

/// Lists the commands, environments and folders of a plan, each once, quoted for a shell.
fn would_run(plan: &Plan) -> Vec<String> {
    let environments =
        plan.targets.iter().map(|target| format!("enter {}", quote_word(&target.specification.to_string())));
    let cases: Vec<&Case> = plan.cases.iter().map(|planned| &planned.case).collect();
    let commands = list_commands_of_sides(&plan.targets, &cases)
        .into_iter()
        .map(|(_, command)| format!("run {command}"));
    let places = plan.cases.iter().filter_map(|planned| planned.case.place.as_deref());
    let folders =
        places.filter(|place| place.contains('/')).map(|place| format!("write in {}", quote_word(place)));
    let work = plan.inside.work.iter().filter(|work| work.shared);
    let work = work.map(|work| format!("write in {}", quote_word(&work.folder.display().to_string())));
    let mut seen = BTreeSet::new();
    environments.chain(commands).chain(folders).chain(work).filter(|line| seen.insert(line.clone())).collect()
}

/// Lists the commands that cases would run, each once, with the side that runs it; none where all sides do.
pub(super) fn list_commands_of_sides<'s>(
    sides: &'s Sides,
    cases: &[&Case],
) -> BTreeSet<(Option<&'s str>, String)> {
    let of_side = |side: &'s Side| {
        let name = side.command.as_ref().map(|_| side.name.as_str());
        let filled = cases.iter().map(|case| side.fill_case(case));
        filled.flat_map(|case| list_commands(&case)).map(move |command| (name, command)).collect::<Vec<_>>()
    };
    sides.iter().filter(|side| side.repeats.is_none()).flat_map(of_side).collect()
}

/// Lists the commands that a user's case would run, with the folder and the variables that decide which program a name is.
fn list_commands(case: &Case) -> Vec<String> {
    if !case.probe.starts_with(USER) {
        return Vec::new();
    }
    let words = WORDS.iter().filter_map(|key| case.parameters.get_text(key).ok());
    let lines = words.map(|json| match serde_json::from_str::<Vec<String>>(json) {
        Ok(words) => join_words(words),
        // It cannot be run either.
        Err(_) => quote_word(json),
    });
    let folder = case.parameters.get_text("folder").ok().filter(|folder| !folder.is_empty());
    let folder = folder.map(|folder| format!("in {}", quote_word(folder)));
    let variables = case.parameters.get_text("environment").unwrap_or_default();
    let variables = match serde_json::from_str::<BTreeMap<String, String>>(variables) {
        Ok(variables) => variables.iter().map(|(name, value)| format!("{name}={value}")).collect(),
        Err(_) => vec![variables.to_owned()],
    };
    let variables = variables.iter().filter(|variable| !variable.is_empty());
    let variables = variables.map(|variable| format!("with {}", quote_word(variable)));
    let context = folder.into_iter().chain(variables).collect::<Vec<_>>().join(", ");
    let context = if context.is_empty() { context } else { format!(" ({context})") };
    lines.filter(|line| !line.is_empty()).map(|line| format!("{line}{context}")).collect()
}
