//! The dry run of a session: everything that it would measure, start, mount, write and send. It reads files, and
//! does nothing else.

use std::path::Path;

use tare_data::names::Case;
use tare_data::session::specification::Specification;
use tare_data::session::{Role, Side, Sides};
use tare_data::shell::quote_word;
use tare_record::read_session;

use crate::asked::{Overrides, Request};
use crate::environments;
use crate::error::LabError;
use crate::host::control_groups::OwnGroups;
use crate::host::namespace_names;
use crate::host::programs::Programs;
use crate::owned::PREFIX;
use crate::ownership::workspace::Setting;
use crate::provider::footprint::Footprint;
use crate::provider::root::{Inside, RootFolder};
use crate::session::enter::sides::{
    MOST_DEFAULT, add_controls, default_subjects, name_command_sides, name_sides,
};
use crate::session::peers::Peers;
use crate::session::plan::paces::Paces;
use crate::session::protocol::begun::{list_commands_of_sides, list_shared_folders};
use crate::session::protocol::outlook::Outlook;
use crate::storage::file_systems::FileSystem;
use crate::storage::places::Wanted;
use crate::study::calls;

/// Networks of environments that need nothing outside them.
const PLAIN_NETWORKS: [&str; 3] = ["none", "own", "host"];
/// Programs that attach a network, by the option that asks for it.
const ATTACHING: [(&str, &str); 2] = [("slirp", "slirp4netns"), ("nat", "nft or iptables")];

/// Conditions of subjects that nobody named.
const IF_READY: &str = "if ready";
const IF_AMONG_FIRST: &str = "if among the first";
/// Mark of a baseline that is measured again.
const AGAIN: &str = "again";

/// Measurements of a session, and its actions, one line each.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DryRun {
    /// None for a session that is continued, whose record has its plan.
    pub measure: Option<Outlook>,
    pub start: Vec<String>,
    pub mount: Vec<String>,
    /// Files and folders, with a star in place of random characters.
    pub write: Vec<String>,
    pub send: Vec<String>,
}

/// Lists the actions of a new session.
pub fn dry_run(request: &Request, setting: &Setting) -> Result<DryRun, LabError> {
    let selection = request.make_selection()?;
    let chosen = &selection.study.environments;
    let (subjects, condition) = match (request.environments.is_empty(), chosen.is_empty()) {
        (false, _) => (&request.environments, ""),
        (true, false) => (chosen, IF_READY),
        (true, true) => (&default_subjects(chosen), IF_AMONG_FIRST),
    };
    let sides = match selection.commands.is_empty() {
        true => name_sides(&request.baseline, subjects)?,
        false => name_command_sides(&request.baseline, &selection.commands)?,
    };
    let mut measured = sides.clone();
    if selection.commands.is_empty() && request.environments.is_empty() && chosen.is_empty() {
        keep_first_installed(&mut measured, &setting.programs)?;
    }
    add_controls(&mut measured, &request.controls)?;
    let outlook = Outlook::foresee_session(
        &selection,
        &measured,
        request.environments.is_empty() && selection.commands.is_empty(),
        &Paces::read_shipped(),
    );
    let mut dry = DryRun { measure: Some(outlook), ..DryRun::default() };
    let peers = dry.session(&sides, condition, &selection.cases(), selection.peers.clone(), setting)?;
    if request.counts_demand {
        dry.start
            .push("in native: each command once more, under a tracer that counts its system calls".into());
    }
    dry.root(&request.inside, &sides)?;
    dry.state(setting, !peers.ways().is_empty());
    dry.write.insert(0, format!("{}: the record", absolute(&request.record)));
    Ok(dry)
}

/// Lists the actions of a continued session.
pub fn dry_resume(record: &Path, overrides: &Overrides, setting: &Setting) -> Result<DryRun, LabError> {
    let plan = read_session(record)?.session.plan;
    let cases: Vec<&Case> = plan.cases.iter().map(|planned| &planned.case).collect();
    let mut dry = DryRun::default();
    let peers = dry.session(&plan.targets, "", &cases, Peers::from_texts(&overrides.peers)?, setting)?;
    dry.root(&plan.inside, &plan.targets)?;
    dry.state(setting, !peers.ways().is_empty());
    dry.write.insert(0, format!("{}: the record, at its end", absolute(record)));
    Ok(dry)
}

