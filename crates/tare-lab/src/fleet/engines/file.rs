//! The file of an engine: its templates, as they are written in TOML.

use std::collections::BTreeMap;

use serde::Deserialize;
use tare_data::shell::join_words;

/// An engine as its file has it.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Templates {
    /// Summary in one line: where it starts jobs, and what it needs.
    pub(super) about: String,
    /// Prints names of nodes, with white space or commas between them.
    #[serde(default)]
    pub(super) nodes: Vec<String>,
    /// Starts a job on a node.
    pub(super) submit: Vec<String>,
    /// Standard input of `submit`.
    pub(super) script: String,
    /// Start of a job on two nodes.
    pub(super) pair: Option<Pair>,
    /// Prints the ids of all jobs that wait or run. Without it a job is what `submit` does while it runs.
    #[serde(default)]
    pub(super) state: Vec<String>,
    /// Ends a job.
    #[serde(default)]
    pub(super) cancel: Vec<String>,
    /// Prints why a job ended, where the engine knows it.
    #[serde(default)]
    pub(super) why: Vec<String>,
    /// Texts before and after an id in the output of `submit`; without it, all of its first line.
    #[serde(default)]
    pub(super) id_between: Option<[String; 2]>,
    /// The fleet's folder as nodes see it.
    #[serde(default = "same_folder")]
    pub(super) folder: String,
    /// Time for which a job may be unknown before it counts as ended.
    #[serde(default = "usual_settle")]
    pub(super) settle: String,
    /// Options by name with their defaults.
    #[serde(default)]
    pub(super) options: BTreeMap<String, String>,
}

/// Start of a job on two nodes.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Pair {
    pub(super) submit: Vec<String>,
    /// That of one node, unless given.
    pub(super) script: Option<String>,
    /// Path at which both nodes find the secret that the script hands over; that of the fleet's folder unless
    /// given.
    pub(super) secret: Option<String>,
    /// Takes away what is left of the secrets that scripts of the fleet handed over.
    #[serde(default)]
    pub(super) forget: Vec<String>,
}

fn same_folder() -> String {
    "{folder}".into()
}

fn usual_settle() -> String {
    "5s".into()
}

impl Templates {
    /// Lists the commands that continuing a fleet runs on this machine, quoted for a shell.
    pub(super) fn list_commands(&self) -> String {
        let Templates { submit, state, cancel, why, pair, .. } = self;
        let of_pair = pair.iter().flat_map(|pair| [&pair.submit, &pair.forget]);
        let all = [submit, state, cancel, why].into_iter().chain(of_pair).filter(|words| !words.is_empty());
        all.map(|words| format!("run {}", join_words(words))).collect::<Vec<_>>().join("\n")
    }

    /// Refuses templates by which a secret would stand in a list of processes, or never come to its nodes.
    pub(super) fn show_no_secret(&self) -> Result<(), String> {
        let names_it = |text: &String| text.contains("{secret}");
        let Templates { nodes, submit, state, cancel, why, pair, .. } = self;
        let of_pair = pair.iter().flat_map(|pair| [&pair.submit, &pair.forget]);
        if [nodes, submit, state, cancel, why].into_iter().chain(of_pair).flatten().any(names_it) {
            return Err("a command names {secret}, which lists of processes would show: a script may".into());
        }
        let Some(pair) = pair else { return Ok(()) };
        match names_it(pair.script.as_ref().unwrap_or(&self.script)) == pair.secret.is_some() {
            true => Ok(()),
            false => Err("'secret' of [pair], and {secret} in its script, need each other".into()),
        }
    }
}
