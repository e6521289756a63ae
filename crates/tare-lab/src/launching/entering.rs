//! Entering by a launcher: finds the way in once a session, and prepares the words that start the agent there.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use tare_data::encoding::encode_hex;
use tare_data::facts::Facts;
use tare_probes::agent::launched::{LAUNCHED, LOOK, LOOKED, Look, look_around};
use tare_probes::harness::folder::spread_folders;

use crate::containers::root::Root;
use crate::error::{ErrorKind, LabError};
use crate::host::mounts;
use crate::host::private_folder;
use crate::host::processes::Signs;
use crate::host::programs::{self, Found};
use crate::launching::differences::list_differences;
use crate::launching::inside_path::InsidePath;
use crate::launching::looking::{Unseen, list_refusals, look_inside};
use crate::launching::relay::{Plan, SENDING_WAIT, Script, relay_command, sent_bytes};
use crate::launching::template::{Far, Shares, Sign};
use crate::owned::{MARK, Owned, PREFIX};
use crate::provider::root::RootFolder;
use crate::provider::{Entrance, HostPath, SHARES_FILES, Workspace};
use crate::storage::places::{OWN, TURNS};

/// Folder of a start with the launcher's own files, or of a view's.
const FOLDER: &str = "launcher";
/// Time that copying the program may take.
const COPY_WAIT: Duration = Duration::from_secs(90);

/// A launcher that is ready: its words, and everything that is known of it beforehand.
#[derive(Clone, Debug, Default)]
pub(crate) struct Launcher {
    /// The specification, as errors name it.
    pub name: String,
    /// The program with its whole path, and its words, with placeholders.
    pub words: Vec<String>,
    pub far: Option<Far>,
    pub copy: Vec<String>,
    pub terminal: bool,
    pub root: bool,
    pub shares: Shares,
    pub inside: Vec<Sign>,
    pub instance: String,
    pub variables: BTreeMap<String, String>,
    /// Programs that it leaves running.
    pub leaves: Vec<PathBuf>,
    pub folders: Vec<String>,
    pub files: BTreeMap<String, String>,
}

/// The way into an environment, as a look has found it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Way {
    far: Far,
    terminal: bool,
    /// A folder inside in which the place `own` is made; none where the start's own folder is seen there.
    base: Option<InsidePath>,
    /// Places of this machine that are seen inside.
    shares: Vec<String>,
    look: Look,
}

/// Folders of a start, with their paths here and inside.
struct Stage {
    root: Option<Root>,
    /// The agent, as the launcher's own root has it.
    agent: String,
    /// Files of the launcher, on this machine and as the launcher sees them.
    folder: (PathBuf, String),
    own: (PathBuf, String),
    /// Places of the host by name.
    shares: BTreeMap<String, (PathBuf, String)>,
}

impl Stage {
    fn build(launcher: &Launcher, workspace: &dyn Workspace) -> Result<Stage, LabError> {
        // A call is a command as somebody types it, with no view of this machine in between.
        let is_view = workspace.inside().root != RootFolder::Empty && !workspace.is_call();
        let text = |path: &Path| path.to_string_lossy().into_owned();
        let same = |path: &Path| (path.to_owned(), text(path));
        let folder = workspace.folder().join(FOLDER);
        make_folder(&folder)?;
        if launcher.root || is_view {
            let root = Root::build(workspace)?;
            let own = (root.own_place_path(), root.places[OWN].clone());
            // A root folder that the launcher enters has no mounts of ours.
            let seen = root.places.iter().filter(|(name, _)| is_view && name.as_str() != OWN);
            let shares = seen.map(|(name, inside)| {
                let path = root.shares.iter().find(|(_, its)| its == inside).map(|(path, _)| path.clone());
                (name.clone(), (path.unwrap_or_else(|| inside.into()), inside.clone()))
            });
            let shares = shares.collect();
            let folder = if is_view { root.make_folder(FOLDER)? } else { same(&folder) };
            return Ok(Stage { agent: root.agent.clone(), folder, own, shares, root: Some(root) });
        }
        let own = workspace.folder().join(OWN);
        make_folder(&own)?;
        spread_folders(&own);
        Ok(Stage {
            root: None,
            folder: same(&folder),
            agent: text(&workspace.copy_agent()?),
            shares: workspace.shares().iter().map(|(name, path)| (name.clone(), same(path))).collect(),
            own: same(&own),
        })
    }