impl DryRun {
    /// Adds the actions of environments, commands, places and peers.
    fn session(
        &mut self,
        sides: &Sides,
        condition: &str,
        cases: &[&Case],
        peers: Peers,
        setting: &Setting,
    ) -> Result<Peers, LabError> {
        let peers = peers.for_cases(cases.iter().copied())?;
        for (at, side) in sides.iter().enumerate().filter(|(_, side)| side.repeats.is_none()) {
            let role = sides.role(at);
            let condition = if role == Role::Subject { condition } else { "" };
            let again = match role {
                Role::Baseline if sides.compare_commands() => {
                    ", for each command, and once more for the first as its own control"
                }
                Role::Baseline => AGAIN,
                // Another command in the environment of the first.
                _ if side.command.is_some() => continue,
                _ => "",
            };
            self.environment(side, [condition, again], &setting.programs)?;
        }
        self.start.push("in each of them: a fresh process for each trial".into());
        let commands = list_commands_of_sides(sides, cases).into_iter();
        self.start.extend(commands.map(|(side, command)| match side {
            None => format!("in each of them: run {command}"),
            Some(name) => format!("for {name}: run {command}"),
        }));
        if cases.iter().any(|case| calls::is_call(case)) {
            self.write.push("files that called commands write: calls have no layers around them".into());
        }
        let wanted = Wanted::from_cases(cases.iter().copied());
        let scratch = absolute(&setting.scratch);
        for file_system in &wanted.file_systems {
            self.file_system(file_system, &scratch);
        }
        for folder in wanted.folders.values() {
            self.write.push(format!("{}/{PREFIX}*: files of probes, removed afterwards", absolute(folder)));
        }
        if peers.wants_host() {
            self.start
                .push("a peer of the session: tare itself, next to each network of an environment".into());
            self.send
                .push("to that peer, at addresses of this machine: the traffic of network probes".into());
        }
        for name in peers.ways().keys() {
            self.send.push(format!("to {name}: the traffic of network probes"));
        }
        Ok(peers)
    }

    /// Adds the mounts that show a root in environments.
    fn root(&mut self, inside: &Inside, sides: &Sides) -> Result<(), LabError> {
        let shown = match &inside.root {
            RootFolder::Empty => None,
            RootFolder::Host => Some("this machine's root".to_owned()),
            RootFolder::Folder(folder) => Some(absolute(folder)),
        };
        self.mount.extend(shown.map(|root| {
            format!("in each of them: {root}, under layers in the scratch folder that capture all changes")
        }));
        if inside.root == RootFolder::Host {
            // Only trying shows if namespaces may be made.
            for side in sides.iter().filter(|side| side.repeats.is_none()) {
                let named = environments::find_environment(side.specification.clone())?;
                let stays = "files that commands write, which stay where no namespace may be made";
                self.write.extend(named.is_machine().then(|| format!("{}: {stays}", side.name)));
            }
        }
        let shared = list_shared_folders(inside, sides).into_iter();
        self.write.extend(
            shared.map(|folder| format!("{}: files that the commands write there", absolute(folder))),
        );
        Ok(())
    }

