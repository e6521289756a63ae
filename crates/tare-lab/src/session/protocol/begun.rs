//! Sessions that began on this machine, which can continue without a question, and all that others would run.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use sha2::{Digest, Sha256};
use tare_data::encoding::encode_hex;
use tare_data::foreign::{Foreign, Trust};
use tare_data::names::Case;
use tare_data::session::specification::NATIVE;
use tare_data::session::{Header, Inside, Plan, Session, Side, Sides, Work};
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
    let work = list_shared_folders(&plan.inside, &plan.targets).into_iter();
    let work = work.map(|folder| format!("write in {}", quote_word(&folder.display().to_string())));
    let mut seen = BTreeSet::new();
    environments.chain(commands).chain(folders).chain(work).filter(|line| seen.insert(line.clone())).collect()
}

/// Lists the folders of this machine that commands would write in, each once: a side's own, or else that of the session.
pub(super) fn list_shared_folders<'s>(inside: &'s Inside, sides: &'s Sides) -> BTreeSet<&'s Path> {
    let shared = inside.work.iter().filter(|work| work.shared);
    let of_sides = |work: &'s Work| sides.iter().map(|side| side.find_work_folder().unwrap_or(&work.folder));
    shared.flat_map(of_sides).collect()
}

/// Lists the commands that cases would run, each once, with the side that runs it; none where all sides do.
pub(super) fn list_commands_of_sides<'s>(
    sides: &'s Sides,
    cases: &[&Case],
) -> BTreeSet<(Option<&'s str>, String)> {
    let of_side = |side: &'s Side| {
        // A control runs the command of another side, and is listed with it.
        let name = side.command.as_ref().map(|_| side.repeats.as_deref().unwrap_or(&side.name));
        let filled = cases.iter().map(|case| side.fill_case(case));
        filled.flat_map(|case| list_commands(&case)).map(move |command| (name, command)).collect::<Vec<_>>()
    };
    sides.iter().flat_map(of_side).collect()
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

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use tare_data::names::Parameters;
    use tare_data::session::specification::Specification;
    use tare_specimen::make_plan;

    use super::*;

    fn side(name: &str, words: &str, folder: &str) -> Side {
        let pairs = [("command", format!("[\"{words}\"]")), ("folder", folder.to_owned())];
        let command = Parameters(pairs.map(|(key, value)| (key.to_owned(), value)).into_iter().collect());
        Side { command: Some(command), ..Side::new(name, Specification::from_provider("native")) }
    }

    fn case() -> Case {
        let (probe, parameters) = ("user.command".to_owned(), Parameters(BTreeMap::new()));
        Case { probe, parameters, place: None, peer: None }
    }

    #[test]
    fn a_control_with_a_command_of_its_own_is_listed_too() {
        let mut sides = Sides::new(side("old", "./old", "/a"));
        sides.add_control(0, "old again".into());
        let listed = |sides: &Sides| -> Vec<String> {
            list_commands_of_sides(sides, &[&case()]).into_iter().map(|(_, command)| command).collect()
        };
        assert_eq!(listed(&sides), ["./old (in /a)"], "a control's is listed once");
        sides.add_subject(Side { repeats: Some("old".into()), ..side("hidden", "./hidden", "/a") });
        assert_eq!(listed(&sides), ["./hidden (in /a)", "./old (in /a)"]);
    }

    #[test]
    fn every_side_names_the_folder_that_it_writes_in() {
        let mut sides = Sides::new(side("a", "make", "/projects/a"));
        sides.add_subject(side("b", "make", "/projects/b"));
        sides.add_subject(side("everywhere", "make", ""));
        let mut plan = make_plan(sides, vec![], vec![]);
        plan.inside.work = Some(Work { folder: PathBuf::from("/projects"), shared: true });
        let would = would_run(&plan);
        let folders: Vec<&str> = would.iter().filter_map(|line| line.strip_prefix("write in ")).collect();
        assert_eq!(folders, ["/projects", "/projects/a", "/projects/b"]);
        plan.inside.work = Some(Work { folder: PathBuf::from("/projects"), shared: false });
        assert!(list_shared_folders(&plan.inside, &plan.targets).is_empty());
    }
}