    /// Returns the path at which a relay of the launcher sees the program that it sends.
    fn seen_agent(&self, workspace: &dyn Workspace) -> PathBuf {
        match &self.root {
            Some(root) if root.is_view() => PathBuf::from(&self.agent),
            _ => workspace.agent().to_owned(),
        }
    }

    /// Has a command start where the stage is set.
    fn prepare(&self, command: &mut Command, workspace: &dyn Workspace) -> Result<(), LabError> {
        match &self.root {
            Some(root) if root.is_view() => {
                command.current_dir("/");
                root.launch_with(command, workspace)
            }
            _ => {
                // Sandboxes of agents let a command write in the folder in which it is started.
                command.current_dir(&self.own.0);
                Ok(())
            }
        }
    }
}

impl Launcher {
    /// Prepares a start.
    pub fn prepare_entrance(&self, workspace: &mut dyn Workspace) -> Result<Entrance, LabError> {
        workspace.spare_programs(&self.leaves)?;
        let stage = Stage::build(self, workspace)?;
        for name in &self.folders {
            make_folder(&stage.folder.0.join(name))?;
        }
        for (name, text) in &self.files {
            let path = stage.folder.0.join(name);
            let text = self.fill_in(text, &stage, workspace, "");
            fs::write(&path, text).map_err(LabError::storage_error("write", &path))?;
        }
        if self.files.values().chain(&self.words).any(|text| text.contains("{name}")) {
            // Some launchers make a control group of that name.
            workspace.record_owned(Owned::ControlGroup(workspace.name().to_owned()))?;
        }
        let way = self.find_way(&stage, workspace)?;
        if workspace.is_call() {
            let command = self.call_command(&way, &stage, workspace)?;
            let (places, outside) = (BTreeMap::new(), Facts::default());
            return Ok(Entrance { command, host: None, places, outside });
        }
        let folder = way.base.as_ref().map(|base| far_folder(base, workspace));
        let mut words = vec![LAUNCHED.to_owned(), workspace.mark().to_owned()];
        words.extend(folder.clone());
        if way.far == Far::Copy {
            self.copy_program(&stage, &way, workspace)?;
        }
        let command = self.command(&way, &words, &stage, workspace)?;
        let mut outside = Facts::default();
        outside.add_fact("launcher.far", way.far.name());
        outside.add_fact("launcher.terminal", if way.terminal { "yes" } else { "no" });
        outside.add_fact("launcher.differs", list_differences(&way.look, &look_around()).join(" "));
        if way.far == Far::Path && stage.root.is_none() {
            outside.add_fact(SHARES_FILES, "yes");
        }
        let mut places = BTreeMap::new();
        match folder {
            Some(folder) => drop(places.insert(OWN.to_owned(), format!("{folder}/own"))),
            None => {
                mounts::note_file_system(&mut outside, OWN, &stage.own.0);
                places.insert(OWN.to_owned(), stage.own.1.clone());
            }
        }
        for (name, (path, inside)) in &stage.shares {
            if way.shares.contains(name) {
                mounts::note_file_system(&mut outside, name, path);
                places.insert(name.clone(), inside.clone());
            }
        }
        let has_network = way.look.namespaces.get("net") == look_around().namespaces.get("net");
        let host = has_network.then_some(HostPath::LOOPBACK);
        Ok(Entrance { command, host, places, outside })
    }