    fn environment(
        &mut self,
        target: &Side,
        [condition, again]: [&str; 2],
        programs: &Programs,
    ) -> Result<(), LabError> {
        let specification = &target.specification;
        let footprint = environments::find_environment(specification.clone())?.provider.footprint.clone();
        let name = quote_word(&specification.to_string());
        let found = found(&footprint, specification, programs);
        let starts = format!("{}{found}", footprint.starts);
        self.start.push(match (condition, again) {
            (IF_READY, _) => format!("{name} (if it is ready): {starts}"),
            (IF_AMONG_FIRST, _) => {
                format!("{name} (if it is ready, and one of the first three that are): {starts}")
            }
            (_, AGAIN) => format!("{name}: {starts}, and once more as its own control"),
            (_, again) => format!("{name}: {starts}{again}"),
        });
        self.mount.extend(footprint.mounts.map(|mounts| format!("{name}: {mounts}")));
        self.write.extend(footprint.writes.map(|writes| format!("{name}: {writes}")));
        self.send.extend(footprint.sends.map(|sends| format!("{name}: {sends}")));
        let net = specification.options.get("net").filter(|net| !PLAIN_NETWORKS.contains(&net.as_str()));
        if let Some(net) = net {
            let lab = namespace_names::namespace_path(&namespace_names::lab_namespace_name("*"));
            self.mount.push(format!("{name}: {}: a network namespace of the session", lab.display()));
            let with = ATTACHING.iter().find(|(option, _)| net.starts_with(option));
            self.start.extend(with.map(|(_, program)| format!("{name}: {program}, for net={net}")));
        }
        Ok(())
    }

    fn file_system(&mut self, file_system: &FileSystem, scratch: &str) {
        let point = format!("{scratch}/{PREFIX}*/places/{}", file_system.name);
        self.mount.push(format!("{point}: {}", file_system.name));
        self.start.extend(
            file_system
                .started_program()
                .map(|program| format!("{program}, for the place {}", file_system.name)),
        );
    }

    /// Adds the files that every session writes, and says if nothing is sent.
    fn state(&mut self, setting: &Setting, has_peers: bool) {
        let (scratch, state) = (absolute(&setting.scratch), absolute(&setting.state));
        self.write.push(format!(
            "{scratch}/{PREFIX}*: a copy of tare, roots, logs and files of probes, removed afterwards"
        ));
        if let Some(group) = OwnGroups::find(&format!("{PREFIX}*")).find_apart() {
            let what = format!("{}: a control group for each start, removed afterwards", group.display());
            self.write.push(what);
        }
        self.write
            .push(format!("{state}: a journal of created things, removed afterwards, and a line in begun"));
        self.start.push(format!(
            "programs that remove leftovers of killed sessions, if the journals in {state} list any"
        ));
        if self.mount.is_empty() {
            self.mount.push("nothing".into());
        }
        if self.send.is_empty() && !has_peers {
            self.send.push("nothing: no packet leaves this machine".into());
        }
    }
}

/// Keeps the first subjects whose programs are installed, as many as a session measures unless it names them: only entering shows
/// if they are ready.
fn keep_first_installed(sides: &mut Sides, programs: &Programs) -> Result<(), LabError> {
    let mut installed = Vec::new();
    for target in sides.of_role(Role::Subject) {
        let footprint =
            environments::find_environment(target.specification.clone())?.provider.footprint.clone();
        let is_installed =
            footprint.programs.is_empty() || !found(&footprint, &target.specification, programs).is_empty();
        installed.extend(is_installed.then(|| target.name.clone()));
    }
    installed.truncate(MOST_DEFAULT);
    let gone = sides.of_role(Role::Subject).filter(|side| !installed.contains(&side.name));
    let gone: Vec<String> = gone.map(|side| side.name.clone()).collect();
    sides.retain(|side| !gone.contains(&side.name));
    Ok(())
}

/// Lists the paths of the programs that an environment needs.
fn found(footprint: &Footprint, specification: &Specification, programs: &Programs) -> String {
    let named = footprint.programs.iter().map(|name| match (name.as_str(), &specification.instance) {
        ("*", Some(instance)) => instance.clone(),
        (name, _) => name.to_owned(),
    });
    let lines: Vec<String> =
        named.filter_map(|name| Some(quote_word(&programs.find(&name)?.display().to_string()))).collect();
    if lines.is_empty() { String::new() } else { format!(" ({})", lines.join(", ")) }
}

fn absolute(path: &Path) -> String {
    let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    quote_word(&path.display().to_string())
}
