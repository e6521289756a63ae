//! A far shell: a machine or a pod where a command starts sh. The agent is sent there once, and each start has a folder of its own.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use sha2::{Digest, Sha256};
use tare_data::build::Build;
use tare_data::encoding::encode_hex;
use tare_data::facts::Facts;

use crate::error::{Cause, ErrorKind, LabError};
use crate::host::programs::{self, Programs};
use crate::provider::{Entrance, HostPath, NotReady, Workspace, agent_for};

/// Time in which a connection must be there and a short command done.
pub(crate) const ANSWER_WAIT: Duration = Duration::from_secs(20);
/// Time that sending the agent may take: 10 MB over a line of 1 Mbit/s.
const UPLOAD_WAIT: Duration = Duration::from_secs(90);

/// The home folder's cache, in words that sh expands: what is kept there is sent once.
pub(crate) const HOME_CACHE: &str = "${XDG_CACHE_HOME:-$HOME/.cache}/tare";

/// A place where scripts for sh run. They hold no single quotes.
pub(crate) struct FarShell<'a> {
    /// The specification, as errors name it.
    pub(crate) name: String,
    /// Command that a person can try.
    pub(crate) try_out: String,
    /// Runs a script there.
    pub(crate) command: &'a dyn Fn(&str) -> Command,
    /// Folder in which the agent is kept there, in words that sh expands.
    pub(crate) cache: &'a str,
    pub(crate) agent: Agent,
    /// Distinguishes this way from others: the same machine may be reached with other options.
    pub(crate) digest: String,
}

/// The program that is sent, and what distinguishes it from others there.
#[derive(Clone)]
pub(crate) struct Agent {
    path: PathBuf,
    sha256: String,
    /// Identity of another program than this one.
    identity: Option<Build>,
}

impl Agent {
    /// Finds the agent for a machine that calls itself this (`uname -m`); None where it is this program
    /// itself.
    pub(crate) fn for_machine(programs: &Programs, machine: &str) -> Result<Option<Agent>, NotReady> {
        if machine == std::env::consts::ARCH {
            return Ok(None);
        }
        let (path, identity) = agent_for(programs, machine)?;
        let bytes = fs::read(&path).map_err(NotReady::from_program_error(&path))?;
        Ok(Some(Agent { sha256: encode_hex(&Sha256::digest(bytes)), path, identity: Some(identity) }))
    }

    /// Chooses this program itself.
    pub(crate) fn from_workspace(workspace: &dyn Workspace) -> Result<Agent, LabError> {
        let (path, sha256) = (workspace.agent().to_owned(), workspace.agent_sha256()?.to_owned());
        Ok(Agent { path, sha256, identity: None })
    }

    /// Returns the identity that its first frame must state, where it is another program than this one.
    pub(crate) fn identity(&self) -> Option<Build> {
        self.identity.clone()
    }
}

/// Hashes words into a short text that distinguishes ways.
pub(crate) fn hash_words(words: &str) -> String {
    encode_hex(&Sha256::digest(words)[..8])
}

impl FarShell<'_> {
    /// Sends the agent if it is not there, and prepares its start.
    pub(crate) fn prepare_entrance(
        &self,
        folder: &str,
        host: Option<HostPath>,
        workspace: &mut dyn Workspace,
    ) -> Result<Entrance, LabError> {
        self.upload(workspace)?;
        let own = format!("{folder}/{}", workspace.name());
        let command = (self.command)(&self.agent_script(&own));
        let places = BTreeMap::from([("own".to_owned(), own)]);
        Ok(Entrance { command, host, places, outside: Facts::default() })
    }

    /// Runs a script and returns its output.
    pub(crate) fn run_script(&self, script: &str) -> Result<String, LabError> {
        programs::run_for_output(&mut (self.command)(script), ANSWER_WAIT)
            .map_err(|cause| self.entering_error(cause))
    }

    pub(crate) fn entering_error(&self, cause: impl Into<Cause>) -> LabError {
        LabError::new(ErrorKind::Environment, format!("cannot enter {}", self.name))
            .with_cause(cause)
            .with_hint(format!("try: {}", self.try_out))
    }

    /// Sends the agent, if it is not there.
    fn upload(&self, workspace: &dyn Workspace) -> Result<(), LabError> {
        // Once a session: each question is a round trip and a shell.
        let sent = format!("far-sent-{}", self.digest);
        if workspace.recall(&sent).is_none() {
            self.upload_if_missing()?;
            workspace.remember(&sent, "");
        }
        Ok(())
    }

    fn upload_if_missing(&self) -> Result<(), LabError> {
        let kept = self.kept();
        let script = format!("agent={kept}; if test -x \"$agent\"; then echo there; else echo missing; fi");
        if self.run_script(&script)?.trim() == "there" {
            return Ok(());
        }
        let (agent, size_bytes) = open(&self.agent.path)?;
        // A copy that is cut short must not be taken for the whole later; and if machines share a home, others may be sending it, too.
        let script = format!(
            "agent={kept}; part=\"$agent.$$.{}\"; mkdir -p \"${{agent%/*}}\" && cat > \"$part\" && \
             test \"$(wc -c < \"$part\")\" -eq {size_bytes} && chmod 700 \"$part\" && mv \"$part\" \"$agent\"",
            self.digest
        );
        let sent = programs::ask_with(&mut (self.command)(&script), agent.into(), UPLOAD_WAIT);
        sent.map(drop).map_err(|cause| self.entering_error(format!("sending the agent: {cause}")))
    }

    /// Returns the path of the agent there.
    fn kept(&self) -> String {
        format!("\"{}/{}\"", self.cache, self.agent.sha256)
    }

    /// Runs the agent, and takes its folder away when it ends, as it does when the connection breaks. It bears no
    /// mark of the session: where the far machine is this one, a cleaning would end the shell before it cleans up.
    fn agent_script(&self, own: &str) -> String {
        format!(
            "agent={}; mkdir -m 700 {own} || exit 1; trap \"rm -rf {own}\" EXIT; trap \"exit 1\" HUP INT TERM; \
             env -i \"$agent\" {}",
            self.kept(),
            tare_probes::agent::AGENT,
        )
    }
}

fn open(path: &Path) -> Result<(File, u64), LabError> {
    let opened: io::Result<_> =
        File::open(path).and_then(|file| file.metadata().map(|data| (file, data.len())));
    opened.map_err(LabError::storage_error("read", path))
}