    /// Builds the command of a call: the launcher's words and the command's, as its caller types them.
    fn call_command(&self, way: &Way, stage: &Stage, workspace: &dyn Workspace) -> Result<Command, LabError> {
        let called = match way.far {
            Far::Path => workspace.words_inside(&stage.agent),
            Far::Stdin | Far::Copy => workspace.words_by_shell(),
        };
        let filled = self.words.iter().map(|word| self.fill_in(word, stage, workspace, ""));
        let words: Vec<String> = filled.chain(called).collect();
        let mut command = self.start_command(way, words, None, stage, workspace)?;
        if let Some(folder) = workspace.call_folder() {
            command.current_dir(folder);
        }
        Ok(command)
    }

    /// Finds the way in, once a session.
    fn find_way(&self, stage: &Stage, workspace: &mut dyn Workspace) -> Result<Way, LabError> {
        let digest = Sha256::digest(format!("{self:?} {:?}", workspace.inside().root));
        let kept = format!("launcher-{}", encode_hex(&digest[..8]));
        if let Some(way) = workspace.recall(&kept).and_then(|json| serde_json::from_str(&json).ok()) {
            return Ok(way);
        }
        let way = self.try_ways(stage, workspace)?;
        self.check_inside(&way.look)?;
        if let Some(base) = &way.base {
            // A folder on this machine goes with the session, however that ends.
            let folder = Path::new(&**base).join(session_name(workspace));
            workspace.own_for_session(Owned::Folder(folder))?;
        }
        workspace.remember(&kept, &serde_json::to_string(&way).map_err(|e| self.failed(e.to_string()))?);
        Ok(way)
    }

    /// Tries the ways in, the plainest first, unless one is named.
    fn try_ways(&self, stage: &Stage, workspace: &dyn Workspace) -> Result<Way, LabError> {
        let fars = match self.far {
            Some(far) => vec![far],
            None => vec![Far::Path, Far::Stdin],
        };
        let terminals: &[bool] = if self.terminal { &[true] } else { &[false, true] };
        let mut refusals = Vec::new();
        for far in fars {
            for &terminal in terminals {
                match self.try_way(far, terminal, stage, workspace)? {
                    Ok(way) => return Ok(way),
                    Err(Unseen { reason, is_final }) => {
                        // Processes that it left would answer for the next one.
                        self.signs(workspace).kill_processes();
                        let where_to = if terminal { " in a terminal" } else { "" };
                        refusals.push((format!("far={}{where_to}", far.name()), reason));
                        if is_final {
                            return Err(self.failed(list_refusals(&refusals)));
                        }
                    }
                }
            }
        }
        Err(self.failed(list_refusals(&refusals)))
    }

    fn try_way(
        &self,
        far: Far,
        terminal: bool,
        stage: &Stage,
        workspace: &dyn Workspace,
    ) -> Result<Result<Way, Unseen>, LabError> {
        let mut way = Way { far, terminal, base: None, shares: Vec::new(), look: Look::default() };
        if far == Far::Copy {
            self.copy_program(stage, &way, workspace)?;
        }
        let asked: Vec<(&str, &(PathBuf, String))> = match self.shares {
            Shares::Folders => {
                let shares = stage.shares.iter().map(|(name, share)| (name.as_str(), share));
                [(OWN, &stage.own)].into_iter().chain(shares).collect()
            }
            Shares::Nothing => Vec::new(),
        };
        let mut words = vec![LOOK.to_owned(), workspace.mark().to_owned()];
        words.extend(asked.iter().map(|(_, (_, inside))| inside.clone()));
        let mut command = self.command(&way, &words, stage, workspace)?;
        command.env(MARK, workspace.mark());
        workspace.tie_command(&mut command)?;
        let sending = if far == Far::Stdin { SENDING_WAIT } else { Duration::ZERO };
        workspace.hold_program(&mut command).map_err(|e| self.failed(e.to_string()))?;
        way.look = match look_inside(&mut command, sending) {
            Ok(look) => look,
            Err(unseen) => return Ok(Err(unseen)),
        };
        for (name, (path, _)) in asked {
            if fs::remove_file(path.join(LOOKED)).is_ok() {
                way.shares.push(name.to_owned());
            }
        }
        if !way.shares.iter().any(|name| name == OWN) {
            way.base =
                way.look.base.clone().map(InsidePath::try_from).transpose().map_err(|e| self.failed(e))?;
            if way.base.is_none() {
                return Ok(Err(Unseen { reason: "no folder inside can be written".into(), is_final: false }));
            }
        }
        Ok(Ok(way))
    }

    /// Builds the command that runs the agent inside with these words.
    fn command(
        &self,
        way: &Way,
        words: &[String],
        stage: &Stage,
        workspace: &dyn Workspace,
    ) -> Result<Command, LabError> {
        let far = match way.far {
            Far::Path => stage.agent.clone(),
            Far::Copy => copied_path(workspace),
            Far::Stdin => String::new(),
        };
        let mut all: Vec<String> =
            self.words.iter().map(|word| self.fill_in(word, stage, workspace, &far)).collect();
        let script = match way.far {
            Far::Stdin => {
                all.push("sh".into());
                Some(self.script(way, words, stage, workspace)?)
            }
            Far::Path | Far::Copy => {
                all.push(far);
                all.extend(words.iter().cloned());
                None
            }
        };
        self.start_command(way, all, script, stage, workspace)
    }

    /// Builds the command that starts these words, by a relay where they need one.
    fn start_command(
        &self,
        way: &Way,
        words: Vec<String>,
        script: Option<Script>,
        stage: &Stage,
        workspace: &dyn Workspace,
    ) -> Result<Command, LabError> {
        let mut command = match way.terminal || script.is_some() {
            true => {
                let plan = Plan { words, terminal: way.terminal, script };
                relay_command(workspace.agent(), &plan).map_err(|e| self.failed(e.to_string()))?
            }
            false => {
                let mut command = programs::command(&Found::called(&words[0], Path::new("/")));
                command.args(&words[1..]);
                command
            }
        };
        for (name, text) in &self.variables {
            command.env(name, self.fill_in(text, stage, workspace, ""));
        }
        stage.prepare(&mut command, workspace)?;
        Ok(command)
    }

    /// Writes the lines by which a shell takes the program and starts it. They contain no word that the shell prints, so that an
    /// echo answers nothing.
    fn script(
        &self,
        way: &Way,
        words: &[String],
        stage: &Stage,
        workspace: &dyn Workspace,
    ) -> Result<Script, LabError> {
        let agent = workspace.agent();
        let size = agent.metadata().map_err(LabError::storage_error("read", agent))?.len();
        let sent = sent_bytes(size, way.terminal);
        let decode = if way.terminal { " | base64 -d" } else { "" };
        let bases = way.base.as_deref().map_or_else(
            || "/var/tmp /tmp /dev/shm \"$HOME\" .".to_owned(),
            tare_data::shell::quote_for_script,
        );
        let folder = format!("{}/{}", session_name(workspace), workspace.name());
        let session = session_name(workspace);
        let run = tare_data::shell::join_for_script(words);
        let take = format!(
            "for b in {bases}; do d=\"$b/{folder}\"; mkdir -p -m 700 \"$d\" 2>/dev/null && \
             printf '#!/bin/sh\\n' 2>/dev/null >\"$d/agent\" && chmod 700 \"$d/agent\" && \"$d/agent\" 2>/dev/null && break; \
             rm -rf \"$d\"; rmdir \"$b/{session}\" 2>/dev/null; d=; done; test \"$d\" || {{ echo @tare-\"fail\"; exit 1; }}; \
             echo @tare-\"send\"; head -c {sent}{decode} >\"$d/agent\"; chmod 700 \"$d/agent\"; \
             test \"$(wc -c <\"$d/agent\")\" -eq {size} && \"$d/agent\" {run}; s=$?; rm -rf \"$d\"; \
             rmdir \"$b/{session}\" 2>/dev/null; exit $s"
        );
        let lines = vec![
            ("stty raw -echo 2>/dev/null; echo @tare-\"shell\"".to_owned(), "@tare-shell".to_owned()),
            (take, "@tare-send".to_owned()),
        ];
        Ok(Script { lines, program: stage.seen_agent(workspace), coded: way.terminal })
    }

    fn copy_program(&self, stage: &Stage, way: &Way, workspace: &dyn Workspace) -> Result<(), LabError> {
        debug_assert_eq!(way.far, Far::Copy);
        let far = copied_path(workspace);
        // It is read on this machine, and thus the host's own.
        let agent = workspace.agent().to_string_lossy();
        let words = self.copy.iter().map(|word| word.replace("{agent}", &agent));
        let words: Vec<String> = words.map(|word| self.fill_in(&word, stage, workspace, &far)).collect();
        let mut command = programs::command(&Found::called(&words[0], Path::new("/")));
        command.args(&words[1..]).env(MARK, workspace.mark());
        programs::run_for_output(&mut command, COPY_WAIT)
            .map(drop)
            .map_err(|e| self.failed(format!("copying the agent: {}: {e}", words.join(" "))))
    }

    /// Replaces the placeholders of a word.
    fn fill_in(&self, word: &str, stage: &Stage, workspace: &dyn Workspace, far: &str) -> String {
        let text = |path: &Path| path.to_string_lossy().into_owned();
        let root = stage.root.as_ref().map(|root| text(root.path())).unwrap_or_default();
        [
            ("{folder}", stage.folder.1.clone()),
            ("{own}", stage.own.1.clone()),
            ("{turns}", stage.shares.get(TURNS).map(|(_, inside)| inside.clone()).unwrap_or_default()),
            ("{name}", workspace.name().to_owned()),
            ("{mark}", workspace.mark().to_owned()),
            ("{agent}", stage.agent.clone()),
            ("{far}", far.to_owned()),
            ("{root}", root),
            ("{instance}", self.instance.clone()),
        ]
        .into_iter()
        .fold(word.to_owned(), |word, (placeholder, value)| word.replace(placeholder, &value))
    }

    /// Refuses a launcher whose process is not where its template says.
    fn check_inside(&self, look: &Look) -> Result<(), LabError> {
        let differences = list_differences(look, &look_around());
        let missing = self.inside.iter().find(|sign| !differences.contains(&sign.name()));
        match missing {
            None => Ok(()),
            Some(sign) => Err(self.failed(format!(
                "the command that it ran is not inside: {} is this machine's",
                sign.describe()
            ))),
        }
    }

    fn signs(&self, workspace: &dyn Workspace) -> Signs {
        Signs {
            mark: workspace.mark().to_owned(),
            folder: workspace.folder().to_owned(),
            name: workspace.name().to_owned(),
            spared: self.leaves.clone(),
            roots: Vec::new(),
        }
    }

    fn failed(&self, cause: String) -> LabError {
        let words = tare_data::shell::join_words(&self.words);
        LabError::new(ErrorKind::Environment, format!("cannot enter {}", self.name))
            .with_cause(cause)
            .with_hint(format!("try: {words} true"))
    }
}

fn make_folder(path: &Path) -> Result<(), LabError> {
    private_folder::make_private_folder(path).map_err(LabError::storage_error("make the folder", path))
}

/// Returns the name of the session's folders: a cleaning removes a folder of that name wherever the journal has it.
fn session_name(workspace: &dyn Workspace) -> String {
    format!("{PREFIX}{}", workspace.session_mark())
}

/// Returns the folder of a start inside.
fn far_folder(base: &str, workspace: &dyn Workspace) -> String {
    format!("{base}/{}/{}", session_name(workspace), workspace.name())
}

/// Returns the path to which a template copies the program.
fn copied_path(workspace: &dyn Workspace) -> String {
    format!("/tmp/{}", workspace.name())
}
